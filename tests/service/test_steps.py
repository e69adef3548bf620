"""Before each step: what is derived from the record, and the effects that really happen."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable
from pathlib import Path

import pytest

from interlock import (
    AsyncInterlock,
    Budget,
    InputError,
    Interlock,
    Run,
    StepAnswer,
    StepDecision,
    TokenUsage,
)
from interlock.model.events import CheckpointTaken, StepJudged
from interlock.model.short_code import code_of
from interlock.values import CheckpointKind, Course, Remaining
from service.ledgers import (
    CHEAP,
    DAY,
    PASSPHRASE,
    HandClock,
    OpenInterlock,
    events_of,
    kinds_of,
    operator_of,
)
from service.repositories import a_repository, git, text
from service.stepping_runs import check_record, paused, worked


def _codes(answer: StepAnswer) -> list[str]:
    return [reason.code for reason in answer.detail.reasons]


def _steps(run: Run, clock: HandClock, count: int) -> list[StepAnswer]:
    """Take steps that do something new each time."""
    answers: list[StepAnswer] = []
    for _ in range(count):
        number = run.state.control.steps
        answers.append(run.step())
        clock.forward(seconds=10)
        worked(run, f"cat file{number}.py", f"content of file {number} " * 9)
    return answers


# Checkpoints.


def test_a_checkpoint_is_taken_at_25_steps_before_the_answer_comes(
    interlock: Interlock, clock: HandClock, tmp_path: Path
) -> None:
    top = a_repository(tmp_path / "project", kept="one\n")
    (top / "untracked").write_text("two\n")
    run = interlock.run("t", workspace=top)

    before = _steps(run, clock, 25)
    assert {answer.decision for answer in before} == {StepDecision.CONTINUE}
    assert all(answer.checkpoint is None for answer in before)
    head, status = text(top, "rev-parse", "HEAD"), git(top, "status", "--porcelain")
    answer = run.step()

    assert answer.decision is StepDecision.CHECKPOINT
    assert answer.goes_on
    saved = answer.checkpoint
    assert saved is not None
    assert (saved.kind, saved.step, saved.error) == (CheckpointKind.GIT, 25, None)
    assert saved.commit is not None
    assert git(top, "show", f"{saved.commit}:untracked") == b"two\n"
    assert (text(top, "rev-parse", "HEAD"), git(top, "status", "--porcelain")) == (head, status)
    assert kinds_of(interlock.ledger, run.id)[-2:] == ["step-judged", "checkpoint-taken"]
    assert run.state.control.checkpoint_step == 25
    assert run.step().checkpoint is None


_STRONGER: dict[str, tuple[Callable[[Run], object], StepDecision]] = {
    "throttle": (lambda _: None, StepDecision.THROTTLE),
    "pause": (lambda run: run.belief("it compiles", opposing=50), StepDecision.PAUSE),
}


@pytest.mark.parametrize("winner", _STRONGER)
def test_a_due_checkpoint_is_not_lost_when_something_stronger_wins(
    opened: OpenInterlock, clock: HandClock, tmp_path: Path, winner: str
) -> None:
    interlock = opened("[steps]\ncheckpoint-interval = 6\n")
    run = interlock.run("t", workspace=a_repository(tmp_path / "project", kept="one\n"))
    make_worse, decision = _STRONGER[winner]
    for number in range(6):
        run.usage(TokenUsage(output_tokens=1000 + (200 * number if winner == "throttle" else 0)))
        run.step()
        clock.forward(seconds=10)
    make_worse(run)
    run.usage(TokenUsage(output_tokens=2500 if winner == "throttle" else 1000))
    answer = run.step()

    assert answer.decision is decision
    assert answer.detail.checkpoint_due
    assert answer.checkpoint is not None
    assert answer.checkpoint.commit is not None
    assert run.state.control.checkpoint_step == 6


def test_a_checkpoint_command_that_fails_is_on_record_and_stays_due(
    opened: OpenInterlock, clock: HandClock, tmp_path: Path
) -> None:
    interlock = opened('[steps]\ncheckpoint-interval = 2\ncheckpoint-command = "false"\n')
    run = interlock.run("t", workspace=tmp_path)
    answers = _steps(run, clock, 4)

    for answer in answers[2:]:
        assert answer.decision is StepDecision.CHECKPOINT
        assert answer.goes_on
        assert answer.checkpoint is not None
        assert answer.checkpoint.error == "`false` ended with 1, expected 0"
    taken = [
        each for each in events_of(interlock.ledger, run.id) if isinstance(each, CheckpointTaken)
    ]
    assert len(taken) == 2
    assert (run.state.control.checkpoint_step, run.state.control.checkpoints) == (0, 0)


def test_a_checkpoint_command_is_really_run(
    opened: OpenInterlock, clock: HandClock, tmp_path: Path
) -> None:
    interlock = opened('[steps]\ncheckpoint-interval = 2\ncheckpoint-command = "touch saved"\n')
    run = interlock.run("t", workspace=tmp_path)
    _steps(run, clock, 2)
    assert not (tmp_path / "saved").exists()
    answer = run.step()

    assert (tmp_path / "saved").exists()
    assert answer.checkpoint is not None
    assert (answer.checkpoint.kind, answer.checkpoint.error) == (CheckpointKind.COMMAND, None)
    assert run.state.control.checkpoint_step == 2


@pytest.mark.parametrize("where", ["none", "no repository", "gone"])
def test_where_there_is_nothing_to_save_only_the_step_is_recorded(
    opened: OpenInterlock, clock: HandClock, tmp_path: Path, where: str
) -> None:
    interlock = opened("[steps]\ncheckpoint-interval = 2\n")
    workspace = {"none": None, "no repository": tmp_path, "gone": tmp_path / "gone"}[where]
    run = interlock.run("t", workspace=workspace)
    _steps(run, clock, 2)
    answer = run.step()

    assert answer.decision is StepDecision.CHECKPOINT
    assert answer.checkpoint is not None
    assert (answer.checkpoint.kind, answer.checkpoint.error) == (CheckpointKind.NONE, None)
    assert answer.checkpoint.commit is None
    assert run.state.control.checkpoint_step == 2


_ODD_PLACES = {"too long": "x" * 5000, "half a character": "\udc80"}


@pytest.mark.parametrize("place", _ODD_PLACES)
def test_a_place_that_cannot_be_looked_at_is_told_and_not_raised(
    opened: OpenInterlock, clock: HandClock, place: str
) -> None:
    interlock = opened("[steps]\ncheckpoint-interval = 1\n")
    run = interlock.run("t", workspace=f"/{_ODD_PLACES[place]}")
    _steps(run, clock, 1)
    answer = run.step()

    assert answer.goes_on
    assert answer.checkpoint is not None
    assert answer.checkpoint.kind is CheckpointKind.NONE
    check_record(interlock)


def test_a_repository_that_is_broken_is_told_and_not_raised(
    opened: OpenInterlock, clock: HandClock, tmp_path: Path
) -> None:
    interlock = opened("[steps]\ncheckpoint-interval = 1\n")
    (tmp_path / ".git").mkdir()
    run = interlock.run("t", workspace=tmp_path)
    _steps(run, clock, 1)
    answer = run.step()

    assert answer.goes_on
    assert answer.checkpoint is not None
    assert answer.checkpoint.error is not None
    assert run.state.control.checkpoints == 0


def test_a_stop_for_too_many_steps_alone_comes_when_no_checkpoint_can_be_taken(
    opened: OpenInterlock, clock: HandClock, tmp_path: Path
) -> None:
    policy = '[steps]\nmax-consecutive = 4\ncheckpoint-interval = 2\ncheckpoint-command = "false"\n'
    interlock = opened(policy)
    run = interlock.run("t", workspace=tmp_path)
    answers = _steps(run, clock, 4)
    assert all(answer.goes_on for answer in answers)

    assert "step-limit" in _codes(run.step())
    assert not run.step().goes_on


def test_checkpoints_are_no_way_to_run_for_ever(
    opened: OpenInterlock, clock: HandClock, tmp_path: Path
) -> None:
    interlock = opened("[steps]\nmax-total = 5\ncheckpoint-interval = 1\n")
    run = interlock.run("t", workspace=tmp_path)
    _steps(run, clock, 5)

    assert _codes(run.step())[0] == "total-step-limit"


# Slowing down.


def _accelerating(run: Run, clock: HandClock, count: int, *, seconds: int = 10) -> list[StepAnswer]:
    answers: list[StepAnswer] = []
    for number in range(count):
        run.usage(TokenUsage(output_tokens=round(1000 * 1.1**number)))
        answers.append(run.step())
        clock.forward(seconds=seconds)
    return answers


def test_a_run_that_spends_more_and_more_waits_longer_and_longer_up_to_a_limit(
    interlock: Interlock, clock: HandClock
) -> None:
    answers = _accelerating(interlock.run("t"), clock, 12)

    slowed = [answer for answer in answers if answer.decision is StepDecision.THROTTLE]
    assert [answer.delay_ms for answer in slowed[:6]] == [5000, 10000, 20000, 40000, 60000, 60000]
    assert all(answer.goes_on for answer in answers)
    assert slowed[0].detail.metrics.budget_slope is not None
    assert slowed[0].detail.metrics.tokens_per_step is not None
    check_record(interlock)


def test_a_run_that_spends_evenly_is_not_slowed_down(
    interlock: Interlock, clock: HandClock
) -> None:
    run = interlock.run("t")
    for _ in range(20):
        run.usage(TokenUsage(output_tokens=1000))
        run.step()
        clock.forward(seconds=10)
    run.usage(TokenUsage(output_tokens=1000))
    answer = run.step()

    assert answer.detail.metrics.budget_slope == 0
    assert answer.delay_ms == 0


def test_tokens_that_only_the_client_counts_are_enough(
    interlock: Interlock, clock: HandClock
) -> None:
    run, total = interlock.run("t"), 0
    answers: list[StepAnswer] = []
    for number in range(9):
        total += round(1000 * 1.1**number)
        answers.append(run.step(total_tokens_used=total))
        clock.forward(seconds=10)

    assert answers[-1].decision is StepDecision.THROTTLE


# Cooldown.


def test_within_the_cooldown_hard_checks_are_made_and_the_answer_says_that_it_is_short(
    interlock: Interlock, clock: HandClock
) -> None:
    run = interlock.run("t")
    assert not run.step().detail.short
    clock.forward(seconds=4.999)
    short = run.step(uncertainty_score=0.9)
    assert (short.detail.short, short.decision) == (True, StepDecision.CONTINUE)
    stopped = run.step(coherence_score=0.1)

    assert (stopped.detail.short, stopped.decision) == (True, StepDecision.STOP)
    judged = [each for each in events_of(interlock.ledger, run.id) if isinstance(each, StepJudged)]
    assert [each.decision.short for each in judged] == [False, True, True]
    check_record(interlock)


def test_after_the_cooldown_everything_is_looked_at(interlock: Interlock, clock: HandClock) -> None:
    run = interlock.run("t")
    run.step()
    clock.forward(seconds=3)
    run.step()
    clock.forward(seconds=2)

    assert run.step(uncertainty_score=0.9).decision is StepDecision.PAUSE


def test_a_clock_that_was_set_back_does_not_shorten_anything(
    interlock: Interlock, clock: HandClock
) -> None:
    run = interlock.run("t")
    run.step()
    clock.forward(seconds=-3600)

    assert run.step(uncertainty_score=0.9).decision is StepDecision.PAUSE


def test_short_answers_neither_end_a_throttle_nor_lose_what_steps_used(
    interlock: Interlock, clock: HandClock
) -> None:
    run = interlock.run("t")
    _accelerating(run, clock, 6)
    throttled = run.state.control.throttled
    assert throttled > 0
    clock.forward(seconds=-9)
    run.usage(TokenUsage(output_tokens=1800))
    assert run.step().detail.short
    assert run.state.control.throttled == throttled
    assert run.state.control.step_tokens[-1] == 1800
    clock.forward(seconds=10)
    run.usage(TokenUsage(output_tokens=2000))

    answer = run.step()
    assert answer.decision is StepDecision.THROTTLE
    assert answer.delay_ms == min(60_000, 5000 * 2**throttled)


def test_a_due_checkpoint_is_taken_within_the_cooldown(
    opened: OpenInterlock, tmp_path: Path
) -> None:
    run = opened("[steps]\ncheckpoint-interval = 1\n").run("t", workspace=tmp_path)
    run.step()
    answer = run.step()

    assert answer.detail.short
    assert answer.checkpoint is not None


# Budgets.

_DIMENSIONS: dict[str, tuple[Budget, Callable[[Run, HandClock], object]]] = {
    "tokens": (
        Budget(tokens=100),
        lambda run, _: run.usage(TokenUsage(output_tokens=100)),
    ),
    "tool calls": (Budget(tool_calls=1), lambda run, _: worked(run, "ls", "a")),
    "time": (Budget(wall_time_s=10), lambda _, clock: clock.forward(seconds=10)),
    "cost": (
        Budget(cost_usd=1),
        lambda run, _: run.observe(run.command("ls"), cost_usd="1.00"),
    ),
    "changed lines": (
        Budget(diff_lines=2),
        lambda run, _: run.observe(run.may_edit("a", "x\ny\n"), exit_code=0),
    ),
    "storage": (
        Budget(storage_bytes=4),
        lambda run, _: run.observe(run.may_edit("a", "x\ny\n"), exit_code=0),
    ),
}


@pytest.mark.parametrize("dimension", _DIMENSIONS)
def test_a_budget_that_is_used_up_stops_the_next_step_by_name(
    interlock: Interlock, operator: str, clock: HandClock, dimension: str
) -> None:
    budget, use_up = _DIMENSIONS[dimension]
    run = interlock.run("t", budget=budget)
    assert run.step().goes_on
    use_up(run, clock)
    answer = run.step()

    assert answer.decision is StepDecision.STOP
    assert _codes(answer) == ["budget"]
    assert answer.approval_id is not None
    assert _SPENT[dimension] in answer.reasons[0]
    with pytest.raises(InputError, match="would be stopped again at once: this run has used"):
        interlock.approve(answer.approval_id, token=operator, note="go on")
    interlock.set_budget(f"run/{run.id}", _more(budget), token=operator)
    held = run.step()
    assert not held.goes_on
    assert held.reasons[0].startswith("it is still stopped: its budget was used up, and something")
    assert f"`interlock resume {code_of(run.id)} --reason TEXT` lets it go on" in held.reasons[0]
    interlock.approve(answer.approval_id, token=operator, note="a little more")
    assert run.step().goes_on
    check_record(interlock)


_SPENT = {
    "tokens": "used 100 of 100 tokens",
    "tool calls": "used 1 of 1 tool call;",
    "time": "used 10.0 of 10.0 s",
    "cost": "used $1.00 of $1.00",
    "changed lines": "used 2 of 2 changed lines",
    "storage": "used 4 of 4 bytes",
}


def _more(budget: Budget) -> Budget:
    return Budget(
        tokens=_tenfold(budget.tokens),
        tool_calls=_tenfold(budget.tool_calls),
        wall_time_s=_tenfold(budget.wall_time_s),
        cost_usd=None if budget.cost_usd is None else 10,
        diff_lines=_tenfold(budget.diff_lines),
        storage_bytes=_tenfold(budget.storage_bytes),
    )


def _tenfold(limit: int | None) -> int | None:
    return None if limit is None else limit * 10


def test_a_resume_alone_does_not_make_a_budget_larger(interlock: Interlock, operator: str) -> None:
    run = interlock.run("t", budget=Budget(tokens=10))
    run.usage(TokenUsage(output_tokens=10))
    run.step()
    with pytest.raises(InputError) as refused:
        interlock.lift(run.id, token=operator, reason="go on")

    code = code_of(run.id)
    assert str(refused.value) == (
        f"run `{code}` would be stopped again at once: this run has used 10 of 10 tokens. Raise it"
        f" first, `interlock budget run/{code} tokens NEW`, then let it go on:"
        f" `interlock resume {code} --reason TEXT`"
    )
    assert not run.step().goes_on


@pytest.mark.parametrize("scope", ["tree", "agent", "project-day"])
def test_a_budget_of_any_scope_stops_a_step(
    interlock: Interlock, operator: str, clock: HandClock, scope: str
) -> None:
    run = interlock.run("t", agent="ann", project="shop")
    below = run.child("c")
    below.usage(TokenUsage(output_tokens=100))
    names = {
        "tree": run.id,
        "agent": "ann",
        "project-day": f"shop/{_day(clock)}",
    }
    interlock.set_budget(f"{scope}/{names[scope]}", Budget(tokens=100), token=operator)

    for each in (below, run):
        answer = each.step()
        assert _codes(answer) == ["budget"]
        assert "has used 100 of 100 tokens" in answer.reasons[0]
        assert f"`interlock resume {code_of(each.id)} --reason TEXT`" in answer.reasons[0]


def _day(clock: HandClock) -> str:
    return "2026-11-16" if clock.at % DAY else ""


def test_every_budget_that_is_used_up_is_named(interlock: Interlock) -> None:
    run = interlock.run("t", budget=Budget(tokens=5, tool_calls=1))
    worked(run, "ls", "a")
    run.usage(TokenUsage(output_tokens=9))

    assert "used 9 of 5 tokens; this run has used 1 of 1 tool call" in run.step().reasons[0]


def test_what_the_client_knows_of_budgets_counts_where_less_is_left(interlock: Interlock) -> None:
    run = interlock.run("t", budget=Budget(tokens=100))
    more = run.step(budget_remaining=Remaining(tokens=10_000, tool_calls=7))
    assert more.facts.budget_remaining == Remaining(tokens=100, tool_calls=7)

    less = run.step(budget_remaining=Remaining(tokens=0))
    assert _codes(less) == ["budget"]


# What follows from the record alone.


def test_a_run_of_which_nothing_is_known_yet_goes_on(interlock: Interlock) -> None:
    answer = interlock.run("t").step()

    assert answer.decision is StepDecision.CONTINUE
    facts = answer.facts
    assert (facts.coherence_score, facts.uncertainty_score, facts.rework_ratio) == (None,) * 3
    assert (facts.total_tokens_used, facts.steps_tokens) == (None, ())
    assert set(answer.detail.metrics.unknown) >= {"coherence", "rework", "uncertainty", "slope"}


def test_rework_is_seen_in_the_edits_alone(interlock: Interlock, clock: HandClock) -> None:
    run, before, number = interlock.run("t"), None, 0
    while (answer := run.step()).goes_on:
        clock.forward(seconds=10)
        content = f"start = 1\nvalue = {(number := number + 1)}\n"
        run.observe(run.may_edit("a.py", content, old=before), exit_code=0)
        before = content

    assert answer.decision is StepDecision.PAUSE
    assert _codes(answer) == ["rework"]
    assert (answer.facts.rework_of, number) == (6, 6)
    assert answer.facts.rework_ratio == 5 / 6
    assert (answer.detail.metrics.rework_at_least or 0) > 0.3
    check_record(interlock)


def test_going_round_in_circles_is_warned_of_then_paused(
    interlock: Interlock, clock: HandClock
) -> None:
    run = interlock.run("t")
    told: list[str] = []
    for _ in range(12):
        answer = run.step()
        clock.forward(seconds=10)
        told.append("warned" if answer.warnings and answer.goes_on else answer.decision.value)
        if answer.goes_on:
            worked(run, "cat a.py", "the same content as ever, and not a short one")

    assert told[2:5] == ["warned", "pause", "pause"]


def test_going_round_in_circles_for_longer_is_stopped(interlock: Interlock) -> None:
    run = interlock.run("t")
    for _ in range(5):
        worked(run, "cat a.py", "the same content as ever, and not a short one")

    assert run.step().decision is StepDecision.STOP


def test_coherence_is_made_of_what_was_seen(interlock: Interlock, clock: HandClock) -> None:
    run = interlock.run("t")
    _steps(run, clock, 10)
    assert run.step().facts.coherence_score == 1.0
    for _ in range(5):
        run.command("rm -rf /")
    answer = run.step()

    # 15 actions, 5 of them against a rule: 0.4 * 10/15 + 0.3 + 0.3 * 10/15.
    assert answer.facts.coherence_score == pytest.approx(0.7667, abs=0.0001)


def test_what_a_client_says_counts_only_where_it_is_worse(
    interlock: Interlock, clock: HandClock
) -> None:
    run = interlock.run("t")
    _steps(run, clock, 6)
    for _ in range(3):
        run.violation("style", "too long")
    run.usage(TokenUsage(output_tokens=500))
    run.belief("it compiles", opposing=1)
    known = run.step().facts
    assert known.coherence_score is not None
    better = run.step(
        coherence_score=1.0, uncertainty_score=0.0, total_tokens_used=1, total_tool_calls=0
    ).facts
    worse = run.step(
        coherence_score=known.coherence_score - 0.1,
        uncertainty_score=0.7,
        total_tokens_used=900,
        total_tool_calls=99,
    ).facts

    for facts in (known, better):
        assert facts.coherence_score == known.coherence_score < 1
        assert facts.uncertainty_score == pytest.approx(2 / 3, abs=0.001)
        assert (facts.total_tokens_used, facts.total_tool_calls) == (500, 6)
    assert worse.coherence_score == known.coherence_score - 0.1
    assert worse.uncertainty_score == 0.7
    assert (worse.total_tokens_used, worse.total_tool_calls) == (900, 99)


def test_a_count_of_rework_by_the_client_is_taken(interlock: Interlock, clock: HandClock) -> None:
    run = interlock.run("t")
    _steps(run, clock, 10)

    assert run.step(rework_count=3).goes_on
    clock.forward(seconds=10)
    assert "rework" in _codes(run.step(rework_count=4))


def test_a_run_that_waits_gets_a_timer_and_takes_no_step(
    interlock: Interlock, clock: HandClock
) -> None:
    run = interlock.run("t")
    _steps(run, clock, 2)
    for _ in range(3):
        answer = run.step(waiting_for="the build", look_again_s=90)
        clock.forward(seconds=90)

        assert answer.ruling.course is Course.WAIT
        assert answer.delay_ms == 90_000
        assert not answer.goes_on
    assert run.state.control.steps == 2
    assert run.step().goes_on
    assert run.step(waiting_for="it").delay_ms == 60_000


def test_a_hold_is_stronger_than_waiting(interlock: Interlock) -> None:
    run = interlock.run("t")
    paused(run)

    assert run.step(waiting_for="the build").ruling.course is Course.AWAIT_PERSON


_REFUSED: dict[str, tuple[object, ...]] = {
    "total_tokens_used": (-1, 1.5, math.nan, math.inf, True, 2**60, "1"),
    "total_tool_calls": (-1, math.nan, True),
    "rework_count": (-1, math.inf),
    "coherence_score": (-0.01, 1.01, math.nan, math.inf, -math.inf, True),
    "uncertainty_score": (-0.01, 1.01, math.nan, math.inf, True),
    "look_again_s": (-1, 0, math.nan, math.inf, True, 1e9),
}


@pytest.mark.parametrize("field", _REFUSED)
def test_what_cannot_be_is_refused_and_not_recorded(interlock: Interlock, field: str) -> None:
    run = interlock.run("t")
    before = kinds_of(interlock.ledger, run.id)
    for value in _REFUSED[field]:
        with pytest.raises(InputError, match=r"`(waiting\.delay_ms|\w+)` is "):
            run.step(**{"waiting_for": "x", field: value})  # pyright: ignore[reportArgumentType] - told wrongly on purpose

    assert kinds_of(interlock.ledger, run.id) == before


@pytest.mark.parametrize("left", [math.nan, 1.5, True, 2**60])
def test_a_rest_that_cannot_be_is_refused(left: float) -> None:
    with pytest.raises(InputError, match=r"`Remaining\.tokens` is "):
        Remaining(tokens=left)  # pyright: ignore[reportArgumentType] - told wrongly on purpose


def test_a_view_of_a_run_keeps_the_history_of_its_answers(
    interlock: Interlock, clock: HandClock
) -> None:
    run = interlock.run("t")
    _steps(run, clock, 3)
    run.step(coherence_score=0.1)
    run.step()

    counted = run.history.statistics().decisions
    assert counted[StepDecision.CONTINUE.value] == 3
    assert counted[StepDecision.STOP.value] == 2


def test_who_awaits_is_told_the_same(tmp_path: Path) -> None:
    async def awaited() -> list[tuple[StepDecision, Course, int, object]]:
        clock = HandClock()
        keys = tmp_path / "keys"
        async with await AsyncInterlock.open(":memory:", clock=clock, keys=keys) as interlock:
            await interlock.set_up("ada", PASSPHRASE, cost=CHEAP)
            run = await interlock.run("t", workspace=tmp_path)
            answers: list[StepAnswer] = []
            for number in range(27):
                await run.usage(TokenUsage(output_tokens=round(1000 * 1.1**number)))
                answers.append(await run.step(f"step {number}"))
                clock.forward(seconds=10)
            await run.belief("it compiles", opposing=50)
            answers.append(await run.step())
            await run.person_spoke(token=await interlock.unlock("ada", PASSPHRASE))
            answers.append(await run.step(waiting_for="x"))
            return [_told(answer) for answer in answers]

    clock = HandClock()
    with Interlock.open(":memory:", clock=clock, keys=tmp_path / "keys") as interlock:
        run = interlock.run("t", workspace=tmp_path)
        answers: list[StepAnswer] = []
        for number in range(27):
            run.usage(TokenUsage(output_tokens=round(1000 * 1.1**number)))
            answers.append(run.step(f"step {number}"))
            clock.forward(seconds=10)
        run.belief("it compiles", opposing=50)
        answers.append(run.step())
        run.person_spoke(token=operator_of(interlock))
        answers.append(run.step(waiting_for="x"))
    told = [_told(answer) for answer in answers]

    assert asyncio.run(awaited()) == told
    assert {decision for decision, *_ in told} >= {StepDecision.THROTTLE, StepDecision.PAUSE}
    assert CheckpointKind.NONE in {kind for *_, kind in told}


def _told(answer: StepAnswer) -> tuple[StepDecision, Course, int, object]:
    kind = None if answer.checkpoint is None else answer.checkpoint.kind
    return answer.decision, answer.ruling.course, answer.delay_ms, kind


def test_a_person_stops_and_lifts_a_run_without_blocking_the_loop(tmp_path: Path) -> None:
    async def story() -> list[bool]:
        keys = tmp_path / "keys"
        async with await AsyncInterlock.open(
            tmp_path / "ledger.db", clock=HandClock(), keys=keys
        ) as interlock:
            with Interlock.open(tmp_path / "ledger.db", clock=HandClock(), keys=keys) as other:
                token = operator_of(other)
            run = await interlock.run("t")
            await interlock.halt(run.id, token=token, reason="x")
            seen = [(await run.step()).goes_on, (await run.stopped("Now.")).goes_on]
            await interlock.lift(run.id, token=token, reason="y")
            seen.append((await run.step()).goes_on)
            answer = await run.step(coherence_score=0.1)
            assert answer.approval_id is not None
            await interlock.approve(answer.approval_id, token=token, note="z")
            seen.append((await run.step()).goes_on)
            return seen

    assert asyncio.run(story()) == [False, False, True, True]
