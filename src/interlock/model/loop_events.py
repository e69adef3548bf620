"""Everything that happens to the system loop, in the chain of its own run."""

from __future__ import annotations

import enum

from interlock.model.budget import TokenUsage
from interlock.model.domain_event import DomainEvent
from interlock.model.recommendation import (
    PatchOperation,
    Recommendation,
    RecommendationState,
    Retrospective,
)
from interlock.model.system_loop import (
    Choice,
    CloudEvent,
    CycleOutcome,
    LoopAction,
    LoopMode,
    Note,
    RailFacts,
    RailHit,
    Snapshot,
    Trigger,
)


class NoteAdded(DomainEvent, frozen=True, kw_only=True, tag="note-added"):
    """Somebody left a note."""

    note: Note


class NotesProcessed(DomainEvent, frozen=True, kw_only=True, tag="notes-processed"):
    """Notes were taken from the queue."""

    notes: tuple[str, ...]
    event: str
    """The event that asked for it."""


class TriggerReceived(DomainEvent, frozen=True, kw_only=True, tag="trigger-received"):
    """A cycle has to answer this."""

    trigger: Trigger


class ModelAsked(DomainEvent, frozen=True, kw_only=True, tag="model-asked"):
    """A model is about to be asked, and what it can cost at most is promised to it."""

    call: str
    scope: str
    decider: str
    reserved_micros: int
    day: int
    """Whose budget it is on, in days since 1970."""


class ModelFailure(enum.StrEnum):
    """Why nothing can be done with what a model said, or that it said nothing."""

    TIMEOUT = "timeout"
    QUOTA = "quota"
    UNAVAILABLE = "unavailable"
    UNREADABLE = "unreadable"


class ModelAnswered(DomainEvent, frozen=True, kw_only=True, tag="model-answered"):
    """What asking a model came to."""

    call: str
    decider: str
    failure: ModelFailure | None = None
    asks_again: bool = False
    """Whether it gets a second try: only after that it is known how it got on."""
    detail: str = ""
    usage: TokenUsage | None = None
    cost_micros: int
    """Never more than was promised."""


class CycleDecided(DomainEvent, frozen=True, kw_only=True, tag="cycle-decided"):
    """What next? was asked and answered: the entry of the slog."""

    decision_id: str
    scope: str
    triggers: tuple[str, ...]
    """Everything that this answers."""
    trigger_source: str
    depth: int = 0
    mode: LoopMode
    policy_hash: str
    snapshot: Snapshot | None = None
    """None where it was answered before anything was looked at."""
    state_hash: str = ""
    decider: str
    short_circuit: str | None = None
    """Why no decider was asked."""
    degraded: str | None = None
    """Why another decider was asked than the policy names."""
    raw: str = ""
    """What the decider said, without secrets; only its beginning."""
    invalid: str | None = None
    """Why that could not be taken."""
    choice: Choice
    """What the decider chose."""
    reasoning: str = ""
    facts: RailFacts = RailFacts()
    rails: tuple[RailHit, ...] = ()
    outcome: CycleOutcome
    action: LoopAction
    """What it came to, behind the rails."""
    approval: str | None = None
    """The question that a person is asked, or that let it through."""
    cost_micros: int = 0
    duration_ms: int = 0
    emitted: CloudEvent | None = None
    sinks: tuple[str, ...] = ()
    """Who gets it."""

    @property
    def approval_required(self) -> bool:
        """Whether it waits for a person."""
        return self.outcome is CycleOutcome.APPROVAL_REQUIRED


class DeliveryAttempted(DomainEvent, frozen=True, kw_only=True, tag="delivery-attempted"):
    """An event was handed to a sink, or could not be."""

    event: str
    sink: str
    attempt: int
    error: str | None = None
    next_at: int | None = None
    """When it is tried again; None where it arrived or is given up."""
    result: str = ""
    """What came of it: the run that it started, the notes that it took."""


class LoopFrozen(DomainEvent, frozen=True, kw_only=True, tag="loop-frozen"):
    """A person stopped the loop: nothing is emitted or delivered from here on."""

    reason: str


class LoopThawed(DomainEvent, frozen=True, kw_only=True, tag="loop-thawed"):
    """A person unfreeze the loop."""

    reason: str


class LoopCancelled(DomainEvent, frozen=True, kw_only=True, tag="loop-cancelled"):
    """A person cancelled an event that was not delivered yet, or an action that waits."""

    id: str
    """The event or the decision."""
    reason: str


class RetrospectiveWritten(DomainEvent, frozen=True, kw_only=True, tag="retrospective-written"):
    """A finished run was looked at."""

    retrospective: Retrospective
    recommendations: tuple[Recommendation, ...] = ()
    """Those that nobody made before."""


class RecommendationSettled(DomainEvent, frozen=True, kw_only=True, tag="recommendation-settled"):
    """A recommendation was applied, dismissed or undone."""

    id: str
    state: RecommendationState
    before: str | None = None
    """The policy file as it was, by its digest."""
    after: str | None = None
    patch: tuple[PatchOperation, ...] = ()
    """What was changed, with what was there before."""
    note: str | None = None


LoopEvent = (
    NoteAdded
    | NotesProcessed
    | TriggerReceived
    | ModelAsked
    | ModelAnswered
    | CycleDecided
    | DeliveryAttempted
    | LoopFrozen
    | LoopThawed
    | LoopCancelled
    | RetrospectiveWritten
    | RecommendationSettled
)
"""What changes the loop, and nothing else of its run."""
