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
from interlock.model.short_code import code_of
from interlock.model.step import (
    COHERENCE_ACTIONS,
    ContinueDecision,
    Remaining,
    StepCode,
    StepContext,
    StepDecision,
)
from interlock.model.step_statistics import StepStatistics
from interlock.model.stop import (
    SignalScore,
    StopDecision,
    StopEvidence,
    StopOutcome,
    StopSignal,
)
from interlock.policy.config.document import Policy
from interlock.policy.config.run_sections import Steps
from interlock.policy.config.stop_section import Stops
from interlock.policy.steps import loop_detector, step_figures
from interlock.policy.steps.continue_gate import decide
from interlock.policy.steps.loop_detector import Figure
from interlock.views import units
from interlock.views.moment import Deed, Moment
from interlock.views.review_view import pending_in_words

SILENT: Final = "fine"
NOT_ASKED: Final = "not asked"
_UNKNOWN: Final = "unknown"
_LEFT_OUT: Final = "left out"
_NO_LIMIT: Final = "no limit"
_NOT_KNOWN: Final = "not known"
_SOFT: Final = frozenset((StepCode.REWORK, StepCode.UNCERTAINTY, StepCode.SLOPE))
_TOGETHER: Final = "stuck"
"""The sign that adds up all the others."""
_ABSENT: Final[Mapping[str, dict[str, object]]] = {
    StepCode.COHERENCE.value: {"coherence_score": None},
    StepCode.STEP_LIMIT.value: {"steps_since_person": 0},
    StepCode.BUDGET.value: {"budget_remaining": None},
    StepCode.REWORK.value: {"rework_ratio": None, "rework_of": None, "rework_count": None},
    StepCode.UNCERTAINTY.value: {"uncertainty_score": None},
    StepCode.SLOPE.value: {"steps_tokens": ()},
}
"""What a step context is without that which a reason rests on."""


class SignPart(msgspec.Struct, frozen=True, kw_only=True):
    """One kind of evidence that the run is stuck, and what became of it."""

    name: str
    points: float
    says: str
    """`pause` or `stop` if it is enough by itself, `warns` if the agent hears it, else `fine`."""
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
    statistics: StepStatistics
    """Of all answers before it."""


def explained(moment: Moment) -> Explained:
    """Return everything behind an answer."""
    event, policy = moment.event, moment.policy
    is_step = isinstance(event, StepJudged)
    facts = event.context if is_step else event.facts
    decision = event.decision if is_step else event.step
    is_held = is_step and event.held
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
        stop=None if is_step else _stop_part(event, policy),
        checks=checks_of(facts, decision, policy.steps, is_held=is_held),
        signs=tuple(_signs(moment, facts)),
        stuck_score=moment.stuck_score,
        pause_score=policy.loops.pause_score,
        figures=tuple(_figures(moment, facts)),
        otherwise=tuple(
            _otherwise_at_step(moment, event) if is_step else _otherwise_at_stop(moment, event)
        ),
        statistics=moment.before.step_statistics,
    )


def _signs(moment: Moment, facts: StepContext) -> Iterator[SignPart]:
    """Yield all evidence: what was recorded as a sign says what that sign said."""
    said = {sign.name: sign.decision.value for sign in facts.signs}
    for each in loop_detector.evidence_of(moment.meter, moment.policy.loops):
        says = said.get(each.name, SILENT)
        yield SignPart(
            name=each.name,
            points=each.points,
            says="warns" if says == StepDecision.CONTINUE.value else says,
            message=each.message,
            remediation=each.remediation,
            deeds=tuple(moment.deeds[step] for step in each.steps if step in moment.deeds),
        )


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
    """What was said to the agent, if anything was."""
    completion: ReviewDecision | None
    """What the checks of the policy said, where it came to that."""


def _stop_part(event: StopJudged, policy: Policy) -> StopPart:
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


class Check(msgspec.Struct, frozen=True, kw_only=True):
    """One check: whether it spoke, or why it did not."""

    code: str
    says: str
    """A decision such as `pause`, or `fine`, `unknown`, `left out`, `no limit`, `not asked`."""
    found: str
    limit: str


def checks_of(
    context: StepContext, decision: ContinueDecision, settings: Steps, *, is_held: bool
) -> tuple[Check, ...]:
    """Return all checks in the order of the gate, also those that had nothing to say."""
    return tuple(_checks(context, decision, settings, is_held=is_held))


def _checks(
    context: StepContext, decision: ContinueDecision, settings: Steps, *, is_held: bool
) -> Iterator[Check]:
    spoke = {reason.code: reason.decision.value for reason in decision.reasons}
    for code, found, limit in _found(context, settings):
        said = spoke.get(code.value) or _silence(code, decision, settings)
        says = NOT_ASKED if is_held else said
        yield Check(code=code.value, says=says, found=found, limit=limit)


def _silence(code: StepCode, decision: ContinueDecision, settings: Steps) -> str:
    if code is StepCode.TOTAL_STEP_LIMIT and settings.max_total is None:
        return _NO_LIMIT
    if code.value in decision.metrics.unknown:
        return _UNKNOWN
    return _LEFT_OUT if decision.short and code in _SOFT else SILENT


def _found(context: StepContext, settings: Steps) -> Iterator[tuple[StepCode, str, str]]:
    """Yield what each check is about: what was found, and the limit that it is held against."""
    few, slopes = step_figures.FEWEST_ACTIONS, step_figures.FEWEST_SLOPE_STEPS
    step, alone = _count(context.step_number), _count(context.steps_since_person)
    since = _count(step_figures.steps_since_checkpoint(context))
    unsaved = _count(step_figures.steps_since_saved(context))
    most, interval = settings.max_consecutive, settings.checkpoint_interval
    total = settings.max_total
    yield (
        StepCode.COHERENCE,
        _figure_text(context.coherence_score, f"fewer than {few} actions so far"),
        f"at least {settings.min_coherence}, or it stops",
    )
    yield (
        StepCode.STEP_LIMIT,
        f"{step if context.steps_since_person is None else alone} steps without a person,"
        f" {unsaved} without a checkpoint that saved anything",
        f"fewer than {most}, or a checkpoint every {interval}, or it stops",
    )
    yield (
        StepCode.TOTAL_STEP_LIMIT,
        f"{step} steps",
        "none is set" if total is None else f"fewer than {total}",
    )
    yield StepCode.BUDGET, _left(context.budget_remaining), "more than 0 of each, or it stops"
    yield (
        StepCode.REWORK,
        _rework_text(context),
        f"at most {settings.max_rework}, or it pauses",
    )
    yield (
        StepCode.UNCERTAINTY,
        _figure_text(context.uncertainty_score, "no belief was reported"),
        f"at most {settings.max_uncertainty}, or it pauses",
    )
    yield (
        StepCode.SLOPE,
        _figure_text(
            step_figures.budget_slope(context.steps_tokens),
            f"fewer than {slopes} steps with tokens so far",
        ),
        f"at most {settings.max_slope}, or it is slowed down",
    )
    yield StepCode.CHECKPOINT, f"{since} steps since the last one", f"one is due every {interval}"


def _rework_text(context: StepContext) -> str:
    share = _figure_text(step_figures.rework_ratio(context), "no action so far")
    interval = step_figures.rework_interval(context)
    if interval is None:
        return share
    return f"{share} of {context.rework_of}: {interval[0]:.2f} to {interval[1]:.2f}"


def _figure_text(value: float | None, unknown: str = _NOT_KNOWN) -> str:
    return unknown if value is None else f"{value:.3g}"


def _count(value: int | None) -> str:
    return "?" if value is None else str(value)


def _left(remaining: Remaining | None) -> str:
    if remaining is None:
        return _NOT_KNOWN
    limited: list[str] = []
    for each in Dimension:
        left = remaining.of(each)
        if left is not None:
            is_time = each is Dimension.WALL_TIME
            amount = units.duration(left) if is_time else units.amount(each, left)
            limited.append(f"{amount} {'' if each.unit == each.label else 'of '}{each.label}")
    return f"{', '.join(limited)} left" if limited else "nothing is limited"


def _figures(moment: Moment, facts: StepContext) -> Iterator[Figure]:
    """Yield every figure that is known, with what it comes from."""
    yield from _coherence(moment, facts)
    yield from loop_detector.figures_of(moment.meter)
    yield from _client_rework(moment, facts)
    yield from _uncertainty(moment, facts)
    slope = step_figures.budget_slope(facts.steps_tokens)
    if slope is not None:
        tokens = ", ".join(f"{each:,}" for each in facts.steps_tokens)
        because = f"tokens of the latest {len(facts.steps_tokens)} steps: {tokens}"
        yield Figure(name="slope", value=slope, because=(because,))


def _coherence(moment: Moment, facts: StepContext) -> Iterator[Figure]:
    if facts.coherence_score is None:
        return
    control, seen = moment.before.control, loop_detector.progress_of(moment.meter)
    actions, violations = min(control.actions, COHERENCE_ACTIONS), control.recent_violations
    ours = step_figures.coherence(
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


def _client_rework(moment: Moment, facts: StepContext) -> Iterator[Figure]:
    """Yield what the client says of rework; what the record says stands among the others."""
    if facts.rework_count is not None and facts.step_number:
        yield Figure(
            name="rework, told",
            value=facts.rework_count / facts.step_number,
            because=(
                f"the client counts {facts.rework_count} of {facts.step_number} steps as rework",
            ),
        )
    ours = loop_detector.progress_of(moment.meter).rework_ratio
    if facts.rework_ratio is not None and facts.rework_ratio != ours:
        because = (f"the client says so; the record gives {_figure_text(ours)}",)
        yield Figure(name="rework, told", value=facts.rework_ratio, because=because)


def _uncertainty(moment: Moment, facts: StepContext) -> Iterator[Figure]:
    if facts.uncertainty_score is None:
        return
    beliefs = tuple(moment.before.control.beliefs.values())
    sure = [
        f"`{each.name}` is {step_figures.confidence(each):.2f} sure"
        f" (for {each.supporting:g}, against {each.opposing:g})"
        for each in beliefs
    ]
    because = f"1 less the geometric mean of: {'; '.join(sure)}" if sure else "nobody reported any"
    yield _figure(
        "uncertainty", facts.uncertainty_score, step_figures.uncertainty(beliefs), because
    )


def _figure(name: str, value: float, ours: float | None, because: str) -> Figure:
    """Return a figure of the record, or the client's where that is worse."""
    if ours == value:
        return Figure(name=name, value=value, because=(because,))
    client = f"the client says so; the record gives {_figure_text(ours)}"
    return Figure(name=name, value=value, because=(client, because))


class Otherwise(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that might have been otherwise, and what would have been answered then."""

    had: str
    then: str


def _otherwise_at_step(moment: Moment, event: StepJudged) -> Iterator[Otherwise]:
    settings = moment.policy.steps
    if event.hard:
        yield _lifted(moment)
        return
    decision = event.decision
    if not decision.reasons:
        yield from _nearest(moment, event.context, settings)
        return
    for code in dict.fromkeys(reason.code for reason in decision.reasons):
        then = _asked_again(event, settings, (code,)).decision.value
        same = "still " if then == decision.decision.value else ""
        yield Otherwise(had=_absence(moment, code), then=f"{same}{then}")
    winning = [each.code for each in decision.reasons if each.decision is decision.decision]
    if len(set(winning)) > 1:
        then = _asked_again(event, settings, winning).decision.value
        yield Otherwise(had=f"without {' and '.join(f'`{each}`' for each in winning)}", then=then)


def _otherwise_at_stop(moment: Moment, event: StopJudged) -> Iterator[Otherwise]:
    settings = moment.policy.stops.for_model(event.context.model)
    decision = event.decision
    if event.hard:
        yield _lifted(moment)
    elif decision.veto is not None:
        others = [each.points for each in decision.signals if each.signal != StopSignal.VETO]
        then = "go on" if sum(others) >= settings.continue_at else "still finish"
        score = f"with a score of {sum(others)} of {settings.continue_at}"
        had = f"without the veto `{decision.veto.value}`"
        yield Otherwise(had=had, then=f"{then}, {score}")
    elif decision.outcome is StopOutcome.NUDGED and decision.score >= settings.continue_at:
        yield from _without_each_signal(decision, settings)
    elif not decision.goes_on and decision.outcome is not StopOutcome.WAITS:
        missing = settings.continue_at - decision.score
        yield Otherwise(had=f"with {missing} points more", then="go on")
    if event.completion is not None and event.ruling.by is Authority.COMPLETION:
        gates = ", ".join(f"`{fault.gate}`" for fault in event.completion.faults)
        yield Otherwise(had=f"with the checks of {gates} passed", then="finish")
    if event.ruling.by is Authority.CREDIT:
        yield Otherwise(had="with credit left, which verified progress earns", then="go on")
    if event.ruling.by is Authority.STEP:
        then = "go on" if decision.goes_on else "finish"
        yield Otherwise(had="had the continue gate not spoken", then=then)


def _absence(moment: Moment, code: str) -> str:
    if code != _TOGETHER:
        return f"without `{code}`"
    stuck, pauses = moment.stuck_score, moment.policy.loops.pause_score
    return f"with less than {pauses:.2f} points for being stuck, it had {stuck:.2f}"


def _lifted(moment: Moment) -> Otherwise:
    had = f"after a person's `interlock resume {code_of(moment.record.run)} --reason TEXT`"
    return Otherwise(had=had, then="it counts anew, and the gates are asked")


def _asked_again(event: StepJudged, settings: Steps, codes: Sequence[str]) -> ContinueDecision:
    """Return what the gate answers without what these reasons rest on."""
    context = event.context
    for code in codes:
        context = _without(context, code)
    if StepCode.TOTAL_STEP_LIMIT.value in codes:
        settings = replace(settings, max_total=None)
    short, before = event.decision.short, event.throttled_before
    return decide(context, settings, throttled_before=before, short=short)


def _without(context: StepContext, code: str) -> StepContext:
    if code in _ABSENT:
        return replace(context, **_ABSENT[code])
    if code == StepCode.CHECKPOINT.value:
        return replace(context, last_checkpoint_step=context.step_number)
    return replace(context, signs=tuple(sign for sign in context.signs if sign.name != code))


def _nearest(moment: Moment, context: StepContext, settings: Steps) -> Iterator[Otherwise]:
    """Yield how far the run was from another answer, where nothing spoke."""
    stuck, pauses = moment.stuck_score, moment.policy.loops.pause_score
    had = f"signs of being stuck from {pauses:.2f} on, now {stuck:.2f}"
    yield Otherwise(had=had, then=StepDecision.PAUSE.value)
    if context.coherence_score is not None:
        had = f"coherence below {settings.min_coherence}, now {context.coherence_score:.3g}"
        yield Otherwise(had=had, then=StepDecision.STOP.value)
    rework = step_figures.sure_rework(context)
    if rework is not None:
        had = f"rework above {settings.max_rework}, now {rework:.3g}"
        yield Otherwise(had=had, then=StepDecision.PAUSE.value)
    since = step_figures.steps_since_checkpoint(context)
    if since is not None:
        had = f"{settings.checkpoint_interval} steps since a checkpoint, now {since}"
        yield Otherwise(had=had, then=StepDecision.CHECKPOINT.value)


def _without_each_signal(decision: StopDecision, settings: Stops) -> Iterator[Otherwise]:
    for signal in decision.signals:
        if signal.points > 0:
            left = decision.score - signal.points
            then = "still go on" if left >= settings.continue_at else "finish"
            yield Otherwise(
                had=f"without `{signal.signal}`",
                then=f"{then}, with a score of {left} of {settings.continue_at}",
            )
