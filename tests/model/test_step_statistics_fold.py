"""What the answers of a run come to, folded with it."""

from __future__ import annotations

import msgspec

from interlock.model.control_state import ControlState, after_checkpoint
from interlock.model.run import RunState
from interlock.model.step import (
    Checkpoint,
    CheckpointKind,
    ContinueDecision,
    StepContext,
    StepDecision,
    StepMetrics,
    StepReason,
)
from interlock.model.step_statistics import StepTally, statistics_of, tallied


def reason(code: str, decision: StepDecision) -> StepReason:
    return StepReason(code=code, decision=decision, message="so", remediation="do this")


def answered(
    tally: StepTally,
    decision: StepDecision,
    *codes: str,
    tokens: int | None = None,
    step: int = 0,
    slope: float | None = None,
    rework: float | None = None,
) -> StepTally:
    given = ContinueDecision(
        decision=decision,
        reasons=tuple(reason(code, decision) for code in codes),
        metrics=StepMetrics(budget_slope=slope, rework_ratio=rework),
    )
    return tallied(tally, StepContext(total_tokens_used=tokens, step_number=step), given)


def test_a_run_without_answers_knows_nothing() -> None:
    known = RunState(id="r").step_statistics

    assert known.evaluations == 0
    assert (known.mean_slope, known.mean_rework_ratio) == (None, None)
    assert (known.reason_shares, known.tokens_after_signal) == ({}, None)


def test_means_shares_and_what_was_spent_after_the_first_signal() -> None:
    tally = answered(StepTally(), StepDecision.CONTINUE, tokens=100, slope=0.1, rework=0.25)
    tally = answered(tally, StepDecision.PAUSE, "rework", "rework", tokens=300, step=7, rework=0.75)
    tally = answered(tally, StepDecision.STOP, "budget", step=9)
    tally = answered(tally, StepDecision.CONTINUE, tokens=450, slope=0.3)

    known = statistics_of(tally, {"pause": 1, "stop": 1, "continue": 2}, 500)

    assert known.evaluations == 4
    assert known.decisions["continue"] == 2
    assert known.mean_slope == 0.2
    assert known.mean_rework_ratio == 0.5
    assert known.reason_shares == {"budget": 0.25, "rework": 0.25}
    assert known.first_signal_step == 7
    assert known.tokens_after_signal == 200


def test_a_tally_does_not_grow_with_the_run() -> None:
    tally = StepTally()
    for step in range(500):
        tally = answered(tally, StepDecision.STOP, "budget", tokens=step, step=step, rework=0.1)

    assert len(msgspec.json.encode(tally)) < 300


def test_only_a_checkpoint_that_saved_something_counts_as_one() -> None:
    def taken(kind: CheckpointKind, error: str | None = None) -> ControlState:
        checkpoint = Checkpoint(id="c", step=25, kind=kind, workspace="", error=error)
        return after_checkpoint(ControlState(steps=25), checkpoint)

    none = taken(CheckpointKind.NONE)
    saved = taken(CheckpointKind.COMMAND)

    assert (none.checkpoint_step, none.saved_step, none.checkpoints) == (25, 0, 0)
    assert (saved.checkpoint_step, saved.saved_step, saved.checkpoints) == (25, 25, 1)
    assert taken(CheckpointKind.GIT, "no space left") == ControlState(steps=25)
