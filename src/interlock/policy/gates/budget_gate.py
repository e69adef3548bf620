"""The gate `budget`: what is used, reserved and asked for must not pass a limit."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from interlock.model.budget import Amounts, BudgetBalance, Dimension, scope_from_id
from interlock.model.facts import Facts
from interlock.model.verdict import Decision, Finding, Severity
from interlock.policy.actions.compiled_policy import CompiledPolicy
from interlock.policy.gates.contract import Gate

_WHOSE: Final = {
    "run": "this run",
    "tree": "this run with its sub-agents",
    "agent": "this agent",
    "project-day": "this project today",
}


def _of_facts(facts: Facts, policy: CompiledPolicy) -> Iterator[Finding]:
    """Refuse what would pass a limit, in whatever scope; say what is used of what."""
    for balance in facts.balances:
        for dimension in balance.exceeded_by(facts.asked):
            yield _exceeded(balance, facts.asked, dimension)
    unpriced = policy.config.budgets.unpriced
    if facts.balances and unpriced != "off":
        yield from _unpriced(facts.balances, Decision(unpriced))


def amount_text(dimension: Dimension, amount: int) -> str:
    """Return an amount as a person writes it."""
    if dimension is Dimension.COST:
        return f"{_usd(amount)} {dimension.unit}"
    shown = amount if dimension.scale == 1 else f"{amount / dimension.scale:.1f}"
    return f"{shown} {dimension.unit}"


def _usd(micros: int) -> str:
    """Return dollars with two places, and with more where they are needed."""
    dollars, rest = divmod(micros, 1_000_000)
    return f"{dollars}.{f'{rest:06}'[:2]}{f'{rest:06}'[2:].rstrip('0')}"


def _exceeded(balance: BudgetBalance, asked: Amounts, dimension: Dimension) -> Finding:
    scope = scope_from_id(balance.scope)
    used, held = balance.used.of(dimension), balance.reserved.of(dimension)
    wanted, limit = asked.of(dimension), balance.limits.of(dimension) or 0
    return Finding(
        gate=GATE.name,
        rule=f"budget.{scope.kind.value}.{dimension.value}",
        decision=Decision.BLOCK,
        severity=Severity.MEDIUM,
        message=(
            f"{_WHOSE[scope.kind.value]} has used {amount_text(dimension, used)}, holds"
            f" {amount_text(dimension, held)} and asks for {amount_text(dimension, wanted)}"
            f" of {amount_text(dimension, limit)}"
        ),
        remediation=(
            f"finish with what is there, or have a person raise it: `interlock budget"
            f" {balance.scope} {dimension.value} NEW`"
        ),
    )


def _unpriced(balances: tuple[BudgetBalance, ...], decision: Decision) -> Iterator[Finding]:
    for balance in balances:
        if balance.unpriced_tokens and balance.limits.cost_micros is not None:
            scope = scope_from_id(balance.scope)
            yield Finding(
                gate=GATE.name,
                rule=f"budget.{scope.kind.value}.unpriced",
                decision=decision,
                severity=Severity.MEDIUM,
                message=(
                    f"{_WHOSE[scope.kind.value]} has a limit on cost and has used"
                    f" {balance.unpriced_tokens} tokens of a model whose price is not known"
                ),
                remediation="give the model a price under `budgets.prices` in the user's policy",
            )


GATE = Gate(name="budget", facts=_of_facts)
