"""What did it do? Reports, once for each action, and what follows from them."""

from __future__ import annotations

import pytest

from interlock import Decision, InputError, Interlock
from interlock.errors import KeyConflictError
from interlock.model.action import CommandAction, EditAction, ToolAction
from interlock.model.budget import Amounts, TokenUsage
from interlock.model.events import ActionObserved, Outcome, UsageReported, ViolationRecorded
from interlock.model.verdict import Severity
from interlock.values import TestCounts
from service.ledgers import OpenInterlock, events_of, kinds_of


def test_a_report_keeps_what_was_seen(interlock: Interlock) -> None:
    run = interlock.run("t")
    seen = run.observe(
        run.command("make test"),
        exit_code=2,
        duration_ms=1500,
        usage=TokenUsage(input_tokens=10, output_tokens=5),
        model="claude-sonnet-4-5",
        output="ünfortunately",
        tests=TestCounts(passed=3, failed=1, skipped=2),
    )

    assert (seen.of, seen.tool, seen.outcome, seen.exit_code) == (2, "command", Outcome.FAILED, 2)
    assert (seen.duration_ms, seen.model, seen.cost_micros) == (1500, "claude-sonnet-4-5", 105)
    assert seen.output_bytes == len("ünfortunately".encode())
    assert seen.tests == TestCounts(passed=3, failed=1, skipped=2)
    assert seen.spent == Amounts(tokens=15, tool_calls=1, wall_time_ms=1500, cost_micros=105)
    assert events_of(interlock.ledger, run.id)[-1] == seen


@pytest.mark.parametrize(
    ("told", "exit_code", "outcome"),
    [
        (None, None, Outcome.OK),
        (None, 0, Outcome.OK),
        (None, 1, Outcome.FAILED),
        (None, -9, Outcome.FAILED),
        ("ok", 1, Outcome.OK),
        ("failed", 0, Outcome.FAILED),
        ("not-run", None, Outcome.NOT_RUN),
        (Outcome.FAILED, None, Outcome.FAILED),
    ],
)
def test_the_exit_code_tells_the_outcome_unless_it_is_told(
    interlock: Interlock, told: str | None, exit_code: int | None, outcome: Outcome
) -> None:
    run = interlock.run("t")
    answer = run.command("ls")
    if told is None and exit_code is None:
        seen = run.observe(answer)
    elif told is None and exit_code is not None:
        seen = run.observe(answer, exit_code=exit_code)
    elif told is not None and exit_code is None:
        seen = run.observe(answer, outcome=told)
    else:
        assert told is not None
        assert exit_code is not None
        seen = run.observe(answer, outcome=told, exit_code=exit_code)

    assert seen.outcome is outcome


def test_an_unknown_outcome_is_refused(interlock: Interlock) -> None:
    run = interlock.run("t")
    told = "`outcome` is `maybe`, expected one of `ok`, `failed`, `not-run`"

    with pytest.raises(InputError, match=told):
        run.observe(run.command("ls"), outcome="maybe")


def test_the_same_report_twice_is_one_report(interlock: Interlock) -> None:
    run = interlock.run("t")
    answer = run.may_edit("a.py", "x = 1\n", old="")
    first = run.observe(answer, duration_ms=5, output="done")
    before = run.state

    assert run.observe(answer, duration_ms=5, output="done") == first
    assert run.observe(answer.action_id, duration_ms=5, output="done") == first
    assert run.state == before


def test_the_same_report_is_known_after_reopening(reopened: OpenInterlock) -> None:
    first = reopened()
    run = first.run("t")
    answer = run.command("ls")
    seen = run.observe(answer, exit_code=0)
    first.close()

    again = reopened().resume(run.id)
    assert again.observe(answer.action_id, exit_code=0) == seen


@pytest.mark.parametrize(
    "other",
    [
        {"exit_code": 1},
        {"outcome": "not-run"},
        {"exit_code": 0, "duration_ms": 6},
        {"exit_code": 0, "output": "else"},
        {"exit_code": 0, "model": "other"},
        {"exit_code": 0, "usage": TokenUsage(input_tokens=1)},
    ],
    ids=str,
)
def test_a_second_report_that_says_something_else_is_a_conflict(
    interlock: Interlock, other: dict[str, object]
) -> None:
    run = interlock.run("t")
    answer = run.command("ls")
    run.observe(answer, exit_code=0)
    before = run.state

    with pytest.raises(KeyConflictError, match="was reported on before, differently"):
        run.observe(answer, **other)  # pyright: ignore[reportArgumentType] - any of the fields
    assert run.state == before


@pytest.mark.parametrize(
    "action_id", ["nonsense", "{run}", "{run}:", "{run}:x", "{run}:-1", "other:2", "{run}:²"]
)
def test_what_names_no_action_of_the_run_is_refused(interlock: Interlock, action_id: str) -> None:
    run = interlock.run("t")
    run.command("ls")

    with pytest.raises(InputError, match="is not an action of run"):
        run.observe(action_id.format(run=run.id), exit_code=0)


@pytest.mark.parametrize("seq", [0, 1, 3, 99, 10**30])
def test_a_record_that_is_no_question_is_refused(interlock: Interlock, seq: int) -> None:
    run = interlock.run("t")
    run.observe(run.command("ls"), exit_code=0)

    with pytest.raises(InputError, match=f"has no action `{run.id}:{seq}`"):
        run.observe(f"{run.id}:{seq}", exit_code=0)


def test_an_answer_of_another_run_is_refused(interlock: Interlock) -> None:
    one, other = interlock.run("t"), interlock.run("t")

    with pytest.raises(InputError, match=f"is not an action of run `{other.id}`"):
        other.observe(one.command("ls"), exit_code=0)


def test_an_action_that_nobody_asked_about_is_judged_all_the_same(interlock: Interlock) -> None:
    run = interlock.run("t")
    fine = run.observe_unasked(CommandAction(command="ls"), exit_code=0)
    bad = run.observe_unasked(CommandAction(command="rm -rf /"), exit_code=0)

    assert (fine.action, fine.of, fine.forbidden) == (CommandAction(command="ls"), None, ())
    assert len(bad.forbidden) == 1
    assert bad.forbidden[0].startswith("rm -rf /: ")
    assert run.state.forbidden == 1
    assert not run.finish().passed


def test_an_unasked_edit_counts_its_lines(interlock: Interlock) -> None:
    run = interlock.run("t")
    run.observe_unasked(EditAction(path="a.py", content="x = 1\ny = 2\n", old=""))
    run.observe_unasked(
        ToolAction(name="Write", params={"file_path": "b.py", "content": "z = 3\n"})
    )

    assert run.state.files == {"a.py", "b.py"}
    assert run.state.lines_added == 3


@pytest.mark.parametrize(
    ("command", "answer"), [("rm -rf /", "block"), ("git push --force", "require-confirmation")]
)
def test_what_ran_against_the_answer_is_a_violation(
    interlock: Interlock, command: str, answer: str
) -> None:
    run = interlock.run("t")
    run.observe(run.command(command), exit_code=0)

    told = f"{command}: the answer was {answer}"
    assert run.state.recent_forbidden == (told,)
    violation = events_of(interlock.ledger, run.id)[-1]
    assert violation == ViolationRecorded(
        rule="ran-against-the-answer", message=told, severity=Severity.HIGH
    )
    report = {each.evaluator: each for each in run.finish().evaluations}
    assert not report["forbidden-commands"].passed
    assert not report["violation-rate"].passed


def test_what_was_refused_and_not_run_is_no_violation(interlock: Interlock) -> None:
    run = interlock.run("t")
    run.observe(run.command("rm -rf /"), outcome="not-run")

    assert (run.state.forbidden, run.state.violations) == (0, 0)
    assert run.finish().passed


def test_what_a_person_let_through_is_no_violation(interlock: Interlock, operator: str) -> None:
    run = interlock.run("t")
    asked = run.command("git push --force").approval_id
    assert asked is not None
    interlock.approve(asked, token=operator)
    answer = run.command("git push --force")
    assert answer.decision is Decision.WARN
    run.observe(answer, exit_code=0)

    assert run.state.violations == 0


def test_a_forbidden_command_that_ran_is_told_with_its_pattern(opened: OpenInterlock) -> None:
    interlock = opened('[evaluators]\nforbidden-commands = ["^wget ", "host"]\n')
    run = interlock.run("t")
    seen = run.observe(run.command("wget http://host.test"), exit_code=0)
    run.observe(run.command("wget x"), outcome="not-run")

    assert seen.forbidden == (
        "wget http://host.test: matches `^wget `",
        "wget http://host.test: matches `host`",
    )
    assert run.state.forbidden == 2


def test_use_of_a_model_is_priced(interlock: Interlock) -> None:
    run = interlock.run("t")
    known = run.usage(
        TokenUsage(input_tokens=1_000_000, output_tokens=0), model="claude-sonnet-4-5"
    )
    unknown = run.usage(TokenUsage(input_tokens=7, output_tokens=1), model="nobody-knows-this")
    nameless = run.usage(TokenUsage(input_tokens=2))

    assert known.cost_micros is not None
    assert known.cost_micros > 0
    assert (unknown.cost_micros, nameless.cost_micros) == (None, None)
    assert run.state.unpriced_tokens == 10
    assert run.state.spent == Amounts(tokens=1_000_010, cost_micros=known.cost_micros)
    assert isinstance(events_of(interlock.ledger, run.id)[-1], UsageReported)


@pytest.mark.parametrize(
    ("seen", "told"),
    [
        ({"duration_ms": -1}, "`duration_ms` is `-1`, expected a whole number from 0"),
        ({"storage_bytes": -5}, "`storage_bytes` is `-5`"),
        ({"storage_bytes": 2**53 + 1}, "`storage_bytes` is `9007199254740993`"),
        ({"cost_usd": "-1"}, "`-1` is no amount: expected 0 to"),
        ({"cost_usd": "lots"}, "`lots` is not an amount of US dollars"),
        ({"usage": {"input_tokens": -1}}, "`usage.input_tokens` is `-1`"),
        ({"usage": {"cache_read_tokens": 0.5}}, "`usage.cache_read_tokens` is `0.5`"),
        ({"tests": {"passed": -3}}, "`tests.passed` is `-3`"),
    ],
    ids=str,
)
def test_a_count_that_cannot_be_is_refused(
    interlock: Interlock, seen: dict[str, object], told: str
) -> None:
    run = interlock.run("t")
    answer = run.command("ls")

    with pytest.raises(InputError, match=told):
        run.observe(answer, **seen)  # pyright: ignore[reportArgumentType] - any of the fields
    with pytest.raises(InputError, match=told):
        run.observe_unasked(CommandAction(command="ls"), **seen)  # pyright: ignore[reportArgumentType] - the same
    assert kinds_of(interlock.ledger, run.id) == ["run-started", "action-judged"]


def test_a_use_below_nothing_is_refused(interlock: Interlock) -> None:
    with pytest.raises(InputError, match=r"`usage\.output_tokens` is `-1`"):
        interlock.run("t").usage({"output_tokens": -1})


def test_what_is_stored_may_be_told_instead_of_counted(interlock: Interlock) -> None:
    run = interlock.run("t")
    run.observe(run.command("dd of=x"), storage_bytes=4096)

    assert run.state.spent.storage_bytes == 4096


def test_output_is_measured_and_not_kept(interlock: Interlock) -> None:
    run = interlock.run("t")
    seen = run.observe(run.command("cat x"), output="a word of the output \udc80")
    other = run.observe(run.command("cat x"), output="")

    assert seen.output_bytes == len("a word of the output ?")
    assert seen.output_digest is not None
    assert (other.output_bytes, other.output_digest) == (0, None)
    bodies = [row.body for row in interlock.ledger.rows.records(run.id)]
    assert not any(b"a word of" in body for body in bodies)


def test_the_name_of_a_model_may_be_any_text(interlock: Interlock) -> None:
    run = interlock.run("t")
    seen = run.observe(run.command("ls"), model="half \udc80" + "x" * 1000)
    used = run.usage(TokenUsage(input_tokens=1), model="half \udc80")

    assert seen.model is not None
    assert seen.model.startswith("half ?xx")
    assert len(seen.model) == 512
    assert used.model == "half ?"


def test_the_last_run_of_the_tests_counts(interlock: Interlock) -> None:
    run = interlock.run("t")
    run.observe(run.may_edit("a.py", "x = 1\n", old=""))
    run.observe(run.command("make test"), tests=TestCounts(failed=2))
    run.observe(run.command("make test"), tests=TestCounts(passed=9))
    run.observe(run.command("ls"))

    assert run.state.tests == TestCounts(passed=9)
    assert run.finish().evaluations[0].passed


def test_a_broken_rule_is_recorded_with_its_place(interlock: Interlock) -> None:
    run = interlock.run("t")
    told = run.violation(
        "style", "too long", severity=Severity.LOW, location="a.py:3", corrected=True
    )

    assert told == ViolationRecorded(
        rule="style", message="too long", severity=Severity.LOW, location="a.py:3", corrected=True
    )
    assert events_of(interlock.ledger, run.id)[-1] == told


def test_lines_are_counted_from_what_was_kept(interlock: Interlock) -> None:
    run = interlock.run("t")
    seen = run.observe(run.may_edit("a.py", "x = 1\n", old="y = 1\n"))

    assert isinstance(seen, ActionObserved)
    (change,) = seen.changes
    assert (change.path, change.added, change.removed) == ("a.py", 1, 1)


def test_what_json_cannot_say_is_not_reported(interlock: Interlock) -> None:
    in_itself: list[object] = []
    in_itself.append(in_itself)
    run = interlock.run("t")

    for value in (in_itself, float("nan"), b"raw"):
        with pytest.raises(InputError, match="the parameters are not JSON"):
            run.observe_unasked(ToolAction(name="Note", params={"a": value}))
    assert kinds_of(interlock.ledger, run.id) == ["run-started"]
