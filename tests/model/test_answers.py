"""What whoever asks is told, in words that can be acted on."""

from __future__ import annotations

import pytest

from interlock import Answer, Decision, Finding, Verdict
from interlock.model.answers import StepAnswer, StopAnswer, action_id
from interlock.model.arbitration import Authority, Course, Ruling
from interlock.model.step import ContinueDecision, Sign, StepContext, StepDecision, StepReason
from interlock.model.stop import StopDecision, StopOutcome, StopVeto
from interlock.values import Severity


def _an_answer(decision: Decision, *findings: Finding) -> Answer:
    verdict = Verdict(decision=decision, findings=findings, policy_hash="p")
    return Answer(run_id="r", action_id=action_id("r", 7), decision=decision, verdict=verdict)


def _a_finding(message: str, remediation: str) -> Finding:
    return Finding(
        gate="rules",
        rule="mine",
        decision=Decision.WARN,
        severity=Severity.LOW,
        message=message,
        remediation=remediation,
    )


@pytest.mark.parametrize(
    ("decision", "allowed", "waits"),
    [
        (Decision.ALLOW, True, False),
        (Decision.WARN, True, False),
        (Decision.REQUIRE_CONFIRMATION, False, True),
        (Decision.BLOCK, False, False),
    ],
)
def test_an_answer_says_whether_to_go_on(decision: Decision, allowed: bool, waits: bool) -> None:
    answer = _an_answer(decision)

    assert (answer.allowed, answer.waits_for_person) == (allowed, waits)


def test_a_reason_says_what_to_do_where_that_is_known() -> None:
    answer = _an_answer(Decision.WARN, _a_finding("no", "use -j4"), _a_finding("never", ""))

    assert answer.reasons == ("no; use -j4", "never")


def test_an_action_is_named_by_its_run_and_record() -> None:
    assert _an_answer(Decision.ALLOW).action_id == "r:7"


def test_an_answer_about_a_step_says_it_in_words() -> None:
    said, remedy = "nothing new came of it", "try something else"
    detail = ContinueDecision(
        decision=StepDecision.PAUSE,
        reasons=(
            StepReason(code="loop", decision=StepDecision.PAUSE, message=said, remediation=remedy),
        ),
        warnings=(
            Sign(name="slow", decision=StepDecision.CONTINUE, message=said, remediation=remedy),
        ),
    )
    answer = StepAnswer(
        run_id="r",
        seq=7,
        step=3,
        decision=StepDecision.PAUSE,
        facts=StepContext(),
        detail=detail,
        ruling=Ruling(course=Course.AWAIT_PERSON, by=Authority.PAUSED, reason="loop"),
    )

    assert (answer.goes_on, answer.delay_ms) == (False, 0)
    assert answer.reasons == ("nothing new came of it; try something else",)
    assert answer.warnings == ("nothing new came of it; try something else",)


def test_an_answer_about_an_end_sends_the_agent_on_with_its_nudge() -> None:
    answer = StopAnswer(
        run_id="r",
        seq=7,
        decision=StopOutcome.NUDGED,
        detail=StopDecision(
            goes_on=True, score=3, signals=(), reason="unfinished", outcome=StopOutcome.NUDGED
        ),
        step=ContinueDecision(decision=StepDecision.THROTTLE),
        ruling=Ruling(
            course=Course.GO_ON, by=Authority.STEP, reason="go", delay_ms=250, nudge="go on"
        ),
    )

    assert (answer.goes_on, answer.delay_ms, answer.nudge) == (True, 250, "go on")
    assert not answer.done


@pytest.mark.parametrize(
    ("course", "by", "veto", "done"),
    [
        (Course.FINISH, Authority.STOP, None, True),
        (Course.FINISH, Authority.CREDIT, None, False),
        (Course.FINISH, Authority.STOP, StopVeto.AWAITING_USER, False),
        (Course.AWAIT_PERSON, Authority.STOP, None, False),
    ],
)
def test_an_agent_is_done_only_where_nothing_else_ended_its_turn(
    course: Course, by: Authority, veto: StopVeto | None, *, done: bool
) -> None:
    answer = StopAnswer(
        run_id="r",
        seq=7,
        decision=StopOutcome.FINISHED,
        detail=StopDecision(
            goes_on=False,
            score=0,
            signals=(),
            reason="done",
            outcome=StopOutcome.FINISHED,
            veto=veto,
        ),
        step=ContinueDecision(decision=StepDecision.CONTINUE),
        ruling=Ruling(course=course, by=by, reason="done"),
    )

    assert answer.done is done
