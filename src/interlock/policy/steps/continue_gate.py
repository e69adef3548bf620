"""The continue gate: should the run take another step?

Everything that speaks against it is a reason, the most severe first, and the most severe decides.
"""

from __future__ import annotations

from collections.abc import Container, Iterator
from typing import Final

from msgspec.structs import replace

from interlock.model.budget import Dimension
from interlock.model.short_code import code_of
from interlock.model.step import (
    ContinueDecision,
    Remaining,
    Sign,
    StepCode,
    StepContext,
    StepDecision,
    StepMetrics,
    StepReason,
)
from interlock.policy.config.key import OBSERVE
from interlock.policy.config.run_sections import Steps
from interlock.policy.steps.step_figures import (
    measures,
    steps_since_checkpoint,
    steps_since_saved,
    sure_rework,
)

_MOST_DOUBLINGS: Final = 32
"""Twice as long so often is beyond every cap, and still a small number."""


def decide(
    context: StepContext,
    settings: Steps,
    *,
    throttled_before: int = 0,
    short: bool = False,
) -> ContinueDecision:
    """Return whether the run goes on, with every reason.

    A `short` answer makes only the hard checks: coherence, budgets, step limits, due checkpoints
    and what the signs say, save for a throttle. `throttled_before` counts the throttles in a row
    that came before this answer.
    """
    metrics = measures(context, settings, short=short)
    reasons = [*_reasons(context, metrics, settings, short=short)]
    warnings: tuple[Sign, ...] = ()
    if context.signs:
        signs = sorted(context.signs, key=_place)
        warnings = tuple(sign for sign in signs if sign.decision is StepDecision.CONTINUE)
        # Among equals the gate's own come first.
        reasons += _spoken(signs, short=short)
        reasons.sort(key=lambda reason: -reason.decision.rank)
    decision = reasons[0].decision if reasons else StepDecision.CONTINUE
    is_due = any(reason.decision is StepDecision.CHECKPOINT for reason in reasons)
    would_have = None
    if settings.mode == OBSERVE and decision not in _GOES_ON:
        would_have, decision = decision, _GOES_ON[is_due]
    return ContinueDecision(
        decision=decision,
        would_have=would_have,
        reasons=tuple(reasons),
        warnings=warnings,
        metrics=metrics,
        checkpoint_due=is_due,
        delay_ms=_delay(settings, throttled_before) if decision is StepDecision.THROTTLE else None,
        short=short,
    )


def is_within_cooldown(settings: Steps, *, full_at_ms: int | None, at_ms: int) -> bool:
    """Whether a full answer was given so lately that a short one does.

    A clock that was set back counts as time passed: a full answer is never the wrong one.
    """
    return full_at_ms is not None and 0 <= at_ms - full_at_ms < settings.cooldown_ms


_GOES_ON: Final = (StepDecision.CONTINUE, StepDecision.CHECKPOINT)
"""What lets a run take its step; the second where a checkpoint is due."""
_WARNING: Final = (StepDecision.CONTINUE,)
_SOFT: Final = (StepDecision.CONTINUE, StepDecision.THROTTLE)


def _place(sign: Sign) -> tuple[str, str, str, bool, float]:
    """Return what signs are put in order by, whatever order they came in."""
    return sign.name, sign.message, sign.remediation, sign.value is not None, sign.value or 0.0


def _spoken(signs: list[Sign], *, short: bool) -> list[StepReason]:
    left_out = _SOFT if short else _WARNING
    return [
        StepReason(
            code=sign.name,
            decision=sign.decision,
            message=sign.message,
            remediation=sign.remediation,
        )
        for sign in signs
        if sign.decision not in left_out
    ]


def _delay(settings: Steps, throttled_before: int) -> int:
    doubled = settings.delay_ms << min(throttled_before, _MOST_DOUBLINGS)
    return min(doubled, settings.max_delay_ms)


_CHECKS: Final = {
    StepCode.COHERENCE: (
        StepDecision.STOP,
        "ask a person to look at the latest violations, rework and lack of progress, and to resume"
        " the run with a reason",
    ),
    StepCode.STEP_LIMIT: (
        StepDecision.STOP,
        "save your work and ask a person to resume the run with a reason",
    ),
    StepCode.TOTAL_STEP_LIMIT: (
        StepDecision.STOP,
        "finish here, or ask a person to raise `steps.max-total` and resume the run",
    ),
    StepCode.BUDGET: (
        StepDecision.STOP,
        "finish here, or have a person raise it (`interlock budget RUN` shows it, `interlock budget"
        " RUN DIMENSION NEW` raises it) and let the run go on: `interlock resume RUN --reason WHY`",
    ),
    StepCode.REWORK: (
        StepDecision.PAUSE,
        "find out what is repeated, make the goal clearer, then resume the run",
    ),
    StepCode.UNCERTAINTY: (
        StepDecision.PAUSE,
        "resolve the open questions or gather evidence, then resume the run",
    ),
    StepCode.SLOPE: (
        StepDecision.THROTTLE,
        "wait for the delay, then use fewer tokens: shorter context, smaller steps",
    ),
    StepCode.CHECKPOINT: (StepDecision.CHECKPOINT, "save your work, then go on"),
}
"""What each check decides where it speaks, and what to do about it."""


def _reason(code: StepCode, message: str) -> StepReason:
    decision, remediation = _CHECKS[code]
    return StepReason(code=code.value, decision=decision, message=message, remediation=remediation)


def _reasons(
    context: StepContext, metrics: StepMetrics, settings: Steps, *, short: bool
) -> Iterator[StepReason]:
    """Yield what speaks against going on, in the order of `StepCode`: the most severe first."""
    yield from _hard_reasons(context, settings)
    if not short:
        yield from _soft_reasons(context, metrics, settings)
    since, interval = steps_since_checkpoint(context), settings.checkpoint_interval
    if since is not None and since >= interval:
        due = f"{since} steps since the last checkpoint, one is due every {interval}"
        yield _reason(StepCode.CHECKPOINT, due)


def _hard_reasons(context: StepContext, settings: Steps) -> Iterator[StepReason]:
    """Yield what stops a run: checked before every step without exception."""
    coherence, least = context.coherence_score, settings.min_coherence
    if coherence is not None and coherence < least:
        shown = _shown(coherence, least)
        yield _reason(StepCode.COHERENCE, f"coherence is {shown}, the minimum is {least}")
    if (alone := _too_long_alone(context, settings)) is not None:
        yield _reason(StepCode.STEP_LIMIT, alone)
    steps, most = context.step_number, settings.max_total
    if steps is not None and most is not None and steps >= most:
        taken = f"{steps} steps were taken, the limit is {most}"
        yield _reason(StepCode.TOTAL_STEP_LIMIT, taken)
    if (used_up := _used_up(context)) is not None:
        yield used_up


def _soft_reasons(
    context: StepContext, metrics: StepMetrics, settings: Steps
) -> Iterator[StepReason]:
    """Yield what pauses or slows a run: left out of a short answer."""
    rework, most = sure_rework(context), settings.max_rework
    if rework is not None and rework > most:
        at_least = "" if rework == metrics.rework_ratio else "at least "
        shown = f"{at_least}{_shown(rework, most)}"
        yield _reason(StepCode.REWORK, f"the rework ratio is {shown}, the limit is {most}")
    uncertainty, most = metrics.uncertainty, settings.max_uncertainty
    if uncertainty is not None and uncertainty > most:
        shown = _shown(uncertainty, most)
        yield _reason(StepCode.UNCERTAINTY, f"uncertainty is {shown}, the limit is {most}")
    slope, most = metrics.budget_slope, settings.max_slope
    if slope is not None and slope > most:
        yield _reason(
            StepCode.SLOPE,
            f"the tokens per step grow by {_shown(slope, most)} of their average with each step,"
            f" the limit is {most}",
        )


def _too_long_alone(context: StepContext, settings: Steps) -> str | None:
    """Tell of too many steps without a person, unless checkpoints really are being taken.

    A checkpoint that is only due has its chance first: one more step without it is too many.
    """
    since, alone = steps_since_saved(context), context.steps_since_person
    if alone is None:
        alone = context.step_number
    most, interval = settings.max_consecutive, settings.checkpoint_interval
    if since is None or alone is None or alone < most or since <= interval:
        return None
    return (
        f"{alone} steps without a person and {since} without a checkpoint that saved anything,"
        f" expected fewer than {most} or a checkpoint every {interval}"
    )


def _used_up(context: StepContext) -> StepReason | None:
    """Return what nothing is left of: as the record has it, or as the client tells it."""
    told: list[str] = []
    if context.budget_remaining is not None:
        known = {each.dimension for each in context.used_up}
        told = _told_used_up(context.budget_remaining, known)
    spent = [each.text for each in context.used_up]
    if not spent and not told:
        return None
    if told:
        spent.append(f"{', '.join(told)}; more than 0 is needed for a step")
    reason = _reason(StepCode.BUDGET, f"the budget is used up: {'; '.join(spent)}")
    if not context.used_up:
        return reason
    ways = " and ".join(dict.fromkeys(f"`{each.way_to_raise}`" for each in context.used_up))
    resume = f"interlock resume {code_of(context.used_up[0].run)} --reason TEXT"
    advice = f"finish here, or have a person raise it, {ways}, and let the run go on: `{resume}`"
    return replace(reason, remediation=advice)


def _told_used_up(remaining: Remaining, known: Container[Dimension]) -> list[str]:
    """Return what a client has nothing left of, in words."""
    return [
        f"{each.label} ({_amount(each, left)} left)"
        for each in Dimension
        if each not in known and (left := remaining.of(each)) is not None and left <= 0
    ]


def _amount(dimension: Dimension, left: int) -> str:
    amount = str(left if dimension.scale == 1 else left / dimension.scale)
    return amount if dimension.unit == dimension.label else f"{amount} {dimension.unit}"


def _shown(figure: float, limit: float) -> str:
    """Return a figure in few digits, but never so few that it looks like its limit."""
    few = f"{figure:.3g}"
    return repr(figure) if float(few) == limit else few
