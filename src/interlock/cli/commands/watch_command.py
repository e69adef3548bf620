"""`interlock watch RUN`: how one run gets on, live, on one screen of the terminal."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import closing
from typing import TYPE_CHECKING, Final

import click

from interlock.cli.lazy_group import json_option
from interlock.cli.options import ledger_option, reading_ledger

if TYPE_CHECKING:
    from interlock.cli.text.render import Line
    from interlock.ledger.ledger import Ledger
    from interlock.ports import Listener
    from interlock.views.watch_view import Frame, Watcher


_LONGEST_SILENCE_S: Final = 10.0
"""Whoever writes with another user or temporary folder does not wake us: look now and then."""


@click.command("watch")
@click.argument("run", metavar="RUN")
@click.option("--once", is_flag=True, help="Print how it is now, and end.")
@json_option
@ledger_option
def watch_command(*, run: str, once: bool, as_json: bool) -> None:
    """Watch how a run gets on, live.

    RUN is its id, or enough of its beginning. You see the answers to its steps, budgets, rework,
    loops, and what waits for you. The view is drawn anew with every record and ends with the
    run, or with Ctrl-C. Without a terminal one view is printed; with `--json` one object for
    each piece of news.
    """
    from interlock.views.lookup import found_run  # noqa: PLC0415 - commands import late
    from interlock.views.watch_view import Watcher  # noqa: PLC0415 - the same

    is_live = not once and (as_json or sys.stdout.isatty())
    # Listening begins before the first look: what happens in between is not missed.
    with reading_ledger() as ledger, closing(ledger.listen()) as listener:
        watcher = Watcher(ledger, found_run(ledger.rows, run).id)
        try:
            if as_json:
                _print_json(ledger, _frames(watcher, listener, is_live=is_live, redraws=False))
            elif is_live:
                _draw(ledger, _frames(watcher, listener, is_live=True, redraws=True))
            else:
                _print_once(ledger, watcher)
        except KeyboardInterrupt:
            # Ctrl-C is how one leaves: no fuss.
            return


def _frames(
    watcher: Watcher, listener: Listener, *, is_live: bool, redraws: bool
) -> Iterator[Frame]:
    """Yield how the run is now, and again whenever there is news of it, until it is over.

    With `redraws` also when nothing was recorded: ages change, and so do runs above it.
    """
    frame = _seen(watcher)
    yield frame
    while is_live and not frame.is_over:
        listener.wait(_LONGEST_SILENCE_S)
        is_news, before = watcher.catch_up(), frame
        frame = _seen(watcher)
        if is_news or redraws or frame.holds != before.holds:
            yield frame


def _seen(watcher: Watcher) -> Frame:
    from interlock.service.records.context import SystemClock  # noqa: PLC0415 - commands import late

    return watcher.frame(SystemClock().now())


def _print_json(ledger: Ledger, frames: Iterator[Frame]) -> None:
    from interlock.cli.text import budget_bars, render  # noqa: PLC0415 - commands import late
    from interlock.service.records.context import SystemClock  # noqa: PLC0415 - the same
    from interlock.views.watch_view import frame_value  # noqa: PLC0415 - the same

    for frame in frames:
        standings = budget_bars.run_standings(ledger, frame.state, SystemClock().now())
        accounts = [budget_bars.standing_value(each) for each in standings]
        render.print_json(frame_value(frame, accounts))


def _print_once(ledger: Ledger, watcher: Watcher) -> None:
    from interlock.cli.text import render  # noqa: PLC0415 - commands import late

    render.print_lines(_lines(ledger, _seen(watcher), render.text_width()))


def _draw(ledger: Ledger, frames: Iterator[Frame]) -> None:
    """Draw each frame over the one before."""
    from rich.console import Console, Group  # noqa: PLC0415 - only a terminal needs it
    from rich.live import Live  # noqa: PLC0415 - the same

    from interlock.cli.text.render import rich_text  # noqa: PLC0415 - the same

    console = Console(highlight=False)
    with Live(console=console, auto_refresh=False, vertical_overflow="crop") as live:
        for frame in frames:
            lines = _lines(ledger, frame, console.width, height=console.height)
            live.update(Group(*map(rich_text, lines)), refresh=True)


def _lines(
    ledger: Ledger, frame: Frame, width: int, *, height: int | None = None
) -> Iterator[Line]:
    from interlock.cli.text import budget_bars  # noqa: PLC0415 - commands import late
    from interlock.cli.text.watch_page import frame_lines  # noqa: PLC0415 - the same
    from interlock.service.records.context import SystemClock  # noqa: PLC0415 - the same

    now = SystemClock().now()
    standings = budget_bars.run_standings(ledger, frame.state, now)
    return frame_lines(frame, standings, now=now, width=width, height=height)
