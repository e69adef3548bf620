"""One place weighs going on against being done: hard states, then the step, then the stop."""

from __future__ import annotations

import itertools

import pytest

from interlock.model.arbitration import Authority, Course, Hard, HardState, Waiting
from interlock.model.step import ContinueDecision, StepDecision, StepReason
from interlock.model.stop import StopDecision, StopOutcome, StopVeto
from interlock.policy.arbiter import held_answer, ruling

HARD = {state: Hard(state=state, reason=f"because of {state.value}") for state in HardState}
STEPS = {
    decision: ContinueDecision(
        decision=decision,
        reasons=()
        if decision is StepDecision.CONTINUE
        else (
            StepReason(
                code="loop", decision=decision, message="it repeats", remediation="try another way"
            ),
        ),
        delay_ms=5_000 if decision is StepDecision.THROTTLE else None,
    )
    for decision in StepDecision
}
STOPS = {
    "at a step": None,
    "done": StopDecision(
        goes_on=False, score=10, signals=(), reason="10 of 60", outcome=StopOutcome.FINISHED
    ),
    "asks a person": StopDecision(
        goes_on=False,
        score=70,
        signals=(),
        reason="it asks something",
        outcome=StopOutcome.VETOED,
        veto=StopVeto.AWAITING_USER,
    ),
    "unfinished": StopDecision(
        goes_on=True,
        score=70,
        signals=(),
        reason="70 of 60",
        outcome=StopOutcome.NUDGED,
        nudge="Automatic message: 1 to-do item open",
    ),
    "waits": StopDecision(
        goes_on=False,
        score=0,
        signals=(),
        reason="the build is still running",
        outcome=StopOutcome.WAITS,
        delay_ms=120_000,
    ),
    "acts": StopDecision(
        goes_on=True, score=0, signals=(), reason="it acts", outcome=StopOutcome.ACTS
    ),
}
WAITS = (None, Waiting(what="the build", delay_ms=60_000))
MOMENTS = list(itertools.product(STEPS, STOPS, (0, 3), WAITS))
GOES_ON_RANK = {
    Course.GO_ON: 0,
    Course.WAIT: 1,
    Course.FINISH: 2,
    Course.AWAIT_PERSON: 3,
    Course.HALT: 4,
}


@pytest.mark.parametrize(
    ("state", "course"),
    [
        (HardState.PERSON_STOP, Course.HALT),
        (HardState.STOPPED, Course.HALT),
        (HardState.PAUSED, Course.AWAIT_PERSON),
        (HardState.AWAITING_PERSON, Course.AWAIT_PERSON),
        (HardState.OVER_BUDGET, Course.HALT),
    ],
)
def test_a_hard_state_decides_whatever_else_is_said(state: HardState, course: Course):
    for step, stop, credit, waiting in MOMENTS:
        ruled = ruling([HARD[state]], STEPS[step], STOPS[stop], credit=credit, waiting=waiting)

        assert (ruled.course, ruled.by) == (course, Authority(state.value))
        assert ruled.reason == f"because of {state.value}"
        assert ruled.nudge is None


def test_the_strongest_of_several_hard_states_speaks_in_whatever_order_they_come():
    for states in itertools.permutations(HardState, 3):
        strongest = min(states, key=list(HardState).index)

        ruled = ruling([HARD[each] for each in states], STEPS[StepDecision.CONTINUE], credit=3)

        assert ruled.by.value == strongest.value


def test_it_goes_on_after_a_stop_only_if_nothing_at_all_speaks_against_it():
    for step, stop, credit, waiting in MOMENTS:
        decided = STOPS[stop]
        ruled = ruling([], STEPS[step], decided, credit=credit, waiting=waiting)
        may = step.rank < StepDecision.PAUSE.rank and waiting is None
        if decided is not None:
            may = may and decided.goes_on
            may = may and (credit > 0 or decided.outcome is StopOutcome.ACTS)

        assert (ruled.course is Course.GO_ON) == may, (step, stop, credit, waiting)


def test_a_pause_or_stop_of_the_continue_gate_is_not_lifted_by_an_unfinished_turn():
    for decision, course in (
        (StepDecision.PAUSE, Course.AWAIT_PERSON),
        (StepDecision.STOP, Course.HALT),
    ):
        for stop in ("at a step", "unfinished", "acts"):
            for waiting in WAITS:
                ruled = ruling([], STEPS[decision], STOPS[stop], credit=3, waiting=waiting)

                assert (ruled.course, ruled.by) == (course, Authority.STEP)
                assert ruled.reason == "it repeats"


def test_a_turn_that_wants_to_end_may_end():
    for step in StepDecision:
        ruled = ruling([], STEPS[step], STOPS["done"], credit=3)

        assert (ruled.course, ruled.by, ruled.reason) == (
            Course.FINISH,
            Authority.STOP,
            "10 of 60",
        )


def test_waiting_becomes_a_timer_instead_of_turns():
    for stop in ("at a step", "done", "unfinished"):
        ruled = ruling([], STEPS[StepDecision.CONTINUE], STOPS[stop], credit=0, waiting=WAITS[1])

        assert (ruled.course, ruled.by, ruled.delay_ms) == (Course.WAIT, Authority.WAITING, 60_000)
        assert ruled.reason == "it waits for the build"


def test_a_question_to_a_person_is_not_waited_out():
    ruled = ruling(
        [], STEPS[StepDecision.CONTINUE], STOPS["asks a person"], credit=3, waiting=WAITS[1]
    )

    assert (ruled.course, ruled.reason) == (Course.FINISH, "it asks something")


def test_a_timer_is_never_shorter_than_a_throttle():
    short = Waiting(what="the build", delay_ms=100)

    ruled = ruling([], STEPS[StepDecision.THROTTLE], credit=3, waiting=short)

    assert (ruled.course, ruled.delay_ms) == (Course.WAIT, 5_000)


def test_without_credit_an_unfinished_turn_ends_and_says_so():
    ruled = ruling([], STEPS[StepDecision.CONTINUE], STOPS["unfinished"], credit=0)

    assert (ruled.course, ruled.by) == (Course.FINISH, Authority.CREDIT)
    assert "continuations are used up" in ruled.reason


def test_a_throttle_goes_on_after_its_delay():
    at_a_step = ruling([], STEPS[StepDecision.THROTTLE], credit=0)
    at_a_stop = ruling([], STEPS[StepDecision.THROTTLE], STOPS["unfinished"], credit=1)

    assert (at_a_step.course, at_a_step.delay_ms) == (Course.GO_ON, 5_000)
    assert (at_a_stop.course, at_a_stop.delay_ms) == (Course.GO_ON, 5_000)
    assert at_a_stop.nudge == "Automatic message: 1 to-do item open"


def test_one_more_hard_state_never_loosens():
    for step, stop, credit, waiting in MOMENTS:
        for fewer, more in itertools.product(HardState, repeat=2):
            one = ruling([HARD[fewer]], STEPS[step], STOPS[stop], credit=credit, waiting=waiting)
            two = ruling(
                [HARD[fewer], HARD[more]],
                STEPS[step],
                STOPS[stop],
                credit=credit,
                waiting=waiting,
            )
            none = ruling([], STEPS[step], STOPS[stop], credit=credit, waiting=waiting)

            assert two.course not in (Course.GO_ON, Course.WAIT, Course.FINISH)
            assert GOES_ON_RANK[one.course] >= min(3, GOES_ON_RANK[none.course])


def test_the_answer_to_a_held_run_names_every_hard_state_the_strongest_first():
    answer = held_answer([HARD[HardState.PAUSED], HARD[HardState.PERSON_STOP]])

    assert answer.decision is StepDecision.STOP
    assert [reason.code for reason in answer.reasons] == ["person-stop", "paused"]
    assert all("only a person" in reason.remediation for reason in answer.reasons)


def test_a_paused_run_is_answered_with_pause():
    assert held_answer([HARD[HardState.PAUSED]]).decision is StepDecision.PAUSE


def test_what_the_agents_own_words_wait_for_becomes_a_timer_as_well():
    stop = STOPS["waits"]

    ruled = ruling([], STEPS[StepDecision.CONTINUE], stop, credit=0)

    assert (ruled.course, ruled.by) == (Course.WAIT, Authority.STOP)
    assert (ruled.delay_ms, ruled.reason) == (120_000, "the build is still running")
    told = ruling([], STEPS[StepDecision.CONTINUE], stop, credit=0, waiting=WAITS[1])
    assert (told.by, told.delay_ms) == (Authority.WAITING, 60_000)
