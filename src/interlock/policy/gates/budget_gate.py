"""The gate `budget`: what is used, reserved and asked for must not pass a limit."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from interlock.model.budget import Amounts, BudgetBalance, Dimension, scope_from_id
from interlock.model.budget_words import WHOSE, spent_text, way_to_raise
from interlock.model.facts import Facts
from interlock.model.verdict import Decision, Finding, Severity
from interlock.policy.actions.compiled_policy import CompiledPolicy
from interlock.policy.gates.contract import Gate

_UNPRICED: Final = ".unpriced"
_PRICE_IT: Final = (
    "install the public price list (`pip install 'interlock[prices]'`), or give the model a price"
    " under `[[budgets.prices]]` in your policy"
)


def _of_facts(facts: Facts, policy: CompiledPolicy) -> Iterator[Finding]:
    """Refuse what would pass a limit, in whatever scope; say what is used of what."""
    for balance in facts.balances:
        for dimension in balance.exceeded_by(facts.asked):
            yield _exceeded(balance, facts.asked, dimension)
    unpriced = policy.config.budgets.unpriced
    if facts.balances and unpriced != "off" and any(map(_is_uncounted, facts.balances)):
        yield from _unpriced(facts, Decision(unpriced))


def asks_about_price(findings: Iterable[Finding]) -> bool:
    """Whether a person is asked about an unknown price and nothing else."""
    asking = [each for each in findings if each.decision is Decision.REQUIRE_CONFIRMATION]
    return bool(asking) and all(
        each.gate == GATE.name and each.rule.endswith(_UNPRICED) for each in asking
    )


def _exceeded(balance: BudgetBalance, asked: Amounts, dimension: Dimension) -> Finding:
    scope = scope_from_id(balance.scope)
    return Finding(
        gate=GATE.name,
        rule=f"budget.{scope.kind.value}.{dimension.value}",
        decision=Decision.BLOCK,
        severity=Severity.MEDIUM,
        message=spent_text(
            balance.scope,
            dimension,
            used=balance.used.of(dimension),
            limit=balance.limits.of(dimension) or 0,
            reserved=balance.reserved.of(dimension),
            asked=asked.of(dimension),
        ),
        remediation=(
            "finish with what is there, or have a person raise it:"
            f" `{way_to_raise(balance.scope, dimension)}`"
        ),
    )


def _is_uncounted(balance: BudgetBalance) -> bool:
    """Whether a limited cost is not known."""
    return balance.unpriced_tokens > 0 and balance.limits.cost_micros is not None


def _unpriced(facts: Facts, decision: Decision) -> Iterator[Finding]:
    """Say that a cost cannot be counted; a person's word on that counts for the whole run."""
    note, remedy = "", f"{_PRICE_IT}, and start a new run; a person's yes lets this one go on"
    if decision is Decision.REQUIRE_CONFIRMATION and facts.unpriced_accepted is not None:
        if facts.unpriced_accepted:
            return
        decision, note = Decision.BLOCK, ", and a person said that it must not go on like that"
        remedy = f"{_PRICE_IT}, and start a new run"
    for balance in facts.balances:
        if _is_uncounted(balance):
            scope = scope_from_id(balance.scope)
            yield Finding(
                gate=GATE.name,
                rule=f"budget.{scope.kind.value}{_UNPRICED}",
                decision=decision,
                severity=Severity.MEDIUM,
                message=(
                    f"{WHOSE[scope.kind]} has a limit on cost and has used"
                    f" {balance.unpriced_tokens:,} tokens of a model whose price is not known{note}"
                ),
                remediation=remedy,
            )


GATE = Gate(name="budget", facts=_of_facts)
