"""`interlock slog`: every decision of the loop, with its reasons; to do nothing is one as well."""

from __future__ import annotations

from typing import Final

import click

from interlock.cli.call.ledger_access import current_time, reading_ledger
from interlock.cli.call.options import ledger_call, show
from interlock.cli.text.loop_page import cycle_lines, slog_lines
from interlock.views.loop_view import MOST_ENTRIES, cycle_view, slog_page

_ABOUT: Final = """\
List what the loop decided, the newest first; to do nothing is a decision as well.

With `--decision` one of them is shown stage by stage: what started it, what was seen, who chose
what and why, which rails held, and who got the event. ID is that of a decision, of the event that
it emitted, or of one that it answered; the beginning is enough.

\b
  interlock slog
  interlock slog --limit 100 --json
  interlock slog --decision 0198c2ab-77e1
"""


@ledger_call("slog", help=_ABOUT)
@click.option("--decision", metavar="ID", help="Show one decision, stage by stage.")
@click.option(
    "--limit",
    metavar="N",
    type=click.IntRange(1, MOST_ENTRIES),
    default=20,
    show_default=True,
    help="How many to list.",
)
@click.option(
    "--before", metavar="RECORD", type=click.IntRange(1), help="Only those before this record."
)
def slog_command(*, decision: str | None, limit: int, before: int | None) -> None:
    """List decisions, or show one."""
    with reading_ledger() as ledger:
        if decision is not None:
            view = cycle_view(ledger, decision)
            show(view, cycle_lines(view))
            return
        page = slog_page(ledger, limit=limit, before=before)
    show(page, slog_lines(page, current_time()))
