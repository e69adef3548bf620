"""What happens now: `watch` one run on a screen, or `tail` whatever is recorded, line by line."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from contextlib import closing, suppress
from typing import Final

import click

from interlock.cli.call.chosen_question import run_or_latest
from interlock.cli.call.ledger_access import current_time, reading_ledger
from interlock.cli.call.options import ledger_call, print_json, print_record, wants_json
from interlock.cli.text.render import Line, print_lines, rich_text, terminal_width, text_width
from interlock.cli.text.run_page import entry_line
from interlock.cli.text.watch_page import frame_lines
from interlock.ledger.abbreviations import found_run
from interlock.ledger.chain import decoded
from interlock.model.rows import RecordRow
from interlock.model.short_code import CODE_LENGTH, code_of
from interlock.ports import Listener, Rows
from interlock.views import units
from interlock.views.timeline import Timeline
from interlock.views.watch_view import Feed, Frame, Watcher, frame_value

_LONGEST_SILENCE_S: Final = 10.0
"""Ages are drawn anew now and then, and a notice may be lost with a connection."""


@ledger_call("watch")
@click.argument("run", metavar="[RUN]", required=False)
@click.option("--once", is_flag=True, help="Print how it is now, and end.")
def watch_command(*, run: str | None, once: bool) -> None:
    """Watch a run live.

    RUN is its code; without one it is the latest run at work. You see the answers to its steps,
    budgets, rework, loops, and what waits for you. The view is drawn anew with every record and
    ends with the run, or with Ctrl-C. Without a terminal one view is printed; with `--json` one
    object for each piece of news.

    Examples:
      interlock watch R4X9TM
      interlock watch R4X9TM --once --json
    """
    is_live = not once and (wants_json() or sys.stdout.isatty())
    # Listening begins before the first look: what happens in between is not missed.
    with (
        reading_ledger() as ledger,
        closing(ledger.listen()) as listener,
        suppress(KeyboardInterrupt),
    ):
        watcher = Watcher(ledger, found_run(ledger.rows, run_or_latest(ledger, run)).id)
        if wants_json():
            for frame in _frames(watcher, listener, is_live=is_live, redraws=False):
                print_json(frame_value(frame))
        elif is_live:
            _draw(_frames(watcher, listener, is_live=True, redraws=True))
        else:
            print_lines(_lines(_seen(watcher), text_width()))


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
    return watcher.frame(current_time())


def _draw(frames: Iterator[Frame]) -> None:
    """Draw each frame over the one before."""
    from rich.console import Console, Group  # noqa: PLC0415 - only a terminal needs it
    from rich.live import Live  # noqa: PLC0415 - the same

    console = Console(highlight=False)
    with Live(console=console, auto_refresh=False, vertical_overflow="crop") as live:
        for frame in frames:
            lines = _lines(frame, console.width, height=console.height)
            live.update(Group(*map(rich_text, lines)), refresh=True)


def _lines(frame: Frame, width: int, *, height: int | None = None) -> Iterator[Line]:
    return frame_lines(frame, now=current_time(), width=width, height=height)


@ledger_call("tail")
@click.argument("run", metavar="[RUN]", required=False)
@click.option("--since-start", is_flag=True, help="Begin with what is on record already.")
def tail_command(*, run: str | None, since_start: bool) -> None:
    """Print records as they are made, of one run or of all.

    RUN may be the beginning of an id. Ctrl-C ends it.

    Examples:
      interlock tail
      interlock tail R4X9TM --since-start
    """
    with (
        reading_ledger() as ledger,
        closing(ledger.listen()) as listener,
        suppress(KeyboardInterrupt),
    ):
        rows = ledger.rows
        run_id = None if run is None else found_run(rows, run).id
        records = _followed(rows, listener, run_id, since_start=since_start)
        if wants_json():
            for row in records:
                print_record(row)
        else:
            print_lines(record_lines(rows, records, run_id))


def _followed(
    rows: Rows, listener: Listener, run_id: str | None, *, since_start: bool
) -> Iterator[RecordRow]:
    """Yield records for as long as anybody wants them."""
    feed = Feed(rows, run_id)
    if since_start:
        yield from feed.history()
    else:
        feed.skip()
    while True:
        yield from feed.news()
        listener.wait(_LONGEST_SILENCE_S)


def record_lines(rows: Rows, records: Iterable[RecordRow], run_id: str | None) -> Iterator[Line]:
    """Yield a line for each record; of one run only, its id is left out."""
    timeline = Timeline(rows)
    for row in records:
        entry = timeline.entry(decoded(row.body))
        whose = "" if run_id is not None else f"  {code_of(row.run_id):<{CODE_LENGTH}}"
        facts = ", ".join(filter(None, (entry.facts, entry.rules)))
        when = f"{units.time_of_day(row.at)}{whose}"
        yield entry_line(entry, when=when, width=terminal_width(), facts=facts)
