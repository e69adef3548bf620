"""May it finish? Which words claim that the work is done, what they come to, and what is known."""

from __future__ import annotations

import pytest

from interlock.model.arbitration import Authority, Course, Hard, HardState, Ruling, Waiting
from interlock.model.review import (
    CheckResult,
    Overall,
    ReviewDecision,
    ReviewMode,
    ReviewOutcome,
    Witness,
)
from interlock.model.step import ContinueDecision, StepDecision, StepReason
from interlock.model.stop import StopDecision, StopOutcome, StopVeto
from interlock.model.verdict import Decision, Finding, Severity, Verdict
from interlock.policy.arbiter import ruling
from interlock.policy.reviews.gate_faults import coverage_of, refusing
from interlock.policy.reviews.review_gate import claim, claims_success, is_claim
from reviews.cases import a_checked_gate, a_gate, advisory, an_open_review


@pytest.mark.parametrize(
    "outcome",
    ["failed", "Failed", " timed out ", "timed_out", "ABORTED", "cancelled", "partial", "applied"],
)
def test_who_says_that_it_is_not_done_claims_nothing(outcome: str) -> None:
    assert not claims_success(outcome)


@pytest.mark.parametrize(
    "outcome", ["completed", "done", "", "not failed", "failed?", "error-free"]
)
def test_any_other_word_is_a_claim(outcome: str) -> None:
    assert claims_success(outcome)


def test_to_end_is_to_say_that_it_passes() -> None:
    assert claim().overall is claim("done").overall is Overall.PASS
    assert claim().rationale == "the agent ended its turn"
    assert claim("done").rationale == "the agent finished as `done`"


def a_stop(*, goes_on: bool = False, veto: StopVeto | None = None) -> StopDecision:
    return StopDecision(
        goes_on=goes_on,
        score=10,
        signals=(),
        reason="so it is",
        outcome=StopOutcome.NUDGED if goes_on else StopOutcome.FINISHED,
        veto=veto,
    )


def a_step(decision: StepDecision = StepDecision.CONTINUE) -> ContinueDecision:
    reasons = (
        ()
        if decision is StepDecision.CONTINUE
        else (StepReason(code="x", decision=decision, message="too far", remediation="ask"),)
    )
    return ContinueDecision(decision=decision, reasons=reasons, delay_ms=7)


RETRY = ReviewDecision(outcome=ReviewOutcome.RETRY, reason="tests fail", guidance="mend them")
ADVANCE = ReviewDecision(outcome=ReviewOutcome.ADVANCE, reason="all is well")


@pytest.mark.parametrize(
    ("course", "by", "veto", "is_one"),
    [
        (Course.FINISH, Authority.STOP, None, True),
        (Course.FINISH, Authority.CREDIT, None, True),
        (Course.FINISH, Authority.STOP, StopVeto.RETRIES_EXHAUSTED, True),
        (Course.FINISH, Authority.STOP, StopVeto.AWAITING_USER, False),
        (Course.FINISH, Authority.STOP, StopVeto.REFUSED, False),
        (Course.FINISH, Authority.STOP, StopVeto.HARD_STOP, False),
        (Course.GO_ON, Authority.STOP, None, False),
        (Course.HALT, Authority.PERSON_STOP, None, False),
        (Course.WAIT, Authority.WAITING, None, False),
    ],
)
def test_a_turn_claims_that_the_work_is_done_where_it_ends_and_asks_nothing(
    course: Course, by: Authority, veto: StopVeto | None, is_one: bool
) -> None:
    assert is_claim(Ruling(course=course, by=by, reason="x"), a_stop(veto=veto)) is is_one


def test_checks_that_fail_send_a_turn_on_with_what_failed() -> None:
    ruled = ruling((), a_step(), a_stop(), credit=0, completion=RETRY)

    assert ruled == Ruling(
        course=Course.GO_ON,
        by=Authority.COMPLETION,
        reason="tests fail",
        delay_ms=7,
        nudge="mend them",
    )


def test_checks_that_fail_send_on_also_who_has_no_credit_left() -> None:
    ruled = ruling((), a_step(), a_stop(goes_on=True), credit=0, completion=RETRY)

    assert (ruled.course, ruled.by) == (Course.GO_ON, Authority.COMPLETION)


def test_checks_that_pass_let_a_turn_end() -> None:
    ruled = ruling((), a_step(), a_stop(), credit=1, completion=ADVANCE)

    assert (ruled.course, ruled.by) == (Course.FINISH, Authority.STOP)


@pytest.mark.parametrize("state", list(HardState))
def test_no_check_sends_on_who_is_held(state: HardState) -> None:
    hard = Hard(state=state, reason="a person said so")

    assert ruling((hard,), a_step(), a_stop(), credit=9, completion=RETRY).by is Authority(
        state.value
    )


@pytest.mark.parametrize("decision", [StepDecision.STOP, StepDecision.PAUSE])
def test_no_check_sends_on_whom_the_continue_gate_holds(decision: StepDecision) -> None:
    ruled = ruling((), a_step(decision), a_stop(), credit=9, completion=RETRY)

    assert ruled.by is Authority.STEP
    assert ruled.course is (Course.HALT if decision is StepDecision.STOP else Course.AWAIT_PERSON)


def test_who_waits_for_something_goes_on_waiting() -> None:
    waiting = Waiting(what="the build", delay_ms=9)

    assert ruling((), a_step(), a_stop(), credit=1, waiting=waiting).by is Authority.WAITING


def test_a_passing_sibling_does_not_speak_for_a_gate() -> None:
    gates = (a_checked_gate("a"), a_checked_gate("b"), a_checked_gate("c"), a_gate("d"), advisory())
    checks = (
        CheckResult(gate="a", exit_code=0),
        CheckResult(gate="b", exit_code=1),
        CheckResult(gate="c", error="it cannot be started"),
    )
    covered = coverage_of(an_open_review(*gates, a_checked_gate("e"), checks=checks))

    assert [each.witness for each in covered] == [
        Witness.CHECK, Witness.AGAINST, Witness.NOTHING, Witness.VERDICT, Witness.VERDICT,
        Witness.NOTHING,
    ]  # fmt: skip
    assert [each.result for each in covered] == [
        "exit code 0", "exit code 1", "its check did not run: it cannot be started", "", "", "",
    ]  # fmt: skip
    assert covered[4].mode is ReviewMode.ADVISORY


def test_a_check_that_times_out_speaks_against_its_gate() -> None:
    checks = (CheckResult(gate="a", timed_out=True),)

    found = an_open_review(a_checked_gate("a"), checks=checks)
    assert coverage_of(found)[0].witness is Witness.AGAINST


def test_what_would_need_a_person_is_no_check() -> None:
    findings = tuple(
        Finding(
            gate="g",
            rule=each.value,
            decision=each,
            severity=Severity.LOW,
            message="x",
            remediation="y",
        )
        for each in Decision
    )
    verdict = Verdict(decision=Decision.BLOCK, findings=findings, policy_hash="h")

    assert [each.rule for each in refusing(verdict)] == ["require-confirmation", "block"]
