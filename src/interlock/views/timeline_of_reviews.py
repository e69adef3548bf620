"""Reviews as a person reads them on a timeline: opened, checked, judged, and chosen."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final, assert_never

from interlock.cli import measures
from interlock.cli.render import Tone
from interlock.cli.run_choice import SHORT
from interlock.model.events import CheckRan, ReviewChosen, ReviewJudged, ReviewOpened
from interlock.model.review import GateAction, ReviewMode, ReviewOutcome, ReviewPurpose
from interlock.policy.reviews.gate_faults import check_in_words, fault_in_words
from interlock.views.entries import Entry

if TYPE_CHECKING:
    from interlock.model.events import Record
    from interlock.model.run import ReviewEvent

_OUTCOMES: Final = {
    ReviewOutcome.ADVANCE: ("advance", Tone.GOOD),
    ReviewOutcome.RETRY: ("retry", Tone.CAREFUL),
    ReviewOutcome.ASK: ("asks", Tone.ASKING),
    ReviewOutcome.STOPPED: ("aborted", Tone.BAD),
    ReviewOutcome.REFUSED: ("refused", Tone.CAREFUL),
}
_CHOICES: Final = {
    GateAction.RETRY: Tone.GOOD,
    GateAction.SKIP: Tone.CAREFUL,
    GateAction.ABORT: Tone.BAD,
}


def review_entry(event: ReviewEvent, record: Record) -> Entry:
    """Return what happened, where it is about a review."""
    match event:
        case ReviewOpened():
            return _opened(event)
        case CheckRan():
            return _checked(event)
        case ReviewJudged():
            return _judged(event)
        case ReviewChosen():
            return _chosen(event, record)
        case _:
            assert_never(event)


def _opened(event: ReviewOpened) -> Entry:
    review = event.review
    is_completion = event.purpose is ReviewPurpose.COMPLETION
    subject = "may the run finish?" if is_completion else event.subject
    text = f"{review.id}: {subject}" if subject else review.id
    facts = f"{review.mode.value}, {measures.counted(review.max_attempts, 'attempt')}"
    return Entry("review", Tone.ASKING, text, facts, (f"gates: {', '.join(review.gate_ids)}",))


def _checked(event: CheckRan) -> Entry:
    result = event.result
    command, told = f"$ {event.command}", check_in_words(result)
    if not result.ran:
        return Entry("no check", Tone.BAD, result.gate, "", (command, told), "unverified")
    mark, tone = ("check ok", Tone.GOOD) if result.passed else ("check bad", Tone.BAD)
    facts = f"{told}, {measures.duration(event.duration_ms)}"
    return Entry(mark, tone, result.gate, facts, (command,))


def _judged(event: ReviewJudged) -> Entry:
    mark, tone = _OUTCOMES[event.decision.outcome]
    return Entry(
        mark,
        tone,
        f"{event.review}{_attempt(event)}: {_said(event)}",
        "" if event.approval is None else f"approval {event.approval[:SHORT]}",
        tuple(_why(event)),
        ", ".join(dict.fromkeys(fault.gate for fault in event.decision.faults)),
    )


def _attempt(event: ReviewJudged) -> str:
    """Return which attempt it was; what came through needs no count."""
    review, entry = event.decision.review, event.decision.entry
    return "" if review is None or entry is None else f", {entry.attempt} of {review.max_attempts}"


def _said(event: ReviewJudged) -> str:
    if event.verdict is None:
        return "a verdict that could not be read"
    return f"{event.verdict.overall.value} - {event.verdict.rationale}"


def _why(event: ReviewJudged) -> Iterator[str]:
    """Yield what the verdict itself does not say: the evidence, and what was warned of."""
    decision = event.decision
    held = [fault for fault in decision.faults if fault.mode is ReviewMode.BLOCKING]
    if event.unreadable is not None:
        yield event.unreadable
    if decision.outcome is ReviewOutcome.REFUSED:
        yield decision.reason
    yield from map(fault_in_words, held)
    for warning in decision.warnings:
        yield f"warned: {warning}"


def _chosen(event: ReviewChosen, record: Record) -> Entry:
    return Entry(
        event.action.value,
        _CHOICES[event.action],
        f"review {event.review}",
        f"by {record.by.name}",
        (event.decision.reason,),
    )
