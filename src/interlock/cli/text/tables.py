"""Tables for a terminal: as wide as they need to be, and never wider than the window."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from interlock.cli.text.render import Line, Span, Tone, escape

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
