"""The end of a turn, explained: signals with their points, the veto, the evidence, the nudge."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec

from interlock.cli.render import Line, Span, Tone
from interlock.cli.wrap import wrapped_lines
from interlock.model.events import StopJudged
from interlock.model.review import ReviewDecision
from interlock.model.stop import SignalScore, StopEvidence, StopOutcome
from interlock.policy.config.document import Policy
from interlock.policy.stops.from_policy import stop_settings
from interlock.policy.stops.settings import settings_for

_NAME: Final = 17
_POINTS: Final = 11
_OUTCOMES: Final = {
    StopOutcome.ACTS: "its message holds calls: it goes on by itself",
    StopOutcome.NUDGED: "it looks unfinished: it is told to go on",
    StopOutcome.RESUMED: "it was cut off: it is told to go on",
    StopOutcome.FINISHED: "it looks done",
    StopOutcome.FINISHED_WITH_WARNING: "it looks done, but something speaks for going on",
    StopOutcome.VETOED: "a veto ends the turn, whatever the score says",
}


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
    settings = settings_for(event.context.model, stop_settings(policy.stops))
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


def stop_lines(part: StopPart, *, width: int) -> Iterator[Line]:
    """Yield everything that spoke for being done or for going on."""
    yield ()
    yield (Span("Is it really done?", Tone.HEADING),)
    yield from _row("stop gate", "", f"{part.outcome.value}: {_OUTCOMES[part.outcome]}", width)
    veto = "none" if part.veto is None else f"{part.veto}: {part.reason}"
    yield from _row("veto", "", veto, width)
    for signal in part.signals:
        points = f"+{signal.points}" if signal.points else "0"
        yield from _row(signal.signal, points, signal.because, width)
    limits = (
        f"from {part.continue_at} on it goes on, from {part.warn_at} on it ends with a warning"
        f" (profile `{part.profile}`{_of_model(part)})"
    )
    yield from _row("score", str(part.score), limits, width)
    times = f"in a row told to go on; {part.max_retries} times are the most"
    yield from _row("continuations", str(part.retries), times, width)
    earned = f"of {part.credit_in_all} left; verified progress earns it back"
    yield from _row("credit", str(part.credit), earned, width)
    for each in part.evidence:
        yield from _row("evidence", "", f"{each.kind.value}: {each.text}", width)
    if part.completion is not None:
        told = f"{part.completion.outcome.value}: {part.completion.reason}"
        yield from _row("completion", "", told, width)
    if part.nudge is not None:
        yield from _told_lines(part.nudge, width)


def _told_lines(nudge: str, width: int) -> Iterator[Line]:
    first, *others = [line for line in nudge.splitlines() if line.strip()]
    yield from _row("it is told", "", first, width)
    for line in others:
        yield from _row("", "", line, width)


def _of_model(part: StopPart) -> str:
    return "" if part.model is None else f", model `{part.model}`"


def _row(name: str, figure: str, text: str, width: int) -> Iterator[Line]:
    head = (
        Span(f"  {name:<{_NAME}}"),
        Span(f"{figure:<{_POINTS}}" if figure else "", Tone.STRONG),
    )
    return wrapped_lines(head, text, width=width)
