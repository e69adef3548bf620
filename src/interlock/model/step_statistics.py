"""What the answers before a run's steps come to: how often each, why, and what was spent after one.

The tally is part of a run's state, folded forward with it, and does not grow with the run.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from interlock.model.step import ContinueDecision, StepContext, StepDecision

SIGNALS: Final = (StepDecision.PAUSE, StepDecision.STOP)
_UNIT: Final = 10**9
"""Figures are added up in billionths: the sum of whole numbers has no rounding in it."""


class StepStatistics(msgspec.Struct, frozen=True, kw_only=True):
    """The answers of a run taken together; figures that nobody knows are None."""

    evaluations: int
    """How many answers these figures are about: those that are remembered."""
    decisions: Mapping[str, int]
    """How often each decision was made."""
    mean_slope: float | None
    mean_rework_ratio: float | None
    reason_shares: Mapping[str, float]
    """The share of all answers that gave a reason, by its code."""
    first_signal_step: int | None
    """The step of the first pause or stop of the whole run."""
    tokens_after_signal: int | None
    """What was used since then; None without a pause or stop, or without a count of tokens."""


class StepTally(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """All answers of a run so far, added up."""

    evaluations: int = 0
    slopes: int = 0
    slope_sum: int = 0
    reworks: int = 0
    rework_sum: int = 0
    codes: Mapping[str, int] = {}
    """How many answers gave each reason."""
    is_signalled: bool = False
    signal_step: int | None = None
    tokens: int | None = None
    tokens_at_signal: int | None = None


def tallied(tally: StepTally, context: StepContext, decision: ContinueDecision) -> StepTally:
    """Return the tally with one more answer."""
    slope, rework = decision.metrics.budget_slope, decision.metrics.rework_ratio
    codes = dict(tally.codes)
    for code in {reason.code for reason in decision.reasons}:
        codes[code] = codes.get(code, 0) + 1
    tokens = tally.tokens if context.total_tokens_used is None else context.total_tokens_used
    is_first = not tally.is_signalled and decision.decision in SIGNALS
    return StepTally(
        evaluations=tally.evaluations + 1,
        slopes=tally.slopes + (slope is not None),
        slope_sum=tally.slope_sum + whole(slope or 0),
        reworks=tally.reworks + (rework is not None),
        rework_sum=tally.rework_sum + whole(rework or 0),
        codes=dict(sorted(codes.items())),
        is_signalled=tally.is_signalled or is_first,
        signal_step=context.step_number if is_first else tally.signal_step,
        tokens=tokens,
        tokens_at_signal=tokens if is_first else tally.tokens_at_signal,
    )


def statistics_of(tally: StepTally, decisions: Mapping[str, int], tokens: int) -> StepStatistics:
    """Return what a tally comes to, with the count of each decision and all tokens up to now."""
    at_signal = tally.tokens_at_signal
    return StepStatistics(
        evaluations=tally.evaluations,
        decisions={each.value: decisions.get(each.value, 0) for each in StepDecision},
        mean_slope=mean_of(tally.slope_sum, tally.slopes),
        mean_rework_ratio=mean_of(tally.rework_sum, tally.reworks),
        reason_shares={code: count / tally.evaluations for code, count in tally.codes.items()},
        first_signal_step=tally.signal_step,
        tokens_after_signal=None
        if at_signal is None
        else max(tokens, tally.tokens or 0) - at_signal,
    )


def whole(figure: float) -> int:
    """Return a figure in billionths."""
    return round(figure * _UNIT)


def mean_of(total: int, count: int) -> float | None:
    """Return the mean of figures in billionths; None where there is none."""
    return total / (count * _UNIT) if count else None
