"""What is a yes is true, what is none is not, and what is neither says where to look."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from interlock.model.answers import (
    Answer,
    EditAnswer,
    ReviewAnswer,
    ReviewOpening,
    StepAnswer,
    StopAnswer,
)
from interlock.model.approval import Approval, Subject
from interlock.model.arbitration import Authority, Course, Ruling
from interlock.model.edit import EditPlan
from interlock.model.review import (
    CheckResult,
    Evaluation,
    GateAction,
    GateVerdict,
    Overall,
    PendingGateReview,
    Report,
    ReviewDecision,
    ReviewMode,
    ReviewOutcome,
    ReviewVerdict,
    Unreadable,
)
from interlock.model.step import ContinueDecision, StepContext, StepDecision
from interlock.model.stop import StopDecision, StopOutcome
from interlock.model.verdict import Decision, Verdict


def _verdict(decision: Decision) -> Verdict:
    return Verdict(decision=decision, findings=(), policy_hash="p")


def _answer(decision: Decision) -> Answer:
    return Answer(run_id="r", action_id="r:1", decision=decision, verdict=_verdict(decision))


def _edits(decision: Decision | None) -> EditAnswer:
    plan = EditPlan(workspace="w", files=())
    return EditAnswer(plan=plan, diff="", answer=None if decision is None else _answer(decision))


def _ruling(course: Course, delay_ms: int | None = None) -> Ruling:
    return Ruling(course=course, by=Authority.STEP, reason="so", delay_ms=delay_ms)


def _step(course: Course, **known: Any) -> StepAnswer:
    return StepAnswer(
        run_id="r",
        seq=1,
        step=0,
        decision=StepDecision.CONTINUE,
        facts=StepContext(),
        detail=ContinueDecision(decision=StepDecision.CONTINUE, reasons=()),
        ruling=_ruling(course, known.pop("delay_ms", None)),
        **known,
    )


def _stop(course: Course, **known: Any) -> StopAnswer:
    return StopAnswer(
        run_id="r",
        seq=1,
        decision=_STOP.outcome,
        detail=_STOP,
        step=ContinueDecision(decision=StepDecision.CONTINUE, reasons=()),
        ruling=_ruling(course, known.pop("delay_ms", None)),
        **known,
    )


def _review(outcome: ReviewOutcome) -> ReviewAnswer:
    decision = ReviewDecision(
        outcome=outcome, reason="so", guidance="try", choices=(GateAction.RETRY,)
    )
    return ReviewAnswer(run_id="r", seq=1, review_id="v", decision=outcome, detail=decision)


_PENDING = PendingGateReview(id="v", gate_ids=("g",), mode=ReviewMode.BLOCKING, max_attempts=1)
_STOP = StopDecision(goes_on=False, score=0, signals=(), reason="so", outcome=StopOutcome.FINISHED)


@pytest.mark.parametrize("make", [_verdict, _answer, _edits])
def test_only_what_may_happen_is_true(make: Callable[[Decision], object]) -> None:
    assert [bool(make(each)) for each in Decision] == [True, True, False, False]


def test_edits_that_nobody_was_asked_about_are_no_yes() -> None:
    assert not _edits(None)
    assert not _edits(None).waits_for_person
    assert _edits(Decision.REQUIRE_CONFIRMATION).waits_for_person


def test_a_step_is_true_where_the_run_goes_on_if_only_after_a_while() -> None:
    assert [course for course in Course if _step(course)] == [Course.GO_ON]
    assert _step(Course.GO_ON, delay_ms=500)
    assert [course for course in Course if _step(course).waits_for_person] == [Course.AWAIT_PERSON]


@pytest.mark.parametrize("make", [_step, _stop])
def test_what_was_waited_is_no_delay_any_more(make: Callable[..., StepAnswer | StopAnswer]) -> None:
    asked = make(Course.WAIT, delay_ms=500)

    assert asked.delay_ms == 500
    assert make(Course.WAIT, delay_ms=500, waited_ms=200).delay_ms == 300
    assert make(Course.WAIT, delay_ms=500, waited_ms=900).delay_ms == 0
    assert not asked.waits_for_person


def test_a_review_is_true_where_the_work_advances() -> None:
    assert [each for each in ReviewOutcome if _review(each)] == [ReviewOutcome.ADVANCE]
    answer = _review(ReviewOutcome.RETRY)
    assert (answer.outcome, answer.reason, answer.guidance, answer.choices) == (
        "retry",
        "so",
        "try",
        ("retry",),
    )


@pytest.mark.parametrize("passed", [True, False])
def test_what_passes_is_true(passed: bool) -> None:
    evaluation = Evaluation(evaluator="e", passed=passed, score=0)

    assert bool(evaluation) is passed
    assert bool(Report(evaluations=(evaluation,))) is passed
    assert bool(GateVerdict(gate="g", passed=passed, rationale="so")) is passed
    assert bool(CheckResult(gate="g", exit_code=0 if passed else 1)) is passed
    assert not Unreadable(reason="so")


@pytest.mark.parametrize(
    ("unclear", "look_at"),
    [
        (_stop(Course.GO_ON), "goes_on"),
        (_STOP, "goes_on"),
        (ContinueDecision(decision=StepDecision.CONTINUE, reasons=()), "decision"),
        (ReviewDecision(outcome=ReviewOutcome.ADVANCE, reason="so"), "outcome"),
        (ReviewVerdict(overall=Overall.PASS, rationale="so"), "overall"),
        (
            ReviewOpening(
                run_id="r",
                seq=1,
                review=_PENDING,
                gates=(),
                guidance="",
            ),
            "verdict",
        ),
        (
            Approval(
                id="a",
                run_id="r",
                subject=Subject.ACTION,
                digest="",
                summary="",
                findings=(),
                policy_hash="p",
                uses_left=1,
                opened_at=0,
                expires_at=0,
            ),
            "state",
        ),
    ],
    ids=lambda each: type(each).__name__,
)
def test_what_is_neither_says_where_to_look(unclear: object, look_at: str) -> None:
    with pytest.raises(TypeError, match=f"neither true nor false: look at .*{look_at}"):
        bool(unclear)


def test_decisions_are_equal_to_their_texts_and_in_the_order_of_their_weight() -> None:
    assert Decision.BLOCK == "block"
    assert {"block": 1}[Decision.BLOCK] == 1
    assert sorted(Decision, reverse=True) == [*Decision][::-1]
    assert Decision.ALLOW < "warn" <= Decision.WARN
    assert Decision.BLOCK > "warn"
    assert Decision.BLOCK >= "block"
    assert not Decision.ALLOW >= "warn"
    assert not Decision.WARN <= "allow"
