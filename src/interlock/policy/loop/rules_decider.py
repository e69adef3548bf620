"""The decider that needs no model: the first rule that has something to do chooses."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple, assert_never

from interlock.model.system_loop import (
    ApplyRecommendation,
    Choice,
    DoNothing,
    EmitAlert,
    Item,
    LoopAction,
    ProcessNotes,
    Proposal,
    Snapshot,
    Source,
    StartLoop,
    Trigger,
)
from interlock.model.verdict import Severity
from interlock.policy.config.loop_section import SystemLoop
from interlock.policy.loop.orientation import is_failure, jobs_for

RULES: Final = "rules"
"""What the slog calls it."""
UNDELIVERED: Final = "undelivered"
"""What an event is called in the inventory that some sink does not have yet."""
JOB: Final = "job"
"""What a run is called that the loop started itself."""
APPLICABLE: Final = "patch"
"""What a recommendation is called that changes the policy by itself."""

_LONGEST_MESSAGE: Final = 300


class _Seen(NamedTuple):
    snapshot: Snapshot
    triggers: Sequence[Trigger]
    settings: SystemLoop


def by_rules(snapshot: Snapshot, triggers: Sequence[Trigger], settings: SystemLoop) -> Proposal:
    """Return what the rules choose: whatever the policy switched off is never chosen."""
    seen = _Seen(snapshot, triggers, settings)
    for rule in _RULES:
        for proposal in rule(seen):
            if settings.may(proposal.choice.action) != "off" and not _is_under_way(seen, proposal):
                return proposal
    return Proposal(choice=DoNothing(), reasoning="nothing calls for an action")


def subject_of(choice: Choice) -> str:
    """Return what an action is about, in short."""
    match choice:
        case StartLoop(job=job):
            return job
        case ProcessNotes(notes=notes):
            return " ".join(notes)
        case ApplyRecommendation(recommendation=recommendation):
            return recommendation
        case EmitAlert(about=about):
            return about
        case DoNothing():
            return ""
        case _:
            assert_never(choice)


def about_event(trigger_id: str) -> str:
    """Return how an alert names an event: never as it would name a run, a note or a question."""
    return f"event/{trigger_id}"


def undelivered_text(choice: Choice) -> str:
    """Return how the inventory names an event that some sink does not have yet."""
    return f"{choice.action.value} {subject_of(choice)}".strip()


def is_same_work(choice: Choice, other: Choice) -> bool:
    """Whether two choices would do the same; the queue and the policy are there only once."""
    if choice.action is not other.action:
        return False
    return isinstance(choice, ProcessNotes | ApplyRecommendation) or (
        subject_of(choice) == subject_of(other)
    )


def _is_under_way(seen: _Seen, proposal: Proposal) -> bool:
    """Whether the same is on its way already, or people were told of it before."""
    choice, snapshot = proposal.choice, seen.snapshot
    waiting = [item.text for item in snapshot.items(Source.UNFINISHED) if item.kind == UNDELIVERED]
    match choice:
        case StartLoop(job=job):
            running = snapshot.items(Source.RUNS)
            is_running = any(item.kind == JOB and item.text == job for item in running)
            return is_running or undelivered_text(choice) in waiting
        case EmitAlert(about=about):
            told = snapshot.items(Source.SLOG)
            is_told = any(
                item.kind == LoopAction.EMIT_ALERT and item.text == about for item in told
            )
            return is_told or undelivered_text(choice) in waiting
        case _:
            return any(text.startswith(choice.action.value) for text in waiting)


def _jobs(seen: _Seen) -> Iterator[Proposal]:
    for trigger in seen.triggers:
        for job in jobs_for(trigger, seen.settings):
            yield Proposal(
                choice=StartLoop(job=job.name),
                reasoning=f"`{trigger.name}` is what job `{job.name}` is for",
            )


def _failures(seen: _Seen) -> Iterator[Proposal]:
    told = {item.text for item in seen.snapshot.items(Source.SLOG)}
    failed = [
        trigger
        for trigger in seen.triggers
        if is_failure(trigger.name) and about_event(trigger.id) not in told
    ]
    if failed:
        first, others = failed[0], failed[1:]
        message = f"{first.name}: {first.data}" if first.data else first.name
        if others:
            names = ", ".join(dict.fromkeys(trigger.name for trigger in others))
            message = f"{len(failed)} failures, also {names}; {message}"
        yield Proposal(
            choice=EmitAlert(
                message=message[:_LONGEST_MESSAGE],
                severity=Severity.HIGH,
                about=about_event(first.id),
            ),
            reasoning=f"`{first.name}` says that something failed, and no job is there for it",
        )


def _notes(seen: _Seen) -> Iterator[Proposal]:
    notes = seen.snapshot.items(Source.NOTES)
    if notes:
        count = f"{len(notes)} note{'' if len(notes) == 1 else 's'}"
        yield Proposal(
            choice=ProcessNotes(notes=tuple(note.id for note in notes)),
            reasoning=f"{count} in the queue",
        )


def _recommendations(seen: _Seen) -> Iterator[Proposal]:
    for each in seen.snapshot.items(Source.RECOMMENDATIONS):
        if each.kind == APPLICABLE:
            yield Proposal(choice=ApplyRecommendation(recommendation=each.id), reasoning=each.text)


def _unfinished(seen: _Seen) -> Iterator[Proposal]:
    for item in seen.snapshot.items(Source.UNFINISHED):
        if item.kind != UNDELIVERED:
            yield Proposal(
                choice=EmitAlert(message=_left_lying(item), about=item.id),
                reasoning=f"`{item.id}` was left lying: {item.kind}",
            )


def _left_lying(item: Item) -> str:
    return f"{item.kind}: {item.text}"[:_LONGEST_MESSAGE]


_RULES: Final[tuple[Callable[[_Seen], Iterator[Proposal]], ...]] = (
    _jobs,
    _failures,
    _notes,
    _unfinished,
    _recommendations,
)
"""In the order in which they are asked."""
