"""Every check of the continue gate for people: what was found, the limit, and what it said."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

import msgspec

from interlock.model.step import ContinueDecision, Remaining, StepCode, StepContext
from interlock.policy.config.run_sections import Steps
from interlock.policy.steps import loop_detector, step_figures
from interlock.policy.steps.step_figures import rework_ratio, steps_since_checkpoint
from interlock.views import units

SILENT: Final = "fine"
UNKNOWN: Final = "unknown"
LEFT_OUT: Final = "left out"
NO_LIMIT: Final = "no limit"
NOT_ASKED: Final = "not asked"
_SOFT: Final = frozenset((StepCode.REWORK, StepCode.UNCERTAINTY, StepCode.SLOPE))
_NOT_KNOWN: Final = "not known"
_WHY_UNKNOWN: Final = {
    StepCode.COHERENCE: f"fewer than {step_figures.FEWEST} actions so far",
    StepCode.REWORK: f"fewer than {loop_detector.FEWEST} actions so far",
    StepCode.UNCERTAINTY: "no belief was reported",
    StepCode.SLOPE: f"fewer than {step_figures.FEWEST} steps with tokens so far",
}


class Check(msgspec.Struct, frozen=True, kw_only=True):
    """One check: whether it spoke, or why it did not."""

    code: str
    says: str
    """A decision such as `pause`, or `fine`, `unknown`, `left out`, `no limit`, `not asked`."""
    found: str
    limit: str


def checks_of(
    context: StepContext, decision: ContinueDecision, settings: Steps, *, held: bool
) -> tuple[Check, ...]:
    """Return all checks in the order of the gate, also those that had nothing to say."""
    found = dict(_found(context))
    limits = _limits(settings)
    spoke = {reason.code: reason.decision.value for reason in decision.reasons}
    return tuple(
        Check(
            code=code.value,
            says=NOT_ASKED if held else spoke.get(code.value) or _silence(code, decision, settings),
            found=found[code],
            limit=limits[code],
        )
        for code in StepCode
    )


def _silence(code: StepCode, decision: ContinueDecision, settings: Steps) -> str:
    if code is StepCode.TOTAL_STEP_LIMIT and settings.max_total is None:
        return NO_LIMIT
    if code.value in decision.metrics.unknown:
        return UNKNOWN
    return LEFT_OUT if decision.short and code in _SOFT else SILENT


def _found(context: StepContext) -> Iterator[tuple[StepCode, str]]:
    since = steps_since_checkpoint(context)
    alone = context.steps_since_person
    yield StepCode.COHERENCE, _shown(StepCode.COHERENCE, context.coherence_score)
    yield (
        StepCode.STEP_LIMIT,
        (
            f"{_count(context.step_number if alone is None else alone)} steps without a person,"
            f" {_count(since)} without a checkpoint"
        ),
    )
    yield StepCode.TOTAL_STEP_LIMIT, f"{_count(context.step_number)} steps"
    yield StepCode.BUDGET, _left(context.budget_remaining)
    yield StepCode.REWORK, _shown(StepCode.REWORK, rework_ratio(context))
    yield StepCode.UNCERTAINTY, _shown(StepCode.UNCERTAINTY, context.uncertainty_score)
    yield StepCode.SLOPE, _shown(StepCode.SLOPE, step_figures.budget_slope(context.steps_tokens))
    yield StepCode.CHECKPOINT, f"{_count(since)} steps since the last one"


def _limits(settings: Steps) -> Mapping[StepCode, str]:
    most, interval = settings.max_consecutive, settings.checkpoint_interval
    total = settings.max_total
    return {
        StepCode.COHERENCE: f"at least {settings.min_coherence}, or it stops",
        StepCode.STEP_LIMIT: f"fewer than {most}, or a checkpoint every {interval}, or it stops",
        StepCode.TOTAL_STEP_LIMIT: "none is set" if total is None else f"fewer than {total}",
        StepCode.BUDGET: "more than 0 of each, or it stops",
        StepCode.REWORK: f"at most {settings.max_rework}, or it pauses",
        StepCode.UNCERTAINTY: f"at most {settings.max_uncertainty}, or it pauses",
        StepCode.SLOPE: f"at most {settings.max_slope}, or it is slowed down",
        StepCode.CHECKPOINT: f"one is due every {interval}",
    }


def figure(value: float | None) -> str:
    """Return a figure in few digits."""
    return _NOT_KNOWN if value is None else f"{value:.3g}"


def _shown(code: StepCode, value: float | None) -> str:
    return _WHY_UNKNOWN[code] if value is None else figure(value)


def _count(value: int | None) -> str:
    return "?" if value is None else str(value)


def _left(remaining: Remaining | None) -> str:
    if remaining is None:
        return _NOT_KNOWN
    told = [
        f"{tell(left)} {word}"
        for name, (word, tell) in _WORDS.items()
        if (left := getattr(remaining, name)) is not None
    ]
    return f"{', '.join(told)} left" if told else "nothing is limited"


_WORDS: Final = {
    "tokens": ("tokens", "{:,}".format),
    "tool_calls": ("tool calls", "{:,}".format),
    "time_ms": ("of time", units.duration),
    "cost_micros": ("of cost", units.dollars),
    "diff_lines": ("changed lines", "{:,}".format),
    "storage_bytes": ("of storage", units.size),
}
