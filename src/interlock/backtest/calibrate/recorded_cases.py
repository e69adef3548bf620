"""Runs of the ledger, as calibration sees them: the scores of then, and the evaluators' word.

A recorded run was governed: it may have been paused, and gone on with a person's help. What is
known of it is how it scored before each step, and what its evaluators said in the end.
"""

from __future__ import annotations

from typing import Final

from interlock.backtest.calibrate.calibration import ALWAYS
from interlock.backtest.calibrate.scored_run import (
    PastEnd,
    ScoredRun,
    percent_of,
    rises_of,
)
from interlock.backtest.calibrate.turn_points import turn_end
from interlock.ledger.chain import read_chain, records_of
from interlock.model.control_state import meter_with_words
from interlock.model.events import RunFinished, StepJudged, StopJudged
from interlock.model.review import ReviewOutcome
from interlock.model.rows import RunRow
from interlock.model.run import RunState, folded
from interlock.model.step import StepCode, StepDecision
from interlock.policy.config.document import Policy
from interlock.policy.steps.loop_detector import stuck_score
from interlock.ports import Rows

_OWN: Final = frozenset((StepCode.COHERENCE, StepCode.REWORK, StepCode.UNCERTAINTY))
"""What holds a run whatever its score is; budgets and limits are a matter of their own."""


def recorded_run(rows: Rows, row: RunRow, policy: Policy) -> ScoredRun:
    """Return how a recorded run went; its chain is verified on the way."""
    state = RunState(id=row.id)
    scores: list[tuple[int, int]] = []
    ends: list[PastEnd] = []
    success: bool | None = None
    for record, _ in read_chain(records_of(rows, row.id), row.id):
        event = record.event
        if isinstance(event, StepJudged) and not event.held:
            scores.append((_score(event, state, policy), state.spent.tokens))
        elif isinstance(event, StopJudged):
            ends.append(_end(event, len(ends) + 1, policy))
        elif isinstance(event, RunFinished) and event.report.evaluations:
            success = event.report.passed
        state = folded(state, record)
    return ScoredRun(
        id=row.id,
        agent=row.agent,
        model=ends[-1].model if ends else "",
        group=row.task,
        workspace=state.workspace,
        success=success,
        began_at=row.started_at,
        ended_at=row.updated_at,
        rises=rises_of(scores, state.spent.tokens),
        cost=state.spent.tokens,
        # Of an end that the run went on after, only its checks can tell.
        ends=(*(each for each in ends[:-1] if each.is_done is not None), *ends[-1:]),
    )


def _score(event: StepJudged, state: RunState, policy: Policy) -> int:
    for reason in event.decision.reasons:
        if reason.code in _OWN and reason.decision.rank >= StepDecision.PAUSE.rank:
            return ALWAYS
    return percent_of(stuck_score(meter_with_words(state.control), policy.loops))


def _end(event: StopJudged, place: int, policy: Policy) -> PastEnd:
    checked = event.completion
    is_failed = checked is not None and checked.outcome is not ReviewOutcome.ADVANCE
    return PastEnd(
        place=place,
        end=turn_end(event.context, policy.stops),
        is_done=False if is_failed else None,
        model=event.context.model or "",
    )
