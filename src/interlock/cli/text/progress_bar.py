"""A bar, or a word, for what takes long: on a terminal only, and gone when the work is done."""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Final

_LONG: Final = 2000

Advance = Callable[[int, int], None]
"""Takes how much is done, of how much."""


@contextmanager
def progress(title: str, *, long: int = _LONG) -> Generator[Advance]:
    """Yield what shows how far the work is; short work gets no bar."""
    if not sys.stderr.isatty():
        yield lambda _done, _total: None
        return
    from rich.console import Console  # noqa: PLC0415 - only a terminal needs it
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn  # noqa: PLC0415 - the same

    columns = (
        TextColumn("[dim]{task.description}[/]"),
        BarColumn(complete_style="cyan", finished_style="cyan"),
        TextColumn("[dim]{task.completed:,.0f} of {task.total:,.0f}[/]"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(title, total=0, visible=False)

        def advance(done: int, total: int) -> None:
            bar.update(task, completed=done, total=total, visible=total >= long)

        yield advance


@contextmanager
def working(title: str) -> Generator[None]:
    """Say what is being done while it is done; nothing is said of work without a title."""
    if not title or not sys.stderr.isatty():
        yield
        return
    from rich.console import Console  # noqa: PLC0415 - only a terminal needs it
    from rich.markup import escape  # noqa: PLC0415 - the same

    with Console(stderr=True).status(f"[dim]{escape(title)}[/]"):
        yield
