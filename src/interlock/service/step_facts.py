"""What is known of a run before its next step: what the record says, and what its client tells."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, TypeVar

import msgspec

from interlock.errors import InputError
from interlock.model.budget import BudgetBalance, Dimension
from interlock.model.control_state import COHERENCE_ACTIONS, SLOPE_STEPS, ControlState, heard
from interlock.model.progress_meter import LONGEST_TEXT, Meter
from interlock.model.ruling import Waiting
from interlock.model.run import RunState
from interlock.model.step import Remaining, StepContext, remaining_field
from interlock.policy.steps.loop_detector import Progress, progress_of, signs_of
from interlock.policy.steps.step_figures import coherence, uncertainty
from interlock.service.context import Context

N = TypeVar("N", int, float)

_LONGEST_WAIT_MS: Final = 7 * 24 * 3600 * 1000
_LONGEST_NOTE: Final = 400


def step_facts(
    context: Context,
    run: RunState,
    told: StepContext,
    *,
    closing: str | None = None,
    standings: Sequence[BudgetBalance],
    now: int,
) -> StepContext:
    """Return everything the continue gate looks at.

    What the client tells counts where it is worse than what follows from the record. `closing`
    are the words that end a turn.
    """
    going = run.going
    meter = heard(going, closing)
    went = _unsettled(going, meter)
    tokens = _worse(max, run.spent.tokens or None, told.total_tokens_used)
    return StepContext(
        step_number=going.steps,
        total_tokens_used=tokens,
        total_tool_calls=_worse(max, run.spent.tool_calls, told.total_tool_calls),
        rework_count=told.rework_count,
        rework_ratio=_worse(max, went.rework_ratio, told.rework_ratio),
        coherence_score=_worse(min, _coherence(going, went), told.coherence_score),
        uncertainty_score=_worse(
            max, uncertainty(tuple(going.beliefs.values())), told.uncertainty_score
        ),
        budget_remaining=_remaining(standings, told.budget_remaining),
        last_checkpoint_step=going.checkpoint_step,
        steps_since_person=going.steps_since_person,
        elapsed_ms=max(0, now - run.started_at) // 1000,
        steps_tokens=_step_tokens(going, tokens),
        signs=signs_of(meter, context.gates.progress),
    )


def coherence_of(going: ControlState, meter: Meter) -> float | None:
    """Return how coherent a run is, over its latest actions."""
    return _coherence(going, _unsettled(going, meter))


def _coherence(going: ControlState, went: Progress) -> float | None:
    return coherence(
        actions=min(going.actions, COHERENCE_ACTIONS),
        violations=going.recent_violations,
        rework=went.rework,
        progress=went.progress,
    )


def _unsettled(going: ControlState, meter: Meter) -> Progress:
    """Return how the latest actions went, of those that no person has let pass."""
    if not going.settled_steps:
        return progress_of(meter)
    calls = tuple(each for each in meter.calls if each.step > going.settled_steps)
    return progress_of(msgspec.structs.replace(meter, calls=calls))


def kept_words(context: Context, said: str | None) -> str | None:
    """Return what an agent said on the way, as far as it may be and needs to be kept."""
    return None if said is None else context.clean(said)[:LONGEST_TEXT]


def kept_waiting(context: Context, waiting: Waiting | None) -> Waiting | None:
    """Return what a run waits for as it may be kept."""
    if waiting is None:
        return None
    if not 0 < waiting.delay_ms <= _LONGEST_WAIT_MS:
        raise InputError(
            f"`waiting.delay_ms` is {waiting.delay_ms}, expected 1 to {_LONGEST_WAIT_MS}"
        )
    what = context.clean(waiting.what)[:_LONGEST_NOTE]
    return Waiting(what=what, delay_ms=waiting.delay_ms)


def _step_tokens(going: ControlState, total: int | None) -> tuple[int, ...]:
    """Return what each of the last steps used, this one being the last."""
    before = going.tokens_at_step
    if total is None or before is None or total < before:
        return going.step_tokens
    return (*going.step_tokens, total - before)[-SLOPE_STEPS:]


def _remaining(standings: Sequence[BudgetBalance], told: Remaining | None) -> Remaining:
    """Return what is left of each dimension, in the account where least of it is left."""
    left: dict[str, int] = {} if told is None else _known(told)
    for standing in standings:
        for dimension in Dimension:
            limit = standing.limits.of(dimension)
            if limit is not None:
                name = remaining_field(dimension)
                rest = limit - standing.used.of(dimension)
                left[name] = min(rest, left.get(name, rest))
    return Remaining(**left)


def _known(told: Remaining) -> dict[str, int]:
    return {name: left for name, left in msgspec.structs.asdict(told).items() if left is not None}


def _worse(pick: Callable[[N, N], N], known: N | None, told: N | None) -> N | None:
    """Return the worse of two figures; the other one where only one is known."""
    if known is None or told is None:
        return told if known is None else known
    return pick(known, told)
