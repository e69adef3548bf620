"""How much is left: accounts held against limits, and promises that come back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Final

from msgspec.structs import replace

from interlock.errors import InputError
from interlock.ledger.codec import decoded
from interlock.ledger.desk import Desk
from interlock.ledger.ledger import Work
from interlock.ledger.rows import ReservationRow
from interlock.model.budget import EMPTY, Alert, ScopeKind, Standing, alerts_due, scope_from_id
from interlock.model.events import (
    ActionJudged,
    Actor,
    BudgetAlerted,
    BudgetChanged,
    ReservationLapsed,
)
from interlock.model.run import LEDGER_RUN, RunState, alerts_told
from interlock.model.usage import Dimension, Limits
from interlock.service.context import SYSTEM, Context, day_of

_NO_LIMITS: Final = Limits()
_OF_RUNS: Final = frozenset((ScopeKind.RUN.value, ScopeKind.TREE.value))
"""The kinds of accounts that are part of a run's state."""


def charged_scopes(state: RunState, now: int) -> tuple[str, ...]:
    """Return every account, besides the run's own, that what it does now is charged to.

    The account `tree/RUN` adds up what the runs below spend; what the run itself spends is in
    its own state, and both together are held against the limit of the tree.
    """
    return _charged(state.ancestors, state.agent, state.project, day_of(now))


def locks_at(state: RunState, now: int) -> tuple[str, ...]:
    """Return everything that must stand still while a run's budget is looked at."""
    return _locks(state.id, state.ancestors, charged_scopes(state, now))


def limited_standings(
    context: Context, desk: Desk, state: RunState, now: int
) -> tuple[Standing, ...]:
    """Return where every account stands that has a limit, the run's own first."""
    scopes = (state.own_scope, state.tree_scope, *charged_scopes(state, now))
    standings = (_standing(context, desk, state, scope, now) for scope in scopes)
    return tuple(each for each in standings if each is not None)


def alerts_after(context: Context, desk: Desk, run_id: str, now: int) -> tuple[Alert, ...]:
    """Record and return every alert that the accounts have newly come to."""
    state = desk.state(run_id)
    found: list[Alert] = []
    for standing in limited_standings(context, desk, state, now):
        told = _alerts_told(desk, standing.scope)
        found.extend(alerts_due(standing, told))
    for alert in found:
        kind, _, name = alert.scope.partition("/")
        whose = name if kind in _OF_RUNS else run_id
        desk.append(whose, BudgetAlerted(alert=alert), at=now, by=SYSTEM)
    return tuple(found)


def _alerts_told(desk: Desk, scope: str) -> Mapping[str, int]:
    kind, _, name = scope.partition("/")
    if kind in _OF_RUNS:
        return alerts_told(desk.state(name), scope)
    return desk.account(scope).alerted


@lru_cache(maxsize=1024)
def _charged(ancestors: tuple[str, ...], agent: str, project: str, day: str) -> tuple[str, ...]:
    above = [f"tree/{run}" for run in ancestors]
    return (*above, f"agent/{agent}", f"project-day/{project}/{day}")


@lru_cache(maxsize=1024)
def _locks(run_id: str, ancestors: tuple[str, ...], charged: tuple[str, ...]) -> tuple[str, ...]:
    runs = [f"run/{run}" for run in (run_id, *ancestors)]
    return (*runs, f"tree/{run_id}", *charged)


def _standing(
    context: Context, desk: Desk, state: RunState, scope: str, now: int
) -> Standing | None:
    """Return where an account stands, unless it has no limit."""
    kind, _, name = scope.partition("/")
    if kind in _OF_RUNS:
        whose = state if name == state.id else desk.state(name)
        return _standing_of_run(context, desk, whose, scope, now)
    account = desk.account(scope)
    limits = account.limits.over(context.policy_limits[kind])
    if limits == _NO_LIMITS:
        return None
    return Standing(
        scope=scope,
        used=account.used,
        reserved=account.reserved,
        limits=limits,
        unpriced_tokens=account.unpriced_tokens,
    )


def _standing_of_run(
    context: Context, desk: Desk, run: RunState, scope: str, now: int
) -> Standing | None:
    is_tree = scope == run.tree_scope
    own = run.tree_limits if is_tree else run.limits
    limits = own.over(context.policy_limits["tree" if is_tree else "run"])
    if limits == _NO_LIMITS:
        return None
    below = desk.account(scope) if is_tree else EMPTY
    # A run's time is the time since it began, whether it works or waits.
    elapsed_ms = max(0, now - run.started_at) // 1000
    return Standing(
        scope=scope,
        used=replace(run.spent + below.used, wall_time_ms=elapsed_ms),
        reserved=replace(run.reserved + below.reserved, wall_time_ms=0),
        limits=limits,
        unpriced_tokens=run.unpriced_tokens + below.unpriced_tokens,
    )


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
    is_of_run = kind.value in _OF_RUNS
    run_id = scope.partition("/")[2] if is_of_run else LEDGER_RUN

    def plan(desk: Desk) -> BudgetChanged:
        if is_of_run:
            desk.state(run_id)
        event = BudgetChanged(
            scope=scope,
            dimension=dimension,
            before=_own_limits(desk, scope).over(context.policy_limits[kind.value]).of(dimension),
            after=limit,
            note=None if note is None else context.clean(note),
        )
        desk.append(run_id, event, at=context.clock.now(), by=by)
        return event

    return Work(plan, locks=(f"run/{run_id}", scope))


def take_back(context: Context, rows: Sequence[ReservationRow]) -> Work[int]:
    """Return the work of taking back promises whose lease is over."""

    def plan(desk: Desk) -> int:
        now = context.clock.now()
        count = 0
        for row in rows:
            if not desk.holds(row.run_id, row.seq):
                continue
            record = desk.record(row.run_id, row.seq)
            if record is None or not isinstance(record.event, ActionJudged):
                continue
            judged = record.event
            event = ReservationLapsed(of=row.seq, scopes=judged.scopes, released=judged.reserved)
            desk.append(row.run_id, event, at=now, by=SYSTEM)
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


def _own_limits(desk: Desk, scope: str) -> Limits:
    kind, _, name = scope.partition("/")
    if kind not in _OF_RUNS:
        return desk.account(scope).limits
    return desk.state(name).limits if kind == "run" else desk.state(name).tree_limits
