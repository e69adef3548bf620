"""What two policies come to, side by side."""

from __future__ import annotations

from interlock.model.policy_comparison import (
    AnswerCount,
    AnswerKind,
    HeldRuns,
    SimulatedSide,
    Simulation,
    TurnAnswer,
    Went,
)


def held(went: Went, runs: int) -> HeldRuns:
    return HeldRuns(went=went, runs=runs, tokens=0, micro_usd=0, unpriced_tokens=0)


def a_side(*runs: HeldRuns) -> SimulatedSide:
    return SimulatedSide(
        policy="recorded",
        hash=None,
        confirmations=0,
        confirmations_per_thousand=None,
        denials=0,
        held=runs,
    )


def a_count(kind: AnswerKind, before: str, after: str, count: int) -> AnswerCount:
    return AnswerCount(kind=kind, before=before, after=after, count=count, stricter=False)


def a_simulation(*counts: AnswerCount) -> Simulation:
    return Simulation(
        runs=9,
        well=2,
        badly=3,
        answers=0,
        changed=0,
        stricter=0,
        looser=0,
        interrupted=0,
        released=0,
        before=a_side(),
        after=a_side(),
        counts=counts,
    )


def test_the_agent_that_goes_on_alone_is_the_least_held() -> None:
    assert list(TurnAnswer) == sorted(TurnAnswer)
    assert TurnAnswer.UNCHECKED < TurnAnswer.CONTINUE < TurnAnswer.PAUSE
    assert TurnAnswer.PAUSE < TurnAnswer.STOP < TurnAnswer.FINISH


def test_held_runs_are_counted_by_how_they_ended_and_all_together() -> None:
    side = a_side(held(Went.WELL, 2), held(Went.BADLY, 5), held(Went.UNKNOWN, 1))

    assert (side.runs_held(), side.runs_held(Went.WELL), side.runs_held(Went.BADLY)) == (8, 2, 5)


def test_a_run_that_nobody_judged_is_neither_good_nor_bad() -> None:
    assert a_simulation().unknown == 4


def test_pairs_of_answers_tell_how_many_were_asked_and_what_changes() -> None:
    same = a_count(AnswerKind.ACTION, "allow", "allow", 7)
    few = a_count(AnswerKind.ACTION, "allow", "block", 1)
    many = a_count(AnswerKind.STEP, "continue", "pause", 4)
    simulation = a_simulation(same, few, many)

    assert simulation.of_kind(AnswerKind.ACTION) == 8
    assert simulation.of_kind(AnswerKind.STOP) == 0
    assert simulation.changes == (many, few)
