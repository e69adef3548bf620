"""How much is left: accounts held against limits, and promises that come back."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from interlock.errors import InputError
from interlock.ledger.codec import decoded
from interlock.ledger.desk import Desk
from interlock.ledger.ledger import Work
from interlock.ledger.rows import ReservationRow
from interlock.model.budget import Account, Alert, ScopeKind, Standing, alerts_due, scope_from_id
from interlock.model.events import (
    ActionJudged,
    Actor,
    BudgetAlerted,
    BudgetChanged,
    ReservationLapsed,
)
from interlock.model.run import LEDGER_RUN, RunState
from interlock.model.usage import Dimension, Limits
from interlock.service.context import SYSTEM, Context, day_of

_NO_LIMITS = Limits()


def scopes_at(state: RunState, now: int) -> tuple[str, ...]:
    """Return every account that something a run does now is charged to."""
    return (*state.scopes, f"project-day/{state.project}/{day_of(now)}")


def limited_standings(
    context: Context, desk: Desk, state: RunState, now: int
) -> tuple[Standing, ...]:
    """Return where every account stands that has a limit."""
    standings = (_standing(context, desk, state, scope, now) for scope in scopes_at(state, now))
    return tuple(each for each in standings if each is not None)


def alerts_after(
    context: Context, desk: Desk, state: RunState, scopes: Iterable[str], now: int
) -> tuple[Alert, ...]:
    """Record and return every alert that the accounts have newly come to."""
    found: list[Alert] = []
    for scope in scopes:
        standing = _standing(context, desk, state, scope, now)
        if standing is not None:
            found.extend(alerts_due(scope, desk.account(scope), standing))
    for alert in found:
        desk.append(state.id, BudgetAlerted(alert=alert), at=now, by=SYSTEM)
    return tuple(found)


def _standing(
    context: Context, desk: Desk, state: RunState, scope: str, now: int
) -> Standing | None:
    account = desk.account(scope)
    limits = _limits(context, account, scope)
    if limits == _NO_LIMITS:
        return None
    used = account.used
    if limits.wall_time_ms is not None:
        used = replace(used, wall_time_ms=_wall_time_ms(desk, state, scope, account, now))
    return Standing(
        scope=scope,
        used=used,
        reserved=account.reserved,
        limits=limits,
        unpriced_tokens=account.unpriced_tokens,
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
    is_of_run = kind in (ScopeKind.RUN, ScopeKind.TREE)
    run_id = scope.partition("/")[2] if is_of_run else LEDGER_RUN

    def plan(desk: Desk) -> BudgetChanged:
        if is_of_run:
            desk.state(run_id)
        event = BudgetChanged(
            scope=scope,
            dimension=dimension,
            before=_limits(context, desk.account(scope), scope).of(dimension),
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


def _limits(context: Context, account: Account, scope: str) -> Limits:
    """Return the account's own limits, and the policy's where it has none of its own."""
    named = context.policy_limits[scope.partition("/")[0]]
    if named == _NO_LIMITS:
        return account.limits
    return account.limits.over(named)


def _wall_time_ms(desk: Desk, state: RunState, scope: str, account: Account, now: int) -> int:
    """For a run and a tree, the time since it began; elsewhere, the time its actions took."""
    kind, _, name = scope.partition("/")
    if kind not in ("run", "tree"):
        return account.used.wall_time_ms
    began = state.started_at if name == state.id else desk.state(name).started_at
    return max(0, now - began) // 1000
