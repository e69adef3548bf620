"""Is a request that is made a thousand times answered, metered and asked about once?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import msgspec
import pytest

from concurrency.crew import Crew
from concurrency.jobs import Reporting, Request, ask, report
from concurrency.people import operator
from concurrency.places import Place
from concurrency.soundness import judgements, kinds
from effort import rounds
from interlock import Answer, Budget, Decision
from interlock.errors import KeyConflictError
from interlock.model.budget import Amounts

FORCE = "git push --force"
PROCESSES = 8
TIMES = rounds(short=20, soak=1000)
FETCH = '[tools]\nidempotent = ["fetch"]\n'
BLOCKING = '[destructive-ops.rules]\n"git.push-force" = "block"\n'
OTHER = "[limits]\nnesting = 15\n"


@pytest.mark.soak
@pytest.mark.parametrize("command", ["ls", FORCE], ids=["allowed", "asks-a-person"])
def test_the_same_key_a_thousand_times_is_one_request(place: Place, crew: Crew, command: str):
    with place.opened() as interlock:
        run = interlock.run("repeat", budget=Budget(tool_calls=10))
        tasks = [Request(run=run.id, command=command, key="k", times=TIMES)] * PROCESSES
        asked = crew.at_once(place, ask, tasks)
        answers = [answer for each in asked for answer in each]

        assert len(answers) == PROCESSES * TIMES
        _assert_one_answer(answers)
        assert kinds(interlock, run.id).count("action-judged") == 1
        is_allowed = command == "ls"
        assert run.state.reserved == (Amounts(tool_calls=1) if is_allowed else Amounts())
        assert len(interlock.approvals()) == (0 if is_allowed else 1)


def test_the_answer_to_a_key_changes_when_a_person_has_decided_and_not_again(
    place: Place, crew: Crew
):
    with place.opened() as interlock:
        token = operator(interlock)
        run = interlock.run("repeat", budget=Budget(tool_calls=10))
        tasks = [Request(run=run.id, command=FORCE, key="k", times=3)] * PROCESSES
        waiting = _flat(crew.at_once(place, ask, tasks))
        interlock.approve(waiting[0].approval_id or "", token=token)
        place.clock.advance(seconds=1)
        through = _flat(crew.at_once(place, ask, tasks))

        _assert_one_answer(waiting)
        _assert_one_answer(through)
        assert (waiting[0].decision, through[0].decision) == (
            Decision.REQUIRE_CONFIRMATION,
            Decision.WARN,
        )
        assert kinds(interlock, run.id).count("approval-used") == 1
        assert kinds(interlock, run.id).count("approval-opened") == 1
        assert run.state.reserved == Amounts(tool_calls=1)


def test_a_key_that_two_requests_claim_at_once_belongs_to_one_of_them(place: Place, crew: Crew):
    with place.opened() as interlock:
        run = interlock.run("conflict")
        commands = ["ls" if number % 2 else "pwd" for number in range(len(crew))]
        tasks = [Request(run=run.id, command=command, key="k") for command in commands]
        outcomes = crew.outcomes(place, ask, tasks)
        (judged,) = judgements(interlock, run.id)
        answered = [
            command
            for command, outcome in zip(commands, outcomes, strict=True)
            if isinstance(outcome, list)
        ]
        conflicts = [each for each in outcomes if isinstance(each, KeyConflictError)]

        assert len(set(answered)) == 1
        assert len(answered) == len(conflicts) == len(crew) // 2
        assert msgspec.to_builtins(judged.action)["command"] == answered[0]
        assert {str(each) for each in conflicts} == {
            f"the key `k` stands for another request in run `{run.id}`:"
            " use a new key for a new request"
        }


def test_the_same_key_stands_for_something_else_in_another_run(place: Place, crew: Crew):
    with place.opened() as interlock:
        runs = [interlock.run("one of two").id, interlock.run("the other").id]
        commands = ["ls", "pwd"]
        tasks = [
            Request(run=runs[number % 2], command=commands[number % 2], key="k")
            for number in range(PROCESSES)
        ]
        answers = _flat(crew.at_once(place, ask, tasks))

        assert [answer.run_id for answer in answers] == runs * (PROCESSES // 2)
        assert [len(judgements(interlock, run)) for run in runs] == [1, 1]


def test_an_old_answer_never_hides_a_new_policy(place: Place, crew: Crew):
    with place.opened() as interlock:
        run = interlock.run("change", budget=Budget(tool_calls=2))
        tasks = [Request(run=run.id, command="ls", key="k", times=3)] * PROCESSES
        before = _flat(crew.at_once(place, ask, tasks))
        after = _flat(crew.at_once(place.under(OTHER), ask, tasks))
        promised = run.state.reserved
        others = [interlock.resume(run.id).command(command) for command in ("pwd", "date")]
        (released,) = crew.at_once(
            place.under(OTHER), report, [Reporting(run=run.id, action=after[0].action_id)]
        )

        _assert_one_answer(before)
        _assert_one_answer(after)
        assert before[0].allowed
        assert after[0].allowed
        assert before[0].verdict.policy_hash != after[0].verdict.policy_hash
        assert before[0].action_id != after[0].action_id
        old, new, *_ = judgements(interlock, run.id)
        assert (old.reserved, new.returned, new.reserved) == (Amounts(tool_calls=1),) * 3
        assert promised == released == Amounts(tool_calls=1)
        # What was asked anew is not charged beside the old: one call of two was left.
        assert [answer.allowed for answer in others] == [True, False]
        assert run.state.spent == run.state.reserved == Amounts(tool_calls=1)


def test_a_policy_that_forbids_is_not_hidden_by_an_answer_that_allowed(place: Place, crew: Crew):
    with place.opened() as interlock:
        token = operator(interlock)
        run = interlock.run("change", budget=Budget(tool_calls=1))
        tasks = [Request(run=run.id, command=FORCE, key="k")] * PROCESSES
        (waiting,) = _flat(crew.at_once(place, ask, tasks[:1]))
        interlock.approve(waiting.approval_id or "", token=token)
        place.clock.advance(seconds=1)
        allowed = _flat(crew.at_once(place, ask, tasks))
        blocked = _flat(crew.at_once(place.under(BLOCKING), ask, tasks))

        assert {answer.decision for answer in allowed} == {Decision.WARN}
        assert {answer.decision for answer in blocked} == {Decision.BLOCK}
        assert run.state.reserved == Amounts()
        assert len(judgements(interlock, run.id)) == 3


def test_processes_with_different_policies_each_get_the_answer_of_their_own(
    place: Place, crew: Crew
):
    with place.opened() as interlock:
        run = interlock.run("differ", budget=Budget(tool_calls=1))
        tasks = [Request(run=run.id, command=FORCE, key="k", times=5)] * (PROCESSES // 2)
        crew.begin(place, ask, tasks)
        blocked = _flat(crew.at_once(place.under(BLOCKING), ask, tasks, first=len(tasks)))
        asking = _flat([cast("list[Answer]", crew.ended(each)) for each in range(len(tasks))])

        assert {answer.decision for answer in blocked} == {Decision.BLOCK}
        assert {answer.decision for answer in asking} == {Decision.REQUIRE_CONFIRMATION}
        assert len(interlock.approvals(None)) == 1


def test_a_call_declared_idempotent_is_answered_once_until_it_fails(place: Place, crew: Crew):
    place = place.under(FETCH)
    with place.opened() as interlock:
        run = interlock.run("fetch", budget=Budget(tool_calls=10))
        # Written differently, and the same.
        texts = ['{"a": 1, "b": 2}', '{"b":2,"a":1}']
        tasks = [
            Request(run=run.id, tool="fetch", params=texts[number % 2], times=3)
            for number in range(PROCESSES)
        ]
        first = _flat(crew.at_once(place, ask, tasks))
        run.observe(first[0], outcome="failed")
        second = _flat(crew.at_once(place, ask, tasks))
        run.observe(second[0], outcome="ok")
        third = _flat(crew.at_once(place, ask, tasks))

        _assert_one_answer(first)
        _assert_one_answer(second)
        assert first[0].action_id != second[0].action_id
        assert {answer.action_id for answer in third} == {second[0].action_id}
        assert all(answer.repeated for answer in third)
        assert len(judgements(interlock, run.id)) == 2
        assert run.state.spent == Amounts(tool_calls=2)


def test_an_action_that_many_report_at_once_is_charged_once(place: Place, crew: Crew):
    with place.opened() as interlock:
        run = interlock.run("report", budget=Budget(tool_calls=10))
        answer = run.command("ls")
        tasks = [
            Reporting(run=run.id, action=answer.action_id, outcome="ok" if number % 2 else "failed")
            for number in range(len(crew))
        ]
        outcomes = crew.outcomes(place, report, tasks)
        conflicts = [each for each in outcomes if isinstance(each, KeyConflictError)]

        assert len(conflicts) == len(crew) // 2
        assert [each for each in outcomes if isinstance(each, Amounts)] == [
            Amounts(tool_calls=1)
        ] * (len(crew) // 2)
        assert kinds(interlock, run.id).count("action-observed") == 1
        assert run.state.spent == Amounts(tool_calls=1)


def _flat(asked: Sequence[Sequence[Answer]]) -> list[Answer]:
    return [answer for each in asked for answer in each]


def _assert_one_answer(answers: Sequence[Answer]) -> None:
    """All are the same but for `repeated`, which one of them is not."""
    (answer,) = {
        msgspec.json.encode(msgspec.structs.replace(each, repeated=False)) for each in answers
    }

    assert answer
    assert [each.repeated for each in answers].count(False) == 1


def test_a_repeated_answer_tells_the_same_alerts(place: Place, crew: Crew):
    with place.opened() as interlock:
        run = interlock.run("repeat", budget=Budget(tool_calls=1))
        tasks = [Request(run=run.id, command="ls", key="k")] * PROCESSES
        answers = _flat(crew.at_once(place, ask, tasks))

        assert {alert.percent for answer in answers for alert in answer.alerts} == {100}
        _assert_one_answer(answers)
