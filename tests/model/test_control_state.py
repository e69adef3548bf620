"""How a run gets on, folded from its records: what lasts, what is reset, what never grows."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from effort import examples
from interlock.model.approval import ApprovalState
from interlock.model.arbitration import Authority, Course, Hard, HardState, Ruling
from interlock.model.control_state import (
    ControlState,
    after_action,
    after_belief,
    after_checkpoint,
    after_decision,
    after_halt,
    after_lift,
    after_person,
    after_refusal,
    after_step,
    after_stop,
    after_violation,
)
from interlock.model.events import (
    ActionObserved,
    ApprovalDecided,
    Event,
    Outcome,
    Record,
    RunLifted,
    StepJudged,
    StopJudged,
)
from interlock.model.facts import Hold, HoldKind
from interlock.model.principal import Principal, PrincipalKind
from interlock.model.run import RunState, folded
from interlock.model.step import (
    Belief,
    Checkpoint,
    CheckpointKind,
    ContinueDecision,
    StepContext,
    StepDecision,
)
from interlock.model.stop import LastEvent, StopContext, StopDecision, StopOutcome, StopVeto
from ledger.events import events

_PAUSED = Hold(kind=HoldKind.PAUSE, reason="unsure", step=3, since=7, approval="q1")


def _a_step(
    decision: StepDecision = StepDecision.CONTINUE,
    course: Course = Course.GO_ON,
    *,
    hard: tuple[Hard, ...] = (),
    short: bool = False,
) -> StepJudged:
    return StepJudged(
        context=StepContext(total_tokens_used=500, coherence_score=0.9, steps_tokens=(500,)),
        hard=hard,
        credit=5,
        decision=ContinueDecision(decision=decision, short=short),
        ruling=Ruling(course=course, by=Authority.STEP, reason="so"),
        approval="q1" if course in (Course.AWAIT_PERSON, Course.HALT) else None,
    )


def _a_stop(
    course: Course = Course.GO_ON,
    by: Authority = Authority.STOP,
    *,
    outcome: StopOutcome = StopOutcome.NUDGED,
    veto: StopVeto | None = None,
) -> StopJudged:
    return StopJudged(
        context=StopContext(),
        facts=StepContext(),
        credit=5,
        step=ContinueDecision(decision=StepDecision.CONTINUE),
        decision=StopDecision(
            goes_on=course is Course.GO_ON,
            score=60,
            signals=(),
            reason="so",
            outcome=outcome,
            veto=veto,
        ),
        ruling=Ruling(course=course, by=by, reason="so"),
        approval="q1" if by is Authority.STEP else None,
    )


# Steps.


@pytest.mark.parametrize(
    ("decision", "course", "counts"),
    [
        (StepDecision.CONTINUE, Course.GO_ON, True),
        (StepDecision.CHECKPOINT, Course.GO_ON, True),
        (StepDecision.THROTTLE, Course.GO_ON, True),
        (StepDecision.CONTINUE, Course.WAIT, False),
        (StepDecision.PAUSE, Course.AWAIT_PERSON, False),
        (StepDecision.STOP, Course.HALT, False),
    ],
)
def test_only_what_was_let_go_on_is_a_step(
    decision: StepDecision, course: Course, counts: bool
) -> None:
    control = after_step(ControlState(steps=4), _a_step(decision, course), 9)

    assert control.steps == 4 + counts
    assert control.decisions == {decision.value: 1}
    assert (control.evaluated_at, control.tokens_at_step, control.coherence) == (9, 500, 0.9)


def test_an_answer_to_a_held_run_is_counted_and_changes_nothing_else() -> None:
    held = (Hard(state=HardState.STOPPED, reason="x"),)
    before = ControlState(steps=4, hold=_PAUSED, throttled=2)
    after = after_step(before, _a_step(StepDecision.STOP, Course.HALT, hard=held), 9)

    assert after == replace(before, decisions={"stop": 1}, tally=after.tally)
    assert after.tally.evaluations == 1


def test_a_short_answer_leaves_the_throttle_and_the_time_of_the_full_one() -> None:
    before = ControlState(throttled=2, evaluated_at=3)

    short = after_step(before, _a_step(short=True), 9)
    assert (short.throttled, short.evaluated_at) == (2, 3)
    full = after_step(before, _a_step(), 9)
    assert (full.throttled, full.evaluated_at) == (0, 9)
    slowed = after_step(before, _a_step(StepDecision.THROTTLE), 9)
    assert slowed.throttled == 3


def test_steps_and_stops_are_folded_from_their_records() -> None:
    by = Principal(kind=PrincipalKind.AGENT, name="eve")
    state = RunState(id="r")
    for seq, event in enumerate((_a_step(), _a_stop()), start=1):
        state = folded(state, Record(v=1, run="r", seq=seq, at=9, by=by, prev="", event=event))

    assert state.control == after_stop(after_step(ControlState(), _a_step(), 9), _a_stop(), 9)


# Holds.


@pytest.mark.parametrize(
    ("course", "kind"), [(Course.AWAIT_PERSON, HoldKind.PAUSE), (Course.HALT, HoldKind.STOP)]
)
def test_the_continue_gates_word_begins_a_hold(course: Course, kind: HoldKind) -> None:
    begun = Hold(kind=kind, reason="so", step=4, since=9, approval="q1")

    assert after_step(ControlState(steps=4), _a_step(StepDecision.STOP, course), 9).hold == begun
    assert after_stop(ControlState(steps=4), _a_stop(course, Authority.STEP), 9).hold == begun


@pytest.mark.parametrize("by", [each for each in Authority if each is not Authority.STEP])
def test_nobody_elses_word_does(by: Authority) -> None:
    for course in Course:
        assert after_stop(ControlState(), _a_stop(course, by), 9).hold is None


def test_a_grant_lifts_the_hold_that_it_is_about_and_no_other() -> None:
    held = ControlState(hold=_PAUSED, steps=8, continuations=2, credit_used=3, throttled=1)

    assert after_decision(held, "other", ApprovalState.GRANTED) is held
    assert after_decision(ControlState(), "q1", ApprovalState.GRANTED) == ControlState()
    lifted = after_decision(held, "q1", ApprovalState.GRANTED)
    assert lifted == after_lift(held)
    assert lifted.hold is None
    assert (lifted.person_step, lifted.steps_since_person) == (8, 0)
    assert (lifted.continuations, lifted.credit_used, lifted.throttled) == (0, 0, 0)


@pytest.mark.parametrize(
    "state", [ApprovalState.DENIED, ApprovalState.EXPIRED, ApprovalState.CANCELLED]
)
@pytest.mark.parametrize("kind", HoldKind)
def test_whatever_is_no_grant_makes_a_stop_of_a_pause(state: ApprovalState, kind: HoldKind) -> None:
    hold = after_decision(ControlState(hold=replace(_PAUSED, kind=kind)), "q1", state).hold

    assert hold is not None
    assert hold.kind is (HoldKind.PERSON_STOP if kind is HoldKind.PERSON_STOP else HoldKind.STOP)
    assert hold.approval is None
    assert (hold.reason, hold.since) == (_PAUSED.reason, _PAUSED.since)


def test_a_persons_stop_replaces_what_the_gate_said_and_a_second_one_does_not() -> None:
    first = after_halt(ControlState(hold=_PAUSED, steps=4), "wrong branch", 9)
    second = after_halt(first, "as I said", 11)

    assert first.hold == Hold(kind=HoldKind.PERSON_STOP, reason="wrong branch", step=4, since=9)
    assert second.hold == first.hold


def test_a_resume_settles_what_spoke_against_the_run() -> None:
    before = ControlState(
        hold=_PAUSED,
        actions=30,
        violated=(28, 29),
        coherence=0.3,
        beliefs={"a": Belief(name="a", opposing=9)},
        meter=replace(ControlState().meter, steps=44),
        checkpoint_step=3,
    )
    after = after_lift(before)

    assert (after.actions, after.violated, after.coherence, after.beliefs) == (0, (), None, {})
    assert after.settled_steps == 44
    assert after.recent_violations == 0
    assert after.checkpoint_step == 3


_ANY = events().filter(
    lambda event: (
        not isinstance(event, RunLifted)
        and not (isinstance(event, ApprovalDecided) and event.state is ApprovalState.GRANTED)
    )
)


@examples(50, soak=1500)
@given(kind=st.sampled_from(HoldKind), later=st.lists(_ANY, max_size=6))
def test_no_record_but_a_persons_resume_ever_loosens_a_hold(
    kind: HoldKind, later: list[Event]
) -> None:
    state = RunState(id="r", control=ControlState(hold=replace(_PAUSED, kind=kind)))
    by = Principal(kind=PrincipalKind.AGENT, name="eve")
    rank = kind.rank
    for seq, event in enumerate(later, start=1):
        record = Record(v=1, run="r", seq=seq, at=seq, by=by, prev="", event=event)
        state = folded(state, record)

        assert state.control.hold is not None
        assert state.control.hold.kind.rank >= rank
        rank = state.control.hold.kind.rank


# Continuations.


def test_being_told_to_go_on_is_counted_in_a_row_and_altogether() -> None:
    control = ControlState()
    for _ in range(2):
        control = after_stop(control, _a_stop(), 9)
    acting = after_stop(control, _a_stop(outcome=StopOutcome.ACTS), 9)

    assert (control.continuations, control.credit_used) == (2, 2)
    assert (acting.continuations, acting.credit_used) == (2, 2)


def test_a_timer_of_the_stop_gate_is_counted_but_costs_no_credit() -> None:
    event = _a_stop(Course.WAIT, outcome=StopOutcome.WAITS)
    control = after_stop(ControlState(continuations=1, credit_used=1), event, 9)

    assert (control.continuations, control.credit_used) == (2, 1)


@pytest.mark.parametrize("veto", [None, StopVeto.AWAITING_USER, StopVeto.REFUSED])
def test_a_turn_that_ends_normally_begins_the_count_anew(veto: StopVeto | None) -> None:
    event = _a_stop(Course.FINISH, outcome=StopOutcome.FINISHED, veto=veto)
    control = after_stop(ControlState(continuations=2, credit_used=4), event, 9)

    assert (control.continuations, control.credit_used) == (0, 4)


@pytest.mark.parametrize(
    "event",
    [
        _a_stop(Course.FINISH, veto=StopVeto.RETRIES_EXHAUSTED),
        _a_stop(Course.FINISH, veto=StopVeto.PROTOCOL_VIOLATION),
        _a_stop(Course.FINISH, Authority.CREDIT),
        _a_stop(Course.WAIT, Authority.WAITING),
        _a_stop(Course.HALT, Authority.STOPPED, veto=StopVeto.HARD_STOP),
    ],
    ids=["retries", "protocol", "credit", "waiting", "held"],
)
def test_a_turn_that_does_not_end_normally_keeps_the_count(event: StopJudged) -> None:
    assert after_stop(ControlState(continuations=2), event, 9).continuations == 2


def test_verified_progress_pays_for_one_continuation() -> None:
    before = ControlState(continuations=2, credit_used=2)
    idle = ActionObserved(tool="edit", outcome=Outcome.OK)
    progress = ActionObserved(tool="edit", outcome=Outcome.OK, progressed=True)

    assert after_action(before, idle).credit_used == 2
    paid = after_action(before, progress)
    assert (paid.continuations, paid.credit_used) == (0, 1)
    for _ in range(3):
        paid = after_action(paid, progress)
    assert paid.credit_used == 0


def test_a_persons_word_starts_counting_anew_and_lifts_nothing() -> None:
    before = ControlState(steps=9, hold=_PAUSED, continuations=2, credit_used=3, throttled=4)
    after = after_person(before)

    assert (after.steps_since_person, after.continuations, after.credit_used) == (0, 0, 0)
    assert after.throttled == 0
    assert after.last_event is LastEvent.USER_MESSAGE
    assert after.hold == before.hold


# Checkpoints.


def test_only_a_checkpoint_that_was_taken_counts() -> None:
    taken = Checkpoint(id="c", step=25, kind=CheckpointKind.GIT, workspace="w")

    control = after_checkpoint(ControlState(), taken)
    assert (control.checkpoint_step, control.checkpoints) == (25, 1)
    assert after_checkpoint(control, replace(taken, step=50, error="disk full")) == control


# What never grows.


def test_what_is_kept_does_not_grow_with_the_run() -> None:
    control = ControlState()
    for number in range(300):
        control = after_action(control, ActionObserved(tool="a", outcome=Outcome.OK))
        control = after_stop(control, _a_stop(), number)
        control = after_refusal(after_violation(control))
        control = after_belief(control, Belief(name=f"belief {number}"))

    assert len(control.turns) == 10
    assert len(control.violated) <= 20
    assert len(control.beliefs) == 100
    assert control.tool_ratio == 0.5


def test_what_was_broken_long_ago_does_not_count_any_more() -> None:
    control = after_violation(after_refusal(ControlState()))
    assert control.recent_violations == 2
    for _ in range(20):
        control = after_action(control, ActionObserved(tool="a", outcome=Outcome.OK))

    assert control.recent_violations == 0
    assert ControlState().tool_ratio is None
