"""The gate `budget`: in every scope and dimension, in words a person reads at night."""

from __future__ import annotations

import pytest

from gates.policies import gates_with
from interlock import Decision, Finding
from interlock.model.budget import Amounts, BudgetBalance, Limits
from interlock.model.facts import Facts
from interlock.model.short_code import code_of
from interlock.policy.gates.budget_gate import asks_about_price
from interlock.policy.gates.judgement import settle
from interlock.values import Severity

_RUN = "0198a3b4-5c6d-7e8f-9a0b-1c2d3e4f5a6b"


def _said_of(
    balances: tuple[BudgetBalance, ...], asked: Amounts, *, unpriced: str
) -> tuple[Finding, ...]:
    policy = gates_with(f'[budgets]\nunpriced = "{unpriced}"\n')
    return settle((), Facts(balances=balances, asked=asked), policy, policy.hash).verdict.findings


@pytest.mark.parametrize(
    ("scope", "whose"),
    [
        (f"run/{_RUN}", "this run has"),
        (f"tree/{_RUN}", "this run with its sub-agents has"),
        ("agent/claude", "this agent has"),
        ("project-day/shop/2026-11-15", "this project today has"),
    ],
)
def test_a_refusal_says_whose_budget_it_is(scope: str, whose: str) -> None:
    balance = BudgetBalance(scope=scope, used=Amounts(tokens=3), limits=Limits(tokens=4))
    (finding,) = _said_of((balance,), Amounts(tokens=2), unpriced="off")

    assert finding.message == f"{whose} used 3 of 4 tokens and asks for 2 more"
    assert (finding.gate, finding.decision, finding.severity) == (
        "budget",
        Decision.BLOCK,
        Severity.MEDIUM,
    )
    account = scope.replace(f"/{_RUN}", f"/{code_of(_RUN)}")
    assert f"`interlock budget {account} tokens NEW`" in finding.remediation


def test_what_fits_exactly_passes() -> None:
    balance = BudgetBalance(
        scope="run/r",
        used=Amounts(tokens=1),
        reserved=Amounts(tokens=1),
        limits=Limits(tokens=4),
    )

    assert _said_of((balance,), Amounts(tokens=2), unpriced="block") == ()
    assert len(_said_of((balance,), Amounts(tokens=3), unpriced="block")) == 1


@pytest.mark.parametrize("decision", ["warn", "require-confirmation", "block"])
def test_unknown_prices_speak_only_where_cost_is_limited(decision: str) -> None:
    limited = BudgetBalance(scope="run/r", limits=Limits(cost_micros=1), unpriced_tokens=9)
    unlimited = BudgetBalance(scope="tree/r", limits=Limits(tokens=1), unpriced_tokens=9)
    priced = BudgetBalance(scope="agent/a", limits=Limits(cost_micros=1))

    (finding,) = _said_of((limited, unlimited, priced), Amounts(), unpriced=decision)
    assert (finding.rule, finding.decision.value) == ("budget.run.unpriced", decision)
    assert _said_of((limited,), Amounts(), unpriced="off") == ()


@pytest.mark.parametrize(
    ("unpriced", "accepted", "expected"),
    [
        ("require-confirmation", True, []),
        ("require-confirmation", False, [Decision.BLOCK]),
        ("require-confirmation", None, [Decision.REQUIRE_CONFIRMATION]),
        ("block", True, [Decision.BLOCK]),
        ("warn", False, [Decision.WARN]),
    ],
)
def test_what_a_person_said_counts_where_the_policy_has_a_person_asked(
    unpriced: str, *, accepted: bool | None, expected: list[Decision]
) -> None:
    limited = BudgetBalance(scope="run/r", limits=Limits(cost_micros=1), unpriced_tokens=9)
    policy = gates_with(f'[budgets]\nunpriced = "{unpriced}"\n')
    facts = Facts(balances=(limited,), unpriced_accepted=accepted)

    found = settle((), facts, policy, policy.hash).verdict.findings
    assert [each.decision for each in found] == expected
    assert asks_about_price(found) is (expected == [Decision.REQUIRE_CONFIRMATION])


def test_an_unknown_price_names_both_ways_to_a_price() -> None:
    limited = BudgetBalance(scope="run/r", limits=Limits(cost_micros=1), unpriced_tokens=9)
    (finding,) = _said_of((limited,), Amounts(), unpriced="ask")

    assert "`pip install 'interlock[prices]'`" in finding.remediation
    assert "`[[budgets.prices]]`" in finding.remediation
