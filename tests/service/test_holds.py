"""What holds a run: a stop lasts until a person lifts it, a pause until a person has decided."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from interlock import (
    Budget,
    CommandAction,
    Decision,
    InputError,
    Interlock,
    NotPermittedError,
    Run,
    StepDecision,
    TokenUsage,
)
from interlock.errors import DecidedError
from interlock.model.approval import ApprovalState, Subject
from interlock.model.arbitration import Authority
from interlock.model.events import RunHalted, RunLifted
from interlock.model.facts import HoldKind
from interlock.model.principal import PrincipalKind
from interlock.model.stop import StopVeto
from interlock.values import Course
from service.ledgers import (
    HandClock,
    OpenInterlock,
    another,
    events_of,
    kinds_of,
    operator_of,
    person_speaks,
    records_of,
)
from service.stepping_runs import (
    HELD,
    asked,
    check_record,
    hold_of,
    open_questions,
    paused,
    stopped_for_good,
    worked,
)

_LATER: dict[str, Callable[[Run, HandClock], object]] = {
    "a good report": lambda run, _: run.observe_unasked(
        CommandAction(command="pytest"), output="3 passed in 0.1s", exit_code=0
    ),
    "good figures": lambda run, _: run.step(coherence_score=1.0, uncertainty_score=0.0),
    "sure beliefs": lambda run, _: run.belief("it compiles", supporting=1000),
    "words of a person": lambda run, _: person_speaks(run),
    "time": lambda _, clock: clock.forward(seconds=86_400 * 30),
    "the end of a turn": lambda run, _: run.stopped("All done.", finish_reason="stop"),
    "a nudge": lambda run, _: run.stopped("Now let me run it.", finish_reason="tool_calls"),
    "usage": lambda run, _: run.usage(TokenUsage(output_tokens=5)),
    "a child": lambda run, _: run.child("c"),
    "waiting": lambda run, _: run.step(waiting_for="the build"),
}


def _check_held(run: Run) -> None:
    """Check that a run gets nowhere, whichever way it asks."""
    hold = hold_of(run)
    step, stop = run.step(), run.stopped("Now let me run the tests.", finish_reason="tool_calls")
    is_pause = hold.kind is HoldKind.PAUSE
    assert step.decision is (StepDecision.PAUSE if is_pause else StepDecision.STOP)
    assert step.ruling.course is (Course.AWAIT_PERSON if is_pause else Course.HALT)
    assert not step.goes_on
    assert not stop.goes_on
    assert stop.nudge is None
    assert stop.detail.veto is StopVeto.HARD_STOP
    for answer in (
        run.command("ls"),
        run.tool("Read", {"path": "a"}),
        run.may_edit("a.py", "x = 1\n"),
        run.command("ls", key="again"),
        run.command("ls", key="again"),
    ):
        assert answer.decision is Decision.BLOCK
        assert f"continue.{hold.kind.value}" in [each.rule for each in answer.verdict.findings]


@pytest.mark.parametrize("later", _LATER)
def test_nothing_that_comes_later_lifts_a_stop(
    interlock: Interlock, clock: HandClock, later: str
) -> None:
    run = interlock.run("t")
    stopped_for_good(run)
    _LATER[later](run, clock)

    _check_held(run)
    assert hold_of(run).kind is HoldKind.STOP
    check_record(interlock)


@pytest.mark.parametrize("later", [name for name in _LATER if name != "time"])
def test_nothing_that_comes_later_lifts_a_pause(
    interlock: Interlock, clock: HandClock, later: str
) -> None:
    run = interlock.run("t")
    question = paused(run)
    _LATER[later](run, clock)

    _check_held(run)
    assert hold_of(run).approval == question
    assert [each.id for each in asked(interlock, run)] == [question]


@pytest.mark.parametrize("how", HELD)
def test_a_held_run_has_one_question_to_an_operator(
    interlock: Interlock, operator: str, how: str
) -> None:
    run = interlock.run("fix the parser")
    question = HELD[how](run)
    for _ in range(3):
        assert run.step().approval_id == question
        assert run.stopped("x").approval_id == question

    (approval,) = asked(interlock, run)
    assert (approval.id, approval.subject, approval.run_id) == (question, Subject.RESUME, run.id)
    assert approval.summary == "go on with: fix the parser"
    assert approval.findings[0].gate == "continue"
    agent = another(interlock, PrincipalKind.AGENT, "eve")
    with pytest.raises(NotPermittedError, match="operator"):
        interlock.approve(question, token=agent, note="fine")
    _check_held(run)
    interlock.approve(question, token=operator, note="fine")
    with pytest.raises(DecidedError, match="approved already"):
        interlock.deny(question, token=operator)
    assert run.step().goes_on


@pytest.mark.parametrize("how", HELD)
def test_a_person_lets_a_held_run_go_on(interlock: Interlock, operator: str, how: str) -> None:
    run = interlock.run("t")
    interlock.approve(HELD[how](run), token=operator, note="it is known")

    assert run.state.control.hold is None
    assert run.command("ls").allowed
    assert run.step().decision is StepDecision.CONTINUE
    check_record(interlock)


@pytest.mark.parametrize("note", [None, "", " \n\t"])
def test_a_stop_is_not_lifted_without_a_reason(
    interlock: Interlock, operator: str, note: str | None
) -> None:
    run = interlock.run("t")
    question = stopped_for_good(run)

    with pytest.raises(InputError, match="was stopped: say why it may go on"):
        interlock.approve(question, token=operator, note=note)
    _check_held(run)
    assert [each.id for each in open_questions(interlock, run)] == [question]


def test_a_pause_is_lifted_without_a_word(interlock: Interlock, operator: str) -> None:
    run = interlock.run("t")
    interlock.approve(paused(run), token=operator)

    assert run.step().goes_on


def test_a_refused_pause_is_a_stop(interlock: Interlock, operator: str) -> None:
    run = interlock.run("t")
    interlock.deny(paused(run), token=operator, note="no")

    assert (hold_of(run).kind, hold_of(run).approval) == (HoldKind.STOP, None)
    _check_held(run)
    assert len(asked(interlock, run)) == 1


_FIRST_ASKED: dict[str, Callable[[Run], object]] = {
    "step": lambda run: run.step().decision,
    "stop": lambda run: run.stopped("x").ruling.course,
    "action": lambda run: run.command("ls").verdict.findings[0].rule,
}
_SAID_TO_STOP = {"step": StepDecision.STOP, "stop": Course.HALT, "action": "continue.stop"}


@pytest.mark.parametrize("first", _FIRST_ASKED)
def test_a_pause_that_nobody_answers_is_a_stop(
    interlock: Interlock, operator: str, clock: HandClock, first: str
) -> None:
    run = interlock.run("t")
    question = paused(run)
    clock.forward(seconds=3600)

    assert _FIRST_ASKED[first](run) == _SAID_TO_STOP[first]
    assert (hold_of(run).kind, hold_of(run).approval) == (HoldKind.STOP, None)
    _check_held(run)
    with pytest.raises(DecidedError):
        interlock.approve(question, token=operator, note="too late")
    interlock.lift(run.id, token=operator, reason="I was away")
    assert run.step().goes_on
    check_record(interlock)


@pytest.mark.parametrize("first", _FIRST_ASKED)
def test_a_run_below_a_pause_that_nobody_answers_is_stopped_too(
    interlock: Interlock, clock: HandClock, first: str
) -> None:
    run = interlock.run("t")
    below = run.child("c").child("d")
    paused(run)
    clock.forward(seconds=3600)

    assert _FIRST_ASKED[first](below) == _SAID_TO_STOP[first]
    assert hold_of(run).kind is HoldKind.STOP
    check_record(interlock)


@pytest.mark.parametrize("how", HELD)
def test_a_persons_stop_is_stronger_than_what_held_before(
    interlock: Interlock, operator: str, how: str
) -> None:
    run = interlock.run("t")
    question = HELD[how](run)
    interlock.halt(run.id, token=operator, reason="wrong branch")

    assert hold_of(run).kind is HoldKind.PERSON_STOP
    assert run.step().ruling.by is Authority.PERSON_STOP
    assert "a person stopped the run: wrong branch" in run.command("ls").reasons[0]
    with pytest.raises(DecidedError, match="cancelled already"):
        interlock.approve(question, token=operator, note="go on")
    interlock.lift(run.id, token=operator, reason="the branch is right now")
    assert run.step().goes_on
    check_record(interlock)


def test_a_person_stops_a_run_and_lifts_it_with_a_reason_each(
    interlock: Interlock, operator: str
) -> None:
    run = interlock.run("t")
    for reason in ("", "  "):
        with pytest.raises(InputError, match="the reason is empty: say why it has to stop"):
            interlock.halt(run.id, token=operator, reason=reason)
    interlock.halt(run.id, token=operator, reason=" wrong branch ")
    with pytest.raises(InputError, match="the reason is empty: say why it may go on"):
        interlock.lift(run.id, token=operator, reason="")
    _check_held(run)
    interlock.lift(run.id, token=operator, reason="right after all")

    told = [each for each in records_of(interlock.ledger, run.id) if each.by.name == "ada"]
    assert [each.event for each in told] == [
        RunHalted(reason="wrong branch"),
        RunLifted(reason="right after all"),
    ]


def test_an_agent_can_neither_stop_nor_lift_nor_decide(interlock: Interlock, operator: str) -> None:
    run, agent = interlock.run("t"), another(interlock, PrincipalKind.AGENT, "eve")
    question = stopped_for_good(run)
    before = kinds_of(interlock.ledger, run.id)
    attempts: tuple[Callable[[str], object], ...] = (
        lambda token: interlock.halt(run.id, token=token, reason="x"),
        lambda token: interlock.lift(run.id, token=token, reason="x"),
        lambda token: interlock.approve(question, token=token, note="x"),
        lambda token: interlock.deny(question, token=token),
        lambda token: interlock.set_budget(f"run/{run.id}", Budget(tokens=1), token=token),
    )
    for attempt in attempts:
        for token in (agent, "nobody", ""):
            with pytest.raises(NotPermittedError):
                attempt(token)

    assert kinds_of(interlock.ledger, run.id) == before
    assert operator != agent


def test_what_is_not_held_cannot_be_lifted(interlock: Interlock, operator: str) -> None:
    run = interlock.run("t")
    below = run.child("c")
    with pytest.raises(InputError, match="is not held: there is nothing to resume"):
        interlock.lift(run.id, token=operator, reason="x")
    interlock.halt(run.id, token=operator, reason="x")
    with pytest.raises(InputError, match=f"is held by run `{run.id}` above it: resume that one"):
        interlock.lift(below.id, token=operator, reason="x")


def test_whatever_holds_a_run_holds_those_below(interlock: Interlock, operator: str) -> None:
    run = interlock.run("t")
    below = run.child("c").child("d")
    beside = interlock.run("other")
    interlock.halt(run.id, token=operator, reason="wrong branch")
    born_later = run.child("e")

    for child in (below, born_later):
        answer = child.step()
        assert answer.decision is StepDecision.STOP
        assert answer.ruling.by is Authority.PERSON_STOP
        assert answer.reasons[0].startswith(f"run `{run.id}` above: wrong branch")
        assert child.command("ls").decision is Decision.BLOCK
        assert not child.stopped("Now let me go on.", finish_reason="tool_calls").goes_on
        assert child.state.control.hold is None
    assert beside.step().goes_on
    interlock.lift(run.id, token=operator, reason="fine")
    assert below.step().goes_on
    assert born_later.command("ls").allowed


def test_lifting_a_run_does_not_lift_what_holds_the_one_below(
    interlock: Interlock, operator: str
) -> None:
    run = interlock.run("t")
    below = run.child("c")
    stopped_for_good(below)
    interlock.halt(run.id, token=operator, reason="x")
    interlock.lift(run.id, token=operator, reason="fine")

    assert run.step().goes_on
    _check_held(below)


def test_a_parent_that_is_finished_while_it_is_held_does_not_free_those_below(
    interlock: Interlock, operator: str
) -> None:
    run = interlock.run("t")
    below = run.child("c")
    interlock.halt(run.id, token=operator, reason="x")
    run.finish()

    assert not below.step().goes_on
    assert below.command("ls").decision is Decision.BLOCK


def test_a_stop_said_in_one_process_counts_in_the_other(reopened: OpenInterlock) -> None:
    here, there = reopened(), reopened()
    token = operator_of(there)
    run = here.run("t")
    below = run.child("c")
    assert below.step().goes_on

    there.halt(run.id, token=token, reason="wrong branch")
    assert not below.step().goes_on
    assert below.command("ls").decision is Decision.BLOCK
    there.lift(run.id, token=token, reason="fine")
    assert below.step().goes_on
    question = stopped_for_good(there.resume(run.id))
    assert not below.step().goes_on
    here.approve(question, token=token, note="it is known")
    assert there.resume(below.id).step().goes_on
    check_record(here)


def test_a_question_that_ran_out_counts_for_those_below_in_another_process(
    reopened: OpenInterlock, clock: HandClock
) -> None:
    here, there = reopened(), reopened()
    run = here.run("t")
    below = there.resume(run.child("c").id)
    paused(run)
    assert below.step().decision is StepDecision.PAUSE
    clock.forward(seconds=3600)

    assert below.command("ls").verdict.findings[0].rule == "continue.stop"
    assert hold_of(run).kind is HoldKind.STOP
    check_record(here)


def test_what_holds_a_run_is_not_forgotten_over_a_restart(tmp_path: Path) -> None:
    place, clock, keys = tmp_path / "ledger.db", HandClock(), tmp_path / "keys"
    with Interlock.open(place, clock=clock, keys=keys) as first:
        run_id = first.run("t").id
        question = stopped_for_good(first.resume(run_id))
        token = operator_of(first)
    with Interlock.open(place, clock=clock, keys=keys) as second:
        _check_held(second.resume(run_id))
        second.approve(question, token=token, note="it is known")
        assert second.resume(run_id).step().goes_on


def test_a_long_run_is_the_same_after_a_restart(tmp_path: Path) -> None:
    place, clock, keys = tmp_path / "ledger.db", HandClock(), tmp_path / "keys"
    with Interlock.open(place, clock=clock, keys=keys) as first:
        run = first.run("t")
        run.belief("it compiles", supporting=3, opposing=1)
        for number in range(60):
            run.step(f"file {number}", total_tokens_used=number * 1000)
            clock.forward(seconds=10)
            content = f"value = {number}\n"
            run.observe(run.may_edit(f"{number}.py", content), output=content, exit_code=0)
            worked(run, "pytest", f"{60 - number} failed, 3 passed in 0.1s", exit_code=1)
            run.stopped(None, finish_reason="tool_calls")
        stopped_for_good(run)
        known = run.state
        assert first.ledger.rows.snapshot(run.id) is not None
    with Interlock.open(place, clock=clock, keys=keys) as second:
        assert second.resume(run.id).state == known
        _check_held(second.resume(run.id))
        check_record(second)


def test_many_who_ask_at_once_open_one_question(reopened: OpenInterlock) -> None:
    places = [reopened() for _ in range(3)]
    run = places[0].run("t")
    run.belief("it compiles", opposing=50)
    with ThreadPoolExecutor(6) as pool:
        views: list[Run] = [places[n % 3].resume(run.id) for n in range(12)]
        answers = list(pool.map(Run.step, views))

    assert {answer.decision for answer in answers} == {StepDecision.PAUSE}
    assert len({answer.approval_id for answer in answers}) == 1
    assert len(asked(places[0], run)) == 1
    check_record(places[0])


def test_what_was_done_while_the_run_was_held_is_on_record_as_forbidden(
    interlock: Interlock,
) -> None:
    run = interlock.run("t")
    stopped_for_good(run)
    seen = run.observe(run.command("touch a.txt"), exit_code=0)

    assert seen.forbidden == ("touch a.txt: the answer was block",)
    assert run.state.violations == 1
    _check_held(run)


def test_any_words_can_be_the_reason(reopened: OpenInterlock) -> None:
    interlock = reopened()
    token = operator_of(interlock)
    for text in ("a\x00b", "\udc80", "\u202e", "x" * 20_000):
        run = interlock.run(text)
        interlock.halt(run.id, token=token, reason=f"halt {text}")
        run.step(text)
        run.stopped(text, todos=[text])
        interlock.lift(run.id, token=token, reason=f"lift {text}")
        run.belief("it compiles", opposing=50, because=text)
        question = run.step(text).approval_id
        assert question is not None
        interlock.deny(question, token=token, note=text)
        assert run.command("ls").decision is Decision.BLOCK

    check_record(reopened())


def test_an_answer_given_before_is_not_repeated_while_the_run_is_held(
    interlock: Interlock, operator: str
) -> None:
    run = interlock.run("t", budget=Budget(tool_calls=5))
    first = run.command("ls", key="k")
    question = stopped_for_good(run)

    held = run.command("ls", key="k")
    assert first.allowed
    assert held.decision is Decision.BLOCK
    assert not held.repeated
    again = run.command("ls", key="k")
    assert (again.repeated, again.decision) == (True, Decision.BLOCK)
    assert run.state.reserved.tool_calls == 0
    interlock.approve(question, token=operator, note="go on")
    after = run.command("ls", key="k")
    assert (after.allowed, after.repeated) == (True, False)
    assert run.command("ls", key="k").repeated
    assert run.state.reserved.tool_calls == 1
    check_record(interlock)


def test_an_answer_of_a_child_is_not_repeated_while_the_run_above_is_held(
    interlock: Interlock, operator: str
) -> None:
    run = interlock.run("t")
    below = run.child("c")
    below.command("ls", key="k")
    interlock.halt(run.id, token=operator, reason="x")

    assert below.command("ls", key="k").decision is Decision.BLOCK
    interlock.lift(run.id, token=operator, reason="fine")
    assert below.command("ls", key="k").allowed


def test_a_grant_for_an_action_is_neither_used_nor_lost_while_the_run_is_held(
    interlock: Interlock, operator: str
) -> None:
    run = interlock.run("t")
    asked_for = run.command("git push --force").approval_id
    assert asked_for is not None
    interlock.approve(asked_for, token=operator)
    question = stopped_for_good(run)

    assert run.command("git push --force").decision is Decision.BLOCK
    interlock.approve(question, token=operator, note="go on")
    assert run.command("git push --force").allowed


@pytest.mark.parametrize("how", HELD)
def test_a_held_run_can_always_be_finished(interlock: Interlock, how: str) -> None:
    run = interlock.run("t")
    HELD[how](run)
    run.finish("gave up")

    assert run.state.outcome == "gave up"
    assert [each.state for each in asked(interlock, run)] == [ApprovalState.CANCELLED]
    assert run.state.pending_approvals == 0
    for attempt in (run.step, lambda: run.stopped("x"), lambda: person_speaks(run)):
        with pytest.raises(InputError, match="is finished"):
            attempt()
    check_record(interlock)


def test_a_finished_run_cannot_be_stopped_or_lifted(interlock: Interlock, operator: str) -> None:
    run = interlock.run("t")
    run.finish()

    for attempt in (interlock.halt, interlock.lift):
        with pytest.raises(InputError, match="is finished"):
            attempt(run.id, token=operator, reason="x")


# A resume that leads straight into the next stop would be none.


def _breaks_rules(run: Run) -> None:
    for number in range(10):
        worked(run, f"cat {number}", f"content {number} " * 9)
        run.violation("style", "too long")
        run.violation("style", "too wide")
    for _ in range(6):
        worked(run, "cat 1", "content 1 " * 9)
        run.violation("style", "too long")


def _rewrites_itself(run: Run) -> None:
    lines = "".join(f"value_{n} = {n}\n" for n in range(4))
    for number in range(21):
        text = f"{lines}last = {number}\n"
        old = None if number == 0 else f"{lines}last = {number - 1}\n"
        run.observe(run.may_edit("a.py", text, old=old), exit_code=0)


_BAD_WORK: dict[str, tuple[Callable[[Run], object], str]] = {
    "coherence": (_breaks_rules, "coherence"),
    "rework": (_rewrites_itself, "rework"),
    "uncertainty": (lambda run: run.belief("it compiles", opposing=50), "uncertainty"),
}


@pytest.mark.parametrize("work", _BAD_WORK)
@pytest.mark.parametrize("way", ["resume", "approve"])
def test_a_run_that_a_person_let_go_on_is_judged_by_what_it_does_from_there(
    interlock: Interlock, operator: str, clock: HandClock, work: str, way: str
) -> None:
    run = interlock.run("t")
    do, code = _BAD_WORK[work]
    do(run)
    answer = run.step()
    assert code in [reason.code for reason in answer.detail.reasons]
    assert not answer.goes_on
    clock.forward(seconds=60)
    if way == "lift":
        interlock.lift(run.id, token=operator, reason="try another way")
    else:
        assert answer.approval_id is not None
        interlock.approve(answer.approval_id, token=operator, note="try another way")

    for number in range(30):
        answer = run.step()
        assert answer.goes_on, (number, answer.reasons)
        clock.forward(seconds=10)
        worked(run, f"cat new{number}", f"other content {number} " * 9)
    assert run.command("rm old.py").allowed
    check_record(interlock)


@pytest.mark.parametrize("work", _BAD_WORK)
def test_a_run_that_goes_on_as_before_is_held_again(
    interlock: Interlock, operator: str, clock: HandClock, work: str
) -> None:
    run = interlock.run("t")
    do, code = _BAD_WORK[work]
    for _ in range(2):
        do(run)
        answer = run.step()
        assert code in [reason.code for reason in answer.detail.reasons]
        clock.forward(seconds=60)
        interlock.lift(run.id, token=operator, reason="once more")


def test_what_a_client_says_of_people_does_not_settle_anything(
    interlock: Interlock, clock: HandClock
) -> None:
    run = interlock.run("t")
    _rewrites_itself(run)
    person_speaks(run)
    clock.forward(seconds=60)

    assert run.step().decision is StepDecision.PAUSE


def test_the_events_of_a_hold_are_in_their_order(interlock: Interlock, operator: str) -> None:
    run = interlock.run("t")
    interlock.approve(stopped_for_good(run), token=operator, note="go on")

    assert kinds_of(interlock.ledger, run.id) == [
        "run-started",
        "approval-opened",
        "step-judged",
        "approval-decided",
    ]
    assert len(events_of(interlock.ledger, run.id)) == 4
