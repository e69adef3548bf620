"""`interlock show RUN`: what one run was for, what it used, and what happened."""

from __future__ import annotations

import click
import msgspec

from interlock.cli.call.ledger_access import current_time, reading_ledger
from interlock.cli.call.options import json_option, ledger_option, wants_json
from interlock.cli.text.render import print_lines
from interlock.cli.text.run_page import run_lines
from interlock.ports import Rows
from interlock.service.governor import unknown_run
from interlock.views.json_text import json_text
from interlock.views.lookup import found_run, records_of
from interlock.views.run_view import RunView, run_value, run_view
from interlock.views.timeline import Timeline


@click.command("show")
@click.argument("run", metavar="RUN")
@click.option(
    "--limit",
    type=click.IntRange(0),
    default=40,
    show_default=True,
    help="So many of the latest records.",
)
@click.option("--all", "everything", is_flag=True, help="Every record.")
@json_option
@ledger_option
def show_command(*, run: str, limit: int, everything: bool) -> None:
    """Show one run; RUN is its id, or enough of its beginning."""
    with reading_ledger() as ledger:
        run_id = found_run(ledger.rows, run).id
        state = ledger.state(run_id)
        if state is None:
            raise unknown_run(run_id)
        earlier = 0 if everything else max(0, state.seq - limit)
        view = run_view(ledger, state, current_time())
        if wants_json():
            _print_json(ledger.rows, view, earlier)
        else:
            entries = Timeline(ledger.rows).of_run(run_id, after=earlier, last=state.seq)
            print_lines(run_lines(view, entries, earlier=earlier))


def _print_json(rows: Rows, view: RunView, earlier: int) -> None:
    """Print one JSON object, its records one by one: a long run must not fill the memory."""
    about = run_value(view) | {"earlier_records": earlier}
    click.echo(f'{json_text(about)[:-1]},"records":[', nl=False)
    for number, row in enumerate(
        records_of(rows, view.state.id, after=earlier, last=view.state.seq)
    ):
        record = {"hash": row.hash, "record": msgspec.Raw(row.body)}
        click.echo(f"{',' if number else ''}{json_text(record)}", nl=False)
    click.echo("]}")
