"""Tables and bars for a terminal: never wider than the window, and gone when the work is done."""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from typing import Final, NamedTuple

from interlock.cli.text.render import Line, Span, Tone, drawable, escape, text_width
from interlock.model.budget import BudgetBalance, Dimension, ScopeKind, scope_from_id
from interlock.views import units

_GAP: Final = 2
_NARROWEST: Final = 20
_SHORTEST: Final = 8
_ELLIPSIS: Final = "..."
_BAR: Final = 20
_SHORTEST_BAR: Final = 4
_BESIDE_A_BAR: Final = 2 + 15 + 9
"""The indent, the name of what is limited, and the share."""
_LONG: Final = 2000


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
    titles = [Span(column.title, Tone.FAINT) for column in columns]
    cells = [titles, *[[Span(escape(cell.text), cell.tone) for cell in row] for row in rows]]
    widths = [max(len(row[at].text) for row in cells) for at in range(len(columns))]
    fitted = _fitted(columns, widths, width)
    for row in cells:
        spans: list[Span] = []
        for at, room in fitted.items():
            text = cut(row[at].text, room)
            aligned = text.rjust(room) if columns[at].right else text.ljust(room)
            spans += [Span(" " * _GAP), Span(aligned, row[at].tone)]
        yield tuple(spans[1:])


def cut(text: str, width: int) -> str:
    """Return the text in so many characters as it is printed, with a sign that there is more."""
    text = escape(text)
    if len(text) <= width:
        return text
    return text[: max(0, width - len(_ELLIPSIS))] + _ELLIPSIS


def _fitted(columns: Sequence[Column], widths: Sequence[int], room: int) -> dict[int, int]:
    """Return the columns that fit, by place, with their widths."""
    fitted = dict(enumerate(widths))
    stretching = next((at for at, each in enumerate(columns) if each.stretches), None)
    if stretching is not None:
        fitted[stretching] = min(fitted[stretching], _NARROWEST)
    for _, at in sorted((each.spared, at) for at, each in enumerate(columns) if each.spared):
        if _total(fitted) <= room:
            break
        del fitted[at]
    if stretching is not None:
        spare = room - _total(fitted)
        most = max(_SHORTEST, fitted[stretching] + spare)
        fitted[stretching] = min(widths[stretching], most)
    return fitted


def _total(widths: dict[int, int]) -> int:
    return sum(widths.values()) + _GAP * (len(widths) - 1)


def bar_lines(balances: Sequence[BudgetBalance], *, named: bool = True) -> Iterator[Line]:
    """Yield a bar for each limit: what is used, what is held, what is left."""
    rows = [
        (_label(balance), balance, dimension, limit)
        for balance in balances
        for dimension in Dimension
        if (limit := balance.limits.of(dimension)) is not None
    ]
    width = max((len(label) for label, *_ in rows), default=0) + _GAP if named else 0
    last = ""
    for label, balance, dimension, limit in rows:
        shown = f"{'' if label == last else label:<{width}}" if named else ""
        yield (Span(f"  {shown}", Tone.LABEL), *_bar(balance, dimension, limit, width))
        last = label


def _bar(balance: BudgetBalance, dimension: Dimension, limit: int, indent: int) -> Line:
    used, held = balance.used.of(dimension), balance.reserved.of(dimension)
    percent = 100 * (used + held) // limit if limit else 100
    tone = Tone.BAD if percent >= 100 else Tone.CAREFUL if percent >= 75 else Tone.GOOD
    spent, waiting, free = drawable("█▒░", "#+.")
    amounts = f"{units.amount(dimension, used)} of {units.amount(dimension, limit)}"
    holding = f", {units.amount(dimension, held)} held" if held else ""
    room = text_width() - indent - _BESIDE_A_BAR - len(amounts + holding)
    long = max(_SHORTEST_BAR, min(_BAR, room))
    full = min(long, long * used // limit) if limit else long
    reserved = min(long - full, -(-long * held // limit)) if limit else 0
    return (
        Span(f"{dimension.value:<13}  "),
        Span(spent * full + waiting * reserved, tone),
        Span(free * (long - full - reserved), Tone.FAINT),
        Span(f"  {percent:>3} %  ", tone),
        Span(f"{amounts}{holding}"),
    )


def _label(balance: BudgetBalance) -> str:
    scope = scope_from_id(balance.scope)
    is_of_run = scope.kind in (ScopeKind.RUN, ScopeKind.TREE)
    return scope.kind.value if is_of_run else escape(f"{scope.kind.value} {scope.name}")


Advance = Callable[[int, int], None]
"""Takes how much is done, of how much."""


@contextmanager
def progress(
    title: str, *, long: int = _LONG, told: Callable[[int], str] = "{:,}".format
) -> Generator[Advance]:
    """Yield what shows how far the work is; short work gets no bar."""
    if not sys.stderr.isatty():
        yield lambda _done, _total: None
        return
    from rich.console import Console  # noqa: PLC0415 - only a terminal needs it
    from rich.progress import (  # noqa: PLC0415 - the same
        BarColumn,
        Progress,
        SpinnerColumn,
        TextColumn,
        TimeRemainingColumn,
    )

    columns = (
        # The bar stands still for as long as a part takes.
        SpinnerColumn("line", style="dim"),
        TextColumn("[dim]{task.description}[/]"),
        BarColumn(complete_style="cyan", finished_style="cyan"),
        TextColumn("[dim]{task.fields[far]}[/]"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(title, total=0, visible=False, far="")

        def advance(done: int, total: int) -> None:
            far = f"{told(done)} of {told(total)}"
            bar.update(task, completed=done, total=total, visible=total >= long, far=far)

        yield advance


@contextmanager
def working(title: str) -> Generator[None]:
    """Say what is being done while it is done; nothing is said of work without a title."""
    if not title or not sys.stderr.isatty():
        yield
        return
    from rich.console import Console  # noqa: PLC0415 - only a terminal needs it
    from rich.text import Text  # noqa: PLC0415 - the same

    with Console(stderr=True).status(Text(title, style="dim")):
        yield
