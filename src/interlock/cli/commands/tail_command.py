"""`interlock tail [RUN]`: what is recorded, as it is recorded, by whatever process."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Final

import click

from interlock.cli.lazy_group import json_option
from interlock.cli.options import ledger_option, reading_ledger

if TYPE_CHECKING:
    from interlock.cli.text.render import Line
    from interlock.model.rows import RecordRow, RunRow
    from interlock.ports import Listener, Rows


_PAGE: Final = 500
_ALL: Final = 2**31 - 1
_FIRST_LOOK: Final = 64
_LONGEST_SILENCE_S: Final = 10.0
"""Whoever writes with another user or temporary folder does not wake us: look now and then."""


@click.command("tail")
@click.argument("run", metavar="[RUN]", required=False)
@click.option("--since-start", is_flag=True, help="Begin with what is on record already.")
@json_option
@ledger_option
def tail_command(*, run: str | None, since_start: bool, as_json: bool) -> None:
    """Print what is recorded as it is recorded, of one run or of all.

    RUN may be the beginning of an id. Ctrl-C ends it.
    """
    from interlock.cli.text import render  # noqa: PLC0415 - commands import late, so that others start fast
    from interlock.views.lookup import found_run  # noqa: PLC0415 - the same

    with reading_ledger() as ledger, closing(ledger.listen()) as listener:
        rows = ledger.rows
        run_id = None if run is None else found_run(rows, run).id
        records = _followed(rows, listener, run_id, since_start=since_start)
        try:
            if as_json:
                _print_json_lines(records)
            else:
                render.print_lines(_record_lines(rows, records, run_id))
        except KeyboardInterrupt:
            # Ctrl-C is how one leaves: no fuss.
            return


def _followed(
    rows: Rows, listener: Listener, run_id: str | None, *, since_start: bool
) -> Iterator[RecordRow]:
    """Yield records for as long as anybody wants them."""
    follower = _Follower(rows, run_id)
    if since_start:
        yield from follower.history()
    else:
        follower.skip()
    while True:
        yield from follower.news()
        listener.wait(_LONGEST_SILENCE_S)


class _Follower:
    """Knows how far each run was told.

    Per run, because the records of different runs may become visible in another order than
    the one in which they were numbered.
    """

    def __init__(self, rows: Rows, run_id: str | None) -> None:
        self._rows = rows
        self._run_id = run_id
        self._told: dict[str, int] = {}

    def skip(self) -> None:
        """Take everything that is on record for told."""
        self._told = {row.id: row.seq for row in self._runs(_ALL)}

    def history(self) -> Iterator[RecordRow]:
        """Yield what is on record already, in the order in which it was written."""
        if self._run_id is not None:
            return
        after = 0
        while page := self._rows.written(after=after, limit=_PAGE):
            for _, row in page:
                self._told[row.run_id] = row.seq
                yield row
            after = page[-1].position

    def news(self) -> Iterator[RecordRow]:
        """Yield what was not told yet, by its time."""
        fresh = [self._untold(row) for row in self._changed()]
        return heapq.merge(*fresh, key=lambda row: row.at)

    def _changed(self) -> Sequence[RunRow]:
        """Return the runs with something new: those that were active last are looked at first."""
        limit = _FIRST_LOOK
        while True:
            rows = self._runs(limit)
            changed = [row for row in rows if row.seq > self._told.get(row.id, 0)]
            if len(rows) < limit or len(changed) < limit:
                return changed
            limit *= 4

    def _runs(self, limit: int) -> Sequence[RunRow]:
        if self._run_id is None:
            return self._rows.runs(limit=limit)
        row = self._rows.run(self._run_id)
        return [] if row is None else [row]

    def _untold(self, run: RunRow) -> Iterator[RecordRow]:
        after = self._told.get(run.id, 0)
        while after < run.seq:
            page = self._rows.records(run.id, after=after, limit=min(_PAGE, run.seq - after))
            if not page:
                return
            for row in page:
                self._told[run.id] = row.seq
                yield row
            after = page[-1].seq


def _print_json_lines(records: Iterator[RecordRow]) -> None:
    import msgspec  # noqa: PLC0415 - commands import late

    from interlock.cli.text.render import print_json  # noqa: PLC0415 - the same

    for row in records:
        print_json({"hash": row.hash, "record": msgspec.Raw(row.body)})


def _record_lines(rows: Rows, records: Iterator[RecordRow], run_id: str | None) -> Iterator[Line]:
    from interlock.cli.text.tables import terminal_width  # noqa: PLC0415 - the same
    from interlock.ledger.codec import decoded  # noqa: PLC0415 - the same
    from interlock.views.lookup import SHORT  # noqa: PLC0415 - the same
    from interlock.views.timeline import Teller, entry_line  # noqa: PLC0415 - the same
    from interlock.views.units import time_of_day  # noqa: PLC0415 - commands import late

    teller = Teller(rows)
    for row in records:
        entry = teller.entry(decoded(row.body))
        whose = "" if run_id is not None else f"  {row.run_id[:SHORT]:<{SHORT}}"
        facts = ", ".join(filter(None, (entry.facts, entry.rules)))
        when = f"{time_of_day(row.at)}{whose}"
        yield entry_line(entry, when=when, width=terminal_width(), facts=facts)
