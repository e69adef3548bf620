"""What would have changed an answer: the gates are asked again without one thing at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import msgspec
from msgspec.structs import replace

from interlock.model.events import StepJudged, StopJudged
from interlock.model.ruling import Authority
from interlock.model.step import ContinueDecision, StepCode, StepContext, StepDecision
from interlock.model.stop import StopDecision, StopOutcome
from interlock.policy.config.run_sections import Steps
from interlock.policy.config.stop_section import Stops
from interlock.policy.steps.continue_gate import decide
from interlock.policy.steps.loop_detector import stuck_score
from interlock.policy.steps.step_figures import rework_ratio, steps_since_checkpoint
from interlock.views.moment import Moment

_TOGETHER: Final = "stuck"
"""The sign that adds up all the others."""


class Otherwise(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that might have been otherwise, and what would have been answered then."""

    had: str
    then: str


def otherwise_at_step(moment: Moment, event: StepJudged, settings: Steps) -> Iterator[Otherwise]:
    """Yield what would have changed the answer before a step."""
    if event.hard:
        yield _lifted(moment)
        return
    decision = event.decision
    if not decision.reasons:
        yield from _nearest(moment, event.context, settings)
        return
    for code in dict.fromkeys(reason.code for reason in decision.reasons):
        told = _asked_again(event, settings, (code,)).decision.value
        same = "still " if told == decision.decision.value else ""
        yield Otherwise(had=_absence(moment, code), then=f"{same}{told}")
    winning = [each.code for each in decision.reasons if each.decision is decision.decision]
    if len(set(winning)) > 1:
        told = _asked_again(event, settings, winning).decision.value
        yield Otherwise(had=f"without {' and '.join(f'`{each}`' for each in winning)}", then=told)


def otherwise_at_stop(moment: Moment, event: StopJudged, settings: Stops) -> Iterator[Otherwise]:
    """Yield what would have changed the answer at the end of a turn."""
    decision = event.decision
    if event.hard:
        yield _lifted(moment)
    elif decision.veto is not None:
        then = "go on" if decision.score >= settings.continue_at else "still finish"
        yield Otherwise(
            had=f"without the veto `{decision.veto.value}`",
            then=f"{then}, with a score of {decision.score} of {settings.continue_at}",
        )
    elif decision.outcome is StopOutcome.NUDGED and decision.score >= settings.continue_at:
        yield from _without_each_signal(decision, settings)
    elif not decision.goes_on:
        missing = settings.continue_at - decision.score
        yield Otherwise(had=f"with {missing} points more", then="go on")
    if event.completion is not None and event.ruling.by is Authority.COMPLETION:
        gates = ", ".join(f"`{fault.gate}`" for fault in event.completion.faults)
        yield Otherwise(had=f"with the checks of {gates} passed", then="finish")
    if event.ruling.by is Authority.CREDIT:
        yield Otherwise(had="with credit left, which verified progress earns", then="go on")
    if event.ruling.by is Authority.STEP:
        yield Otherwise(
            had="had the continue gate not spoken",
            then="go on" if decision.goes_on else "finish",
        )


def _absence(moment: Moment, code: str) -> str:
    if code != _TOGETHER:
        return f"without `{code}`"
    progress = moment.policy.loops
    stuck, pauses = stuck_score(moment.meter, progress), progress.pause_score
    return f"with less than {pauses:.2f} points for being stuck, it had {stuck:.2f}"


def _lifted(moment: Moment) -> Otherwise:
    had = f"after a person's `interlock lift {moment.record.run} --reason TEXT`"
    return Otherwise(had=had, then="it counts anew, and the gates are asked")


def _asked_again(event: StepJudged, settings: Steps, codes: Sequence[str]) -> ContinueDecision:
    """Return what the gate answers without what these reasons rest on."""
    context = event.context
    for code in codes:
        context = _without(context, code)
    if StepCode.TOTAL_STEP_LIMIT.value in codes:
        settings = replace(settings, max_total=None)
    return decide(
        context,
        settings,
        throttled_before=event.throttled_before,
        short=event.decision.short,
    )


def _without(context: StepContext, code: str) -> StepContext:
    match code:
        case StepCode.COHERENCE.value:
            return replace(context, coherence_score=None)
        case StepCode.STEP_LIMIT.value:
            return replace(context, steps_since_person=0)
        case StepCode.BUDGET.value:
            return replace(context, budget_remaining=None)
        case StepCode.REWORK.value:
            return replace(context, rework_ratio=None, rework_count=None)
        case StepCode.UNCERTAINTY.value:
            return replace(context, uncertainty_score=None)
        case StepCode.SLOPE.value:
            return replace(context, steps_tokens=())
        case StepCode.CHECKPOINT.value:
            return replace(context, last_checkpoint_step=context.step_number)
        case _:
            signs = tuple(sign for sign in context.signs if sign.name != code)
            return replace(context, signs=signs)


def _nearest(moment: Moment, context: StepContext, settings: Steps) -> Iterator[Otherwise]:
    """Yield how far the run was from another answer, where nothing spoke."""
    progress = moment.policy.loops
    stuck, pauses = stuck_score(moment.meter, progress), progress.pause_score
    yield Otherwise(
        had=f"signs of being stuck from {pauses:.2f} on, now {stuck:.2f}",
        then=StepDecision.PAUSE.value,
    )
    if context.coherence_score is not None:
        had = f"coherence below {settings.min_coherence}, now {context.coherence_score:.3g}"
        yield Otherwise(had=had, then=StepDecision.STOP.value)
    rework = rework_ratio(context)
    if rework is not None:
        had = f"rework above {settings.max_rework}, now {rework:.3g}"
        yield Otherwise(had=had, then=StepDecision.PAUSE.value)
    since = steps_since_checkpoint(context)
    if since is not None:
        had = f"{settings.checkpoint_interval} steps since a checkpoint, now {since}"
        yield Otherwise(had=had, then=StepDecision.CHECKPOINT.value)


def _without_each_signal(decision: StopDecision, settings: Stops) -> Iterator[Otherwise]:
    for signal in decision.signals:
        if signal.points:
            left = decision.score - signal.points
            then = "still go on" if left >= settings.continue_at else "finish"
            yield Otherwise(
                had=f"without `{signal.signal}`",
                then=f"{then}, with a score of {left} of {settings.continue_at}",
            )
