"""Where accounts stand: what is used and reserved, and what of it is limited."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Final

from msgspec.structs import replace

from interlock.errors import InputError, UnknownError
from interlock.ledger.chain import decoded
from interlock.ledger.ledger import Ledger, Work
from interlock.ledger.transaction import Transaction, account_from, archived_error
from interlock.model.budget import (
    EMPTY,
    NO_LIMITS,
    NOTHING,
    Account,
    Alert,
    Amounts,
    BudgetBalance,
    Dimension,
    Limits,
    ScopeKind,
    alerts_due,
    scope_from_id,
)
from interlock.model.events import ActionJudged, BudgetAlerted, BudgetChanged, ReservationLapsed
from interlock.model.principal import SYSTEM, Principal
from interlock.model.rows import ReservationRow
from interlock.model.run import LEDGER_RUN, RunState, alerts_sent
from interlock.policy.config.document import Policy
from interlock.ports import Accounts, Rows
from interlock.service.records.context import SECOND, Context, Moment

OF_RUNS: Final = frozenset((ScopeKind.RUN.value, ScopeKind.TREE.value))
"""The kinds of accounts that are part of a run's state."""

_DAY_S: Final = 86_400


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
            raise missing_run(self._ledger.rows, run_id)
        return state


def missing_run(rows: Rows, run_id: str) -> InputError:
    """Return the error for an id that names no run, or one that is archived."""
    if rows.archived(run_id) is not None:
        return archived_error(rows, run_id)
    return UnknownError(f"there is no run `{run_id}`: look at `interlock runs`")


def policy_limits(policy: Policy) -> Mapping[str, Limits]:
    """Return a policy's limits by kind of scope."""
    budgets = policy.budgets
    return {
        ScopeKind.RUN.value: _limits_from(budgets.run),
        ScopeKind.TREE.value: _limits_from(budgets.tree),
        ScopeKind.AGENT.value: _limits_from(budgets.agent),
        ScopeKind.PROJECT_DAY.value: _limits_from(budgets.project_day),
    }


def _limits_from(named: Mapping[str, int]) -> Limits:
    """Return limits from the names that a policy uses for them."""
    # Money is written in its smallest unit there already; time is not.
    scales = {Dimension.WALL_TIME: Dimension.WALL_TIME.scale}
    return Limits(
        **{
            each.field: named[each.value] * scales.get(each, 1)
            for each in Dimension
            if each.value in named
        }
    )


def charged_scopes(state: RunState, now: int) -> tuple[str, ...]:
    """Return every account, besides the run's own, that what it does now is charged to.

    The account `tree/RUN` adds up what the runs below spend; what the run itself spends is in
    its own state, and both together are held against the limit of the tree.
    """
    days = now // (_DAY_S * SECOND)
    return _charged(state.ancestors, state.agent, state.project, days)


@lru_cache(maxsize=1024)
def _charged(ancestors: tuple[str, ...], agent: str, project: str, days: int) -> tuple[str, ...]:
    above = [f"tree/{run}" for run in ancestors]
    day = time.strftime("%Y-%m-%d", time.gmtime(days * _DAY_S))
    return (*above, f"agent/{agent}", f"project-day/{project}/{day}")


def limited_balances(
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
    return tuple(
        [
            _balance(accounts, state, scope, limits, now)
            for scope in (state.own_scope, state.tree_scope, *charged)
            if (limits := _limits(named, accounts, state, scope)) != NO_LIMITS
        ]
    )


def balance_of(
    named: Mapping[str, Limits], accounts: Accounts, scope: str, now: int
) -> BudgetBalance:
    """Return where one account stands, limited or not."""
    return _balance(accounts, None, scope, _limits(named, accounts, None, scope), now)


def _limits(
    named: Mapping[str, Limits], accounts: Accounts, known: RunState | None, scope: str
) -> Limits:
    """Return an account's own limits, and the policy's where it has none of its own."""
    kind, _, name = scope.partition("/")
    if kind not in OF_RUNS:
        return accounts.account(scope).limits.over(named[kind])
    run = known if known is not None and name == known.id else accounts.state(name)
    return (run.limits if kind == "run" else run.tree_limits).over(named[kind])


def _balance(
    accounts: Accounts, known: RunState | None, scope: str, limits: Limits, now: int
) -> BudgetBalance:
    kind, _, name = scope.partition("/")
    if kind in OF_RUNS:
        run = known if known is not None and name == known.id else accounts.state(name)
        return _balance_of_run(accounts, run, scope, limits, now)
    account = accounts.account(scope)
    return BudgetBalance(
        scope=scope,
        used=account.used,
        reserved=account.reserved,
        limits=limits,
        unpriced_tokens=account.unpriced_tokens,
    )


def _balance_of_run(
    accounts: Accounts, run: RunState, scope: str, limits: Limits, now: int
) -> BudgetBalance:
    """Return a run's own account, or with what the runs below it spent as well."""
    # A run's time is the time since it began, whether it works or waits.
    elapsed_ms = max(0, (run.ended_at or now) - run.started_at) // 1000
    used, reserved, unpriced = run.spent, run.reserved, run.unpriced_tokens
    if scope == run.tree_scope:
        below = accounts.account(scope)
        used, reserved = used + below.used, reserved + below.reserved
        unpriced += below.unpriced_tokens
    return BudgetBalance(
        scope=scope,
        used=replace(used, wall_time_ms=elapsed_ms),
        reserved=replace(reserved, wall_time_ms=0) if reserved.wall_time_ms else reserved,
        limits=limits,
        unpriced_tokens=unpriced,
    )


def alerts_with(
    transaction: Transaction, balances: Sequence[BudgetBalance], asked: Amounts = NOTHING
) -> tuple[Alert, ...]:
    """Return every alert that accounts newly come to, once what is asked for is granted."""
    return tuple(
        alert
        for balance in balances
        if balance.is_near_a_limit(asked)
        for alert in alerts_due(balance, _alerts_known(transaction, balance.scope), asked)
    )


def record_alerts(moment: Moment, alerts: Sequence[Alert]) -> None:
    """Record alerts with whoever has to remember that they were sent."""
    for alert in alerts:
        kind, _, name = alert.scope.partition("/")
        whose = name if kind in OF_RUNS else moment.run.id
        moment.append(BudgetAlerted(alert=alert), SYSTEM, run_id=whose)


def alert_after(moment: Moment, charged: Sequence[str]) -> None:
    """Record every alert that accounts have come to by what was just recorded."""
    record_alerts(moment, alerts_with(moment.transaction, balances_of(moment, charged)))


def balances_of(moment: Moment, charged: Sequence[str]) -> tuple[BudgetBalance, ...]:
    """Return where every limited account of a run stands at this moment."""
    named = moment.context.policy_limits
    return limited_balances(named, moment.transaction, moment.run, charged=charged, now=moment.now)


def _alerts_known(transaction: Transaction, scope: str) -> Mapping[str, int]:
    kind, _, name = scope.partition("/")
    if kind in OF_RUNS:
        return alerts_sent(transaction.state(name), scope)
    return transaction.account(scope).alerted


def change_budget(
    context: Context,
    *,
    scope: str,
    dimension: Dimension,
    limit: int | None,
    note: str | None,
    by: Principal,
) -> Work[BudgetChanged]:
    """Return the work of setting another limit."""
    is_of_run = scope_from_id(scope).kind.value in OF_RUNS
    if limit is not None and limit < 0:
        raise InputError(f"a limit of {limit} makes no sense: expected 0 or more")
    run_id = scope.partition("/")[2] if is_of_run else LEDGER_RUN

    def plan(transaction: Transaction) -> BudgetChanged:
        if is_of_run:
            transaction.state(run_id)
        event = BudgetChanged(
            scope=scope,
            dimension=dimension,
            before=_limits(context.policy_limits, transaction, None, scope).of(dimension),
            after=limit,
            note=None if note is None else context.clean(note),
        )
        transaction.append(run_id, event, at=context.clock.now(), by=by)
        return event

    return Work(plan, locks=(f"run/{run_id}", scope))


def take_back(context: Context, rows: Sequence[ReservationRow]) -> Work[int]:
    """Return the work of taking back reservations whose lease is over."""

    def plan(transaction: Transaction) -> int:
        now = context.clock.now()
        count = 0
        for row in rows:
            if not transaction.has_reservation(row.run_id, row.seq):
                continue
            record = transaction.record(row.run_id, row.seq)
            if record is None or not isinstance(record.event, ActionJudged):
                continue
            judged = record.event
            event = ReservationLapsed(of=row.seq, scopes=judged.scopes, released=judged.reserved)
            transaction.append(row.run_id, event, at=now, by=SYSTEM)
            count += 1
        return count

    return Work(plan, locks=tuple(sorted(_locks_of(context, rows))))


def _locks_of(context: Context, rows: Sequence[ReservationRow]) -> set[str]:
    """Return what taking back changes: the runs, and the accounts their records name."""
    locks: set[str] = set()
    for row in rows:
        locks.add(f"run/{row.run_id}")
        found = context.ledger.rows.record(row.run_id, row.seq)
        if found is not None and isinstance(judged := decoded(found.body).event, ActionJudged):
            locks.update(judged.scopes)
    return locks
