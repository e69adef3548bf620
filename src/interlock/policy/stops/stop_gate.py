"""Is it really done? Asked each time an agent ends its turn without acting.

Vetoes come first, then what the protocol itself says, then the score of the signals and the
evidence. A soft signal never overrides a veto. What is sent to an agent that stopped too early
goes as a message from the user's side, says that it is automatic, and names what is left: never
a bare "continue".
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from interlock.model.arbitration import AUTOMATIC
from interlock.model.stop import (
    EvidenceKind,
    FinishReason,
    LastEvent,
    SignalScore,
    StopContext,
    StopDecision,
    StopEvidence,
    StopOutcome,
    StopSignal,
    StopVeto,
)
from interlock.policy.config.complaints import one_line
from interlock.policy.config.key import OBSERVE
from interlock.policy.config.stop_section import Stops
from interlock.policy.stops.announcements import (
    Announcement,
    Intent,
    announced,
    ends_itself,
    unsaid,
)
from interlock.policy.stops.closing_text import Closing, Sentence, closing_of, sentences_of
from interlock.policy.stops.handover import asked, refuses, waits_for_an_end
from interlock.policy.stops.phrases import mentioned, said
from interlock.policy.stops.provider_errors import ProviderError, provider_error
from interlock.policy.stops.report_form import report_share


def decide(context: StopContext, settings: Stops) -> StopDecision:
    """Return whether the turn goes on, with every signal and the one reason."""
    settings = settings.for_model(context.model)
    read = _Read(context, settings)
    signals = tuple(_signals(context, read, settings))
    score = sum([signal.points for signal in signals])
    outcome, reason = _outcome(context, read, score, signals, settings)
    veto = None
    vetoed = _veto(context, read, settings) or (
        _exhausted(context, settings) if outcome in _BOUNDED else None
    )
    if vetoed is not None:
        outcome, (veto, reason) = StopOutcome.VETOED, vetoed
        signals = (*signals, *_taken_away(veto, settings))
        score = sum([signal.points for signal in signals])
    would_have = None
    if settings.mode == OBSERVE and outcome in _BOUNDED:
        would_have, outcome = outcome, StopOutcome.FINISHED_WITH_WARNING
        reason = f"would have been sent on: {reason}"
    return StopDecision(
        goes_on=outcome in _SENT_ON or outcome is StopOutcome.ACTS,
        score=score,
        signals=signals,
        reason=reason,
        outcome=outcome,
        veto=veto,
        nudge=_nudge(context, read.intent) if outcome in _SENT_ON else None,
        would_have=would_have,
        delay_ms=read.delay_ms if outcome is StopOutcome.WAITS else None,
    )


_SENT_ON: Final = frozenset((StopOutcome.NUDGED, StopOutcome.RESUMED))
_BOUNDED: Final = _SENT_ON | {StopOutcome.WAITS}
"""What goes on because it is sent on or waited for, which happens only so often."""
_OF_A_VETO: Final = -200
_LOOKS_AGAIN_MS: Final = 60_000
_MOST_DOUBLED: Final = 6


class _Read:
    """What a message says, read once."""

    def __init__(self, context: StopContext, settings: Stops) -> None:
        text, by_phrases = context.text, settings.by_phrases
        self.closing = closing = closing_of(text)
        self.sentences = sentences_of(text) if by_phrases else closing.sentences
        said = "\n".join([sentence.plain for sentence in self.sentences])
        self.summary = mentioned(settings.summary_phrases, said)
        self.error: ProviderError | None = provider_error(text, context.retries)
        self.ends = not by_phrases and ends_itself(closing)
        self.intent = None if self.ends else _intent(context, closing, self.sentences, settings)
        self.runs = None if by_phrases else _waited_for(closing, self.intent)
        self._retries = context.retries

    @property
    def delay_ms(self) -> int:
        """After how long it is looked at again: each time twice as long."""
        if self.error is not None and self.error.delay_ms is not None:
            return self.error.delay_ms
        return _LOOKS_AGAIN_MS << min(self._retries, _MOST_DOUBLED)


def _waited_for(closing: Closing, intent: Announcement | None) -> str | None:
    """Return the sentence that says what still runs, unless another act is announced beside it."""
    runs = waits_for_an_end(closing)
    is_other = intent is not None and intent.kind is not Intent.VAGUE and intent.said != runs
    return None if is_other else runs


def _taken_away(veto: StopVeto, settings: Stops) -> Iterator[SignalScore]:
    """Yield what a veto does to the score, so that the score alone tells as well."""
    if not settings.by_phrases:
        yield _score(StopSignal.VETO, _OF_A_VETO, f"the veto `{veto.value}` ends the turn")


def _outcome(
    context: StopContext,
    read: _Read,
    score: int,
    signals: tuple[SignalScore, ...],
    settings: Stops,
) -> tuple[StopOutcome, str]:
    """Return what happens where nothing forbids going on, and why."""
    if context.tool_calls:
        return StopOutcome.ACTS, f"it acts: the message holds {context.tool_calls} tool calls"
    if not settings.auto_continue:
        return StopOutcome.FINISHED, "auto-continue is off (`stops.auto-continue`)"
    if context.finish_reason is FinishReason.LENGTH:
        return StopOutcome.RESUMED, "it was cut off at its length limit"
    if context.finish_reason is FinishReason.TOOL_CALLS:
        return StopOutcome.NUDGED, "it announced tool calls and gave none"
    if read.error is not None:
        said = one_line(read.error.said)
        return StopOutcome.WAITS, f"the provider failed and is tried again later: `{said}`"
    if read.runs is not None:
        return StopOutcome.WAITS, f"it waits for what runs by itself: `{one_line(read.runs)}`"
    return _by_score(score, signals, settings)


def _by_score(
    score: int, signals: tuple[SignalScore, ...], settings: Stops
) -> tuple[StopOutcome, str]:
    counted = "; ".join([each.because for each in signals if each.points])
    scored = f"(score {score}; from {settings.continue_at} on it is sent on)"
    if score >= settings.continue_at:
        return StopOutcome.NUDGED, f"work seems to be left: {counted} {scored}"
    if score >= settings.warn_at:
        return (
            StopOutcome.FINISHED_WITH_WARNING,
            f"it ends, but work may be left: {counted} {scored}",
        )
    few = "few signs" if counted else "no sign"
    return StopOutcome.FINISHED, f"taken as done: {few} of unfinished work {scored}"


_HALF: Final = 0.5


def _signals(context: StopContext, read: _Read, settings: Stops) -> Iterator[SignalScore]:
    """Yield the five signals of the message, its form, and each kind of evidence, in this order."""
    yield _finish_reason(context, settings)
    yield _last_event(context, settings)
    yield _content_intent(context, read, settings)
    yield _no_summary(read, settings)
    yield _tool_ratio(context, settings)
    if settings.points_form:
        yield _form(context, read, settings)
    if context.evidence:
        # Each kind counts once: ten open items speak no louder than one.
        counts = Counter(each.kind for each in context.evidence)
        for kind in filter(counts.get, EvidenceKind):
            because = _counted(counts[kind], kind)
            yield SignalScore(signal=kind.value, points=settings.points_of(kind), because=because)


def _finish_reason(context: StopContext, settings: Stops) -> SignalScore:
    reason = context.finish_reason
    if reason is None:
        points = settings.points_no_finish_reason
        return _score(StopSignal.FINISH_REASON, points, "no finish reason was given")
    if reason is FinishReason.TOOL_CALLS and not context.tool_calls:
        because = "tool calls were announced and none was given"
        return _score(StopSignal.FINISH_REASON, settings.points_tool_calls, because)
    return _score(StopSignal.FINISH_REASON, 0, f"the finish reason is `{reason.value}`")


def _last_event(context: StopContext, settings: Stops) -> SignalScore:
    event = context.last_event
    if event is LastEvent.TOOL_RESULT:
        because = "it comes right after a tool result"
        return _score(StopSignal.LAST_EVENT, settings.points_last_event, because)
    name = "not known" if event is None else f"`{event.value}`"
    return _score(StopSignal.LAST_EVENT, 0, f"the event before it is {name}")


def _content_intent(context: StopContext, read: _Read, settings: Stops) -> SignalScore:
    intent = read.intent
    if intent is None:
        because = "it announces no next action" if context.text else "there is no text"
        return _score(StopSignal.CONTENT_INTENT, 0, because)
    points = _POINTS[intent.kind](settings)
    return _score(StopSignal.CONTENT_INTENT, points, intent.because)


_POINTS: Final[Mapping[Intent, Callable[[Stops], int]]] = {
    Intent.ACT: lambda settings: settings.points_intent,
    Intent.OPEN_END: lambda settings: settings.points_open_end,
    Intent.SILENCE: lambda settings: settings.points_silence,
    Intent.SHARED: lambda settings: settings.points_shared_intent,
    Intent.VAGUE: lambda settings: settings.points_vague_intent,
}


def _form(context: StopContext, read: _Read, settings: Stops) -> SignalScore:
    if not read.closing.sentences and not read.ends:
        return _score(StopSignal.FORM, 0, "nothing is said")
    if read.ends:
        because = "it announces to hand in, to conclude or to sum up"
        return _score(StopSignal.FORM, 0, because)
    share = 1.0 if read.summary is not None else report_share(context.text, read.closing)
    because = "it is a short and plain note" if share < _HALF else "it looks like a report"
    return _score(StopSignal.FORM, round(settings.points_form * (1 - share)), because)


def _intent(
    context: StopContext, closing: Closing, sentences: Sequence[Sentence], settings: Stops
) -> Announcement | None:
    """Return what a message says that it does next, by the reading that the policy chose."""
    if settings.by_phrases:
        return _intent_by_phrases(sentences, settings)
    at_work = context.last_event is LastEvent.TOOL_RESULT
    found = (unsaid(closing) if at_work else None) or announced(closing)
    if found is None or (found.kind is Intent.SHARED and not at_work):
        # What anybody may do is the writer's own only in the middle of work with tools.
        return _intent_by_phrases(closing.sentences[-1:], settings)
    return found


def _intent_by_phrases(sentences: Sequence[Sentence], settings: Stops) -> Announcement | None:
    """Return the first sentence that says a continue phrase, unless one says it is complete."""
    found: Announcement | None = None
    for sentence in sentences if settings.continue_phrases else ():
        if said(settings.completion_phrases, sentence.plain):
            return None
        if found is None:
            phrase = said(settings.continue_phrases, sentence.plain)
            # Whoever goes on with a summary is done.
            if phrase and not mentioned(settings.summary_phrases, sentence.plain):
                found = Announcement(sentence.said, f"it says `{phrase}`", Intent.VAGUE)
    return found


def _no_summary(read: _Read, settings: Stops) -> SignalScore:
    if read.summary is not None:
        return _score(StopSignal.NO_SUMMARY, 0, f"it sums up or hands over: `{read.summary}`")
    return _score(StopSignal.NO_SUMMARY, settings.points_no_summary, "it does not sum up")


def _tool_ratio(context: StopContext, settings: Stops) -> SignalScore:
    ratio = context.tool_ratio
    if ratio is None:
        return _score(StopSignal.TOOL_RATIO, 0, "the share of turns with calls is not known")
    many = ratio > _HALF
    because = f"{ratio:g} of the recent turns had calls, {'' if many else 'not '}more than 0.5"
    return _score(StopSignal.TOOL_RATIO, settings.points_tool_ratio if many else 0, because)


def _score(signal: StopSignal, points: int, because: str) -> SignalScore:
    # Its value, which takes several times as long to look up in Python 3.11.
    return SignalScore(signal=str(signal), points=points, because=because)


_NEAR_END: Final = 2

_Vetoed = tuple[StopVeto, str]


def _veto(context: StopContext, read: _Read, settings: Stops) -> _Vetoed | None:
    """Return the first veto that holds, and why: hard states, a refusal, then a person.

    A message that holds calls has not stopped: only the first two speak to it.
    """
    if context.hard:
        states = ", ".join(context.hard)
        return StopVeto.HARD_STOP, f"the run is held: {states}; only a person can resume it"
    closing = read.closing
    refused = _refused(context, closing)
    if refused is not None or context.tool_calls:
        return refused
    if read.error is not None:
        return _for_a_person(read.error)
    question = asked(closing) or _asked_in_own_words(closing, settings)
    if question is None:
        return None
    return StopVeto.AWAITING_USER, f"it asks the person or hands over: `{one_line(question)}`"


def _for_a_person(error: ProviderError) -> _Vetoed | None:
    """Return that nobody but a person can settle an error, if that is so."""
    if error.delay_ms is not None:
        return None
    said = one_line(error.said)
    return StopVeto.AWAITING_USER, f"the provider refuses until a person settles it: `{said}`"


def _exhausted(context: StopContext, settings: Stops) -> _Vetoed | None:
    """Return that a turn which would be sent on was sent on too often in a row."""
    if context.retries < settings.max_retries:
        return None
    count = f"it was told to go on {context.retries} of {settings.max_retries} times in a row"
    if context.finish_reason is FinishReason.TOOL_CALLS:
        reason = f"{count} and still announces tool calls without giving any"
        return StopVeto.PROTOCOL_VIOLATION, reason
    return StopVeto.RETRIES_EXHAUSTED, f"{count}: the turn ends"


def _refused(context: StopContext, closing: Closing) -> _Vetoed | None:
    if context.finish_reason is FinishReason.CONTENT_FILTER:
        return StopVeto.REFUSED, "the model refused, or its answer was filtered"
    if closing.sentences and refuses(closing.sentences[-1]):
        said = one_line(closing.sentences[-1].said)
        return StopVeto.REFUSED, f"the model refused: `{said}`"
    return None


def _asked_in_own_words(closing: Closing, settings: Stops) -> str | None:
    """Return the sentence at the end that holds one of the policy's own phrases."""
    for sentence in closing.sentences[-_NEAR_END:]:
        if mentioned(settings.awaiting_phrases, sentence.plain):
            return sentence.said
    return None


_MOST_NAMED: Final = 3
_MOST_SHOWN: Final = 80
_HEADINGS: Final = {
    EvidenceKind.OPEN_TODO: ("to-do item is open", "to-do items open"),
    EvidenceKind.FAILING_CHECK: ("check failed last", "checks failed last"),
    EvidenceKind.PENDING_REVIEW: ("review is pending", "reviews are pending"),
    EvidenceKind.UNTOUCHED_FILE: (
        "file of the plan was never touched",
        "files of the plan were never touched",
    ),
}
_CLOSE: Final = (
    "Do that now. If it is done, or cannot be done, say so and why; if a person must decide,"
    " ask them."
)


def _nudge(context: StopContext, intent: Announcement | None) -> str:
    """Return the message for an agent whose turn goes on."""
    return " ".join([AUTOMATIC, *_what_happened(context, intent), _CLOSE])


def evidence_in_words(evidence: Sequence[StopEvidence]) -> str:
    """Return what is left, counted and named, whatever the order of the evidence."""
    parts: list[str] = []
    for kind in _HEADINGS:
        texts = sorted({one_line(each.text, _MOST_SHOWN) for each in evidence if each.kind is kind})
        if texts:
            named = ", ".join([f"`{text}`" for text in texts[:_MOST_NAMED]])
            more = len(texts) - _MOST_NAMED
            rest = f" and {more} more" if more > 0 else ""
            parts.append(f"{_counted(len(texts), kind)}: {named}{rest}")
    return "; ".join(parts)


def _counted(count: int, kind: EvidenceKind) -> str:
    one, many = _HEADINGS[kind]
    return f"{count} {one if count == 1 else many}"


def _what_happened(context: StopContext, intent: Announcement | None) -> list[str]:
    parts: list[str] = []
    if context.finish_reason is FinishReason.LENGTH:
        parts.append("Your last message was cut off at its length limit: go on where it broke off.")
    if context.finish_reason is FinishReason.TOOL_CALLS:
        parts.append("Your last message announced tool calls and held none: make the calls.")
    if intent is not None:
        parts.append(_what_was_announced(intent))
    if context.evidence:
        parts.append(f"What the record says is left: {evidence_in_words(context.evidence)}.")
    return parts or ["Your turn ended without an act or an answer."]


def _what_was_announced(intent: Announcement) -> str:
    if intent.said:
        return f"Your turn ended without the act that you announced (`{one_line(intent.said)}`)."
    if intent.kind is Intent.SILENCE:
        silent = f"Your turn ended without an act or an answer: {intent.because}."
        return f"{silent} Take the next step of the task."
    return f"Your turn ended without an act, although {intent.because}."
