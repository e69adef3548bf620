"""Who waits for a person is woken at once, and told what became of the question."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

import pytest

from interlock import Answer, Approval, Decision, InputError, Interlock
from interlock.model.approval import ApprovalState
from interlock.ports import Listener
from patience import LONG_ENOUGH_S
from service.ledgers import HandClock, OpenInterlock, operator_of

_FORCE = "git push --force"
_LONG_S = 3000.0


class _Waiters:
    """Counts who has begun to listen, so that a test can decide while somebody waits."""

    def __init__(self, interlock: Interlock, monkeypatch: pytest.MonkeyPatch) -> None:
        self._listening = threading.Semaphore(0)
        listen = interlock.ledger.listen

        def counted() -> Listener:
            listener = listen()
            self._listening.release()
            return listener

        monkeypatch.setattr(interlock.ledger, "listen", counted)

    def have_come(self, count: int = 1) -> None:
        for _ in range(count):
            assert self._listening.acquire(timeout=LONG_ENOUGH_S)


@pytest.fixture
def waiters(interlock: Interlock, monkeypatch: pytest.MonkeyPatch) -> _Waiters:
    return _Waiters(interlock, monkeypatch)


def _asked(answer: Answer) -> str:
    assert answer.approval_id is not None
    return answer.approval_id


def _in_background(work: Callable[[], Answer | Approval]) -> Future[Answer | Approval]:
    pool = ThreadPoolExecutor(1)
    future = pool.submit(work)
    pool.shutdown(wait=False)
    return future


def test_a_waiter_is_woken_by_a_decision(
    interlock: Interlock, operator: str, waiters: _Waiters
) -> None:
    asked = _asked(interlock.run("t").command(_FORCE))
    waiting = _in_background(lambda: interlock.wait(asked, wait_s=_LONG_S))
    waiters.have_come()

    interlock.approve(asked, token=operator)

    decided = waiting.result(timeout=LONG_ENOUGH_S)
    assert isinstance(decided, Approval)
    assert decided.state is ApprovalState.GRANTED


def test_one_who_asks_with_patience_gets_the_final_answer(
    interlock: Interlock, operator: str, waiters: _Waiters
) -> None:
    run = interlock.run("t")
    waiting = _in_background(lambda: run.command(_FORCE, wait_s=_LONG_S))
    waiters.have_come()
    (approval,) = interlock.approvals()
    interlock.approve(approval.id, token=operator)

    answer = waiting.result(timeout=LONG_ENOUGH_S)
    assert isinstance(answer, Answer)
    assert answer.decision is Decision.WARN


@pytest.mark.parametrize("key", [None, "k"])
def test_a_refusal_reaches_the_one_who_waits(
    interlock: Interlock, operator: str, waiters: _Waiters, key: str | None
) -> None:
    run = interlock.run("t")
    waiting = _in_background(lambda: run.command(_FORCE, key=key, wait_s=_LONG_S))
    waiters.have_come()
    interlock.deny(interlock.approvals()[0].id, token=operator, note="not today")

    answer = waiting.result(timeout=LONG_ENOUGH_S)
    assert isinstance(answer, Answer)
    assert answer.decision is Decision.BLOCK
    assert "not today" in answer.reasons[-1]


def test_all_who_wait_for_the_same_are_woken(
    interlock: Interlock, operator: str, waiters: _Waiters
) -> None:
    asked = _asked(interlock.run("t").command(_FORCE))
    waiting = [_in_background(lambda: interlock.wait(asked)) for _ in range(8)]
    waiters.have_come(8)
    interlock.deny(asked, token=operator)

    for each in waiting:
        decided = each.result(timeout=LONG_ENOUGH_S)
        assert isinstance(decided, Approval)
        assert decided.state is ApprovalState.DENIED


def test_news_about_something_else_does_not_end_the_wait(
    interlock: Interlock, operator: str, waiters: _Waiters
) -> None:
    run = interlock.run("t")
    asked = _asked(run.command(_FORCE))
    waiting = _in_background(lambda: interlock.wait(asked))
    waiters.have_come()
    for _ in range(5):
        run.command("ls")
    assert not waiting.done()
    interlock.approve(asked, token=operator)

    assert isinstance(waiting.result(timeout=LONG_ENOUGH_S), Approval)


def test_the_end_of_a_run_ends_the_wait(interlock: Interlock, waiters: _Waiters) -> None:
    run = interlock.run("t")
    asked = _asked(run.command(_FORCE))
    waiting = _in_background(lambda: interlock.wait(asked))
    waiters.have_come()
    run.finish()

    decided = waiting.result(timeout=LONG_ENOUGH_S)
    assert isinstance(decided, Approval)
    assert decided.state is ApprovalState.CANCELLED


def test_what_is_decided_already_is_told_at_once(interlock: Interlock, operator: str) -> None:
    asked = _asked(interlock.run("t").command(_FORCE))
    interlock.approve(asked, token=operator)

    assert interlock.wait(asked).state is ApprovalState.GRANTED


def test_what_ran_out_is_not_waited_for(interlock: Interlock, clock: HandClock) -> None:
    asked = _asked(interlock.run("t").command(_FORCE))
    clock.forward(seconds=3600)

    assert interlock.wait(asked).state is ApprovalState.PENDING


class _HurryingClock(HandClock):
    """A minute passes whenever somebody looks."""

    def now(self) -> int:
        self.forward(seconds=60)
        return self.at


def test_patience_ends_by_the_clock_that_was_given() -> None:
    with Interlock.open(":memory:", clock=_HurryingClock()) as interlock:
        run = interlock.run("t")
        answer = run.command(_FORCE, wait_s=30)

        assert answer.waits_for_person
        assert interlock.wait(_asked(answer), wait_s=1).state is ApprovalState.PENDING


def test_what_needs_nobody_is_not_waited_for(interlock: Interlock) -> None:
    run = interlock.run("t")

    assert run.command("ls", wait_s=_LONG_S).allowed
    assert run.command("rm -rf /", wait_s=_LONG_S).decision is Decision.BLOCK


def test_no_patience_at_all_gets_the_question_back(interlock: Interlock) -> None:
    assert interlock.run("t").command(_FORCE, wait_s=0).waits_for_person


def test_an_unknown_question_is_not_waited_for(interlock: Interlock) -> None:
    with pytest.raises(InputError, match="there is no approval `nowhere`"):
        interlock.wait("nowhere")


def test_a_decision_elsewhere_wakes_the_one_who_waits_here(
    reopened: OpenInterlock, monkeypatch: pytest.MonkeyPatch
) -> None:
    here, there = reopened(), reopened()
    token = operator_of(there)
    waiters = _Waiters(here, monkeypatch)
    run = here.run("t")
    waiting = _in_background(lambda: run.command(_FORCE, wait_s=_LONG_S))
    waiters.have_come()

    there.approve(there.approvals()[0].id, token=token)

    answer = waiting.result(timeout=LONG_ENOUGH_S)
    assert isinstance(answer, Answer)
    assert answer.allowed
