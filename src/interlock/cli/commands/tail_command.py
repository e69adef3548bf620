"""`interlock tail [RUN]`: what is recorded, as it is recorded, by whatever process."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from typing import Final

import click
import msgspec

from interlock.cli.call.ledger_access import reading_ledger
from interlock.cli.call.options import json_option, ledger_option, print_json, wants_json
from interlock.cli.text.render import Line, print_lines, terminal_width
from interlock.cli.text.run_page import entry_line
from interlock.ledger.chain import decoded
from interlock.model.rows import RecordRow
from interlock.ports import Listener, Rows
from interlock.views import units
from interlock.views.lookup import SHORT, found_run
from interlock.views.timeline import Timeline
from interlock.views.watch_view import Feed

_LONGEST_SILENCE_S: Final = 10.0
"""Whoever writes with another user or temporary folder does not wake us: look now and then."""


@click.command("tail")
@click.argument("run", metavar="[RUN]", required=False)
@click.option("--since-start", is_flag=True, help="Begin with what is on record already.")
@json_option
@ledger_option
def tail_command(*, run: str | None, since_start: bool) -> None:
    """Print what is recorded as it is recorded, of one run or of all.

    RUN may be the beginning of an id. Ctrl-C ends it.
    """
    with reading_ledger() as ledger, closing(ledger.listen()) as listener:
        rows = ledger.rows
        run_id = None if run is None else found_run(rows, run).id
        records = _followed(rows, listener, run_id, since_start=since_start)
        try:
            if wants_json():
                _print_json_lines(records)
            else:
                print_lines(_record_lines(rows, records, run_id))
        except KeyboardInterrupt:
            # Ctrl-C is how one leaves: no fuss.
            return


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


def _print_json_lines(records: Iterator[RecordRow]) -> None:
    for row in records:
        print_json({"hash": row.hash, "record": msgspec.Raw(row.body)})


def _record_lines(rows: Rows, records: Iterator[RecordRow], run_id: str | None) -> Iterator[Line]:
    timeline = Timeline(rows)
    for row in records:
        entry = timeline.entry(decoded(row.body))
        whose = "" if run_id is not None else f"  {row.run_id[:SHORT]:<{SHORT}}"
        facts = ", ".join(filter(None, (entry.facts, entry.rules)))
        when = f"{units.time_of_day(row.at)}{whose}"
        yield entry_line(entry, when=when, width=terminal_width(), facts=facts)
