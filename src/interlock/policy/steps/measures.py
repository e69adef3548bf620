"""The figures that a step is judged by, from what is known of the run."""

from __future__ import annotations

from itertools import compress
from typing import Final

from interlock.model.step import StepCode, StepContext, StepMetrics
from interlock.policy.steps.coherence import band_of
from interlock.policy.steps.settings import StepSettings
from interlock.policy.steps.slope import budget_slope, tokens_per_step


def measures(context: StepContext, settings: StepSettings, *, short: bool) -> StepMetrics:
    """Return every figure that can be known; a short answer leaves the costly one out."""
    coherence, uncertainty = context.coherence_score, context.uncertainty_score
    slope = None if short else budget_slope(context.steps_tokens)
    rework = rework_ratio(context)
    since = steps_since_checkpoint(context)
    return StepMetrics(
        budget_slope=slope,
        tokens_per_step=tokens_per_step(context.steps_tokens),
        rework_ratio=rework,
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
    ratios = (_counted_ratio(context), context.rework_ratio)
    return max((ratio for ratio in ratios if ratio is not None), default=None)


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


def uncertainty_level(uncertainty: float, settings: StepSettings) -> str:
    """Return a word for it; only `extreme` is beyond the limit."""
    if uncertainty > settings.max_uncertainty:
        return "extreme"
    if uncertainty > 0.6:
        return "high"
    return "moderate" if uncertainty > 0.3 else "low"


def _unknown(
    context: StepContext,
    settings: StepSettings,
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
        no_step and settings.max_total_steps is not None,
        context.budget_remaining is None,
        rework is None,
        context.uncertainty_score is None,
        slope is None and not short,
        no_checkpoint,
    )
    return tuple(compress(_CODES, missing))


_CODES: Final = tuple(code.value for code in StepCode)
