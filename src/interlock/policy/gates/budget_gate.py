"""The gate `budget`: what is used, reserved and asked for must not pass a limit."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from interlock.model.budget import Amounts, BudgetBalance, Dimension, scope_from_id
from interlock.model.facts import Facts
from interlock.model.verdict import Decision, Finding, Severity
from interlock.policy.actions.compiled_policy import CompiledPolicy
from interlock.policy.gates.contract import Gate

_UNPRICED: Final = ".unpriced"
_PRICE_IT: Final = (
    "install the public price list (`pip install 'interlock[prices]'`), or give the model a price"
    " under `[[budgets.prices]]` in your policy"
)
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
    if facts.balances and unpriced != "off" and any(map(_is_uncounted, facts.balances)):
        yield from _unpriced(facts, Decision(unpriced))


def asks_about_price(findings: Iterable[Finding]) -> bool:
    """Whether a person is asked about an unknown price and nothing else."""
    asking = [each for each in findings if each.decision is Decision.REQUIRE_CONFIRMATION]
    return bool(asking) and all(
        each.gate == GATE.name and each.rule.endswith(_UNPRICED) for each in asking
    )


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
                    f"{_WHOSE[scope.kind.value]} has a limit on cost and has used"
                    f" {balance.unpriced_tokens} tokens of a model whose price is not known{note}"
                ),
                remediation=remedy,
            )


GATE = Gate(name="budget", facts=_of_facts)
