"""Questions to people: opened once, decided once, used once, bound to exactly one thing."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from gates.policies import gates_with
from interlock import (
    Answer,
    Approval,
    Budget,
    Decision,
    InputError,
    Interlock,
    NotPermittedError,
    Run,
)
from interlock.errors import DecidedError
from interlock.model.approval import ApprovalState
from interlock.model.events import ActionJudged, ApprovalDecided
from interlock.model.principal import PrincipalKind
from service.ledgers import (
    HandClock,
    OpenInterlock,
    another,
    events_of,
    kinds_of,
    operator_of,
    records_of,
)

_FORCE = "git push --force"


_Ask = Callable[[Run], Answer]
_WAYS: dict[str, _Ask] = {
    _FORCE: lambda run: run.command(_FORCE),
    "Bash: git push --force": lambda run: run.tool("Bash", {"command": _FORCE}),
    "write lots.txt": lambda run: run.may_edit("lots.txt", "x\n" * 3000),
}
_OTHERS: dict[str, _Ask] = {
    "arguments": lambda run: run.command("git push --force origin"),
    "folder": lambda run: run.command(_FORCE, cwd="/srv"),
    "tool": lambda run: run.tool("Bash", {"command": _FORCE}),
}


def _asked(answer: Answer) -> str:
    assert answer.waits_for_person
    assert answer.approval_id is not None
    return answer.approval_id


def _of(interlock: Interlock, approval_id: str) -> Approval:
    approval = interlock.ledger.rows.approval(approval_id)
    assert approval is not None
    return approval


def test_a_question_says_what_is_asked_and_until_when(
    interlock: Interlock, clock: HandClock
) -> None:
    run = interlock.run("t")
    answer = run.command(_FORCE)

    (approval,) = interlock.approvals()
    assert approval.id == answer.approval_id
    assert approval.run_id == run.id
    assert approval.summary == _FORCE
    assert approval.findings == answer.verdict.findings
    assert approval.policy_hash == answer.verdict.policy_hash
    assert (approval.opened_at, approval.expires_at) == (clock.at, clock.at + 3600 * 10**6)
    assert (approval.state, approval.uses_left) == (ApprovalState.PENDING, 1)


@pytest.mark.parametrize("summary", _WAYS)
def test_a_question_is_told_in_one_line(opened: OpenInterlock, summary: str) -> None:
    interlock = opened('[diff-size]\ndecision = "require-confirmation"\n')
    _WAYS[summary](interlock.run("t"))

    assert [each.summary for each in interlock.approvals()] == [summary]


def test_the_same_action_opens_one_question(interlock: Interlock) -> None:
    run = interlock.run("t")

    assert len({_asked(run.command(_FORCE)) for _ in range(3)}) == 1
    assert kinds_of(interlock.ledger, run.id).count("approval-opened") == 1
    assert run.state.pending_approvals == 1


def test_a_granted_action_is_let_through_once(interlock: Interlock, operator: str) -> None:
    run = interlock.run("t")
    asked = _asked(run.command(_FORCE))
    granted = interlock.approve(asked, token=operator, note="go ahead")

    answer = run.command(_FORCE)

    assert (granted.state, granted.note, granted.decided_by) == (
        ApprovalState.GRANTED,
        "go ahead",
        "operator:ada",
    )
    assert answer.decision is Decision.WARN
    assert answer.verdict.decision is Decision.REQUIRE_CONFIRMATION
    assert answer.approval_id == asked
    assert _of(interlock, asked).uses_left == 0
    assert run.state.pending_approvals == 0


def test_the_second_time_a_person_is_asked_again(interlock: Interlock, operator: str) -> None:
    run = interlock.run("t")
    first = _asked(run.command(_FORCE))
    interlock.approve(first, token=operator)
    run.command(_FORCE)

    assert _asked(run.command(_FORCE)) != first


def test_a_refused_action_is_blocked_with_what_the_person_said(
    interlock: Interlock, operator: str
) -> None:
    run = interlock.run("t")
    denied = interlock.deny(_asked(run.command(_FORCE)), token=operator, note="use a branch")

    answer = run.command(_FORCE)

    assert denied.state is ApprovalState.DENIED
    assert answer.decision is Decision.BLOCK
    assert answer.reasons == (
        "overwrites what others see on the remote",
        "a person was asked and said no: use a branch; do not bring the same about another way: go"
        " on with something else, or finish and say what is left",
    )
    assert run.command(_FORCE).decision is Decision.BLOCK
    assert interlock.approvals() == []


def test_a_refusal_without_a_word_blocks_as_well(interlock: Interlock, operator: str) -> None:
    run = interlock.run("t")
    interlock.deny(_asked(run.command(_FORCE)), token=operator)

    assert "a person was asked and said no; do not bring" in run.command(_FORCE).reasons[-1]


def test_silence_is_not_consent(interlock: Interlock, operator: str, clock: HandClock) -> None:
    run = interlock.run("t")
    first = _asked(run.command(_FORCE))
    clock.forward(seconds=3600)

    assert interlock.approvals() == []
    with pytest.raises(DecidedError, match="expired 0 s ago: the agent has to ask again"):
        interlock.approve(first, token=operator)
    second = _asked(run.command(_FORCE))
    assert second != first
    assert _of(interlock, first).state is ApprovalState.EXPIRED
    assert run.state.pending_approvals == 1


def test_a_question_can_be_answered_until_its_last_moment(
    interlock: Interlock, operator: str, clock: HandClock
) -> None:
    run = interlock.run("t")
    asked = _asked(run.command(_FORCE))
    clock.forward(seconds=3599.999999)

    assert interlock.approve(asked, token=operator).state is ApprovalState.GRANTED
    assert run.command(_FORCE).allowed


def test_a_grant_that_was_not_used_in_time_is_gone(
    interlock: Interlock, operator: str, clock: HandClock
) -> None:
    run = interlock.run("t")
    asked = _asked(run.command(_FORCE))
    interlock.approve(asked, token=operator)
    clock.forward(seconds=3600)

    assert _asked(run.command(_FORCE)) != asked
    assert _of(interlock, asked).state is ApprovalState.GRANTED
    assert run.state.pending_approvals == 1


def test_the_policy_says_how_long_a_question_stands(
    opened: OpenInterlock, clock: HandClock
) -> None:
    interlock = opened("[approvals]\nexpires-seconds = 60\n")
    interlock.run("t").command(_FORCE)

    assert interlock.approvals()[0].expires_at == clock.at + 60 * 10**6


def test_open_questions_are_cancelled_when_their_run_ends(
    interlock: Interlock, operator: str, clock: HandClock
) -> None:
    run = interlock.run("t")
    old = _asked(run.command(_FORCE))
    clock.forward(seconds=3600)
    new = _asked(run.command("git reset --hard"))
    run.finish()

    assert _of(interlock, old).state is ApprovalState.EXPIRED
    assert _of(interlock, new).state is ApprovalState.CANCELLED
    assert run.state.pending_approvals == 0
    with pytest.raises(DecidedError, match="was cancelled already, by interlock"):
        interlock.approve(new, token=operator)


def test_always_is_recorded_and_changes_no_policy(interlock: Interlock, operator: str) -> None:
    run = interlock.run("t")
    asked = _asked(run.command(_FORCE))
    granted = interlock.approve(asked, token=operator, always=True)

    assert granted.always
    assert any(
        isinstance(event, ApprovalDecided) and event.always
        for event in events_of(interlock.ledger, run.id)
    )
    assert run.command(_FORCE).decision is Decision.WARN
    assert run.command(_FORCE).waits_for_person
    assert kinds_of(interlock.ledger, "ledger").count("policy-adopted") == 1


def test_the_first_one_decides_and_the_second_is_told(interlock: Interlock, operator: str) -> None:
    run = interlock.run("t")
    asked = _asked(run.command(_FORCE))
    grace = another(interlock, PrincipalKind.OPERATOR, "grace")
    interlock.deny(asked, token=grace, note="no")

    with pytest.raises(DecidedError, match=f"approval `{asked}` was denied already, by grace"):
        interlock.approve(asked, token=operator)
    with pytest.raises(DecidedError, match="was denied already, by grace"):
        interlock.deny(asked, token=grace)
    assert _of(interlock, asked).note == "no"


def test_who_decided_stands_on_the_record(interlock: Interlock, operator: str) -> None:
    run = interlock.run("t")
    interlock.approve(_asked(run.command(_FORCE)), token=operator)

    record = records_of(interlock.ledger, run.id)[-1]
    assert isinstance(record.event, ApprovalDecided)
    assert (record.by.kind, record.by.name) == (PrincipalKind.OPERATOR, "ada")


def test_only_an_operator_decides(interlock: Interlock, operator: str) -> None:
    run = interlock.run("t")
    asked = _asked(run.command(_FORCE))
    agents = another(interlock, PrincipalKind.AGENT, "claude")

    for token, told in (
        (agents, "agent `claude` may not do this: only an operator may"),
        ("guessed", "the credential is not known to this ledger"),
        ("half \udc80", "the credential is not known to this ledger"),
    ):
        with pytest.raises(NotPermittedError, match=told):
            interlock.approve(asked, token=token)
        with pytest.raises(NotPermittedError, match=told):
            interlock.deny(asked, token=token)
    assert _of(interlock, asked).state is ApprovalState.PENDING


def test_an_unknown_question_cannot_be_decided(interlock: Interlock, operator: str) -> None:
    with pytest.raises(InputError, match="there is no approval `nowhere`"):
        interlock.approve("nowhere", token=operator)


@pytest.mark.parametrize("other", _OTHERS)
def test_a_grant_is_bound_to_its_arguments(interlock: Interlock, operator: str, other: str) -> None:
    run = interlock.run("t")
    interlock.approve(_asked(run.command(_FORCE)), token=operator)

    assert _OTHERS[other](run).waits_for_person
    assert run.command(_FORCE).allowed


def test_a_grant_is_bound_to_its_run(interlock: Interlock, operator: str) -> None:
    run = interlock.run("t")
    interlock.approve(_asked(run.command(_FORCE)), token=operator)

    for another_run in (interlock.run("t"), run.child("c")):
        assert another_run.command(_FORCE).waits_for_person


def test_a_grant_is_bound_to_its_policy(interlock: Interlock, operator: str) -> None:
    run = interlock.run("t")
    interlock.approve(_asked(run.command(_FORCE)), token=operator)
    interlock.adopt(gates_with("[limits]\nnesting = 20\n"))

    assert run.command(_FORCE).waits_for_person


def test_a_grant_does_not_lift_what_is_blocked_since(interlock: Interlock, operator: str) -> None:
    run = interlock.run("t", budget=Budget(tool_calls=1))
    asked = _asked(run.command(_FORCE))
    interlock.approve(asked, token=operator)
    run.observe(run.command("ls"))

    assert run.command(_FORCE).decision is Decision.BLOCK
    assert _of(interlock, asked).uses_left == 1
    interlock.set_budget(f"run/{run.id}", Budget(tool_calls=2), token=operator)
    assert run.command(_FORCE).allowed


def test_the_record_tells_who_let_an_action_through(interlock: Interlock, operator: str) -> None:
    run = interlock.run("t")
    asked = _asked(run.command(_FORCE))
    interlock.approve(asked, token=operator)
    run.command(_FORCE)

    judged = [
        each for each in events_of(interlock.ledger, run.id) if isinstance(each, ActionJudged)
    ]
    assert (judged[-1].facts.granted, judged[-1].approval) == (asked, asked)
    assert kinds_of(interlock.ledger, run.id)[-2:] == ["action-judged", "approval-used"]


def test_questions_are_listed_by_their_state(interlock: Interlock, operator: str) -> None:
    run = interlock.run("t")
    granted, denied, pending = (
        _asked(run.command(f"{_FORCE} {name}")) for name in ("one", "two", "three")
    )
    interlock.approve(granted, token=operator)
    interlock.deny(denied, token=operator)

    assert [each.id for each in interlock.approvals("granted")] == [granted]
    assert [each.id for each in interlock.approvals("denied")] == [denied]
    assert [each.id for each in interlock.approvals()] == [pending]
    assert {each.id for each in interlock.approvals(None)} == {granted, denied, pending}


def test_a_question_asked_here_is_answered_there(reopened: OpenInterlock) -> None:
    here, there = reopened(), reopened()
    token = operator_of(there)
    run: Run = here.run("t")
    asked = _asked(run.command(_FORCE))

    there.approve(asked, token=token)

    assert run.command(_FORCE).allowed
    assert run.command(_FORCE).waits_for_person


def test_the_beginning_of_an_id_is_enough(interlock: Interlock, operator: str) -> None:
    run, other = interlock.run("t"), interlock.run("u")
    asked = [each.command("git push --force").approval_id or "" for each in (run, other)]
    begun = [_shortest(each, asked) for each in asked]

    assert interlock.approve(begun[0], token=operator).id == asked[0]
    assert interlock.deny(begun[1], token=operator).id == asked[1]
    assert interlock.wait(begun[0], wait_s=0).state is ApprovalState.GRANTED
    short = _shortest(run.id, [run.id, other.id])
    assert interlock.halt(short, token=operator, reason="enough").id == run.id
    assert interlock.lift(short, token=operator, reason="go on").id == run.id
    (change,) = interlock.set_budget(f"run/{short}", {"tool_calls": 9}, token=operator)
    assert change.scope == f"run/{run.id}"
    with pytest.raises(InputError, match="could be more than one approval"):
        interlock.approve(asked[0][:1], token=operator)
    with pytest.raises(InputError, match="there is no approval `zz`: look at"):
        interlock.approve("zz", token=operator)


def _shortest(wanted: str, among: Sequence[str]) -> str:
    """Return the shortest beginning that only one of them has."""
    lengths = range(1, len(wanted))
    return next(
        wanted[:length]
        for length in lengths
        if sum(each.startswith(wanted[:length]) for each in among) == 1
    )
