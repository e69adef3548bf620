"""The answer: the gates', the budget's and a person's word, weighed together."""

from __future__ import annotations

import pytest

from gates.policies import gates_with
from interlock import Decision, Finding
from interlock.model.budget import Amounts, BudgetBalance, Limits
from interlock.model.facts import Band, Denial, Facts, Privilege
from interlock.policy.actions.risk_class import RiskClass
from interlock.policy.gates.judgement import settle
from interlock.values import Severity

_GATES = gates_with("")


def _a_finding(decision: Decision) -> Finding:
    return Finding(
        gate="rules",
        rule="mine",
        decision=decision,
        severity=Severity.LOW,
        message="m",
        remediation="r",
    )


@pytest.mark.parametrize(
    ("found", "told"),
    [
        (Decision.WARN, Decision.WARN),
        (Decision.REQUIRE_CONFIRMATION, Decision.WARN),
        (Decision.BLOCK, Decision.BLOCK),
    ],
)
def test_a_person_lets_through_only_what_asks_for_a_person(found: Decision, told: Decision) -> None:
    settled = settle((_a_finding(found),), Facts(granted="a1"), _GATES, "p")

    assert settled.decision is told
    assert settled.verdict.decision is found
    assert settled.verdict.policy_hash == "p"


def test_without_a_person_the_verdict_is_the_answer() -> None:
    for decision in (Decision.WARN, Decision.REQUIRE_CONFIRMATION, Decision.BLOCK):
        settled = settle((_a_finding(decision),), Facts(), _GATES, "p")
        assert settled.decision is settled.verdict.decision is decision
    assert settle((), Facts(), _GATES, "p").decision is Decision.ALLOW


@pytest.mark.parametrize(
    ("note", "message"),
    [
        (None, "a person was asked and said no"),
        ("", "a person was asked and said no"),
        ("use a branch", "a person was asked and said no: use a branch"),
    ],
)
def test_a_refusal_blocks_in_the_persons_words(note: str | None, message: str) -> None:
    facts = Facts(denied=Denial(approval="a1", note=note))
    settled = settle((_a_finding(Decision.REQUIRE_CONFIRMATION),), facts, _GATES, "p")

    assert settled.decision is Decision.BLOCK
    assert settled.verdict.findings[-1].message == message


def test_a_person_does_not_lift_a_limit() -> None:
    balance = BudgetBalance(scope="run/r", limits=Limits(tool_calls=0))
    facts = Facts(balances=(balance,), asked=Amounts(tool_calls=1), granted="a1")
    settled = settle((_a_finding(Decision.REQUIRE_CONFIRMATION),), facts, _GATES, "p")

    assert settled.decision is Decision.BLOCK
    assert [each.gate for each in settled.verdict.findings] == ["rules", "budget"]


def test_what_a_run_was_taken_asks_for_a_person() -> None:
    taken = Privilege(band=Band.READ_ONLY.value, coherence=0.3, risk_class=RiskClass.WRITES.value)

    settled = settle((), Facts(privilege=taken), _GATES, "p")

    assert settled.decision is Decision.REQUIRE_CONFIRMATION
