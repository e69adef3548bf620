"""The system loop, folded from its records: what waits, what is counted, what never grows."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from interlock.ledger.chain import decoded, encoded
from interlock.model.events import Record
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
from interlock.model.loop_state import BREAKER_OPEN, DAY, HOUR, LoopState, after_loop_event
from interlock.model.recommendation import RecommendationState
from interlock.model.system_loop import (
    CycleOutcome,
    DoNothing,
    EmitAlert,
    LoopAction,
    Snapshot,
    StartLoop,
    Trigger,
)
from ledger.cycle_events import (
    A_DECISION,
    A_NOTE,
    A_PATCH,
    A_RECOMMENDATION,
    A_RETROSPECTIVE,
    A_SNAPSHOT,
    A_TRIGGER,
    CYCLE_EVENTS,
)
from ledger.events import AGENT, NOON

MINUTE = HOUR // 60
MODEL = "model openai:gpt-5-mini"


def folded(*events: LoopEvent, loop: LoopState | None = None, at: int = NOON) -> LoopState:
    """Return a loop after some events that happened at the same time."""
    loop = loop or LoopState()
    for seq, event in enumerate(events, 1):
        loop = after_loop_event(loop, event, seq, at)
    return loop


def decided(
    outcome: CycleOutcome = CycleOutcome.NOTHING, number: int = 1, **changes: object
) -> CycleDecided:
    """Return a decision that emits nothing unless its outcome says so."""
    emitted = A_DECISION.emitted
    assert emitted is not None
    is_emitted = outcome is CycleOutcome.EMITTED
    plain = replace(
        A_DECISION,
        decision_id=f"d{number}",
        outcome=outcome,
        approval=None,
        emitted=replace(emitted, id=f"d{number}") if is_emitted else None,
        sinks=A_DECISION.sinks if is_emitted else (),
    )
    return replace(plain, **changes)


def test_notes_wait_until_they_are_taken() -> None:
    second = replace(A_NOTE, id="n2")

    loop = folded(NoteAdded(note=A_NOTE), NoteAdded(note=second))
    assert list(loop.notes) == ["n1", "n2"]
    loop = folded(NotesProcessed(notes=("n1", "gone"), event="d1"), loop=loop)
    assert list(loop.notes) == ["n2"]


def test_a_decision_answers_the_triggers_that_it_names_and_no_others() -> None:
    later = replace(A_TRIGGER, id="t2")

    loop = folded(TriggerReceived(trigger=A_TRIGGER), TriggerReceived(trigger=later), decided())

    assert list(loop.triggers) == ["t2"]
    assert loop.cycles == 1
    assert loop.last_seq == 3
    assert loop.outcomes == {"nothing": 1}


@pytest.mark.parametrize(
    ("name", "source"),
    [("heartbeat", "heartbeat"), ("manual", "manual"), ("ci/failed", "event:ci/failed")],
)
def test_a_trigger_says_where_it_came_from(name: str, source: str) -> None:
    assert Trigger(id="t", name=name, occurred_at=1, due_at=1).source == source


def test_a_snapshot_knows_whether_a_source_failed_and_what_each_named() -> None:
    whole = Snapshot(readings=A_SNAPSHOT.readings[:1])

    assert A_SNAPSHOT.partial
    assert not whole.partial
    assert [item.id for item in whole.items("note_queue_length")] == ["n1"]
    assert whole.items("another") == ()


def test_a_choice_says_its_action() -> None:
    assert StartLoop(job="mend").action is LoopAction.START_LOOP
    assert DoNothing().action is LoopAction.DO_NOTHING


def test_a_decision_says_whether_it_waits_for_a_person() -> None:
    assert decided(CycleOutcome.APPROVAL_REQUIRED).approval_required
    assert not decided().approval_required


# What was emitted.


def test_what_was_emitted_is_counted_within_the_hour() -> None:
    loop = folded(decided(CycleOutcome.EMITTED, 1))
    loop = folded(decided(CycleOutcome.EMITTED, 2), loop=loop, at=NOON + HOUR - 1)

    action = LoopAction.PROCESS_NOTES
    assert loop.acted_within_hour(action, NOON + HOUR - 1) == 2
    assert loop.acted_within_hour(action, NOON + HOUR) == 1
    assert loop.acted_within_hour(action, NOON + 2 * HOUR) == 0
    assert loop.acted_within_hour(LoopAction.EMIT_ALERT, NOON) == 0
    assert loop.emitted == 2

    loop = folded(decided(CycleOutcome.EMITTED, 3), loop=loop, at=NOON + HOUR)
    assert loop.acted["process_notes"] == (NOON + HOUR - 1, NOON + HOUR)


def test_an_event_waits_until_every_sink_has_it() -> None:
    loop = folded(decided(CycleOutcome.EMITTED))
    assert [each.sink for each in loop.outgoing["d1"].deliveries] == ["interlock", "ops"]

    loop = folded(
        DeliveryAttempted(event="d1", sink="interlock", attempt=1),
        DeliveryAttempted(event="d1", sink="ops", attempt=1, error="down", next_at=NOON + 5),
        loop=loop,
    )
    (left,) = loop.outgoing["d1"].deliveries
    assert (left.sink, left.attempts, left.next_at, left.error) == ("ops", 1, NOON + 5, "down")

    loop = folded(DeliveryAttempted(event="d1", sink="ops", attempt=2), loop=loop)
    assert loop.outgoing == {}


def test_what_goes_to_nobody_does_not_wait_and_counts() -> None:
    loop = folded(decided(CycleOutcome.EMITTED, sinks=()))

    assert loop.outgoing == {}
    assert loop.emitted == 1


def test_a_delivery_of_what_nobody_waits_for_changes_nothing() -> None:
    loop = folded(decided(CycleOutcome.EMITTED))

    assert folded(DeliveryAttempted(event="d9", sink="ops", attempt=1), loop=loop) == loop


def test_a_run_that_was_started_is_remembered_until_it_was_looked_at() -> None:
    start = decided(
        CycleOutcome.EMITTED, choice=StartLoop(job="mend"), action=LoopAction.START_LOOP
    )
    failed = DeliveryAttempted(
        event="d1", sink="interlock", attempt=1, error="no", next_at=9, result="r0"
    )
    to_another = DeliveryAttempted(event="d1", sink="ops", attempt=1)
    done = DeliveryAttempted(event="d1", sink="interlock", attempt=2, result="r7")

    loop = folded(start, failed, to_another, done)
    assert loop.jobs == {"r7": "d1"}

    loop = folded(RetrospectiveWritten(retrospective=A_RETROSPECTIVE), loop=loop)
    assert loop.jobs == {}
    assert loop.retrospectives == 1


def test_only_the_last_runs_that_were_started_are_remembered() -> None:
    loop = LoopState()
    for number in range(205):
        start = decided(
            CycleOutcome.EMITTED,
            number,
            choice=StartLoop(job="mend"),
            action=LoopAction.START_LOOP,
            sinks=("interlock",),
        )
        done = DeliveryAttempted(
            event=f"d{number}", sink="interlock", attempt=1, result=f"r{number}"
        )
        loop = folded(start, done, loop=loop)

    assert len(loop.jobs) == 200
    assert next(iter(loop.jobs)) == "r5"
    assert len(loop.recent) == 20
    assert loop.recent[-1].decision_id == "d204"


def test_what_was_emitted_since_is_known_as_far_as_anybody_remembers() -> None:
    loop = LoopState()
    for number in range(25):
        loop = folded(decided(CycleOutcome.EMITTED, number), loop=loop)

    assert loop.acted_since(25) == ()
    assert [each.decision_id for each in loop.acted_since(23) or ()] == ["d23", "d24"]
    assert len(loop.acted_since(5) or ()) == 20
    assert loop.acted_since(4) is None


# What people say.


def test_a_freeze_lasts_until_it_is_thawed_and_keeps_its_first_reason() -> None:
    loop = folded(LoopFrozen(reason="enough"))
    again = folded(LoopFrozen(reason="more"), loop=loop, at=NOON + 1)

    assert again.frozen is not None
    assert (again.frozen.reason, again.frozen.since) == ("enough", NOON)
    assert folded(LoopThawed(reason="fine"), loop=again).frozen is None


@pytest.mark.parametrize("by", ["event", "decision"])
def test_an_event_that_is_cancelled_waits_no_more(by: str) -> None:
    emitted = A_DECISION.emitted
    assert emitted is not None
    first = decided(CycleOutcome.EMITTED, 1, emitted=replace(emitted, id="e1"))
    loop = folded(first, decided(CycleOutcome.EMITTED, 2))

    name = "e1" if by == "event" else "d1"
    assert list(folded(LoopCancelled(id=name, reason="no"), loop=loop).outgoing) == ["d2"]


def test_an_action_that_waits_for_a_person_can_be_cancelled() -> None:
    held = decided(CycleOutcome.APPROVAL_REQUIRED, 1, approval="a1")
    other = decided(CycleOutcome.APPROVAL_REQUIRED, 2, approval="a2", scope="docs")
    quiet = decided(CycleOutcome.NOTHING, 3, scope="blog")

    loop = folded(held, other, quiet, LoopCancelled(id="d1", reason="no"))

    assert (list(loop.held), loop.revoked) == (["a2"], ("a1",))
    assert folded(decided(number=4), loop=loop).revoked == ("a1",)


# What waits for a person.


def test_what_waits_for_a_person_is_kept_with_its_state() -> None:
    loop = folded(decided(CycleOutcome.APPROVAL_REQUIRED, approval="a1"))

    held = loop.held["a1"]
    assert (held.scope, held.decision_id, held.choice) == ("shop", "d1", A_DECISION.choice)
    assert held.state_hash == A_DECISION.state_hash


def test_several_actions_of_a_scope_wait_at_once() -> None:
    alert = EmitAlert(message="look", about="r1")
    first = decided(CycleOutcome.APPROVAL_REQUIRED, 1, approval="a1")
    second = decided(CycleOutcome.APPROVAL_REQUIRED, 2, approval="a2", choice=alert)

    assert list(folded(first, second).held) == ["a1", "a2"]


def test_what_is_asked_anew_takes_the_place_of_the_question_before() -> None:
    first = decided(CycleOutcome.APPROVAL_REQUIRED, 1, approval="a1")
    again = decided(CycleOutcome.APPROVAL_REQUIRED, 2, approval="a2", state_hash="ff")
    elsewhere = decided(CycleOutcome.APPROVAL_REQUIRED, 3, approval="a3", scope="docs")

    assert list(folded(first, again, elsewhere).held) == ["a2", "a3"]


@pytest.mark.parametrize(
    ("then", "is_held"),
    [
        pytest.param(decided(CycleOutcome.NOTHING, 2), True, id="same state"),
        pytest.param(decided(CycleOutcome.NOTHING, 2, state_hash="ff"), True, id="other state"),
        pytest.param(decided(CycleOutcome.EMITTED, 2, approval="a1"), False, id="let out"),
        pytest.param(decided(CycleOutcome.APPROVAL_DENIED, 2, approval="a1"), False, id="denied"),
        pytest.param(
            decided(CycleOutcome.APPROVAL_DENIED, 2, approval="a2"), True, id="another denied"
        ),
        pytest.param(decided(CycleOutcome.RATE_LIMITED, 2), True, id="let out, but too often"),
        pytest.param(
            decided(CycleOutcome.FROZEN, 2, state_hash="", snapshot=None), True, id="unseen"
        ),
    ],
)
def test_it_is_over_once_it_is_settled(then: CycleDecided, is_held: bool) -> None:
    loop = folded(decided(CycleOutcome.APPROVAL_REQUIRED, approval="a1"), then)

    assert ("a1" in loop.held) is is_held


def test_a_question_without_an_id_holds_nothing() -> None:
    assert folded(decided(CycleOutcome.APPROVAL_REQUIRED, approval=None)).held == {}


def test_a_state_needs_a_second_thought_under_another_policy() -> None:
    scope = folded(decided(CycleOutcome.NOTHING)).scopes["shop"]

    assert scope.thought_under(A_DECISION.policy_hash) == A_DECISION.state_hash
    assert scope.thought_under("another") == ""


def test_whoever_looked_at_nothing_leaves_the_last_state_as_it_was() -> None:
    loop = folded(decided(CycleOutcome.NOTHING, 1))
    after = folded(decided(CycleOutcome.OFF, 2, state_hash="", snapshot=None), loop=loop)

    assert after.scopes["shop"] == loop.scopes["shop"]


@pytest.mark.parametrize("outcome", CycleOutcome)
def test_only_what_was_settled_needs_no_second_thought(outcome: CycleOutcome) -> None:
    settled = {"nothing", "emitted", "shadow", "approval_required", "approval_denied"}

    after = folded(decided(outcome)).scopes["shop"]

    assert after.state_hash == (A_DECISION.state_hash if outcome in settled else "")


def test_only_the_last_scopes_are_remembered_and_whatever_waits() -> None:
    loop = folded(decided(CycleOutcome.APPROVAL_REQUIRED, 0, approval="a1", scope="waits"))
    for number in range(210):
        loop = folded(decided(CycleOutcome.NOTHING, number, scope=f"s{number}"), loop=loop)

    assert (len(loop.scopes), "s9" in loop.scopes, "s10" in loop.scopes) == (200, False, True)
    assert list(loop.held) == ["a1"]


# Money.


def asked(call: str, micros: int = 60, day: int = 100) -> ModelAsked:
    return ModelAsked(call=call, scope="shop", decider=MODEL, reserved_micros=micros, day=day)


def answer(
    call: str, micros: int = 40, failure: ModelFailure | None = None, *, again: bool = False
) -> ModelAnswered:
    return ModelAnswered(
        call=call, decider=MODEL, failure=failure, cost_micros=micros, asks_again=again
    )


def test_what_is_promised_counts_as_spent_until_it_is_known() -> None:
    loop = folded(asked("c1"), asked("c2"))
    assert loop.spent_on(100) == 120

    loop = folded(answer("c1"), loop=loop)
    assert loop.spent_on(100) == 100
    assert list(loop.promised) == ["c2"]


def test_what_was_never_promised_gives_nothing_back() -> None:
    loop = folded(asked("c1"))

    assert folded(answer("c9", 0), loop=loop) == loop
    assert folded(answer("c1", 0), answer("c1", 0), loop=loop).spent_on(100) == 0


def test_a_model_that_cost_more_than_promised_gives_nothing_back() -> None:
    assert folded(asked("c1"), answer("c1", 90)).spent_on(100) == 60


def test_a_new_day_begins_at_nothing_and_an_old_one_does_not_come_back() -> None:
    loop = folded(asked("c1"))
    assert loop.spent_on(101) == 0
    assert loop.spent_on(99) == 60

    loop = folded(asked("c2", day=101), loop=loop)
    assert loop.spent_on(101) == 60
    assert list(loop.promised) == ["c2"]
    assert folded(answer("c1", 0), loop=loop).spent_on(101) == 60

    back = folded(asked("c3", day=100), loop=loop)
    assert back.day == 101
    assert back.spent_on(101) == 120


@given(
    st.lists(
        st.tuples(
            st.integers(0, 3), st.integers(0, 100), st.integers(0, 100), st.sampled_from([7, 8])
        ),
        max_size=12,
    )
)
def test_what_is_spent_is_never_less_than_what_it_cost_on_the_latest_day(
    calls: Sequence[tuple[int, int, int, int]],
) -> None:
    loop, cost, latest = LoopState(), 0, 0
    for number, (kind, micros, share, day) in enumerate(calls):
        if day > latest:
            latest, cost = day, 0
        loop = folded(asked(f"c{number}", micros, day), loop=loop)
        spent = micros * share // 100
        if kind:
            loop = folded(answer(f"c{number}", spent), loop=loop)
        cost += spent if kind else micros

    assert loop.spent_on(latest) == cost


# The breaker.


def broken(times: Sequence[int], failure: ModelFailure | None = ModelFailure.TIMEOUT) -> LoopState:
    loop = LoopState()
    for number, at in enumerate(times):
        call = f"b{number}"
        loop = folded(asked(call, day=at // DAY), answer(call, 0, failure), loop=loop, at=at)
    return loop


def test_the_third_failure_within_a_quarter_of_an_hour_opens_a_breaker() -> None:
    assert broken([NOON, NOON + 1]).breakers[MODEL].open_until == 0
    assert broken([NOON, NOON + 1, NOON + 2]).breakers[MODEL].open_until == NOON + 2 + BREAKER_OPEN
    late = broken([NOON, NOON + 1, NOON + 15 * MINUTE])
    assert late.breakers[MODEL].open_until == 0
    assert late.breakers[MODEL].failures == (NOON + 1, NOON + 15 * MINUTE)


def test_a_success_closes_it_and_a_failed_probe_opens_it_anew() -> None:
    opened, later = broken([NOON, NOON, NOON]), NOON + BREAKER_OPEN
    probe = asked("p", day=100)

    well = folded(probe, answer("p", 0), loop=opened, at=later)
    badly = folded(probe, answer("p", 0, ModelFailure.QUOTA), loop=opened, at=later)

    assert well.breakers[MODEL].open_until == 0
    assert well.breakers[MODEL].failures == ()
    assert badly.breakers[MODEL].open_until == later + BREAKER_OPEN


def test_what_is_asked_again_says_nothing_yet() -> None:
    loop = folded(asked("c1"), answer("c1", 0, ModelFailure.UNREADABLE, again=True), asked("c2"))
    assert loop.breakers[MODEL].failures == ()

    loop = folded(answer("c2", 0, ModelFailure.UNREADABLE), loop=loop)
    assert loop.breakers[MODEL].failures == (NOON,)


# Recommendations.


def test_a_recommendation_waits_until_it_is_settled() -> None:
    loop = folded(
        RetrospectiveWritten(retrospective=A_RETROSPECTIVE, recommendations=(A_RECOMMENDATION,))
    )
    assert loop.pending_recommendations == (A_RECOMMENDATION,)

    located = (replace(A_PATCH, before='"ask"'),)
    applied = RecommendationSettled(id="rec-1", state=RecommendationState.APPLIED, patch=located)
    loop = folded(applied, loop=loop)
    assert loop.pending_recommendations == ()
    assert loop.recommendations["rec-1"].patch == located

    undone = RecommendationSettled(id="rec-1", state=RecommendationState.UNDONE)
    loop = folded(undone, loop=loop)
    assert loop.recommendations["rec-1"].state is RecommendationState.UNDONE
    assert loop.recommendations["rec-1"].patch == located


def test_to_settle_what_nobody_recommended_changes_nothing() -> None:
    settled = RecommendationSettled(id="rec-9", state=RecommendationState.DISMISSED)

    assert folded(settled) == LoopState()


def test_so_many_recommendations_are_kept_and_no_more() -> None:
    many = tuple(replace(A_RECOMMENDATION, id=f"p{number}") for number in range(101))
    loop = folded(RetrospectiveWritten(retrospective=A_RETROSPECTIVE, recommendations=many))
    assert len(loop.pending_recommendations) == 100
    assert "p0" not in loop.recommendations

    for number in range(1, 61):
        settled = RecommendationSettled(id=f"p{number}", state=RecommendationState.DISMISSED)
        loop = folded(settled, loop=loop)
    assert len(loop.pending_recommendations) == 40
    assert len(loop.recommendations) == 90


# Laws.


_HISTORIES = st.lists(st.sampled_from(sorted(CYCLE_EVENTS)), max_size=30)


def _told(events: Sequence[LoopEvent], loop: LoopState, *, after: int) -> LoopState:
    for seq, event in enumerate(events, after + 1):
        loop = after_loop_event(loop, event, seq, NOON + seq)
    return loop


@given(_HISTORIES, _HISTORIES)
def test_the_fold_of_a_whole_is_the_fold_of_its_parts(
    first: Sequence[str], second: Sequence[str]
) -> None:
    before = [CYCLE_EVENTS[each] for each in first]
    after = [CYCLE_EVENTS[each] for each in second]

    whole = _told([*before, *after], LoopState(), after=0)
    # What is kept between the parts has been written down and read again.
    kept = msgspec.json.decode(
        msgspec.json.encode(_told(before, LoopState(), after=0)), type=LoopState
    )
    parts = _told(after, kept, after=len(before))

    assert whole == parts
    assert whole.cycles == (*first, *second).count("cycle-decided")
    assert whole.spent_micros >= 0


@pytest.mark.parametrize("event", CYCLE_EVENTS.values(), ids=CYCLE_EVENTS)
def test_every_event_comes_back_as_it_went(event: LoopEvent) -> None:
    record = Record(v=1, run="loop", seq=1, at=NOON, by=AGENT, prev="", event=event)

    assert decoded(encoded(record)) == record
