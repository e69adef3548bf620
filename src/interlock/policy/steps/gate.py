"""The continue gate: should the run take another step?

Everything that speaks against it is told, the most severe first, and the most severe decides.
"""

from __future__ import annotations

from typing import Final

from interlock.model.step import (
    ContinueDecision,
    Sign,
    StepContext,
    StepDecision,
    StepReason,
)
from interlock.policy.steps.checks import checkpoint_reasons, hard_reasons, soft_reasons
from interlock.policy.steps.measures import measures
from interlock.policy.steps.settings import StepSettings

_MOST_DOUBLINGS: Final = 32
"""Twice as long so often is beyond every cap, and still a small number."""


def decide(
    context: StepContext,
    settings: StepSettings,
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
    reasons = [*hard_reasons(context, settings)]
    if not short:
        reasons += soft_reasons(metrics, settings)
    reasons += checkpoint_reasons(context, settings)
    warnings: tuple[Sign, ...] = ()
    if context.signs:
        signs = sorted(context.signs, key=_place)
        warnings = tuple(sign for sign in signs if sign.decision is StepDecision.CONTINUE)
        reasons = _most_severe_first(reasons + _spoken(signs, short=short))
    decision = reasons[0].decision if reasons else StepDecision.CONTINUE
    return ContinueDecision(
        decision=decision,
        reasons=tuple(reasons),
        warnings=warnings,
        metrics=metrics,
        checkpoint_due=any(reason.decision is StepDecision.CHECKPOINT for reason in reasons),
        delay_ms=_delay(settings, throttled_before) if decision is StepDecision.THROTTLE else None,
        short=short,
    )


def is_within_cooldown(settings: StepSettings, *, full_at_ms: int | None, at_ms: int) -> bool:
    """Whether a full answer was given so lately that a short one does.

    A clock that was set back counts as time passed: a full answer is never the wrong one.
    """
    return full_at_ms is not None and 0 <= at_ms - full_at_ms < settings.cooldown_ms


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


_WARNING: Final = (StepDecision.CONTINUE,)
_SOFT: Final = (StepDecision.CONTINUE, StepDecision.THROTTLE)


def _most_severe_first(reasons: list[StepReason]) -> list[StepReason]:
    """Return the reasons by severity; among equals the gate's own come first."""
    return sorted(reasons, key=lambda reason: -reason.decision.rank)


def _delay(settings: StepSettings, throttled_before: int) -> int:
    doubled = settings.delay_ms << min(throttled_before, _MOST_DOUBLINGS)
    return min(doubled, settings.max_delay_ms)
