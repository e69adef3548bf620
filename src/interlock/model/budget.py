"""Accounts: what was spent and what is promised, in every scope that may have a limit.

One comparison decides everywhere: what is used, what others hold and what is asked for may
together reach the limit and not pass it.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator, Mapping

import msgspec
from msgspec.structs import replace

from interlock.model.usage import NOTHING, Amounts, Dimension, Limits

ALERT_PERCENTS = (75, 90, 95, 100)


class ScopeKind(enum.Enum):
    """Whose spending an account adds up."""

    RUN = "run"
    """One run by itself."""
    TREE = "tree"
    """A run with all the runs below it."""
    AGENT = "agent"
    """Every run of one agent."""
    PROJECT_DAY = "project-day"
    """Every run of one project on one day (UTC)."""


class Scope(msgspec.Struct, frozen=True, kw_only=True):
    """One account's name, such as `run/0198…` or `project-day/shop/2026-11-15`."""

    kind: ScopeKind
    name: str

    @property
    def id(self) -> str:
        """The name as the ledger writes it."""
        return f"{self.kind.value}/{self.name}"


def scope_from_id(text: str) -> Scope:
    """Return the scope that an id names."""
    kind, _, name = text.partition("/")
    return Scope(kind=ScopeKind(kind), name=name)


class Account(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What one scope has used, what is promised, and what it may use."""

    used: Amounts = NOTHING
    reserved: Amounts = NOTHING
    limits: Limits = Limits()
    """The account's own limits: given at the start of a run, or set by a person since."""
    unpriced_tokens: int = 0
    """Tokens whose price is not known: their cost is not in `used`, and is not zero."""
    alerted: Mapping[str, int] = {}
    """The highest percentage that was told, by dimension."""


EMPTY = Account()


class BudgetBalance(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Where an account stood when a question was asked: the facts that a budget is judged on."""

    scope: str
    used: Amounts = NOTHING
    reserved: Amounts = NOTHING
    limits: Limits = Limits()
    unpriced_tokens: int = 0

    def after(self, asked: Amounts) -> Amounts:
        """Return what would be used and promised if `asked` were granted."""
        return self.used + self.reserved + asked

    def exceeded_by(self, asked: Amounts) -> Iterator[Dimension]:
        """Yield every dimension whose limit would be passed."""
        if self.limits == _NO_LIMITS:
            return
        after = self.after(asked)
        for dimension in Dimension:
            limit = self.limits.of(dimension)
            if limit is not None and after.of(dimension) > limit:
                yield dimension


_NO_LIMITS = Limits()


class Alert(msgspec.Struct, frozen=True, kw_only=True):
    """An account came so close to a limit."""

    scope: str
    dimension: Dimension
    percent: int
    used: int
    limit: int


def reserved(account: Account, amounts: Amounts) -> Account:
    """Return the account with so much more promised."""
    return replace(account, reserved=account.reserved + amounts)


def settled(
    account: Account, *, released: Amounts, spent: Amounts, unpriced_tokens: int = 0
) -> Account:
    """Return the account with a promise taken back and what was really used added."""
    return replace(
        account,
        used=account.used + spent,
        reserved=account.reserved - released,
        unpriced_tokens=account.unpriced_tokens + unpriced_tokens,
    )


def relimited(account: Account, dimension: Dimension, limit: int | None) -> Account:
    """Return the account with another limit; what was told about the old one is forgotten."""
    alerted = {name: told for name, told in account.alerted.items() if name != dimension.value}
    return replace(account, limits=account.limits.with_limit(dimension, limit), alerted=alerted)


def alerts_due(
    standing: BudgetBalance, told: Mapping[str, int], asked: Amounts = NOTHING
) -> tuple[Alert, ...]:
    """Return the highest threshold that each dimension newly reaches with what is asked for."""
    taken = standing.after(asked)
    found = (_alert_in(standing, told, taken, each) for each in Dimension)
    return tuple(alert for alert in found if alert is not None)


def _alert_in(
    standing: BudgetBalance, told: Mapping[str, int], taken: Amounts, dimension: Dimension
) -> Alert | None:
    limit = standing.limits.of(dimension)
    if not limit:
        return None
    used = taken.of(dimension)
    reached = [percent for percent in ALERT_PERCENTS if used * 100 >= limit * percent]
    if not reached or reached[-1] <= told.get(dimension.value, 0):
        return None
    scope = standing.scope
    return Alert(scope=scope, dimension=dimension, percent=reached[-1], used=used, limit=limit)


def alerted(account: Account, alert: Alert) -> Account:
    """Return the account with an alert noted, so that it is told once."""
    return replace(account, alerted={**account.alerted, alert.dimension.value: alert.percent})
