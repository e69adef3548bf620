"""What is a yes is true, what is none is not, and what is neither says where to look."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import pytest

import interlock
from interlock import AsyncInterlock, AsyncRun, ContinueGate, Interlock, Run, values
from interlock.client import AsyncClient, AsyncClientRun, Client, ClientRun
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


@pytest.mark.parametrize(("short", "text"), [("ask", "require-confirmation"), ("deny", "block")])
def test_a_comparison_with_a_short_form_is_refused_and_not_quietly_false(
    short: str, text: str
) -> None:
    decision = Decision(short)

    assert decision == text
    assert decision.short == short
    for compare in (
        lambda: decision == short,
        lambda: short != decision,
        lambda: short != Decision.ALLOW,
        lambda: decision in ("allow", short),
    ):
        with pytest.raises(ValueError, match=f"compare it with `{text}`, or its `short`"):
            compare()


def test_a_decision_is_no_other_thing() -> None:
    assert Decision.BLOCK != "blocked"
    assert Decision.BLOCK != 3
    assert Decision.BLOCK is not None
    with pytest.raises(ValueError, match="not a valid Decision"):
        Decision(3)


# Nobody adds an answer and forgets it.

_DOORS = (
    *(Interlock, Run, AsyncInterlock, AsyncRun, ContinueGate),
    *(Client, ClientRun, AsyncClient, AsyncClientRun),
)
_SAYS_SOMETHING = {"decision", "outcome", "passed", "course", "overall"}
_NO_ANSWERS = {
    # what was written, or is known
    *("ActionObserved", "Belief", "BudgetChanged", "CompiledPolicy", "Record", "RunState"),
    *("StepStatistics", "Undone", "UsageReported", "ViolationRecorded"),
    # whoever may decide
    *("NewOperator", "Operator", "Token"),
    # a part of an answer, a reason among others, and a count
    *("Finding", "Ruling", "Sign", "StepReason", "TestCounts"),
}


def _returned() -> set[type]:
    """Return every kind of value that a public door returns."""
    hints = [typing.get_type_hints(inspect.unwrap(each)) for each in map(_function, _public())]
    return {kind for each in hints for kind in _kinds(each.get("return"))}


def _public() -> Iterator[Any]:
    yield from (thing for name in interlock.__all__ if (thing := getattr(interlock, name)))
    for door in _DOORS:
        yield from (each for name, each in inspect.getmembers(door) if not name.startswith("_"))


def _function(thing: Any) -> Any:
    found = thing.fget if isinstance(thing, property) else getattr(thing, "__func__", thing)
    return found if inspect.isfunction(found) else lambda: None


def _kinds(annotation: Any) -> Iterator[type]:
    if isinstance(annotation, type) and issubclass(annotation, msgspec.Struct):
        yield annotation
    for each in typing.get_args(annotation):
        yield from _kinds(each)


def test_every_answer_says_what_its_truth_is() -> None:
    public = [getattr(module, name) for module in (interlock, values) for name in module.__all__]
    telling = {
        kind
        for kind in public
        if isinstance(kind, type) and _SAYS_SOMETHING & {*getattr(kind, "__struct_fields__", ())}
    }
    answers = {kind for kind in _returned() | telling if kind.__name__ not in _NO_ANSWERS}

    assert len(answers) >= 14
    assert {kind.__name__ for kind in answers if "__bool__" not in vars(kind)} == set()
