"""The same request is answered once: by a client's key, or by what a tool is declared to be."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from gates.policies import gates_with
from interlock import Budget, Decision, InputError, Interlock
from interlock.errors import KeyConflictError
from interlock.model.budget import Amounts
from interlock.model.events import ActionJudged
from service.ledgers import HandClock, OpenInterlock, events_of, kinds_of, operator_of

_NOTHING_GOES = '[[rules]]\nid = "no"\nwhen = "true"\ndecision = "block"\nmessage = "no"\n'
_IDEMPOTENT = '[tools]\nidempotent = ["Lookup", "mcp__*"]\n'


def test_the_same_key_gives_the_same_answer(interlock: Interlock) -> None:
    run = interlock.run("t")
    first = run.command("rm -rf /", key="toolu_1")
    second = run.command("rm -rf /", key="toolu_1")

    assert not first.repeated
    assert second.repeated
    assert (second.action_id, second.decision, second.verdict) == (
        first.action_id,
        first.decision,
        first.verdict,
    )
    assert kinds_of(interlock.ledger, run.id) == ["run-started", "action-judged"]


def test_a_repeated_answer_is_charged_once(interlock: Interlock) -> None:
    run = interlock.run("t", budget=Budget(tool_calls=2))
    for _ in range(5):
        assert run.command("ls", key="k").allowed

    assert run.command("ls").allowed
    assert not run.command("ls").allowed


def test_a_repeated_answer_is_given_after_it_was_reported_on(interlock: Interlock) -> None:
    run = interlock.run("t")
    answer = run.command("ls", key="k")
    run.observe(answer, exit_code=1)

    assert run.command("ls", key="k").repeated


def test_the_same_key_for_something_else_is_a_conflict(interlock: Interlock) -> None:
    run = interlock.run("t")
    run.command("ls", key="k")

    for other in (
        lambda: run.command("ls -l", key="k"),
        lambda: run.command("ls", cwd="/", key="k"),
        lambda: run.ask({"command": "pwd"}, key="k"),
    ):
        with pytest.raises(KeyConflictError, match="the key `k` stands for another request"):
            other()


def test_one_key_may_stand_for_one_question_of_each_kind(interlock: Interlock) -> None:
    run = interlock.run("t")
    asked = (
        lambda: run.command("ls", key="k"),
        lambda: run.tool("Bash", {"command": "ls"}, key="k"),
        lambda: run.may_edit("a.txt", "a\n", key="k"),
        lambda: run.step(key="k"),
    )

    assert [each().repeated for each in asked] == [False] * 4
    assert [each().repeated for each in asked] == [True] * 4


def test_parameters_in_another_order_are_the_same_request(interlock: Interlock) -> None:
    run = interlock.run("t")
    run.tool("Note", {"a": 1, "b": {"c": 2, "d": 3}}, key="k")

    assert run.tool("Note", {"b": {"d": 3, "c": 2}, "a": 1}, key="k").repeated
    assert run.tool("Note", '{"b": {"c": 2, "d": 3}, "a": 1}', key="k").repeated
    with pytest.raises(KeyConflictError):
        run.tool("Note", {"a": 1.5, "b": {"c": 2, "d": 3}}, key="k")


def test_keys_of_different_runs_do_not_meet(interlock: Interlock) -> None:
    one, other = interlock.run("t"), interlock.run("t")
    one.command("ls", key="k")

    assert not other.command("ls -l", key="k").repeated


def test_a_key_is_known_after_the_ledger_is_opened_again(reopened: OpenInterlock) -> None:
    first = reopened()
    run = first.run("t")
    answer = run.command("git push --force", key="k")
    first.close()

    again = reopened().resume(run.id)
    assert again.command("git push --force", key="k") == replace(answer, repeated=True)


def test_a_changed_policy_is_not_hidden_by_an_old_answer(interlock: Interlock) -> None:
    run = interlock.run("t")
    assert run.command("make deploy", key="k").allowed
    interlock.adopt(gates_with(_NOTHING_GOES))

    answer = run.command("make deploy", key="k")
    assert answer.decision is Decision.BLOCK
    assert not answer.repeated
    assert run.command("make deploy", key="k").repeated


def test_what_an_answer_had_promised_is_not_promised_twice(interlock: Interlock) -> None:
    run = interlock.run("t", budget=Budget(tool_calls=1))
    assert run.command("ls", key="k").allowed
    interlock.adopt(gates_with("[limits]\nnesting = 20\n"))

    answer = run.command("ls", key="k")

    assert answer.allowed
    event = events_of(interlock.ledger, run.id)[-1]
    assert isinstance(event, ActionJudged)
    assert (event.replaces, event.returned, event.reserved) == (
        2,
        Amounts(tool_calls=1),
        Amounts(tool_calls=1),
    )
    assert not run.command("ls").allowed
    run.observe(answer, exit_code=0)
    assert run.state.spent.tool_calls == 1
    assert not run.command("ls").allowed


def test_what_was_settled_is_not_given_back_with_an_old_answer(interlock: Interlock) -> None:
    run = interlock.run("t", budget=Budget(tool_calls=1))
    run.observe(run.command("ls", key="k"), exit_code=0)
    interlock.adopt(gates_with("[limits]\nnesting = 20\n"))

    assert not run.command("ls", key="k").allowed


def test_a_pending_question_is_asked_once_under_a_key(interlock: Interlock) -> None:
    run = interlock.run("t")
    first = run.command("git push --force", key="k")
    second = run.command("git push --force", key="k")

    assert second.repeated
    assert second.approval_id == first.approval_id
    assert len(interlock.approvals()) == 1


def test_a_decided_question_is_answered_anew_under_its_key(
    interlock: Interlock, operator: str
) -> None:
    run = interlock.run("t")
    first = run.command("git push --force", key="k")
    assert first.approval_id is not None
    interlock.approve(first.approval_id, token=operator)

    second = run.command("git push --force", key="k")
    third = run.command("git push --force", key="k")

    assert (second.decision, second.repeated) == (Decision.WARN, False)
    assert (third.decision, third.repeated, third.action_id) == (
        Decision.WARN,
        True,
        second.action_id,
    )


def test_a_question_that_ran_out_is_asked_anew_under_its_key(
    interlock: Interlock, clock: HandClock
) -> None:
    run = interlock.run("t")
    first = run.command("git push --force", key="k")
    clock.forward(seconds=3600)

    second = run.command("git push --force", key="k")

    assert not second.repeated
    assert second.waits_for_person
    assert second.approval_id != first.approval_id


def test_an_idempotent_tool_is_answered_once(opened: OpenInterlock) -> None:
    run = opened(_IDEMPOTENT).run("t", budget=Budget(tool_calls=2))
    first = run.tool("Lookup", {"q": "x"})

    assert run.tool("Lookup", {"q": "x"}).action_id == first.action_id
    assert run.tool("Lookup", {"q": "x"}).repeated
    assert not run.tool("Lookup", {"q": "y"}).repeated
    assert not run.tool("Lookup", {"q": "z"}).allowed


def test_a_pattern_declares_many_tools_idempotent(opened: OpenInterlock) -> None:
    run = opened(_IDEMPOTENT).run("t")
    run.tool("mcp__docs__search", {})
    run.tool("Read", {})

    assert run.tool("mcp__docs__search", {}).repeated
    assert not run.tool("Read", {}).repeated


def test_a_failed_idempotent_tool_is_not_remembered(opened: OpenInterlock) -> None:
    run = opened(_IDEMPOTENT).run("t")
    first = run.tool("Lookup", {"q": "x"})
    run.observe(first, outcome="failed")

    second = run.tool("Lookup", {"q": "x"})
    assert not second.repeated
    run.observe(second, outcome="ok")
    assert run.tool("Lookup", {"q": "x"}).repeated


def test_a_failed_call_with_a_key_of_the_client_is_remembered(opened: OpenInterlock) -> None:
    run = opened(_IDEMPOTENT).run("t")
    run.observe(run.tool("Lookup", {}, key="k"), outcome="failed")

    assert run.tool("Lookup", {}, key="k").repeated


def test_a_changed_policy_makes_an_idempotent_call_a_new_one(opened: OpenInterlock) -> None:
    interlock = opened(_IDEMPOTENT)
    run = interlock.run("t")
    run.tool("Lookup", {})
    interlock.adopt(gates_with(_IDEMPOTENT + "[limits]\nnesting = 20\n"))

    assert not run.tool("Lookup", {}).repeated


def test_an_idempotent_call_in_need_of_a_person_goes_through_once_approved(
    opened: OpenInterlock,
) -> None:
    interlock = opened('[tools]\nidempotent = ["Bash"]\n')
    token = operator_of(interlock)
    run = interlock.run("t")
    params = {"command": "git push --force"}
    first = run.tool("Bash", params)
    assert first.approval_id is not None
    interlock.approve(first.approval_id, token=token)

    assert run.tool("Bash", params).decision is Decision.WARN


@pytest.mark.parametrize(
    "key", ["x" * 600, "two\nlines", "nul\0", "half \udc80", "\x1b[31m"], ids=repr
)
def test_any_text_may_be_a_key(reopened: OpenInterlock, key: str) -> None:
    run = reopened().run("t")
    run.command("ls", key=key)

    assert run.command("ls", key=key).repeated
    assert not run.command("ls", key=f"{key}.").repeated
    with pytest.raises(KeyConflictError):
        run.command("ls -l", key=key)


def test_a_key_that_looks_like_one_of_the_ledgers_own_is_only_a_key(interlock: Interlock) -> None:
    run = interlock.run("t")
    answer = run.command("ls")

    assert not run.command("ls", key="report:2").repeated
    run.observe(answer, exit_code=0)
    assert run.command("ls", key="report:2").repeated


def test_an_empty_key_is_refused(interlock: Interlock) -> None:
    with pytest.raises(InputError, match="the key is empty"):
        interlock.run("t").command("ls", key="")
