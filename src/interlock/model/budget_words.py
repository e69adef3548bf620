"""What was used of a limit, in words, and the command that sets another limit."""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from typing import Final

import msgspec

from interlock.model.budget import BudgetBalance, Dimension, ScopeKind, scope_from_id
from interlock.model.short_code import code_of

WHOSE: Final = {
    ScopeKind.RUN: "this run",
    ScopeKind.TREE: "this run with its sub-agents",
    ScopeKind.AGENT: "this agent",
    ScopeKind.PROJECT_DAY: "this project today",
}
"""Who spends from an account."""
_OF_RUNS: Final = (ScopeKind.RUN, ScopeKind.TREE)
_MICROS: Final = 1_000_000


class UsedUp(msgspec.Struct, frozen=True, kw_only=True):
    """A limit of which nothing is left, so that a run takes no further step."""

    run: str
    """The run that takes no further step."""
    scope: str
    dimension: Dimension
    used: int
    limit: int

    @property
    def text(self) -> str:
        """What was used of what."""
        return spent_text(self.scope, self.dimension, used=self.used, limit=self.limit)

    @property
    def way_to_raise(self) -> str:
        """What an operator types to raise the limit."""
        return way_to_raise(self.scope, self.dimension)


def used_up(run_id: str, balances: Iterable[BudgetBalance]) -> tuple[UsedUp, ...]:
    """Return every limit of a run's accounts of which nothing is left."""
    return tuple(
        UsedUp(run=run_id, scope=each.scope, dimension=dimension, used=used, limit=limit)
        for each in balances
        for dimension in Dimension
        if (limit := each.limits.of(dimension)) is not None
        and (used := each.used.of(dimension)) >= limit
    )


def way_to_raise(scope: str, dimension: Dimension) -> str:
    """Return the command that sets another limit, with the short code of a run."""
    account = scope_from_id(scope)
    name = code_of(account.name) if account.kind in _OF_RUNS else account.name
    return f"interlock budget {shlex.quote(f'{account.kind.value}/{name}')} {dimension.value} NEW"


def spent_text(
    scope: str, dimension: Dimension, *, used: int, limit: int, reserved: int = 0, asked: int = 0
) -> str:
    """Return what was used of a limit: `this run has used 5,250 of 5,000 tokens`."""
    places = _places(used, limit, reserved, asked) if dimension is Dimension.COST else 0

    def shown(amount: int) -> str:
        if dimension is Dimension.COST:
            return f"${amount / _MICROS:,.{places}f}"
        return f"{amount:,}" if dimension.scale == 1 else f"{amount / dimension.scale:,.1f}"

    unit = "" if dimension is Dimension.COST else f" {_unit(dimension, limit)}"
    said = f"{WHOSE[scope_from_id(scope).kind]} has used {shown(used)} of {shown(limit)}{unit}"
    is_one = reserved == 1 or dimension is Dimension.COST
    held = f", {shown(reserved)} more {'is' if is_one else 'are'} reserved" if reserved else ""
    if not asked:
        return f"{said}{held}"
    return f"{said}{held}{', and it' if held else ' and'} asks for {shown(asked)} more"


def _unit(dimension: Dimension, limit: int) -> str:
    is_one = limit == 1 and dimension.scale == 1
    return dimension.unit.removesuffix("s") if is_one else dimension.unit


def _places(*micros: int) -> int:
    """Return how many places all these amounts of money need: two, four or six."""
    if any(each % 100 for each in micros):
        return 6
    return 4 if any(each % 10_000 for each in micros) else 2
