"""The five signals and the evidence: what each adds to the score, and why."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from interlock.model.stop import (
    EvidenceKind,
    FinishReason,
    LastEvent,
    SignalScore,
    StopContext,
    StopEvidence,
    StopSignal,
)
from interlock.policy.stops.announcing import Announcement, Strength, announced
from interlock.policy.stops.closing import Closing, sentences_of
from interlock.policy.stops.phrases import mentioned, said
from interlock.policy.stops.settings import Reading, StopSettings

_MANY_CALLS: Final = 0.5


def signals_of(
    context: StopContext, closing: Closing, intent: Announcement | None, settings: StopSettings
) -> tuple[SignalScore, ...]:
    """Return all five signals in their order, and one more for each kind of evidence."""
    return (
        _finish_reason(context, settings),
        _last_event(context, settings),
        _content_intent(context, intent, settings),
        _no_summary(context, closing, settings),
        _tool_ratio(context, settings),
        *(_evidence(context.evidence, settings) if context.evidence else ()),
    )


def intent_of(text: str | None, closing: Closing, settings: StopSettings) -> Announcement | None:
    """Return what a message says that it does next, by the reading that the policy chose."""
    if settings.reading is Reading.PHRASES:
        return _intent_by_phrases(text, settings)
    return announced(closing) or _intent_at_the_end(closing, settings)


def _finish_reason(context: StopContext, settings: StopSettings) -> SignalScore:
    reason = context.finish_reason
    if reason is None:
        points = settings.points_no_finish_reason
        return _score(StopSignal.FINISH_REASON, points, "no finish reason was given")
    if reason is FinishReason.TOOL_CALLS and not context.tool_calls:
        because = "tool calls were announced and none was given"
        return _score(StopSignal.FINISH_REASON, settings.points_tool_calls, because)
    return _score(StopSignal.FINISH_REASON, 0, f"the finish reason is `{reason.value}`")


def _last_event(context: StopContext, settings: StopSettings) -> SignalScore:
    event = context.last_event
    if event is LastEvent.TOOL_RESULT:
        because = "it comes right after a tool result"
        return _score(StopSignal.LAST_EVENT, settings.points_last_event, because)
    name = "not known" if event is None else f"`{event.value}`"
    return _score(StopSignal.LAST_EVENT, 0, f"the event before it is {name}")


def _content_intent(
    context: StopContext, intent: Announcement | None, settings: StopSettings
) -> SignalScore:
    if intent is None:
        because = "it says nothing of a next act" if context.text else "there is no text"
        return _score(StopSignal.CONTENT_INTENT, 0, because)
    vague = intent.strength is Strength.VAGUE
    points = settings.points_vague_intent if vague else settings.points_intent
    return _score(StopSignal.CONTENT_INTENT, points, intent.because)


def _intent_by_phrases(text: str | None, settings: StopSettings) -> Announcement | None:
    """Return the first sentence that says a continue phrase, unless one says it is complete."""
    found: Announcement | None = None
    for sentence in sentences_of(text):
        if said(settings.completion_phrases, sentence.plain):
            return None
        if found is None:
            phrase = said(settings.continue_phrases, sentence.plain)
            # Whoever goes on with a summary is done.
            if phrase and not mentioned(settings.summary_phrases, sentence.plain):
                found = Announcement(Strength.VAGUE, sentence.said, f"it says `{phrase}`")
    return found


def _intent_at_the_end(closing: Closing, settings: StopSettings) -> Announcement | None:
    """Return a continue phrase of the policy, where the last sentence says one."""
    if not closing.sentences:
        return None
    last = closing.sentences[-1]
    phrase = said(settings.continue_phrases, last.plain)
    over = said(settings.completion_phrases, last.plain)
    if phrase is None or over or mentioned(settings.summary_phrases, last.plain):
        return None
    return Announcement(Strength.VAGUE, last.said, f"it says `{phrase}`")


def _no_summary(context: StopContext, closing: Closing, settings: StopSettings) -> SignalScore:
    if settings.reading is Reading.PHRASES:
        text = "\n".join([sentence.plain for sentence in sentences_of(context.text)])
    else:
        text = closing.plain
    phrase = mentioned(settings.summary_phrases, text)
    if phrase is not None:
        return _score(StopSignal.NO_SUMMARY, 0, f"it sums up or hands over: `{phrase}`")
    return _score(StopSignal.NO_SUMMARY, settings.points_no_summary, "it does not sum up")


def _tool_ratio(context: StopContext, settings: StopSettings) -> SignalScore:
    ratio = context.tool_ratio
    if ratio is None:
        return _score(StopSignal.TOOL_RATIO, 0, "the share of turns with calls is not known")
    many = ratio > _MANY_CALLS
    because = f"{ratio:g} of the recent turns had calls, {'' if many else 'not '}more than 0.5"
    return _score(StopSignal.TOOL_RATIO, settings.points_tool_ratio if many else 0, because)


def _evidence(evidence: Iterable[StopEvidence], settings: StopSettings) -> Iterable[SignalScore]:
    """Yield each kind once: ten open items speak no louder than one."""
    counts = dict.fromkeys(EvidenceKind, 0)
    for each in evidence:
        counts[each.kind] += 1
    for kind, count in counts.items():
        if count:
            yield SignalScore(
                signal=kind.value, points=settings.points_of(kind), because=f"{count} on record"
            )


def _score(signal: StopSignal, points: int, because: str) -> SignalScore:
    return SignalScore(signal=signal.value, points=points, because=because)
