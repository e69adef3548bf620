"""The arbiter: one place where going on and being done are weighed against each other.

Hard states come first, then the step's answer, then the stop's. Nothing that comes later in
this order can lift what an earlier one said.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from interlock.model.arbitration import Authority, Course, Hard, HardState, Ruling, Waiting
from interlock.model.review import ReviewDecision, ReviewOutcome
from interlock.model.step import ContinueDecision, StepDecision, StepReason
from interlock.model.stop import StopDecision, StopOutcome

_COURSES: Final = {StepDecision.STOP: Course.HALT, StepDecision.PAUSE: Course.AWAIT_PERSON}
_DECISIONS: Final = {
    HardState.PERSON_STOP: StepDecision.STOP,
    HardState.STOPPED: StepDecision.STOP,
    HardState.PAUSED: StepDecision.PAUSE,
    HardState.AWAITING_PERSON: StepDecision.PAUSE,
    HardState.OVER_BUDGET: StepDecision.STOP,
}
_WOULD_HAVE: Final = {
    StepDecision.THROTTLE: "would have been slowed down",
    StepDecision.PAUSE: "would have been paused",
    StepDecision.STOP: "would have been stopped",
}
_NO_CREDIT: Final = (
    "it announced more work, but its continuations are used up: nothing verifiable came of the"
    " earlier ones"
)


def ruling(
    hard: Sequence[Hard],
    step: ContinueDecision,
    stop: StopDecision | None = None,
    *,
    credit: int,
    waiting: Waiting | None = None,
    completion: ReviewDecision | None = None,
) -> Ruling:
    """Return what a run does next: at a step, or, where `stop` is given, at the end of a turn.

    `credit` is how many continuations the run has left that nobody asked it for; `completion`
    is what the checks say that must pass before a run may finish.
    """
    return (
        _from_hard_states(hard)
        or _from_done(stop, waiting, completion)
        or _from_step(step)
        or _from_completion(step, completion)
        or _from_waiting(step, waiting)
        or _from_words(step, stop)
        or _from_stop(step, stop, credit)
    )


def held_answer(hard: Sequence[Hard]) -> ContinueDecision:
    """Return the answer before a step of a run that may not go on whatever the gate says."""
    reasons = tuple(
        StepReason(
            code=each.state.value,
            decision=_DECISIONS[each.state],
            message=each.reason,
            remediation="end the turn and say what is left: only a person can resume the run",
        )
        for each in sorted(hard, key=lambda each: each.state.rank)
    )
    return ContinueDecision(
        decision=max((each.decision for each in reasons), key=lambda each: each.rank),
        reasons=reasons,
    )


def _from_hard_states(hard: Sequence[Hard]) -> Ruling | None:
    if not hard:
        return None
    strongest = min(hard, key=lambda each: each.state.rank)
    return Ruling(
        course=_COURSES[_DECISIONS[strongest.state]],
        by=Authority(strongest.state.value),
        reason=strongest.reason,
        approval=strongest.approval,
    )


def _from_step(step: ContinueDecision) -> Ruling | None:
    """Return what the continue gate forbids, if it does."""
    course = _COURSES.get(step.decision)
    if course is None:
        return None
    return Ruling(course=course, by=Authority.STEP, reason=_reason(step))


def _from_completion(step: ContinueDecision, completion: ReviewDecision | None) -> Ruling | None:
    """Send a run on whose checks fail: how often is counted with them, not with the credit."""
    if completion is None or completion.outcome is not ReviewOutcome.RETRY:
        return None
    return Ruling(
        course=Course.GO_ON,
        by=Authority.COMPLETION,
        reason=completion.reason,
        delay_ms=step.delay_ms,
        nudge=completion.guidance,
    )


def _from_done(
    stop: StopDecision | None, waiting: Waiting | None, completion: ReviewDecision | None
) -> Ruling | None:
    """Let a turn end that wants to end: nothing needs to be forbidden then."""
    if stop is None or stop.goes_on or stop.outcome is StopOutcome.WAITS:
        return None
    if waiting is not None and stop.veto is None:
        return None
    if completion is not None and completion.outcome is ReviewOutcome.RETRY:
        return None
    return Ruling(course=Course.FINISH, by=Authority.STOP, reason=stop.reason)


def _from_waiting(step: ContinueDecision, waiting: Waiting | None) -> Ruling | None:
    """Turn looking again and again into a timer."""
    if waiting is None:
        return None
    return Ruling(
        course=Course.WAIT,
        by=Authority.WAITING,
        reason=f"it waits for {waiting.what}",
        delay_ms=max(waiting.delay_ms, step.delay_ms or 0),
    )


def _from_words(step: ContinueDecision, stop: StopDecision | None) -> Ruling | None:
    """Turn what the agent's own words wait for into a timer."""
    if stop is None or stop.outcome is not StopOutcome.WAITS:
        return None
    delay_ms = max(stop.delay_ms or 0, step.delay_ms or 0)
    return Ruling(course=Course.WAIT, by=Authority.STOP, reason=stop.reason, delay_ms=delay_ms)


def _from_stop(step: ContinueDecision, stop: StopDecision | None, credit: int) -> Ruling:
    """Return the way on, where nothing speaks against it."""
    if stop is None:
        return Ruling(
            course=Course.GO_ON, by=Authority.STEP, reason=_reason(step), delay_ms=step.delay_ms
        )
    if credit <= 0 and stop.outcome is not StopOutcome.ACTS:
        return Ruling(course=Course.FINISH, by=Authority.CREDIT, reason=_NO_CREDIT)
    return Ruling(
        course=Course.GO_ON,
        by=Authority.STOP,
        reason=stop.reason,
        delay_ms=step.delay_ms,
        nudge=stop.nudge,
    )


def _reason(step: ContinueDecision) -> str:
    would_have = "" if step.would_have is None else f"{_WOULD_HAVE[step.would_have]}: "
    said = "; ".join(reason.message for reason in step.reasons)
    return f"{would_have}{said}" if said else "no limit is reached"
