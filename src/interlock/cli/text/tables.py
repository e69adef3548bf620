"""Tables for a terminal: as wide as they need to be, and never wider than the window."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from interlock.cli.text.render import Line, Span, Tone, escape
from interlock.model.budget import BudgetBalance, Dimension, ScopeKind, scope_from_id
from interlock.views import units

_GAP: Final = 2
_NARROWEST: Final = 20
_SHORTEST: Final = 8
_ELLIPSIS: Final = "..."


class Column(NamedTuple):
    """A column of a table."""

    title: str
    right: bool = False
    stretches: bool = False
    """Takes what room is left; there is one such column."""
    spared: int = 0
    """Where room is short, columns go in this order; those with 0 stay."""


Row = Sequence[Span]


def table_lines(columns: Sequence[Column], rows: Sequence[Row], *, width: int) -> Iterator[Line]:
    """Yield the titles, then a line for each row, in so many characters."""
    cells = [[Span(escape(cell.text), cell.tone) for cell in row] for row in rows]
    widths = [
        max([len(column.title), *[len(row[at].text) for row in cells]])
        for at, column in enumerate(columns)
    ]
    kept = _fitted(columns, widths, width)
    yield _line(columns, kept, [Span(column.title, Tone.FAINT) for column in columns])
    for row in cells:
        yield _line(columns, kept, row)


def cut(text: str, width: int) -> str:
    """Return the text in so many characters, with a sign that there is more."""
    if len(text) <= width:
        return text
    return text[: max(0, width - len(_ELLIPSIS))] + _ELLIPSIS


def _fitted(columns: Sequence[Column], widths: Sequence[int], room: int) -> dict[int, int]:
    """Return the columns that fit, by place, with their widths."""
    kept = dict(enumerate(widths))
    going = sorted((each.spared, at) for at, each in enumerate(columns) if each.spared)
    stretching = next((at for at, each in enumerate(columns) if each.stretches), None)
    least = {
        at: min(width, _NARROWEST) if at == stretching else width for at, width in kept.items()
    }
    for _, at in going:
        if _total(least) <= room:
            break
        del kept[at], least[at]
    if stretching is not None:
        spare = room - _total(least)
        kept[stretching] = min(kept[stretching], max(_SHORTEST, least[stretching] + spare))
    return kept


def _total(widths: dict[int, int]) -> int:
    return sum(widths.values()) + _GAP * (len(widths) - 1)


def _line(columns: Sequence[Column], kept: dict[int, int], row: Row) -> Line:
    spans: list[Span] = []
    for at, width in kept.items():
        text = cut(row[at].text, width)
        aligned = text.rjust(width) if columns[at].right else text.ljust(width)
        if spans:
            spans.append(Span(" " * _GAP))
        spans.append(Span(aligned, row[at].tone))
    return tuple(spans)


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
