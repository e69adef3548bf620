"""The decider that needs no model: the first rule that has something to do chooses."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple

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


def _is_under_way(seen: _Seen, proposal: Proposal) -> bool:
    """Whether the same is on its way already, or people were told of it before."""
    choice = proposal.choice
    waiting = [item for item in seen.snapshot.items(Source.UNFINISHED) if item.kind == UNDELIVERED]
    if any(item.text == choice.action.value for item in waiting):
        return True
    if isinstance(choice, StartLoop):
        running = seen.snapshot.items(Source.RUNS)
        return any(item.kind == JOB and item.text == choice.job for item in running)
    done = seen.snapshot.items(Source.SLOG)
    return isinstance(choice, EmitAlert) and any(
        item.kind == LoopAction.EMIT_ALERT and item.text == choice.about for item in done
    )


def _jobs(seen: _Seen) -> Iterator[Proposal]:
    for trigger in seen.triggers:
        for job in jobs_for(trigger, seen.settings):
            yield Proposal(
                choice=StartLoop(job=job.name),
                reasoning=f"`{trigger.name}` is what job `{job.name}` is for",
            )


def _failures(seen: _Seen) -> Iterator[Proposal]:
    for trigger in seen.triggers:
        if is_failure(trigger.name):
            message = f"{trigger.name}: {trigger.data}" if trigger.data else trigger.name
            yield Proposal(
                choice=EmitAlert(
                    message=message[:_LONGEST_MESSAGE], severity=Severity.HIGH, about=trigger.id
                ),
                reasoning=f"`{trigger.name}` failed, and no job is there for it",
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
    _recommendations,
    _unfinished,
)
"""In the order in which they are asked."""
