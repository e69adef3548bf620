"""What work uses up, the limits it is held against, and the accounts that add it up.

Everything is a whole number in the smallest unit that counts: a budget must come out the same
on every machine, and fractions do not. One comparison decides everywhere: what is used, what is
reserved and what is asked for may together reach the limit and not pass it.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator, Mapping
from decimal import ROUND_CEILING, Decimal
from functools import lru_cache
from typing import Self

import msgspec
from msgspec.structs import replace

from interlock.errors import InputError
from interlock.model.entrance import Amount, Argument, Count


class Dimension(enum.StrEnum):
    """What can be limited; the value is its key in a policy and on the command line."""

    TOKENS = "tokens", "tokens", "tokens", "tokens", 1
    TOOL_CALLS = "tool-calls", "tool_calls", "tool calls", "tool calls", 1
    WALL_TIME = "wall-time-s", "wall_time_ms", "time", "s", 1_000
    COST = "cost-usd", "cost_micros", "cost", "USD", 1_000_000
    DIFF_LINES = "diff-lines", "diff_lines", "changed lines", "changed lines", 1
    STORAGE = "storage-bytes", "storage_bytes", "storage", "bytes", 1

    _value_: str
    field: str
    """Its field in `Amounts` and `Limits`."""
    label: str
    """What people call it."""
    unit: str
    """What people count it in."""
    scale: int
    """How many of the smallest unit, which is what is added up, are one such unit."""

    def __new__(cls, key: str, field: str, label: str, unit: str, scale: int) -> Self:
        """Name a member by its key alone."""
        member = str.__new__(cls, key)
        member._value_ = key
        member.field, member.label, member.unit, member.scale = field, label, unit, scale
        return member


class Amounts(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """So much of each dimension."""

    tokens: int = 0
    tool_calls: int = 0
    wall_time_ms: int = 0
    cost_micros: int = 0
    """Millionths of a US dollar."""
    diff_lines: int = 0
    storage_bytes: int = 0

    def __add__(self, other: Amounts) -> Amounts:
        """Return both together."""
        return Amounts(
            tokens=self.tokens + other.tokens,
            tool_calls=self.tool_calls + other.tool_calls,
            wall_time_ms=self.wall_time_ms + other.wall_time_ms,
            cost_micros=self.cost_micros + other.cost_micros,
            diff_lines=self.diff_lines + other.diff_lines,
            storage_bytes=self.storage_bytes + other.storage_bytes,
        )

    def __sub__(self, other: Amounts) -> Amounts:
        """Return what is left when `other` is taken away."""
        return Amounts(
            tokens=self.tokens - other.tokens,
            tool_calls=self.tool_calls - other.tool_calls,
            wall_time_ms=self.wall_time_ms - other.wall_time_ms,
            cost_micros=self.cost_micros - other.cost_micros,
            diff_lines=self.diff_lines - other.diff_lines,
            storage_bytes=self.storage_bytes - other.storage_bytes,
        )

    def of(self, dimension: Dimension) -> int:
        """Return how much of one dimension."""
        return getattr(self, dimension.field)


NOTHING = Amounts()


class Limits(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How much of each dimension is granted; None is no limit, and limit N admits exactly N."""

    tokens: int | None = None
    tool_calls: int | None = None
    wall_time_ms: int | None = None
    cost_micros: int | None = None
    diff_lines: int | None = None
    storage_bytes: int | None = None

    def of(self, dimension: Dimension) -> int | None:
        """Return the limit of one dimension."""
        return getattr(self, dimension.field)

    def with_limit(self, dimension: Dimension, limit: int | None) -> Limits:
        """Return the limits with one of them changed."""
        return msgspec.structs.replace(self, **{dimension.field: limit})

    def over(self, below: Limits) -> Limits:
        """Return these limits, and those `below` where these say nothing."""
        if below == NO_LIMITS:
            return self
        if self == NO_LIMITS:
            return below
        own = {each.field: self.of(each) for each in Dimension}
        return msgspec.structs.replace(
            below, **{field: limit for field, limit in own.items() if limit is not None}
        )


NO_LIMITS = Limits()


@lru_cache(maxsize=256)
def _limited(limits: Limits) -> tuple[tuple[Dimension, str, int], ...]:
    """Return every dimension that has a limit, with its field; few of them have one."""
    found = ((each, limits.of(each)) for each in Dimension)
    return tuple((each, each.field, limit) for each, limit in found if limit is not None)


Usd = Decimal | str | Amount
"""US dollars, as a person or a program writes them."""


class Budget(msgspec.Struct, frozen=True, kw_only=True, metaclass=Argument):
    """Amounts as a person writes them: what may be used, or what an action is expected to use."""

    tokens: Count | None = None
    tool_calls: Count | None = None
    wall_time_s: Count | None = None
    cost_usd: Usd | None = None
    diff_lines: Count | None = None
    storage_bytes: Count | None = None

    def __post_init__(self) -> None:
        """Refuse what is no amount of money."""
        if self.cost_usd is not None:
            micros_from_usd(self.cost_usd)

    def limits(self) -> Limits:
        """Return what may be used; what is not given is not limited."""
        return Limits(
            tokens=self.tokens,
            tool_calls=self.tool_calls,
            wall_time_ms=None if self.wall_time_s is None else self.wall_time_s * 1000,
            cost_micros=None if self.cost_usd is None else micros_from_usd(self.cost_usd),
            diff_lines=self.diff_lines,
            storage_bytes=self.storage_bytes,
        )

    def amounts(self) -> Amounts:
        """Return what is expected to be used; what is not given is nothing."""
        limits = self.limits()
        return Amounts(**{each.field: limits.of(each) or 0 for each in Dimension})


_MOST_USD = 1_000_000_000
_NO_AMOUNT = "is not an amount of US dollars: expected such as 2.50"


def micros_from_usd(usd: Usd) -> int:
    """Return millionths of a US dollar, rounded up; raise InputError for what is no amount."""
    shown = f"`{str(usd)[:40]}`"
    try:
        # A fraction that was computed is what its shortest text says.
        amount = Decimal(repr(usd) if isinstance(usd, float) else usd)
    except (ArithmeticError, ValueError) as error:
        raise InputError(f"{shown} {_NO_AMOUNT}") from error
    if not amount.is_finite():
        raise InputError(f"{shown} {_NO_AMOUNT}")
    if not 0 <= amount <= _MOST_USD:
        raise InputError(f"{shown} is no amount: expected 0 to {_MOST_USD} US dollars")
    micros = int((amount * 1_000_000).to_integral_value(ROUND_CEILING))
    if isinstance(usd, float) and micros != amount * 1_000_000:
        near = f"{amount:.6f}".rstrip("0").rstrip(".")
        raise InputError(
            f"{shown} is no whole number of millionths of a US dollar: write it as a text,"
            f' such as "{near}"'
        )
    return micros


class TokenUsage(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, metaclass=Argument):
    """What one call of a model used."""

    input_tokens: Count = 0
    output_tokens: Count = 0
    cache_read_tokens: Count = 0
    """Part of `input_tokens`, as providers report it."""
    cache_write_tokens: Count = 0
    """Part of `input_tokens` as well."""

    @property
    def total(self) -> int:
        """All tokens, each counted once."""
        return self.input_tokens + self.output_tokens


ALERT_PERCENTS = (75, 90, 95, 100)


class ScopeKind(enum.StrEnum):
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
    """What one scope has used, what is reserved, and what it may use."""

    used: Amounts = NOTHING
    reserved: Amounts = NOTHING
    limits: Limits = Limits()
    """The account's own limits: given at the start of a run, or set by a person since."""
    unpriced_tokens: int = 0
    """Tokens whose price is not known: their cost is not in `used`, and is not zero."""
    alerted: Mapping[str, int] = {}
    """The highest percentage that was alerted, by dimension."""


EMPTY = Account()


class BudgetBalance(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Where an account stood when a question was asked: the facts that a budget is judged on."""

    scope: str
    used: Amounts = NOTHING
    reserved: Amounts = NOTHING
    limits: Limits = Limits()
    unpriced_tokens: int = 0

    def after(self, asked: Amounts) -> Amounts:
        """Return what would be used and reserved if `asked` were granted."""
        return self.used + self.reserved + asked

    def exceeded_by(self, asked: Amounts) -> Iterator[Dimension]:
        """Yield every dimension whose limit would be passed."""
        # Only what has a limit is added up: this is asked before every action.
        used, held = self.used, self.reserved
        for dimension, field, limit in _limited(self.limits):
            if getattr(used, field) + getattr(held, field) + getattr(asked, field) > limit:
                yield dimension

    def is_near_a_limit(self, asked: Amounts) -> bool:
        """Whether so much of a limit would be used that somebody may have to be told."""
        used, held, least = self.used, self.reserved, ALERT_PERCENTS[0]
        for _, field, limit in _limited(self.limits):
            taken = getattr(used, field) + getattr(held, field) + getattr(asked, field)
            if taken * 100 >= limit * least:
                return True
        return False


class Alert(msgspec.Struct, frozen=True, kw_only=True):
    """An account came so close to a limit."""

    scope: str
    dimension: Dimension
    percent: int
    used: int
    limit: int


def reserved(account: Account, amounts: Amounts) -> Account:
    """Return the account with so much more reserved."""
    return replace(account, reserved=account.reserved + amounts)


def settled(
    account: Account, *, released: Amounts, spent: Amounts, unpriced_tokens: int = 0
) -> Account:
    """Return the account with a reservation released and what was really used added."""
    return replace(
        account,
        used=account.used + spent,
        reserved=account.reserved - released,
        unpriced_tokens=account.unpriced_tokens + unpriced_tokens,
    )


def relimited(account: Account, dimension: Dimension, limit: int | None) -> Account:
    """Return the account with another limit; alerts about the old one are forgotten."""
    alerted = {key: sent for key, sent in account.alerted.items() if key != dimension.value}
    return replace(account, limits=account.limits.with_limit(dimension, limit), alerted=alerted)


def alerts_due(
    balance: BudgetBalance, sent: Mapping[str, int], asked: Amounts = NOTHING
) -> tuple[Alert, ...]:
    """Return the highest threshold that each dimension newly reaches with what is asked for."""
    limited = _limited(balance.limits)
    found = [_alert_in(balance, sent, asked, each) for each, _, limit in limited if limit]
    return tuple(alert for alert in found if alert is not None)


def _alert_in(
    balance: BudgetBalance, sent: Mapping[str, int], asked: Amounts, dimension: Dimension
) -> Alert | None:
    limit = balance.limits.of(dimension) or 0
    used = sum(each.of(dimension) for each in (balance.used, balance.reserved, asked))
    if used * 100 < limit * ALERT_PERCENTS[0]:
        return None
    reached = [percent for percent in ALERT_PERCENTS if used * 100 >= limit * percent]
    if reached[-1] <= sent.get(dimension.value, 0):
        return None
    scope = balance.scope
    return Alert(scope=scope, dimension=dimension, percent=reached[-1], used=used, limit=limit)


def alerted(account: Account, alert: Alert) -> Account:
    """Return the account with an alert noted, so that it is sent once."""
    return replace(account, alerted={**account.alerted, alert.dimension.value: alert.percent})
