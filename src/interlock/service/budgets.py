"""How much is left: accounts held against limits, and promises that come back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

from interlock.errors import InputError
from interlock.ledger.codec import decoded
from interlock.ledger.ledger import Work
from interlock.ledger.rows import ReservationRow
from interlock.ledger.transaction import Transaction
from interlock.model.budget import (
    NOTHING,
    Alert,
    Amounts,
    BudgetBalance,
    Dimension,
    Limits,
    ScopeKind,
    alerts_due,
    scope_from_id,
)
from interlock.model.events import (
    ActionJudged,
    Actor,
    BudgetAlerted,
    BudgetChanged,
    ReservationLapsed,
)
from interlock.model.run import LEDGER_RUN, RunState, alerts_told
from interlock.service.context import SYSTEM, Context
from interlock.service.standings import OF_RUNS, limited_standings


def locks_of(state: RunState, charged: tuple[str, ...]) -> tuple[str, ...]:
    """Return everything that must stand still while a run's budget is looked at."""
    return _locks(state.id, state.ancestors, charged)


def alerts_with(
    transaction: Transaction, standings: Sequence[BudgetBalance], asked: Amounts = NOTHING
) -> tuple[Alert, ...]:
    """Return every alert that accounts newly come to, once what is asked for is granted."""
    return tuple(
        alert
        for standing in standings
        for alert in alerts_due(standing, _alerts_told(transaction, standing.scope), asked)
    )


def record_alerts(transaction: Transaction, run_id: str, alerts: Sequence[Alert], now: int) -> None:
    """Record alerts with whoever has to remember that they were told."""
    for alert in alerts:
        kind, _, name = alert.scope.partition("/")
        whose = name if kind in OF_RUNS else run_id
        transaction.append(whose, BudgetAlerted(alert=alert), at=now, by=SYSTEM)


def alert_after(
    context: Context, transaction: Transaction, run_id: str, charged: Sequence[str], now: int
) -> None:
    """Record every alert that accounts have come to by what was just recorded."""
    state = transaction.state(run_id)
    standings = limited_standings(
        context.policy_limits, transaction, state, charged=charged, now=now
    )
    record_alerts(transaction, run_id, alerts_with(transaction, standings), now)


def _alerts_told(transaction: Transaction, scope: str) -> Mapping[str, int]:
    kind, _, name = scope.partition("/")
    if kind in OF_RUNS:
        return alerts_told(transaction.state(name), scope)
    return transaction.account(scope).alerted


@lru_cache(maxsize=1024)
def _locks(run_id: str, ancestors: tuple[str, ...], charged: tuple[str, ...]) -> tuple[str, ...]:
    runs = [f"run/{run}" for run in (run_id, *ancestors)]
    return (*runs, f"tree/{run_id}", *charged)


def change_budget(
    context: Context,
    *,
    scope: str,
    dimension: Dimension,
    limit: int | None,
    note: str | None,
    by: Actor,
) -> Work[BudgetChanged]:
    """Return the work of setting another limit."""
    try:
        kind = scope_from_id(scope).kind
    except ValueError as error:
        kinds = ", ".join(f"`{each.value}/…`" for each in ScopeKind)
        raise InputError(f"`{scope}` is not an account: expected one of {kinds}") from error
    if limit is not None and limit < 0:
        raise InputError(f"a limit of {limit} makes no sense: expected 0 or more")
    is_of_run = kind.value in OF_RUNS
    run_id = scope.partition("/")[2] if is_of_run else LEDGER_RUN

    def plan(transaction: Transaction) -> BudgetChanged:
        if is_of_run:
            transaction.state(run_id)
        event = BudgetChanged(
            scope=scope,
            dimension=dimension,
            before=_own_limits(transaction, scope)
            .over(context.policy_limits[kind.value])
            .of(dimension),
            after=limit,
            note=None if note is None else context.clean(note),
        )
        transaction.append(run_id, event, at=context.clock.now(), by=by)
        return event

    return Work(plan, locks=(f"run/{run_id}", scope))


def take_back(context: Context, rows: Sequence[ReservationRow]) -> Work[int]:
    """Return the work of taking back promises whose lease is over."""

    def plan(transaction: Transaction) -> int:
        now = context.clock.now()
        count = 0
        for row in rows:
            if not transaction.holds(row.run_id, row.seq):
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


def _own_limits(transaction: Transaction, scope: str) -> Limits:
    kind, _, name = scope.partition("/")
    if kind not in OF_RUNS:
        return transaction.account(scope).limits
    return transaction.state(name).limits if kind == "run" else transaction.state(name).tree_limits
