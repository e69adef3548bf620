"""The records of the loop as a person reads them."""

from __future__ import annotations

from typing import Final, assert_never

from interlock.model.loop_events import (
    CycleDecided,
    DeliveryAttempted,
    LoopCancelled,
    LoopEvent,
    LoopFrozen,
    LoopThawed,
    ModelAnswered,
    ModelAsked,
    NoteAdded,
    NotesProcessed,
    RecommendationSettled,
    RetrospectiveWritten,
    TriggerReceived,
)
from interlock.model.short_code import code_of
from interlock.model.system_loop import (
    ApplyRecommendation,
    Choice,
    CycleOutcome,
    DoNothing,
    EmitAlert,
    ProcessNotes,
    StartLoop,
)
from interlock.views import units
from interlock.views.timeline_entry import Accent, Entry

OUTCOMES: Final = {
    CycleOutcome.EMITTED: Accent.GOOD,
    CycleOutcome.NOTHING: Accent.FAINT,
    CycleOutcome.SHADOW: Accent.FAINT,
    CycleOutcome.OFF: Accent.FAINT,
    CycleOutcome.FROZEN: Accent.BAD,
    CycleOutcome.APPROVAL_REQUIRED: Accent.ASKING,
    CycleOutcome.APPROVAL_DENIED: Accent.BAD,
}
"""How a decision looks; what a rail kept back calls for care."""

_MARKS: Final = {
    CycleOutcome.APPROVAL_REQUIRED: "asks",
    CycleOutcome.APPROVAL_DENIED: "denied",
    CycleOutcome.RATE_LIMITED: "too often",
    CycleOutcome.BUDGET_DENIED: "unpaid",
    CycleOutcome.VALIDATION_ERROR: "invalid",
    CycleOutcome.TOO_DEEP: "too deep",
    CycleOutcome.BACKLOGGED: "too many",
}
"""Outcomes in a word that fits; the others do by themselves."""


def loop_entry(event: LoopEvent, by: str) -> Entry:  # noqa: C901, PLR0911, PLR0912 - a case per event
    """Return what happened to the loop."""
    match event:
        case NoteAdded(note=note):
            return Entry("note", Accent.STRONG, note.text, note.source)
        case NotesProcessed(notes=notes):
            return Entry("taken", Accent.FAINT, units.counted(len(notes), "note"))
        case TriggerReceived(trigger=trigger):
            return Entry("trigger", Accent.STRONG, trigger.source, f"scope {trigger.scope}")
        case ModelAsked(decider=decider, reserved_micros=micros):
            return Entry("asks", Accent.FAINT, decider, f"{units.dollars(micros)} at most")
        case ModelAnswered(decider=decider, failure=failure, cost_micros=micros, detail=detail):
            accent = Accent.FAINT if failure is None else Accent.CAREFUL
            said = "answered" if failure is None else failure.value
            return Entry(said, accent, decider, units.dollars(micros), (detail,) if detail else ())
        case CycleDecided():
            return _decided(event)
        case DeliveryAttempted(event=sent, sink=sink, attempt=attempt, error=error):
            mark, accent = ("sent", Accent.FAINT) if error is None else ("not sent", Accent.CAREFUL)
            reasons = () if error is None else (error,)
            return Entry(mark, accent, f"{code_of(sent)} to {sink}", f"try {attempt}", reasons)
        case LoopFrozen(reason=reason):
            return Entry("frozen", Accent.BAD, reason, by)
        case LoopThawed(reason=reason):
            return Entry("thawed", Accent.GOOD, reason, by)
        case LoopCancelled(id=cancelled, reason=reason):
            return Entry("cancelled", Accent.BAD, f"{code_of(cancelled)}: {reason}", by)
        case RetrospectiveWritten(retrospective=retrospective, recommendations=new):
            found = units.counted(len(new), "recommendation")
            return Entry("learnt", Accent.STRONG, f"from run {code_of(retrospective.run)}", found)
        case RecommendationSettled(id=settled, state=state):
            return Entry(state.value, Accent.ASKING, f"recommendation {code_of(settled)}", by)
        case _:
            assert_never(event)


def choice_text(choice: Choice) -> str:
    """Return an action in a few words."""
    word = choice.action.value
    match choice:
        case StartLoop(job=about) | ApplyRecommendation(recommendation=about):
            return f"{word} {about}"
        case ProcessNotes(notes=notes):
            return f"{word} {units.counted(len(notes), 'note')}"
        case EmitAlert(message=message):
            return f"{word} {message}"
        case DoNothing():
            return word
        case _:
            assert_never(choice)


def _decided(event: CycleDecided) -> Entry:
    reasons = (event.reasoning, *[f"{hit.rail.value}: {hit.reason}" for hit in event.rails])
    return Entry(
        _MARKS.get(event.outcome, event.outcome.value),
        OUTCOMES.get(event.outcome, Accent.CAREFUL),
        choice_text(event.choice),
        f"{event.trigger_source}, {event.decider}",
        tuple(filter(None, reasons)),
        ", ".join(hit.rail.value for hit in event.rails),
    )
