"""The figures that a step is judged by: coherence, uncertainty, the slope of spending, rework.

Coherence falls into bands. The continue gate stops a run in the lowest one; the gates on actions
take privileges away in those above it. Both read the same table, so that privileges shrink before
the run stops.

Uncertainty comes from beliefs. One starts even: as if it had been seen once to hold and once not
to. Each piece of evidence adds its weight to one side, and the supporting share of all is the
confidence, which therefore never reaches 0 or 1. Many beliefs are as good as the geometric mean of
their confidences, in which one that is very doubtful weighs more than one that is nearly sure.

The slope is that of a straight line through the tokens of the latest steps, divided by their
average: `0.02` says that every step costs 2 % of the average more than the step before. Constant
spending gives exactly 0, whatever it is.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from itertools import compress
from typing import Final

from interlock.model.facts import Band
from interlock.model.step import (
    COHERENCE_ACTIONS,
    SLOPE_STEPS,
    Belief,
    StepCode,
    StepContext,
    StepMetrics,
)
from interlock.policy.config.run_sections import Steps

FEWEST_ACTIONS: Final = 5
"""With fewer actions the score is not known: two bad ones in a row may be chance."""

_VIOLATIONS: Final = 4
_REWORK: Final = 3
_PROGRESS: Final = 3
_TENTHS: Final = _VIOLATIONS + _REWORK + _PROGRESS


def band_of(coherence: float | None, settings: Steps) -> Band:
    """Return the band of a score; nothing is taken from a run whose score is not known."""
    if coherence is None or coherence >= settings.restricted_below:
        return Band.FULL
    if coherence >= settings.read_only_below:
        return Band.RESTRICTED
    if coherence >= settings.min_coherence:
        return Band.READ_ONLY
    return Band.STOP


def coherence(*, actions: int, violations: int, rework: int, progress: int | None) -> float | None:
    """Return 0.4 without violations + 0.3 without rework + 0.3 with progress; None if unknown.

    All are counts of actions within the window: all of them, those that broke a rule, those that
    did work over again, and those that made progress. Where nobody can tell whether there was
    progress, it counts as made: what is not known takes nothing away.
    """
    if actions < FEWEST_ACTIONS:
        return None
    clean = actions - min(violations, actions)
    fresh = actions - min(rework, actions)
    onward = actions if progress is None else min(progress, actions)
    # Whole numbers and one division: the score of the boundary is the boundary.
    score = _VIOLATIONS * clean + _REWORK * fresh + _PROGRESS * onward
    return score / (_TENTHS * actions)


_QUANTILE: Final = 2.576
"""So many standard deviations hold 99 % of all cases."""
_PRIOR: Final = 1.0
"""What each side weighs before anything was seen."""

_DIGITS: Final = 6
"""Logarithms differ in the last digits from machine to machine; these do not."""


def confidence(belief: Belief) -> float:
    """Return how sure a belief is, more than 0 and less than 1; without evidence 0.5."""
    supporting = belief.supporting + _PRIOR
    opposing = belief.opposing + _PRIOR
    return supporting / (supporting + opposing)


def uncertainty(beliefs: Collection[Belief]) -> float | None:
    """Return 1 less the geometric mean of the confidences; without beliefs it is not known."""
    if not beliefs:
        return None
    # An exact sum: the order in which beliefs were reported must not count.
    logarithms = math.fsum(math.log(confidence(belief)) for belief in beliefs)
    return round(1 - math.exp(logarithms / len(beliefs)), _DIGITS)


FEWEST_SLOPE_STEPS: Final = 4
"""How many steps say something about growth; with fewer it is not known."""

_LEAST_MEAN: Final = 1
"""Tokens per step below which there is nothing to grow from."""


def budget_slope(steps_tokens: Sequence[int]) -> float | None:
    """Return how much the tokens per step grow, as a share of their average; None if unknown."""
    latest = steps_tokens[-SLOPE_STEPS:]
    steps, total = len(latest), sum(latest)
    if steps < FEWEST_SLOPE_STEPS or total < _LEAST_MEAN * steps:
        return None
    # Least squares over the steps 0, 1, 2... divided by the mean comes down to whole numbers:
    # 6 * sum((2i - (n - 1)) * tokens) / ((n * n - 1) * sum(tokens)). They are exact, and the one
    # division is rounded to the nearest float, as a limit such as 0.02 is when it is read: growth
    # that equals the limit compares as equal, on every machine.
    rise = sum(
        offset * tokens for offset, tokens in zip(range(1 - steps, steps, 2), latest, strict=True)
    )
    return 6 * rise / ((steps * steps - 1) * total)


def tokens_per_step(steps_tokens: Sequence[int]) -> float | None:
    """Return the average of the latest steps; None if there is none."""
    latest = steps_tokens[-SLOPE_STEPS:]
    return sum(latest) / len(latest) if latest else None


def measures(context: StepContext, settings: Steps, *, short: bool) -> StepMetrics:
    """Return every figure that can be known; a short answer leaves the costly one out."""
    coherence, uncertainty = context.coherence_score, context.uncertainty_score
    slope = None if short else budget_slope(context.steps_tokens)
    rework = rework_ratio(context)
    since = steps_since_checkpoint(context)
    low, high = rework_interval(context) or (None, None)
    return StepMetrics(
        budget_slope=slope,
        tokens_per_step=tokens_per_step(context.steps_tokens),
        rework_ratio=rework,
        rework_at_least=low,
        rework_at_most=high,
        steps_until_checkpoint=None
        if since is None
        else max(0, settings.checkpoint_interval - since),
        coherence=coherence,
        coherence_level=None if coherence is None else band_of(coherence, settings).value,
        uncertainty=uncertainty,
        uncertainty_level=None if uncertainty is None else uncertainty_level(uncertainty, settings),
        unknown=_unknown(context, settings, rework, slope, short=short),
    )


def rework_ratio(context: StepContext) -> float | None:
    """Return the share of steps that did work over again; at step 0 nothing was done at all."""
    return _larger(_counted_ratio(context), context.rework_ratio)


def rework_interval(context: StepContext) -> tuple[float, float] | None:
    """Return between which shares the rework of the latest actions lies (Wilson's interval)."""
    share, actions = context.rework_ratio, context.rework_of
    if share is None or not actions:
        return None
    spread = _QUANTILE**2 / actions
    middle = share + spread / 2
    half = math.sqrt(spread * (share * (1 - share) + spread / 4))
    low, high = ((middle + side * half) / (1 + spread) for side in (-1, 1))
    return max(0.0, round(low, _DIGITS)), min(1.0, round(high, _DIGITS))


def sure_rework(context: StepContext) -> float | None:
    """Return the share of rework that a run is judged by: of few actions, what is certain of it."""
    share = context.rework_ratio
    few = context.rework_of is not None and context.rework_of < COHERENCE_ACTIONS
    if few and (interval := rework_interval(context)) is not None:
        share = interval[0] if (context.rework_of or 0) >= FEWEST_ACTIONS else 0.0
    return _larger(_counted_ratio(context), share)


def _larger(one: float | None, other: float | None) -> float | None:
    """Return the larger of what is known."""
    if one is None or other is None:
        return other if one is None else one
    return max(one, other)


def _counted_ratio(context: StepContext) -> float | None:
    count, steps = context.rework_count, context.step_number
    if count is None or steps is None:
        return None
    # Rounded once, to the float nearest to the true share, as a limit such as 0.30 is when it is
    # read: 3 of 10 steps are 0.30 and not more.
    return count / steps if steps else 0.0


def steps_since_checkpoint(context: StepContext) -> int | None:
    """Return how many steps were taken since the last checkpoint."""
    if context.step_number is None or context.last_checkpoint_step is None:
        return None
    return context.step_number - context.last_checkpoint_step


def steps_since_saved(context: StepContext) -> int | None:
    """Return how many steps were taken since a checkpoint saved something."""
    if context.step_number is None or context.last_saved_step is None:
        return steps_since_checkpoint(context)
    return context.step_number - context.last_saved_step


def uncertainty_level(uncertainty: float, settings: Steps) -> str:
    """Return a word for it; only `extreme` is beyond the limit."""
    if uncertainty > settings.max_uncertainty:
        return "extreme"
    if uncertainty > 0.6:
        return "high"
    return "moderate" if uncertainty > 0.3 else "low"


def _unknown(
    context: StepContext,
    settings: Steps,
    rework: float | None,
    slope: float | None,
    *,
    short: bool,
) -> tuple[str, ...]:
    """Return the checks that cannot be made, in the order of `StepCode`."""
    no_step = context.step_number is None
    no_checkpoint = no_step or context.last_checkpoint_step is None
    missing = (
        context.coherence_score is None,
        no_checkpoint,
        no_step and settings.max_total is not None,
        context.budget_remaining is None,
        rework is None,
        context.uncertainty_score is None,
        slope is None and not short,
        no_checkpoint,
    )
    return tuple(compress(_CODES, missing))


_CODES: Final = tuple(code.value for code in StepCode)
