"""What whoever asks is told, in words that can be acted on."""

from __future__ import annotations

import pytest

from interlock import Answer, Decision, Finding, Severity, Verdict
from interlock.model.answers import action_id


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
