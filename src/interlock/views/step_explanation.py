"""Why a run was let go on, paused or stopped: everything behind one answer.

What was known and where it comes from, every check and sign with its limit, whose word decided,
and what would have changed the answer: the gates are asked again without one thing at a time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import msgspec
from msgspec.structs import replace

from interlock.model.arbitration import Authority, Hard, Ruling, Waiting
from interlock.model.budget import Dimension
from interlock.model.events import StepJudged, StopJudged
from interlock.model.review import ReviewDecision
from interlock.model.step import (
    COHERENCE_ACTIONS,
    ContinueDecision,
    Remaining,
    StepCode,
    StepContext,
    StepDecision,
)
from interlock.model.stop import SignalScore, StopDecision, StopEvidence, StopOutcome
from interlock.policy.config.document import Policy
from interlock.policy.config.run_sections import Steps
from interlock.policy.config.stop_section import Stops
from interlock.policy.steps import loop_detector, step_figures
from interlock.policy.steps.continue_gate import decide
from interlock.policy.steps.loop_detector import (
    Figure,
    evidence_of,
    figures_of,
    progress_of,
    stuck_score,
)
from interlock.policy.steps.step_figures import (
    budget_slope,
    coherence,
    confidence,
    rework_ratio,
    steps_since_checkpoint,
    uncertainty,
)
from interlock.views import units
from interlock.views.moment import Deed, Moment
from interlock.views.review_view import pending_in_words


class SignPart(msgspec.Struct, frozen=True, kw_only=True):
    """One kind of evidence that the run is stuck, and what became of it."""

    name: str
    points: float
    says: str
    """`pause` or `stop` if it is enough by itself, `warns` if the agent is told, else `fine`."""
    message: str
    remediation: str
    deeds: tuple[Deed, ...]


class Explained(msgspec.Struct, frozen=True, kw_only=True):
    """Everything behind one answer."""

    run: str
    task: str
    kind: str
    """`step` or `stop`."""
    record: int
    at: int
    step: int | None
    said: str | None
    ruling: Ruling
    approval: str | None
    hard: tuple[Hard, ...]
    waiting: Waiting | None
    reviews: tuple[str, ...]
    """The reviews that were pending, each with its attempt."""
    credit: int
    decision: ContinueDecision
    facts: StepContext
    stop: StopPart | None
    checks: tuple[Check, ...]
    signs: tuple[SignPart, ...]
    stuck_score: float
    pause_score: float
    figures: tuple[Figure, ...]
    otherwise: tuple[Otherwise, ...]


def explained(moment: Moment) -> Explained:
    """Return everything behind an answer."""
    event, policy = moment.event, moment.policy
    steps, progress = policy.steps, policy.loops
    is_step = isinstance(event, StepJudged)
    facts = event.context if is_step else event.facts
    decision = event.decision if is_step else event.step
    held = is_step and event.held
    return Explained(
        run=moment.record.run,
        task=moment.before.task,
        kind="step" if is_step else "stop",
        record=moment.record.seq,
        at=moment.record.at,
        step=facts.step_number,
        said=event.said if is_step else event.context.text,
        ruling=event.ruling,
        approval=event.approval or event.ruling.approval,
        hard=event.hard,
        waiting=event.waiting,
        reviews=tuple(pending_in_words(moment.before.reviews)),
        credit=event.credit,
        decision=decision,
        facts=facts,
        stop=None if is_step else stop_part(event, policy),
        checks=checks_of(facts, decision, steps, held=held),
        signs=tuple(_signs(moment, facts)),
        stuck_score=stuck_score(moment.meter, progress),
        pause_score=progress.pause_score,
        figures=known_figures(moment, facts),
        otherwise=tuple(_otherwise(moment, event)),
    )


def _otherwise(moment: Moment, event: StepJudged | StopJudged) -> Iterator[Otherwise]:
    policy = moment.policy
    if isinstance(event, StepJudged):
        return otherwise_at_step(moment, event, policy.steps)
    settings = policy.stops.for_model(event.context.model)
    return otherwise_at_stop(moment, event, settings)


def _signs(moment: Moment, facts: StepContext) -> Iterator[SignPart]:
    """Yield all evidence: what was recorded as a sign says what that sign said."""
    said = {sign.name: sign.decision for sign in facts.signs}
    for each in evidence_of(moment.meter, moment.policy.loops):
        decision = said.get(each.name)
        yield SignPart(
            name=each.name,
            points=each.points,
            says=_sign_says(decision),
            message=each.message,
            remediation=each.remediation,
            deeds=tuple(moment.deeds[step] for step in each.steps if step in moment.deeds),
        )


def _sign_says(decision: StepDecision | None) -> str:
    if decision is None:
        return SILENT
    return "warns" if decision is StepDecision.CONTINUE else decision.value


class StopPart(msgspec.Struct, frozen=True, kw_only=True):
    """What the stop gate saw and said."""

    outcome: StopOutcome
    reason: str
    veto: str | None
    score: int
    continue_at: int
    warn_at: int
    signals: tuple[SignalScore, ...]
    evidence: tuple[StopEvidence, ...]
    retries: int
    max_retries: int
    credit: int
    credit_in_all: int
    profile: str
    model: str | None
    nudge: str | None
    """What the agent was told, if it was told anything."""
    completion: ReviewDecision | None
    """What the checks of the policy said, where it came to that."""


def stop_part(event: StopJudged, policy: Policy) -> StopPart:
    """Return what the stop gate saw and said."""
    settings = policy.stops.for_model(event.context.model)
    decision = event.decision
    return StopPart(
        outcome=decision.outcome,
        reason=decision.reason,
        veto=None if decision.veto is None else decision.veto.value,
        score=decision.score,
        continue_at=settings.continue_at,
        warn_at=settings.warn_at,
        signals=decision.signals,
        evidence=event.context.evidence,
        retries=event.context.retries,
        max_retries=settings.max_retries,
        credit=event.credit,
        credit_in_all=policy.stops.credit,
        profile=settings.profile,
        model=event.context.model,
        nudge=event.ruling.nudge,
        completion=event.completion,
    )


SILENT: Final = "fine"
UNKNOWN: Final = "unknown"
LEFT_OUT: Final = "left out"
NO_LIMIT: Final = "no limit"
NOT_ASKED: Final = "not asked"
_SOFT: Final = frozenset((StepCode.REWORK, StepCode.UNCERTAINTY, StepCode.SLOPE))
_NOT_KNOWN: Final = "not known"
_WHY_UNKNOWN: Final = {
    StepCode.COHERENCE: f"fewer than {step_figures.FEWEST_ACTIONS} actions so far",
    StepCode.REWORK: f"fewer than {loop_detector.FEWEST_CALLS} actions so far",
    StepCode.UNCERTAINTY: "no belief was reported",
    StepCode.SLOPE: f"fewer than {step_figures.FEWEST_SLOPE_STEPS} steps with tokens so far",
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
    yield StepCode.SLOPE, _shown(StepCode.SLOPE, budget_slope(context.steps_tokens))
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
    limited = [
        _left_of(each, left) for each in Dimension if (left := remaining.of(each)) is not None
    ]
    return f"{', '.join(limited)} left" if limited else "nothing is limited"


def _left_of(dimension: Dimension, left: int) -> str:
    is_time = dimension is Dimension.WALL_TIME
    amount = units.duration(left) if is_time else units.amount(dimension, left)
    return f"{amount} {'' if dimension.unit == dimension.label else 'of '}{dimension.label}"


def known_figures(moment: Moment, facts: StepContext) -> tuple[Figure, ...]:
    """Return every figure that is known, with what it comes from."""
    return (
        *_coherence(moment, facts),
        *figures_of(moment.meter),
        *_told_rework(moment, facts),
        *_uncertainty(moment, facts),
        *_slope(facts),
    )


def _coherence(moment: Moment, facts: StepContext) -> Iterator[Figure]:
    if facts.coherence_score is None:
        return
    control, seen = moment.before.control, progress_of(moment.meter)
    actions, violations = min(control.actions, COHERENCE_ACTIONS), control.recent_violations
    ours = coherence(
        actions=actions, violations=violations, rework=seen.rework, progress=seen.progress
    )
    sum_of = (
        f"0.4 for {actions - min(violations, actions)} of the latest {actions} actions without a"
        f" broken rule, 0.3 for {actions - min(seen.rework, actions)} without rework, 0.3 for"
        f" {min(seen.progress, actions)} that brought something new or waited"
        if actions >= step_figures.FEWEST_ACTIONS
        else f"fewer than {step_figures.FEWEST_ACTIONS} actions: only the client knows"
    )
    yield _figure("coherence", facts.coherence_score, ours, sum_of)


def _told_rework(moment: Moment, facts: StepContext) -> Iterator[Figure]:
    """Yield what the client says of rework; what the record says stands among the others."""
    if facts.rework_count is not None and facts.step_number:
        yield Figure(
            name="rework, told",
            value=facts.rework_count / facts.step_number,
            because=(
                f"the client counts {facts.rework_count} of {facts.step_number} steps as rework",
            ),
        )
    ours = progress_of(moment.meter).rework_ratio
    if facts.rework_ratio is not None and facts.rework_ratio != ours:
        because = (f"the client says so; the record gives {figure(ours)}",)
        yield Figure(name="rework, told", value=facts.rework_ratio, because=because)


def _uncertainty(moment: Moment, facts: StepContext) -> Iterator[Figure]:
    if facts.uncertainty_score is None:
        return
    beliefs = tuple(moment.before.control.beliefs.values())
    told = [
        f"`{each.name}` is {confidence(each):.2f} sure (for {each.supporting:g}, against"
        f" {each.opposing:g})"
        for each in beliefs
    ]
    because = f"1 less the geometric mean of: {'; '.join(told)}" if told else "nobody reported any"
    yield _figure("uncertainty", facts.uncertainty_score, uncertainty(beliefs), because)


def _slope(facts: StepContext) -> Iterator[Figure]:
    slope = budget_slope(facts.steps_tokens)
    if slope is not None:
        tokens = ", ".join(f"{each:,}" for each in facts.steps_tokens)
        because = f"tokens of the latest {len(facts.steps_tokens)} steps: {tokens}"
        yield Figure(name="slope", value=slope, because=(because,))


def _figure(name: str, value: float, ours: float | None, because: str) -> Figure:
    """Return a figure of the record, or the client's where that is worse."""
    if ours == value:
        return Figure(name=name, value=value, because=(because,))
    told = f"the client says so; the record gives {figure(ours)}"
    return Figure(name=name, value=value, because=(told, because))


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
