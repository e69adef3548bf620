"""Is every question to a person decided once, used once, and for nothing else?"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from concurrency.crew import Crew
from concurrency.jobs import Deciding, Request, Waiting, ask, ask_and_wait, decide
from concurrency.people import agent, operator
from concurrency.places import Place
from concurrency.soundness import kinds, records
from effort import rounds
from interlock import Answer, Approval, Decision, Interlock, NotPermittedError, Run
from interlock.errors import DecidedError
from interlock.model.approval import ApprovalState
from interlock.model.events import ApprovalDecided
from interlock.views.timeline import STATES

FORCE = "git push --force"
FORCE_ELSEWHERE = "git push --force origin other"
PEOPLE = rounds(short=12, soak=50)
EXPIRES_S = 60
SOON = f"[approvals]\nexpires-seconds = {EXPIRES_S}\n"
STRICTER = '[destructive-ops.rules]\n"git.push-force" = "require-confirmation"\n'
OTHER = "[limits]\nnesting = 15\n"


def test_of_many_who_decide_at_once_one_does_and_the_others_are_told_who(place: Place, crew: Crew):
    with place.opened() as interlock:
        first = operator(interlock, "operator-0")
        tokens = [first, *(operator(interlock, _name(each), by=first) for each in range(1, PEOPLE))]
        agents = [agent(interlock, f"agent-{each}", by=first) for each in range(len(crew) - PEOPLE)]
        run = interlock.run("push", process=crew.agent)
        approval = _open_question(run)
        # Agents are among those who try, at the same moment.
        tasks = [
            Deciding(approval=approval, token=token, grants=bool(number % 2))
            for number, token in enumerate([*tokens, *agents])
        ]
        outcomes = crew.outcomes(place, decide, tasks)
        won = [each for each in outcomes if isinstance(each, Approval)]
        late = [each for each in outcomes[:PEOPLE] if isinstance(each, DecidedError)]

        assert len(won) == 1
        assert len(late) == PEOPLE - 1
        winner = (won[0].decided_by or "").partition(":")[2]
        assert outcomes.index(won[0]) == int(winner.partition("-")[2])
        assert {str(each) for each in late} == {
            f"approval `{approval}` was {STATES[won[0].state][0]} already, by {winner}"
        }
        assert [type(each) for each in outcomes[PEOPLE:]] == [NotPermittedError] * len(agents)
        assert interlock.ledger.rows.approval(approval) == won[0]
        assert _decisions(interlock, run.id) == [f"operator:{winner}"]
        is_granted = won[0].state is ApprovalState.GRANTED
        assert run.command(FORCE).decision is (Decision.WARN if is_granted else Decision.BLOCK)


def test_an_agent_never_decides_even_if_nobody_else_does(place: Place, crew: Crew):
    with place.opened() as interlock:
        person = operator(interlock)
        token = agent(interlock, by=person)
        run = interlock.run("push", process=crew.agent)
        approval = _open_question(run)
        tasks = [
            Deciding(approval=approval, token=given, grants=grants)
            for given in (token, "a token that nobody has")
            for grants in (True, False)
        ]
        outcomes = crew.outcomes(place, decide, tasks)

        assert [type(each) for each in outcomes] == [NotPermittedError] * len(tasks)
        assert "agent `mole` may not do this" in str(outcomes[0])
        assert [each.id for each in interlock.approvals()] == [approval]
        assert _decisions(interlock, run.id) == []


def test_of_all_who_use_one_granted_approval_at_once_one_is_let_through(place: Place, crew: Crew):
    with place.opened() as interlock:
        run = interlock.run("push")
        approval = _open_question(run)
        interlock.approve(approval, token=operator(interlock))
        place.clock.advance(seconds=1)
        asked = crew.at_once(place, ask, [Request(run=run.id, command=FORCE)] * len(crew))
        answers = [answer for (answer,) in asked]
        through = [answer for answer in answers if answer.allowed]
        waiting = [answer for answer in answers if answer.waits_for_person]

        assert [answer.approval_id for answer in through] == [approval]
        assert len(waiting) == len(crew) - 1
        (asked_anew,) = {answer.approval_id for answer in waiting}
        assert [each.id for each in interlock.approvals()] == [asked_anew]
        assert kinds(interlock, run.id).count("approval-used") == 1
        assert kinds(interlock, run.id).count("approval-opened") == 2


def test_all_who_ask_the_same_at_once_wait_for_one_approval(place: Place, crew: Crew):
    with place.opened() as interlock:
        run = interlock.run("push")
        asked = crew.at_once(place, ask, [Request(run=run.id, command=FORCE)] * len(crew))

        assert [answer.decision for (answer,) in asked] == [Decision.REQUIRE_CONFIRMATION] * len(
            crew
        )
        assert len({answer.approval_id for (answer,) in asked}) == 1
        assert len(interlock.approvals(None)) == 1


@pytest.mark.parametrize("grants", [True, False], ids=["granted", "denied"])
def test_wakes_everybody_who_waits_in_another_process(place: Place, crew: Crew, *, grants: bool):
    waiters = 8
    with place.opened() as interlock:
        token = operator(interlock)
        run = interlock.run("push")
        approval = _open_question(run)
        # They look again only when they are woken.
        tasks = [Waiting(run=run.id, command=FORCE)] * waiters
        crew.begin(place, ask_and_wait, tasks)
        assert [crew.told(number) for number in range(waiters)] == ["waiting"] * waiters
        place.clock.advance(seconds=1)
        _decide(interlock, approval, token, grants=grants)
        # What one of them used up is no longer there for the others: they ask again, and wait.
        left = [number for number in range(waiters) if crew.goes_on(number)]
        assert len(left) == (waiters - 1 if grants else 0)
        for again in interlock.approvals():
            interlock.deny(again.id, token=token)
        answers: list[Answer] = []
        for number in range(waiters):
            answer = crew.ended(number)
            assert isinstance(answer, Answer)
            answers.append(answer)

        through = [answer for answer in answers if answer.allowed]
        blocked = [answer for answer in answers if answer.decision is Decision.BLOCK]
        assert len(through) == (1 if grants else 0)
        assert len(blocked) == waiters - len(through)


def _other_arguments(place: Place, run: str) -> Answer:
    return _asked(place, run, FORCE_ELSEWHERE)


def _another_run(place: Place, run: str) -> Answer:
    with place.opened() as interlock:
        return interlock.run(f"not {run}").command(FORCE)


def _another_policy(place: Place, run: str) -> Answer:
    return _asked(place.under(SOON + OTHER), run, FORCE)


def _too_late(place: Place, run: str) -> Answer:
    place.clock.advance(seconds=EXPIRES_S)
    return _asked(place, run, FORCE)


@pytest.mark.parametrize("elsewhere", [_other_arguments, _another_run, _another_policy, _too_late])
def test_a_granted_approval_is_honoured_for_nothing_else(
    place: Place, elsewhere: Callable[[Place, str], Answer]
):
    place = place.under(SOON)
    with place.opened() as interlock:
        run = interlock.run("push")
        approval = _open_question(run)
        interlock.approve(approval, token=operator(interlock))
    place.clock.advance(seconds=1)
    answer = elsewhere(place, run.id)

    assert answer.waits_for_person
    assert answer.approval_id != approval


def test_a_granted_approval_is_honoured_up_to_its_last_moment(place: Place):
    place = place.under(SOON)
    with place.opened() as interlock:
        run = interlock.run("push")
        approval = _open_question(run)
        interlock.approve(approval, token=operator(interlock))
        place.clock.advance(seconds=EXPIRES_S - 0.000_001)

        assert run.command(FORCE).approval_id == approval
        assert kinds(interlock, run.id)[-1] == "approval-used"


def test_silence_is_never_consent_and_nobody_decides_too_late(place: Place, crew: Crew):
    place = place.under(SOON)
    with place.opened() as interlock:
        token = operator(interlock)
        run = interlock.run("push", process=crew.agent)
        approval = _open_question(run)
        place.clock.advance(seconds=EXPIRES_S)
        (late,) = crew.outcomes(
            place, decide, [Deciding(approval=approval, token=token, grants=True)]
        )
        again = run.command(FORCE)

        assert isinstance(late, DecidedError)
        assert "expired 0 s ago" in str(late)
        assert again.waits_for_person
        assert again.approval_id != approval
        assert [each.state for each in interlock.approvals("expired")] == [ApprovalState.EXPIRED]


def test_the_latest_answer_of_a_person_counts_also_when_the_clock_goes_back(place: Place):
    with place.opened() as interlock:
        token = operator(interlock)
        run = interlock.run("push")
        first = _open_question(run)
        interlock.approve(first, token=token)
        used = run.command(FORCE)
        place.clock.advance(seconds=-10)
        second = _open_question(run)
        interlock.approve(second, token=token)
        used_as_well = run.command(FORCE)
        third = _open_question(run)
        interlock.deny(third, token=token)

        assert (used.approval_id, used_as_well.approval_id) == (first, second)
        assert run.command(FORCE).decision is Decision.BLOCK


def test_closing_and_opening_everything_between_the_steps_changes_nothing(place: Place):
    with place.opened() as interlock:
        token = operator(interlock)
    with place.opened() as interlock:
        run = interlock.run("push").id
    waiting = _asked(place, run, FORCE)
    assert _asked(place, run, FORCE).approval_id == waiting.approval_id
    with place.opened() as interlock:
        assert [each.id for each in interlock.approvals()] == [waiting.approval_id]
    with place.opened() as interlock:
        _decide(interlock, waiting.approval_id or "", token, grants=True)
    with place.opened() as interlock, pytest.raises(DecidedError, match="approved already, by ada"):
        _decide(interlock, waiting.approval_id or "", token, grants=False)
    place.clock.advance(seconds=1)
    used = _asked(place, run, FORCE)
    assert (used.decision, used.approval_id) == (Decision.WARN, waiting.approval_id)
    asked_anew = _asked(place, run, FORCE)
    assert asked_anew.waits_for_person
    assert asked_anew.approval_id != waiting.approval_id
    with place.opened() as interlock:
        _decide(interlock, asked_anew.approval_id or "", token, grants=False)
    assert _asked(place, run, FORCE).decision is Decision.BLOCK
    with place.opened() as interlock:
        interlock.resume(run).finish()

    with place.opened() as interlock:
        assert kinds(interlock, run) == [
            *("run-started", "approval-opened", "action-judged", "action-judged"),
            *("approval-decided", "action-judged", "approval-used"),
            *("approval-opened", "action-judged", "approval-decided", "action-judged"),
            "run-finished",
        ]


def _open_question(run: Run) -> str:
    answer = run.command(FORCE)
    assert answer.approval_id is not None
    assert answer.waits_for_person
    return answer.approval_id


def _asked(place: Place, run: str, command: str) -> Answer:
    with place.opened() as interlock:
        return interlock.resume(run).command(command)


def _decide(interlock: Interlock, approval: str, token: str, *, grants: bool) -> None:
    if grants:
        interlock.approve(approval, token=token)
    else:
        interlock.deny(approval, token=token)


def _decisions(interlock: Interlock, run_id: str) -> list[str]:
    """Return who decided, as often as anybody did."""
    return [
        f"{record.by.kind.value}:{record.by.name}"
        for record in records(interlock, run_id)
        if isinstance(record.event, ApprovalDecided)
    ]


def _name(number: int) -> str:
    return f"operator-{number}"
