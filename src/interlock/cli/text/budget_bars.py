"""How much of a budget is left: accounts with their limits, as bars and for programs."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from interlock.cli.text.escape import escape
from interlock.cli.text.render import Line, Span, Tone
from interlock.errors import LedgerError
from interlock.model.budget import BudgetBalance, Dimension, Limits, ScopeKind, scope_from_id
from interlock.model.run import LEDGER_RUN, RunState
from interlock.views import units

if TYPE_CHECKING:
    from interlock.ledger.ledger import Ledger


_BAR: Final = 20


class _Blocks(NamedTuple):
    used: str
    held: str
    free: str


_DRAWN: Final = _Blocks("█", "▒", "░")
_PLAIN: Final = _Blocks("#", "+", ".")


def run_standings(ledger: Ledger, state: RunState, now: int) -> Sequence[BudgetBalance]:
    """Return where every account of a run stands that has a limit."""
    from interlock.service.records import budgets  # noqa: PLC0415 - only where bars are drawn

    at = now if state.ended_at is None else state.ended_at
    named = _policy_limits(ledger, state.policy_hash)
    charged = budgets.charged_scopes(state, at)
    recorded = budgets.Recorded(ledger)
    return budgets.limited_standings(named, recorded, state, charged=charged, now=at)


def standing_of(ledger: Ledger, scope: str, now: int) -> BudgetBalance | None:
    """Return where one account stands, if anything was ever charged to it or set."""
    from interlock.service.records import budgets  # noqa: PLC0415 - only where bars are drawn

    kind, _, name = scope.partition("/")
    is_of_run = kind in budgets.OF_RUNS
    owner = ledger.state(name if is_of_run else LEDGER_RUN)
    if is_of_run and owner is None:
        return None
    named = _policy_limits(ledger, "" if owner is None else owner.policy_hash)
    found = budgets.standing_of(named, budgets.Recorded(ledger), scope, now)
    is_known = is_of_run or ledger.rows.account(scope) is not None
    return found if is_known or found.limits != budgets.NO_LIMITS else None


def standing_value(standing: BudgetBalance) -> dict[str, object]:
    """Return an account for programs."""
    return {
        "scope": standing.scope,
        "used": units.amounts_value(standing.used),
        "held": units.amounts_value(standing.reserved),
        "limits": units.limits_value(standing.limits),
        "unpriced_tokens": standing.unpriced_tokens,
    }


def bar_lines(budgets: Sequence[BudgetBalance], *, named: bool = True) -> Iterator[Line]:
    """Yield a bar for each limit: what is used, what is held, what is left."""
    rows = [
        (standing, dimension)
        for standing in budgets
        for dimension in Dimension
        if standing.limits.of(dimension) is not None
    ]
    width = max((len(_label(each)) for each, _ in rows), default=0)
    last = ""
    for standing, dimension in rows:
        label = _label(standing)
        shown = f"{'' if label == last else label:<{width}}  " if named else ""
        yield _bar_line(standing, dimension, shown)
        last = label


def _bar_line(standing: BudgetBalance, dimension: Dimension, label: str) -> Line:
    used, held = standing.used.of(dimension), standing.reserved.of(dimension)
    limit = standing.limits.of(dimension) or 0
    percent = 100 * (used + held) // limit if limit else 100
    tone = _tone(percent)
    blocks = _blocks()
    full = min(_BAR, _BAR * used // limit) if limit else _BAR
    promised = min(_BAR - full, -(-_BAR * held // limit)) if limit else 0
    told = f"{units.amount(dimension, used)} of {units.amount(dimension, limit)}"
    holding = f", {units.amount(dimension, held)} held" if held else ""
    return (
        Span(f"  {label}", Tone.LABEL),
        Span(f"{dimension.value:<13}  "),
        Span(blocks.used * full + blocks.held * promised, tone),
        Span(blocks.free * (_BAR - full - promised), Tone.FAINT),
        Span(f"  {percent:>3} %  ", tone),
        Span(f"{told}{holding}"),
    )


def _tone(percent: int) -> Tone:
    if percent >= 100:
        return Tone.BAD
    return Tone.CAREFUL if percent >= 75 else Tone.GOOD


def _label(standing: BudgetBalance) -> str:
    scope = scope_from_id(standing.scope)
    is_of_run = scope.kind in (ScopeKind.RUN, ScopeKind.TREE)
    return scope.kind.value if is_of_run else escape(f"{scope.kind.value} {scope.name}")


def _blocks() -> _Blocks:
    """Return what the terminal can draw."""
    try:
        "".join(_DRAWN).encode(sys.stdout.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return _PLAIN
    return _DRAWN


def _policy_limits(ledger: Ledger, policy_hash: str) -> Mapping[str, Limits]:
    """Return a policy's limits by kind of scope; none where the policy cannot be read."""
    from interlock.service.policies import stored_policy  # noqa: PLC0415 - only where bars are drawn
    from interlock.service.records.budgets import NO_LIMITS, policy_limits  # noqa: PLC0415 - the same

    try:
        return policy_limits(stored_policy(ledger.rows, policy_hash))
    except LedgerError:
        return {kind.value: NO_LIMITS for kind in ScopeKind}
