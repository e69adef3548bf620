"""How much of a budget is left: accounts with their limits, as bars and for programs."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from msgspec.structs import replace

from interlock.cli import measures
from interlock.cli.legible import legible
from interlock.cli.showing import Line, Span, Tone
from interlock.errors import LedgerError
from interlock.ledger.desk import account_from
from interlock.model.budget import EMPTY, ScopeKind, Standing, scope_from_id
from interlock.model.run import LEDGER_RUN, RunState
from interlock.model.usage import Dimension, Limits

if TYPE_CHECKING:
    from interlock.ledger.ledger import Ledger

_BAR: Final = 20
_NO_LIMITS: Final = Limits()
_OF_RUNS: Final = frozenset((ScopeKind.RUN.value, ScopeKind.TREE.value))


class _Blocks(NamedTuple):
    used: str
    held: str
    free: str


_DRAWN: Final = _Blocks("█", "▒", "░")
_PLAIN: Final = _Blocks("#", "+", ".")


def run_standings(ledger: Ledger, state: RunState, now: int) -> list[Standing]:
    """Return where every account of a run stands that has a limit."""
    from interlock.service.budgets import charged_scopes  # noqa: PLC0415 - only where bars are drawn

    at = now if state.ended_at is None else state.ended_at
    named = _policy_limits(ledger, state.policy_hash)
    scopes = (state.own_scope, state.tree_scope, *charged_scopes(state, at))
    found = [_standing(ledger, scope, named, at) for scope in scopes]
    return [each for each in found if each is not None and each.limits != _NO_LIMITS]


def standing_of(ledger: Ledger, scope: str, now: int) -> Standing | None:
    """Return where one account stands, if anything was ever charged to it or set."""
    kind, _, name = scope.partition("/")
    owner = ledger.state(name if kind in _OF_RUNS else LEDGER_RUN)
    named = _policy_limits(ledger, "" if owner is None else owner.policy_hash)
    return _standing(ledger, scope, named, now)


def standing_value(standing: Standing) -> dict[str, object]:
    """Return an account for programs."""
    return {
        "scope": standing.scope,
        "used": measures.amounts_value(standing.used),
        "held": measures.amounts_value(standing.reserved),
        "limits": measures.limits_value(standing.limits),
        "unpriced_tokens": standing.unpriced_tokens,
    }


def bar_lines(standings: Sequence[Standing], *, named: bool = True) -> Iterator[Line]:
    """Yield a bar for each limit: what is used, what is held, what is left."""
    rows = [
        (standing, dimension)
        for standing in standings
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


def _bar_line(standing: Standing, dimension: Dimension, label: str) -> Line:
    used, held = standing.used.of(dimension), standing.reserved.of(dimension)
    limit = standing.limits.of(dimension) or 0
    percent = 100 * (used + held) // limit if limit else 100
    tone = _tone(percent)
    blocks = _blocks()
    full = min(_BAR, _BAR * used // limit) if limit else _BAR
    promised = min(_BAR - full, -(-_BAR * held // limit)) if limit else 0
    told = f"{measures.amount(dimension, used)} of {measures.amount(dimension, limit)}"
    holding = f", {measures.amount(dimension, held)} held" if held else ""
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


def _label(standing: Standing) -> str:
    scope = scope_from_id(standing.scope)
    is_of_run = scope.kind in (ScopeKind.RUN, ScopeKind.TREE)
    return scope.kind.value if is_of_run else legible(f"{scope.kind.value} {scope.name}")


def _blocks() -> _Blocks:
    """Return what the terminal can draw."""
    try:
        "".join(_DRAWN).encode(sys.stdout.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return _PLAIN
    return _DRAWN


def _standing(ledger: Ledger, scope: str, named: Mapping[str, Limits], at: int) -> Standing | None:
    kind, _, name = scope.partition("/")
    if kind in _OF_RUNS:
        run = ledger.state(name)
        return None if run is None else _standing_of_run(ledger, run, scope, named, at)
    body = ledger.rows.account(scope)
    if body is None and named[kind] == _NO_LIMITS:
        return None
    account = EMPTY if body is None else account_from(body)
    return Standing(
        scope=scope,
        used=account.used,
        reserved=account.reserved,
        limits=account.limits.over(named[kind]),
        unpriced_tokens=account.unpriced_tokens,
    )


def _standing_of_run(
    ledger: Ledger, run: RunState, scope: str, named: Mapping[str, Limits], at: int
) -> Standing:
    """Return a run's own account, or with what the runs below it spent as well."""
    is_tree = scope == run.tree_scope
    body = ledger.rows.account(scope) if is_tree else None
    below = EMPTY if body is None else account_from(body)
    own = run.tree_limits if is_tree else run.limits
    end = at if run.ended_at is None else run.ended_at
    elapsed_ms = max(0, end - run.started_at) // 1000
    return Standing(
        scope=scope,
        used=replace(run.spent + below.used, wall_time_ms=elapsed_ms),
        reserved=replace(run.reserved + below.reserved, wall_time_ms=0),
        limits=own.over(named[scope.partition("/")[0]]),
        unpriced_tokens=run.unpriced_tokens + below.unpriced_tokens,
    )


def _policy_limits(ledger: Ledger, policy_hash: str) -> dict[str, Limits]:
    """Return a policy's limits by kind of scope; none where the policy cannot be read."""
    from interlock.service.context import limits_from  # noqa: PLC0415 - only where bars are drawn
    from interlock.service.policies import stored_policy  # noqa: PLC0415 - the same

    if not policy_hash:
        return {kind.value: _NO_LIMITS for kind in ScopeKind}
    try:
        budgets = stored_policy(ledger.rows, policy_hash).budgets
    except LedgerError:
        return {kind.value: _NO_LIMITS for kind in ScopeKind}
    return {
        ScopeKind.RUN.value: limits_from(budgets.run),
        ScopeKind.TREE.value: limits_from(budgets.tree),
        ScopeKind.AGENT.value: limits_from(budgets.agent),
        ScopeKind.PROJECT_DAY.value: limits_from(budgets.project_day),
    }
