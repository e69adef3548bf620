"""Where accounts stand: what is used and promised, and what of it is limited."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Final, Protocol

from msgspec.structs import replace

from interlock.errors import InputError
from interlock.ledger.ledger import Ledger
from interlock.ledger.transaction import account_from
from interlock.model.budget import EMPTY, Account, BudgetBalance, Limits, ScopeKind
from interlock.model.run import RunState
from interlock.policy.config.document import Policy
from interlock.service.context import day_of, limits_from

OF_RUNS: Final = frozenset((ScopeKind.RUN.value, ScopeKind.TREE.value))
"""The kinds of accounts that are part of a run's state."""

NO_LIMITS: Final = Limits()


class Accounts(Protocol):
    """Whoever knows accounts and runs: the desk while it writes, the record afterwards."""

    def account(self, scope: str) -> Account:
        """Return an account; one that nothing was ever charged to is empty."""
        ...

    def state(self, run_id: str) -> RunState:
        """Return a run's state; raise InputError if there is no such run."""
        ...


class Recorded:
    """Accounts and runs as they are on record."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    def account(self, scope: str) -> Account:
        """Return an account as it is stored."""
        body = self._ledger.rows.account(scope)
        return EMPTY if body is None else account_from(body)

    def state(self, run_id: str) -> RunState:
        """Return a run as it is stored."""
        state = self._ledger.state(run_id)
        if state is None:
            raise InputError(f"there is no run `{run_id}`: look at `interlock runs`")
        return state


def policy_limits(policy: Policy) -> Mapping[str, Limits]:
    """Return a policy's limits by kind of scope."""
    budgets = policy.budgets
    return {
        ScopeKind.RUN.value: limits_from(budgets.run),
        ScopeKind.TREE.value: limits_from(budgets.tree),
        ScopeKind.AGENT.value: limits_from(budgets.agent),
        ScopeKind.PROJECT_DAY.value: limits_from(budgets.project_day),
    }


def charged_scopes(state: RunState, now: int) -> tuple[str, ...]:
    """Return every account, besides the run's own, that what it does now is charged to.

    The account `tree/RUN` adds up what the runs below spend; what the run itself spends is in
    its own state, and both together are held against the limit of the tree.
    """
    return _charged(state.ancestors, state.agent, state.project, day_of(now))


def limited_standings(
    named: Mapping[str, Limits],
    accounts: Accounts,
    state: RunState,
    *,
    charged: Sequence[str],
    now: int,
) -> tuple[BudgetBalance, ...]:
    """Return where every account of a run stands that has a limit, its own first.

    `named` are the limits that the policy gives each kind of account, `charged` the accounts
    besides the run's own.
    """
    limited = [
        scope
        for scope in (state.own_scope, state.tree_scope, *charged)
        if _limits(named, accounts, state, scope) != NO_LIMITS
    ]
    return tuple([_standing(named, accounts, state, scope, now) for scope in limited])


def standing_of(
    named: Mapping[str, Limits], accounts: Accounts, scope: str, now: int
) -> BudgetBalance:
    """Return where one account stands, limited or not."""
    return _standing(named, accounts, None, scope, now)


@lru_cache(maxsize=1024)
def _charged(ancestors: tuple[str, ...], agent: str, project: str, day: str) -> tuple[str, ...]:
    above = [f"tree/{run}" for run in ancestors]
    return (*above, f"agent/{agent}", f"project-day/{project}/{day}")


def _limits(
    named: Mapping[str, Limits], accounts: Accounts, known: RunState | None, scope: str
) -> Limits:
    """Return an account's own limits, and the policy's where it has none of its own."""
    kind, _, name = scope.partition("/")
    if kind not in OF_RUNS:
        return accounts.account(scope).limits.over(named[kind])
    run = known if known is not None and name == known.id else accounts.state(name)
    return (run.limits if kind == "run" else run.tree_limits).over(named[kind])


def _standing(
    named: Mapping[str, Limits],
    accounts: Accounts,
    known: RunState | None,
    scope: str,
    now: int,
) -> BudgetBalance:
    limits = _limits(named, accounts, known, scope)
    kind, _, name = scope.partition("/")
    if kind in OF_RUNS:
        run = known if known is not None and name == known.id else accounts.state(name)
        return _standing_of_run(accounts, run, scope, limits, now)
    account = accounts.account(scope)
    return BudgetBalance(
        scope=scope,
        used=account.used,
        reserved=account.reserved,
        limits=limits,
        unpriced_tokens=account.unpriced_tokens,
    )


def _standing_of_run(
    accounts: Accounts, run: RunState, scope: str, limits: Limits, now: int
) -> BudgetBalance:
    """Return a run's own account, or with what the runs below it spent as well."""
    below = accounts.account(scope) if scope == run.tree_scope else EMPTY
    # A run's time is the time since it began, whether it works or waits.
    elapsed_ms = max(0, (run.ended_at or now) - run.started_at) // 1000
    return BudgetBalance(
        scope=scope,
        used=replace(run.spent + below.used, wall_time_ms=elapsed_ms),
        reserved=replace(run.reserved + below.reserved, wall_time_ms=0),
        limits=limits,
        unpriced_tokens=run.unpriced_tokens + below.unpriced_tokens,
    )
