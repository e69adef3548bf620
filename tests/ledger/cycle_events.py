"""One realistic event of each kind that the system loop writes."""

from __future__ import annotations

from interlock.model.budget import TokenUsage
from interlock.model.loop_events import (
    CycleDecided,
    DeliveryAttempted,
    LoopCancelled,
    LoopEvent,
    LoopFrozen,
    LoopThawed,
    ModelAnswered,
    ModelAsked,
    ModelFailure,
    NoteAdded,
    NotesProcessed,
    RecommendationSettled,
    RetrospectiveWritten,
    TriggerReceived,
)
from interlock.model.recommendation import (
    Evidence,
    PatchOperation,
    Recommendation,
    RecommendationKind,
    RecommendationState,
    Retrospective,
    RetrospectiveEntry,
    RetrospectiveKind,
    SimulatedEffect,
)
from interlock.model.system_loop import (
    CloudEvent,
    CycleOutcome,
    Item,
    LoopAction,
    LoopMode,
    Note,
    ProcessNotes,
    Rail,
    RailFacts,
    RailHit,
    Reading,
    Snapshot,
    Trigger,
)
from interlock.model.verdict import Severity

_NOON = 1_700_000_000_000_000
A_NOTE = Note(id="n1", text="look at the build", source="cli", tags=("ci",), scope="shop", at=_NOON)
A_TRIGGER = Trigger(
    id="t1",
    name="ci/build.failed",
    scope="shop",
    depth=1,
    cause="d0",
    occurred_at=_NOON,
    due_at=_NOON + 2_000_000,
    data='{"run":"r7"}',
)
A_SNAPSHOT = Snapshot(
    readings=(
        Reading(
            source="note_queue_length",
            observed_at=_NOON,
            value=1,
            items=(
                Item(id="n1", kind="note", text="look at the build", project="shop", since=_NOON),
            ),
        ),
        Reading(source="active_loop_runs", observed_at=_NOON, error="no answer within 5 s"),
    )
)
A_PATCH = PatchOperation(path=("gates", "commands"), value='"warn"', before='"block"')
A_RECOMMENDATION = Recommendation(
    id="rec-1",
    kind=RecommendationKind.ALLOW,
    title="asked 14 times, approved 14 times: allow it",
    reason="a person always says yes",
    count=14,
    of=14,
    severity=Severity.MEDIUM,
    patch=(A_PATCH,),
    evidence=(Evidence(run="r7", seq=3),),
    effect=SimulatedEffect(
        runs=2,
        answers=40,
        changed=14,
        confirmations_spared=14,
        blocks_lost=0,
        examples=(Evidence(run="r7", seq=3),),
    ),
)
A_RETROSPECTIVE = Retrospective(
    run="r7",
    project="shop",
    outcome="completed",
    went_well=True,
    actions=20,
    steps=4,
    cost_micros=1_200,
    tokens=900,
    entries=(
        RetrospectiveEntry(
            kind=RetrospectiveKind.CONFIRMED,
            name="commands.destructive",
            gate="commands",
            count=14,
            of=14,
            evidence=(Evidence(run="r7", seq=3),),
        ),
    ),
)
A_DECISION = CycleDecided(
    decision_id="d1",
    scope="shop",
    triggers=("t1",),
    trigger_source="event:ci/build.failed",
    depth=1,
    mode=LoopMode.ENFORCE,
    policy_hash="p1",
    snapshot=A_SNAPSHOT,
    state_hash="5a" * 32,
    decider="model openai:gpt-5-mini",
    degraded="the model said nothing in time",
    raw='{"reasoning":"one note waits"}',
    choice=ProcessNotes(notes=("n1",)),
    reasoning="one note waits",
    facts=RailFacts(acted=2, outgoing=1, spent_micros=40, granted="a1"),
    rails=(RailHit(rail=Rail.MODE, reason="`loop.mode` is shadow"),),
    outcome=CycleOutcome.EMITTED,
    action=LoopAction.PROCESS_NOTES,
    approval="a1",
    cost_micros=40,
    duration_ms=12,
    emitted=CloudEvent(
        id="d1",
        source="interlock/loop",
        type="system/note.process.requested",
        time="2023-11-14T22:13:20Z",
        subject="shop",
        causationdepth=1,
        data={"decisionId": "d1", "parameters": {"notes": ["n1"]}},
    ),
    sinks=("interlock", "ops"),
)

CYCLE_EVENTS: dict[str, LoopEvent] = {
    "note-added": NoteAdded(note=A_NOTE),
    "notes-processed": NotesProcessed(notes=("n1",), event="d1"),
    "trigger-received": TriggerReceived(trigger=A_TRIGGER),
    "model-asked": ModelAsked(
        call="c1", scope="shop", decider="model openai:gpt-5-mini", reserved_micros=60, day=19_675
    ),
    "model-answered": ModelAnswered(
        call="c1",
        decider="model openai:gpt-5-mini",
        failure=ModelFailure.UNREADABLE,
        asks_again=True,
        detail="it is no JSON",
        usage=TokenUsage(input_tokens=120, output_tokens=30),
        cost_micros=40,
    ),
    "cycle-decided": A_DECISION,
    "delivery-attempted": DeliveryAttempted(
        event="d1", sink="ops", attempt=1, error="answered 500", next_at=_NOON, result=""
    ),
    "loop-frozen": LoopFrozen(reason="it alerts too much"),
    "loop-thawed": LoopThawed(reason="mended"),
    "loop-cancelled": LoopCancelled(id="d1", reason="not now"),
    "retrospective-written": RetrospectiveWritten(
        retrospective=A_RETROSPECTIVE, recommendations=(A_RECOMMENDATION,)
    ),
    "recommendation-settled": RecommendationSettled(
        id="rec-1",
        state=RecommendationState.APPLIED,
        before="0a" * 32,
        after="0b" * 32,
        patch=(A_PATCH,),
        note="fine",
    ),
}
