"""What accounts may use and have used; what was saved of a run's work, and put back."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import Any, Final

import msgspec

from interlock.errors import UnknownError
from interlock.ledger.abbreviations import found_run, found_scope
from interlock.ledger.chain import records_of
from interlock.model.budget import Dimension
from interlock.model.events import BudgetChanged, Undone
from interlock.model.principal import Scope
from interlock.model.step import Checkpoint
from interlock.server.desk.endpoint import Call, Endpoint, Limit, Name
from interlock.service.operations import Operations
from interlock.service.records.undo_records import found_undo, look_at_undo
from interlock.views.run_view import account_value, balance_of, checkpoints_among
from interlock.views.units import AmountValue

Amounts = dict[Dimension, AmountValue]


class AccountLine(msgspec.Struct, frozen=True, kw_only=True):
    """An account: every amount in the unit that its name tells."""

    scope: str
    used: Amounts
    held: Amounts
    limits: Amounts
    unpriced_tokens: int


class AccountPage(msgspec.Struct, frozen=True, kw_only=True):
    """A few accounts, by their names."""

    accounts: tuple[AccountLine, ...]
    cursor: str | None
    """Where the next page begins; None where this is the last one."""


class SavedWork(msgspec.Struct, frozen=True, kw_only=True):
    """A checkpoint in its place on the record."""

    run_id: str
    at: int
    checkpoint: Checkpoint


async def _list(call: Call) -> AccountPage:
    """Return accounts that more than one run is charged to."""
    return await call.look(lambda: _page(call))


def _page(call: Call) -> AccountPage:
    ledger, now = call.desk.ledger, call.desk.now()
    limit: int = call.query.get("limit", 50)
    cursor: str = call.query.get("cursor", "")
    behind = (scope for scope, _ in ledger.rows.accounts() if scope > cursor)
    scopes = list(islice(behind, limit + 1))
    balances = (balance_of(ledger, scope, now) for scope in scopes[:limit])
    shown = tuple(_line(each) for each in balances if each is not None)
    return AccountPage(accounts=shown, cursor=scopes[limit - 1] if len(scopes) > limit else None)


def _line(balance: Any) -> AccountLine:  # noqa: ANN401 - the value's own fields
    return AccountLine(**account_value(balance))  # pyright: ignore[reportArgumentType] - the same names


async def _show(call: Call) -> AccountLine:
    return await call.look(lambda: _account(call))


def _account(call: Call) -> AccountLine:
    ledger = call.desk.ledger
    scope = found_scope(ledger.rows, call.params["scope"])
    balance = balance_of(ledger, scope, call.desk.now())
    if balance is None:
        raise UnknownError(f"nothing was ever charged to `{scope}`, and it has no limit")
    return _line(balance)


async def _change(call: Call) -> Sequence[BudgetChanged]:
    return await call.prove(call.words.set_budget, call.params["scope"])


async def _undo(call: Call) -> Undone:
    """Put files back; an agent those of its own runs."""
    found = await call.look(lambda: _own_undo(call))
    return await call.words.undo(found)


def _own_undo(call: Call) -> str:
    desk = call.desk
    context = desk.governor.context
    found = look_at_undo(context, found_undo(context, call.params["undo"]))
    row = desk.ledger.rows.run(found.run_id)
    desk.check_own(call.who, found.run_id, "" if row is None else row.agent)
    return found.id


async def _checkpoints(call: Call) -> Sequence[SavedWork]:
    return await call.look(lambda: _saved(call))


def _saved(call: Call) -> Sequence[SavedWork]:
    desk = call.desk
    run = found_run(desk.ledger.rows, call.query["run"])
    desk.check_own(call.who, run.id, run.agent)
    return [
        SavedWork(run_id=run_id, at=at, checkpoint=checkpoint)
        for run_id, at, checkpoint in checkpoints_among(records_of(desk.ledger.rows, run.id))
    ]


_ONE: Final = "/v1/budgets/{scope:path}"

BUDGET_ENDPOINTS: Final = (
    Endpoint(
        method="GET",
        path="/v1/budgets",
        scope=Scope.VIEWER,
        summary="Accounts that more than one run is charged to",
        perform=_list,
        query={"limit": Limit, "cursor": Name},
        answer=AccountPage,
    ),
    Endpoint(
        method="GET",
        path=_ONE,
        scope=Scope.VIEWER,
        summary="One account, such as `run/ID` or `agent/NAME`",
        perform=_show,
        answer=AccountLine,
    ),
    Endpoint(
        method="PUT",
        path=_ONE,
        scope=Scope.OPERATOR,
        summary="Give an account other limits",
        perform=_change,
        body=Operations.set_budget,
        given=("scope", "token"),
        answer=list[BudgetChanged],
        decides=True,
    ),
    Endpoint(
        method="POST",
        path="/v1/undo/{undo}",
        scope=Scope.OPERATOR,
        agents=True,
        summary="Put files back: a set of edits, or what was copied away before a command",
        perform=_undo,
        answer=Undone,
    ),
    Endpoint(
        method="GET",
        path="/v1/checkpoints",
        scope=Scope.VIEWER,
        agents=True,
        summary="What was saved of a run's work",
        perform=_checkpoints,
        query={"run": Name},
        needs=("run",),
        answer=list[SavedWork],
    ),
)
