"""Runs: opened with a task, closed with a report, and everything between them counted."""

from __future__ import annotations

from typing import Any

import pytest

from interlock import Budget, InputError, Interlock, Run
from interlock.model.action import CommandAction, EditAction
from interlock.model.budget import Amounts, Limits, TokenUsage
from interlock.model.run import LEDGER_RUN, RunStatus
from interlock.values import Evaluation, RunState, TestCounts
from service.ledgers import HandClock, OpenInterlock, events_of, kinds_of


def test_a_run_starts_with_what_it_was_given(interlock: Interlock, clock: HandClock) -> None:
    run = interlock.run("fix the bug", agent="claude", client="hook", project="shop")

    state = run.state
    assert (state.task, state.agent, state.client, state.project) == (
        "fix the bug",
        "claude",
        "hook",
        "shop",
    )
    assert state.status is RunStatus.RUNNING
    assert state.started_at == clock.at
    assert state.policy_hash == interlock.governor.context.policy.hash
    assert state.ancestors == ()


def test_a_run_that_is_given_nothing_but_a_task_has_plain_names(interlock: Interlock) -> None:
    state = interlock.run("fix the bug").state

    assert (state.agent, state.client, state.project) == ("agent", "python", "default")


def test_no_budget_is_the_same_as_none_given(interlock: Interlock) -> None:
    run = interlock.run("t", budget=None, tree_budget=None)

    assert (run.state.limits, run.state.tree_limits) == (Limits(), Limits())
    priced = interlock.run("t", budget={"cost_usd": 2.5})
    assert priced.state.limits == Limits(cost_micros=2_500_000)


def test_a_command_may_be_a_list_of_words(interlock: Interlock) -> None:
    run = interlock.run("t")

    assert run.command(["rm", "-rf", "/"]).decision == "block"
    assert run.command(["echo", "rm -rf /; ls"]).decision == "allow"


def test_a_finished_run_knows_when_and_how(interlock: Interlock, clock: HandClock) -> None:
    run = interlock.run("fix the bug")
    clock.forward(seconds=90)

    report = run.finish("gave up")

    state = run.state
    assert state.status is RunStatus.FINISHED
    assert state.outcome == "gave up"
    assert state.ended_at == clock.at == state.started_at + 90_000_000
    assert state.report == report


def test_the_context_manager_completes_a_run(interlock: Interlock) -> None:
    with interlock.run("fix the bug") as run:
        assert run.state.status is RunStatus.RUNNING

    assert run.state.outcome == "completed"


def test_the_context_manager_fails_a_run_whose_body_raises(interlock: Interlock) -> None:
    def raising(run: Run) -> None:
        with run:
            raise LookupError("of the agent's own")

    run = interlock.run("fix the bug")
    with pytest.raises(LookupError, match="of the agent's own"):
        raising(run)

    assert run.state.outcome == "failed"


def test_a_run_finished_inside_its_context_keeps_its_outcome(interlock: Interlock) -> None:
    with interlock.run("fix the bug") as run:
        run.finish("gave up")

    assert run.state.outcome == "gave up"
    assert kinds_of(interlock.ledger, run.id) == ["run-started", "run-finished"]


def test_finishing_twice_changes_nothing(interlock: Interlock, clock: HandClock) -> None:
    run = interlock.run("fix the bug")
    first = run.finish("completed")
    before = run.state
    clock.forward(seconds=5)

    second = run.finish("failed", evaluators=[_objecting])

    assert second == first
    assert run.state == before


def test_nothing_can_be_added_to_a_finished_run(interlock: Interlock) -> None:
    run = interlock.run("fix the bug")
    answer = run.command("git status")
    run.finish()
    before = run.state

    for adding in (
        lambda: run.command("git status"),
        lambda: run.observe(answer, exit_code=0),
        lambda: run.observe_unasked(CommandAction(command="ls"), exit_code=0),
        lambda: run.usage(TokenUsage(input_tokens=1)),
        lambda: run.violation("style", "too long"),
        lambda: run.child("look around"),
    ):
        with pytest.raises(InputError, match=f"run `{run.id}` is finished"):
            adding()
    assert run.state == before


def test_the_ledgers_own_chain_is_never_resumed_or_finished(interlock: Interlock) -> None:
    interlock.run("t")

    with pytest.raises(InputError, match="is no run: name one"):
        interlock.resume(LEDGER_RUN)
    with pytest.raises(InputError, match="never finished"):
        Run(interlock.governor, LEDGER_RUN).finish()


@pytest.mark.parametrize("field", ["agent", "client", "project"])
@pytest.mark.parametrize(
    "name", ["", "two\nlines", "nul\0", "\udc80", "x" * 513, "\x1b[31mred"], ids=repr
)
def test_a_bad_name_is_refused(interlock: Interlock, field: str, name: str) -> None:
    with pytest.raises(InputError, match=f"`{field}` is `.*`, expected 1 to 512 printable"):
        interlock.run("fix the bug", **{field: name})  # pyright: ignore[reportArgumentType] - any of the names


def test_the_longest_name_is_taken(interlock: Interlock) -> None:
    assert interlock.run("t", agent="x" * 512).state.agent == "x" * 512


@pytest.mark.parametrize("outcome", ["", "a\nb", "x" * 513])
def test_a_bad_outcome_is_refused_and_the_run_goes_on(interlock: Interlock, outcome: str) -> None:
    run = interlock.run("fix the bug")

    with pytest.raises(InputError, match="`outcome`"):
        run.finish(outcome)
    assert run.state.status is RunStatus.RUNNING


@pytest.mark.parametrize(
    ("budget", "told"),
    [
        ({"tokens": -1}, r"budget\.tokens` is `-1`, expected a whole number from 0"),
        ({"tool_calls": -5}, r"budget\.tool_calls` is `-5`"),
        ({"wall_time_s": -1}, r"budget\.wall_time_s` is `-1`"),
        ({"cost_usd": "-0.01"}, "`-0.01` is no amount: expected 0 to"),
        ({"diff_lines": -1}, r"budget\.diff_lines` is `-1`"),
        ({"storage_bytes": -1}, r"budget\.storage_bytes` is `-1`"),
    ],
)
def test_a_limit_below_nothing_is_refused(
    interlock: Interlock, budget: dict[str, object], told: str
) -> None:
    with pytest.raises(InputError, match=told):
        interlock.run("fix the bug", budget=budget)
    with pytest.raises(InputError, match=told):
        interlock.run("fix the bug", tree_budget=budget)


@pytest.mark.parametrize("money", ["", "two", "NaN", "Infinity", "1,50"])
def test_what_is_no_amount_of_money_is_refused(interlock: Interlock, money: str) -> None:
    with pytest.raises(InputError, match=f"`{money}` is not an amount of US dollars"):
        interlock.run("fix the bug", budget=Budget(cost_usd=money))


def test_a_very_long_task_is_cut(interlock: Interlock) -> None:
    state = interlock.run("x" * 50_000).state

    assert len(state.task) == 10_000


def test_a_task_may_be_any_text(interlock: Interlock) -> None:
    task = "zwei\nZeilen 🐍 \udc80 \0"

    assert interlock.run(task).state.task == "zwei\nZeilen 🐍 ? \0"


def test_a_child_stands_below_its_parent_and_takes_its_names(interlock: Interlock) -> None:
    parent = interlock.run("all of it", agent="claude", client="hook", project="shop")

    child = parent.child("a part of it")
    grandchild = child.child("a detail", agent="haiku")

    assert child.state.ancestors == (parent.id,)
    assert (child.state.agent, child.state.client, child.state.project) == (
        "claude",
        "hook",
        "shop",
    )
    assert grandchild.state.ancestors == (child.id, parent.id)
    assert grandchild.state.agent == "haiku"


def test_a_run_may_be_started_below_another_by_its_id(interlock: Interlock) -> None:
    parent = interlock.run("all of it")

    assert interlock.run("a part", parent=parent.id).state.ancestors == (parent.id,)


def test_a_run_below_nothing_is_refused(interlock: Interlock) -> None:
    with pytest.raises(InputError, match="there is no run `nowhere`"):
        interlock.run("a part", parent="nowhere")


def test_runs_stand_thirty_two_deep_at_most(interlock: Interlock) -> None:
    run = interlock.run("depth 0")
    for depth in range(32):
        run = run.child(f"depth {depth + 1}")

    assert len(run.state.ancestors) == 32
    with pytest.raises(InputError, match="stands 32 runs deep, 32 are the most"):
        run.child("too deep")


def test_a_child_goes_on_after_its_parent_is_finished(interlock: Interlock) -> None:
    parent = interlock.run("all of it")
    child = parent.child("a part")
    parent.finish()

    assert child.command("git status").allowed


def test_a_run_adds_up_what_it_did(interlock: Interlock) -> None:
    run = interlock.run("fix the bug")
    run.observe(run.command("ls"), exit_code=0, duration_ms=20)
    run.observe(run.command("cat x"), exit_code=1)
    run.observe(run.may_edit("a.py", "one = 1\ntwo = 2\nthree = 3\n", old="zero = 0\n"))
    run.observe(run.may_edit("a.py", "one = 1\n", old="one = 1\ntwo = 2\nthree = 3\n"))
    run.observe(run.tool("Read", {"file_path": "b.py"}), usage=TokenUsage(input_tokens=7))
    run.usage(TokenUsage(input_tokens=1000, output_tokens=10), model="claude-sonnet-4-5")
    run.violation("style", "too long", corrected=True)
    run.violation("style", "too wide")

    state = run.state
    assert state.tools == {"command": 2, "edit": 2, "Read": 1}
    assert (state.lines_added, state.lines_removed, state.rework_lines) == (3, 3, 2)
    assert state.files == {"a.py"}
    assert (state.input_tokens, state.output_tokens) == (1007, 10)
    assert state.unpriced_tokens == 7
    assert state.spent == Amounts(
        tokens=1017,
        tool_calls=5,
        wall_time_ms=20,
        cost_micros=3150,
        diff_lines=6,
        storage_bytes=len("one = 1\ntwo = 2\nthree = 3\n" + "one = 1\n"),
    )
    assert (state.violations, state.corrected) == (2, 1)
    assert [each.message for each in state.recent_violations] == ["too long", "too wide"]
    assert state.decisions == {"allow": 5}


def test_what_did_not_run_is_not_counted(interlock: Interlock) -> None:
    run = interlock.run("fix the bug")
    run.observe(run.may_edit("a.py", "one = 1\n"), outcome="not-run")

    state = run.state
    assert state.tools == {}
    assert state.spent == Amounts()
    assert state.files == frozenset()


def test_an_edit_that_failed_changed_nothing(interlock: Interlock) -> None:
    run = interlock.run("fix the bug")
    run.observe(run.may_edit("a.py", "one = 1\n"), outcome="failed")

    state = run.state
    assert state.tools == {"edit": 1}
    assert (state.lines_added, state.files) == (0, frozenset())
    assert state.spent == Amounts(tool_calls=1)


def test_every_answer_is_counted(interlock: Interlock) -> None:
    run = interlock.run("fix the bug")
    run.command("git status")
    run.command("rm -rf /")
    run.command("git push --force")

    assert run.state.decisions == {"allow": 1, "block": 1, "require-confirmation": 1}
    assert run.state.pending_approvals == 1


def test_the_evaluators_judge_a_run_by_what_it_did(opened: OpenInterlock) -> None:
    interlock = opened(
        '[evaluators]\nforbidden-commands = ["^curl "]\nforbidden-dependencies = ["left-pad"]\n'
    )
    run = interlock.run("fix the bug")
    run.observe(run.command("curl http://host.test"), exit_code=0)
    run.observe(run.may_edit("package.json", '{"dependencies": {"left-pad": "1"}}', old="{}"))
    run.observe(run.command("make test"), tests=TestCounts(passed=3, failed=1))

    report = run.finish()

    assert {each.evaluator: each.passed for each in report.evaluations} == {
        "tests-pass": False,
        "forbidden-commands": False,
        "forbidden-dependencies": False,
        "violation-rate": False,
        "diff-quality": True,
    }
    assert not report.passed
    assert run.state.dependencies == {"npm:left-pad"}


def test_a_run_that_did_nothing_passes(interlock: Interlock) -> None:
    assert interlock.run("look around").finish().passed


def _objecting(state: RunState) -> Evaluation:
    told = f"{state.tools.get('command', 0)} commands"
    return Evaluation(evaluator="my-own", passed=False, score=0, evidence=(told,))


def test_an_evaluator_of_ones_own_plugs_in(interlock: Interlock) -> None:
    run = interlock.run("fix the bug")
    run.observe(run.command("ls"), exit_code=0)

    report = run.finish(evaluators=[_objecting])

    assert report.evaluations[-1] == Evaluation(
        evaluator="my-own", passed=False, score=0, evidence=("1 commands",)
    )
    assert not report.passed
    assert run.state.report == report


def test_an_evaluator_that_breaks_leaves_the_run_open(interlock: Interlock) -> None:
    def broken(state: RunState) -> Evaluation:
        raise LookupError("of the evaluator's own")

    run = interlock.run("fix the bug")
    with pytest.raises(LookupError, match="of the evaluator's own"):
        run.finish(evaluators=[broken])

    assert run.state.status is RunStatus.RUNNING
    assert run.finish().passed


def test_an_unknown_run_cannot_be_resumed(interlock: Interlock) -> None:
    with pytest.raises(InputError, match="there is no run `nowhere`: look at `interlock runs`"):
        interlock.resume("nowhere")


def test_a_run_goes_on_after_the_ledger_is_opened_again(reopened: OpenInterlock) -> None:
    first = reopened()
    run = first.run("fix the bug", budget=Budget(tool_calls=3))
    run.observe(run.command("ls"), exit_code=0)
    run.command("git push --force")
    before = run.state
    first.close()

    again = reopened().resume(run.id)

    assert again.state == before
    assert again.command("git status").allowed
    assert again.command("git diff").allowed
    assert not again.command("git log").allowed


def test_two_processes_see_the_same_run(reopened: OpenInterlock) -> None:
    here, there = reopened(), reopened()
    mine = here.run("fix the bug", budget=Budget(tool_calls=4))
    theirs = there.resume(mine.id)

    answers = [run.command("git status").allowed for run in (mine, theirs, theirs, mine, theirs)]

    assert answers == [True, True, True, True, False]
    assert mine.state == theirs.state
    assert len(events_of(there.ledger, mine.id)) == mine.state.seq


def test_limits_stand_in_the_record_of_the_start(interlock: Interlock) -> None:
    run = interlock.run(
        "t", budget=Budget(tokens=5, wall_time_s=2), tree_budget=Budget(cost_usd="1.5")
    )

    started = events_of(interlock.ledger, run.id)[0]
    assert getattr(started, "limits", None) == Limits(tokens=5, wall_time_ms=2000)
    assert getattr(started, "tree_limits", None) == Limits(cost_micros=1_500_000)


def test_an_edit_by_action_counts_the_lines_it_is_told(interlock: Interlock) -> None:
    run = interlock.run("t")
    action = EditAction(path="a.txt", content="x\n", diff_lines=40)

    run.observe(run.ask(action))

    assert run.state.spent.diff_lines == 40


def test_whoever_reports_tokens_is_told_how(interlock: Interlock) -> None:
    tokens: Any = {"tokens": 5}
    run = interlock.run("t")
    told = r"`observe` takes no `tokens`: did you mean `usage=\{'input_tokens': 1200"

    with pytest.raises(InputError, match=told):
        run.observe(run.command("ls"), **tokens)


@pytest.mark.parametrize(
    ("word", "given"),
    [
        ("child", ["u"]),
        ("step", []),
        ("stopped", ["done"]),
        ("observe_unasked", [CommandAction(command="ls")]),
        ("verdict", ["PASS - fine"]),
        ("review", ["first", ["tests"]]),
    ],
)
def test_a_misspelt_keyword_is_refused_and_never_left_out(
    interlock: Interlock, word: str, given: list[object]
) -> None:
    misspelt: Any = {"bugdet": Budget(tokens=1)}

    with pytest.raises(InputError, match=f"`{word}` takes no `bugdet`: "):
        getattr(interlock.run("t"), word)(*given, **misspelt)
    with pytest.raises(InputError, match="`run` takes no `bugdet`: did you mean `budget`"):
        interlock.run("t", **misspelt)
