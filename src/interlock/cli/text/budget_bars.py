"""How much of a budget is left: accounts with their limits, as bars and for programs."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from interlock.cli.text.render import Line, Span, Tone, escape
from interlock.model.budget import BudgetBalance, Dimension, ScopeKind, scope_from_id
from interlock.views import units

_BAR: Final = 20


class _Blocks(NamedTuple):
    used: str
    held: str
    free: str


_DRAWN: Final = _Blocks("█", "▒", "░")
_PLAIN: Final = _Blocks("#", "+", ".")


def bar_lines(standings: Sequence[BudgetBalance], *, named: bool = True) -> Iterator[Line]:
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
