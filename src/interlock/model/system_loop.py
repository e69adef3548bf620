"""The words of the system loop: what starts a cycle, what it sees, what it may choose.

SENSE gives a `Snapshot`, DECIDE one `Choice` of a closed set, ACT at most one `CloudEvent`.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import Final

import msgspec

from interlock.model.verdict import Severity

LOOP_RUN: Final = "loop"
"""The run of the loop itself: its notes, triggers, decisions and deliveries stand in its chain."""
LOOP_AGENT: Final = "interlock-loop"
"""Who decides there; what its models cost is charged to this name."""
DEFAULT_SCOPE: Final = "default"
"""What is decided together where nothing else is said."""

APPROVAL_DECIDED: Final = "system/approval.decided"
"""The event that a person has answered the loop, or nobody in time."""

NOTE_ADDED: Final = "system/note"
"""The event that somebody left a note."""
MOST_NOTES: Final = 500
"""How many notes can wait."""
LONGEST_NOTE: Final = 4_000
MOST_TRIGGERS: Final = 1_000
"""How many triggers can wait for their cycle."""
MOST_BYTES: Final = 65_536
"""How long the data of an event may be."""
MOST_OUTGOING: Final = 500
"""How many events can wait for their delivery; beyond that, nothing more is emitted."""
MOST_HELD: Final = 200
"""How many actions can wait for people."""
MOST_ITEMS: Final = 20
"""How many things of one source a snapshot names; it counts all of them."""


class LoopAction(enum.StrEnum):
    """What a cycle may come to: nothing else exists."""

    START_LOOP = "start_loop"
    PROCESS_NOTES = "process_notes"
    APPLY_RETRO_RECOMMENDATION = "apply_retro_recommendation"
    EMIT_ALERT = "emit_alert"
    DO_NOTHING = "do_nothing"


EVENT_TYPES: Final[Mapping[LoopAction, str]] = {
    LoopAction.START_LOOP: "agent/loop.requested",
    LoopAction.PROCESS_NOTES: "system/note.process.requested",
    LoopAction.APPLY_RETRO_RECOMMENDATION: "agent/loop.retro.apply.requested",
    LoopAction.EMIT_ALERT: "system/alert.requested",
}
"""What each action is emitted as; to do nothing is not emitted."""


class LoopMode(enum.StrEnum):
    """How far the loop may go."""

    OFF = "off"
    SHADOW = "shadow"
    """It decides and records, and emits nothing."""
    ENFORCE = "enforce"


class _Parameters(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="action"
):
    """What an action is done with: nothing but its fields is taken."""

    @property
    def action(self) -> LoopAction:
        """Which action it is."""
        return LoopAction(str(self.__struct_config__.tag))


class StartLoop(_Parameters, frozen=True, kw_only=True, tag="start_loop"):
    """Run a job of the policy, as a governed run below the loop's."""

    job: str
    """The name of one of the policy's jobs: a command line is never taken from anywhere else."""


class ProcessNotes(_Parameters, frozen=True, kw_only=True, tag="process_notes"):
    """Take notes from the queue."""

    notes: tuple[str, ...]
    """Their ids, the oldest first."""


class ApplyRecommendation(_Parameters, frozen=True, kw_only=True, tag="apply_retro_recommendation"):
    """Change the policy as a recommendation says."""

    recommendation: str


class EmitAlert(_Parameters, frozen=True, kw_only=True, tag="emit_alert"):
    """Tell people something."""

    message: str
    severity: Severity = Severity.MEDIUM
    about: str = ""
    """The id of what it is about: nobody is told the same twice."""


class DoNothing(_Parameters, frozen=True, kw_only=True, tag="do_nothing"):
    """Leave everything as it is."""


Choice = StartLoop | ProcessNotes | ApplyRecommendation | EmitAlert | DoNothing
"""One action with its parameters."""


class Proposal(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a decider says."""

    choice: Choice
    reasoning: str
    """Why, in a sentence or two."""


class Item(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One thing that a source knows of; its text comes from anywhere: data, never an order."""

    id: str
    kind: str = ""
    """What it is, in the words of its source: `paused-run`, `failed`, `note`."""
    text: str = ""
    project: str = ""
    since: int | None = None
    """Since when it is so; no part of the state hash."""


class Reading(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What one source told, or why it could not."""

    source: str
    observed_at: int
    value: int | None = None
    """How many there are; None where the source failed."""
    items: tuple[Item, ...] = ()
    """The first of them."""
    error: str | None = None


class Source(enum.StrEnum):
    """The sources that every snapshot has, by the names of their fields."""

    NOTES = "note_queue_length"
    SLOG = "recent_slog_entries"
    RECOMMENDATIONS = "pending_retro_recommendations"
    RUNS = "active_loop_runs"
    UNFINISHED = "half_done_inventory"


class Snapshot(msgspec.Struct, frozen=True, kw_only=True):
    """What was known when a cycle decided: one reading of each source."""

    readings: tuple[Reading, ...]

    @property
    def partial(self) -> bool:
        """Whether a source could not be read."""
        return any(each.error is not None for each in self.readings)

    def items(self, source: str) -> tuple[Item, ...]:
        """Return what one source named; nothing where it failed or there is no such source."""
        return next((each.items for each in self.readings if each.source == source), ())


class Trigger(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Something happened, or time passed: a cycle answers it, once."""

    id: str
    """Whatever has the same id is the same trigger."""
    name: str
    """The name of the event; `heartbeat` or `manual` for what is none."""
    scope: str = DEFAULT_SCOPE
    """What is decided together: bursts are one cycle per scope."""
    depth: int = 0
    """How many decisions of this loop led to it, one after the other."""
    cause: str | None = None
    """The decision that led to it."""
    occurred_at: int
    due_at: int
    """When its cycle begins: until then, whatever comes is answered together."""
    data: str = ""
    """What the event brought, as JSON without secrets; only its beginning."""

    @property
    def source(self) -> str:
        """What the slog calls it: `heartbeat`, `manual` or `event:NAME`."""
        return self.name if self.name in ("heartbeat", "manual") else f"event:{self.name}"


class Note(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Something that somebody wants to be looked at."""

    id: str
    text: str
    source: str = ""
    tags: tuple[str, ...] = ()
    scope: str = DEFAULT_SCOPE
    at: int


class CloudEvent(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=False):
    """An event as the world gets it (CloudEvents 1.0): its id is the same at every delivery."""

    specversion: str = "1.0"
    id: str
    source: str
    type: str
    time: str
    subject: str
    datacontenttype: str = "application/json"
    causationdepth: int
    data: Mapping[str, object]


class CycleOutcome(enum.StrEnum):
    """How a cycle ended."""

    EMITTED = "emitted"
    NOTHING = "nothing"
    """It chose to do nothing, or nothing had changed."""
    SHADOW = "shadow"
    """It would have emitted something."""
    OFF = "off"
    FROZEN = "frozen"
    CANCELLED = "cancelled"
    TOO_DEEP = "too_deep"
    RATE_LIMITED = "rate_limited"
    BUDGET_DENIED = "budget_denied"
    APPROVAL_REQUIRED = "approval_required"
    APPROVAL_DENIED = "approval_denied"
    VALIDATION_ERROR = "validation_error"
    BACKLOGGED = "backlogged"


class Rail(enum.StrEnum):
    """What keeps a choice from being emitted."""

    FROZEN = "frozen"
    MODE = "mode"
    CAUSATION = "causation"
    VALIDATION = "validation"
    RATE = "rate"
    COST = "cost"
    APPROVAL = "approval"
    BACKLOG = "backlog"


class RailHit(msgspec.Struct, frozen=True, kw_only=True):
    """A rail that held."""

    rail: Rail
    reason: str


class RailFacts(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What was known of the loop when a choice was held against the rails."""

    frozen: str | None = None
    """Why it is frozen."""
    acted: int = 0
    """How many actions of this type were emitted within the last hour."""
    outgoing: int = 0
    """How many events wait for their delivery."""
    held: int = 0
    """How many actions wait for a person."""
    spent_micros: int = 0
    """What models cost today, with what is promised to them."""
    granted: str | None = None
    """A person's approval for exactly this."""
    denied: str | None = None
    """The approval that a person refused for exactly this."""
