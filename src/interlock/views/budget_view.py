"""What an account may use, what is used of it, and what is reserved."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from interlock.errors import LedgerError
from interlock.ledger.ledger import Ledger
from interlock.model.budget import BudgetBalance, Limits, ScopeKind
from interlock.model.run import LEDGER_RUN, RunState
from interlock.service.policies.policy_book import stored_policy
from interlock.service.records import budgets
from interlock.service.records.budgets import NO_LIMITS, policy_limits
from interlock.views import units


class Account(msgspec.Struct, frozen=True, kw_only=True):
    """An account for programs: every amount in the unit that its name tells."""

    scope: str
    used: dict[str, int | float | str]
    held: dict[str, int | float | str]
    """What is reserved for what was allowed and not yet reported."""
    limits: dict[str, int | float | str]
    unpriced_tokens: int


def account_from(balance: BudgetBalance) -> Account:
    """Return an account for programs."""
    return Account(
        scope=balance.scope,
        used=units.amounts_value(balance.used),
        held=units.amounts_value(balance.reserved),
        limits=units.limits_value(balance.limits),
        unpriced_tokens=balance.unpriced_tokens,
    )


def run_balances(ledger: Ledger, state: RunState, now: int) -> Sequence[BudgetBalance]:
    """Return the balance of every account of a run that has a limit."""
    at = now if state.ended_at is None else state.ended_at
    named = _policy_limits(ledger, state.policy_hash)
    charged = budgets.charged_scopes(state, at)
    recorded = budgets.Recorded(ledger)
    return budgets.limited_balances(named, recorded, state, charged=charged, now=at)


def balance_of(ledger: Ledger, scope: str, now: int) -> BudgetBalance | None:
    """Return the balance of one account, if anything was ever charged to it or set."""
    kind, _, name = scope.partition("/")
    is_of_run = kind in budgets.OF_RUNS
    owner = ledger.state(name if is_of_run else LEDGER_RUN)
    if is_of_run and owner is None:
        return None
    named = _policy_limits(ledger, "" if owner is None else owner.policy_hash)
    found = budgets.balance_of(named, budgets.Recorded(ledger), scope, now)
    is_known = is_of_run or ledger.rows.account(scope) is not None
    return found if is_known or found.limits != budgets.NO_LIMITS else None


def _policy_limits(ledger: Ledger, policy_hash: str) -> Mapping[str, Limits]:
    """Return a policy's limits by kind of scope; none where the policy cannot be read."""
    try:
        return policy_limits(stored_policy(ledger.rows, policy_hash))
    except LedgerError:
        return {kind.value: NO_LIMITS for kind in ScopeKind}
