"""Where would a past run have been paused or stopped? Judged step by step, as it went.

After each step of the agent the continue gate is asked with what was known then. Checkpoints
count as taken when they were due, budgets are not known, and outcomes are not looked at.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from typing import Final

import msgspec

from interlock.backtest.trajectories import Run, observations
from interlock.model.progress_meter import Kind, Meter, noted
from interlock.model.step import ContinueDecision, StepContext, StepDecision, StepReason
from interlock.policy.config.run_sections import Loops, Steps
from interlock.policy.steps.continue_gate import decide
from interlock.policy.steps.loop_detector import progress_of, signs_of, stuck_score
from interlock.policy.steps.step_figures import coherence

_SLOPE_STEPS: Final = 10
_DIGITS: Final = 3


class Judged(msgspec.Struct, frozen=True, kw_only=True):
    """Where a past run would have been held, and how it looked after every step."""

    run_id: object
    stop_at: int | None
    """The step after which it pauses or stops; depends on no later one."""
    decision: StepDecision
    reasons: tuple[StepReason, ...]
    scores: tuple[float, ...]
    """One number per step: the higher, the more speaks for stopping."""


def judged(run: Run, steps: Steps, progress: Loops) -> Judged:
    """Return where a run would first have been paused or stopped."""
    held: ContinueDecision | None = None
    stop_at: int | None = None
    scores: list[float] = []
    for place, (answer, score) in enumerate(_answers(run, steps, progress)):
        scores.append(round(score, _DIGITS))
        if held is None and answer is not None and answer.decision.rank >= StepDecision.PAUSE.rank:
            held, stop_at = answer, place
    return Judged(
        run_id=run.run_id,
        stop_at=stop_at,
        decision=StepDecision.CONTINUE if held is None else held.decision,
        reasons=() if held is None else held.reasons,
        scores=tuple(scores),
    )


def _answers(
    run: Run, steps: Steps, progress: Loops
) -> Iterator[tuple[ContinueDecision | None, float]]:
    """Yield after each step what the gate says, and how much speaks for being stuck.

    Only a step of the agent is answered: on what a person says the agent may yet act.
    """
    meter, at_person, score = Meter(), 0, 0.0
    tokens: deque[int] = deque(maxlen=_SLOPE_STEPS)
    for step, seen in zip(run.steps, observations(run.steps, progress), strict=True):
        if seen is None:
            yield None, score
            continue
        meter = noted(meter, seen)
        score = stuck_score(meter, progress)
        if seen.kind is Kind.PERSON:
            at_person = meter.steps
            yield None, score
            continue
        if step.tokens is not None:
            tokens.append(step.tokens)
        yield decide(_context(meter, at_person, tokens, progress), steps), score


def _context(meter: Meter, at_person: int, tokens: Iterable[int], settings: Loops) -> StepContext:
    went = progress_of(meter)
    return StepContext(
        step_number=meter.steps,
        rework_ratio=went.rework_ratio,
        coherence_score=coherence(
            actions=went.actions, violations=0, rework=went.rework, progress=went.progress
        ),
        last_checkpoint_step=meter.steps,
        steps_since_person=meter.steps - at_person,
        steps_tokens=tuple(tokens),
        signs=signs_of(meter, settings),
    )
