"""`interlock show RUN`: what one run was for, what it used, and what happened."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

import click
import msgspec

from interlock.cli.lazy_group import json_option
from interlock.cli.options import ledger_option, reading_ledger

if TYPE_CHECKING:
    from interlock.cli.text.render import Line
    from interlock.ledger.ledger import Ledger
    from interlock.model.rows import RecordRow, RunRow
    from interlock.model.run import RunState


_PAGE: Final = 500


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
def show_command(*, run: str, limit: int, everything: bool, as_json: bool) -> None:
    """Show one run; RUN is its id, or enough of its beginning."""
    from interlock.cli.text import render  # noqa: PLC0415 - commands import late, so that others start fast
    from interlock.service.governor import unknown_run  # noqa: PLC0415 - the same
    from interlock.views.lookup import found_run  # noqa: PLC0415 - the same

    with reading_ledger() as ledger:
        run_id = found_run(ledger.rows, run).id
        state = ledger.state(run_id)
        if state is None:
            raise unknown_run(run_id)
        after = 0 if everything else max(0, state.seq - limit)
        if as_json:
            _print_json(ledger, state, after)
        else:
            render.print_lines(run_lines(ledger, state, after))


def _print_json(ledger: Ledger, state: RunState, after: int) -> None:
    """Print one JSON object, its records one by one: a long run must not fill the memory."""
    from interlock.cli.text import budget_bars  # noqa: PLC0415 - commands import late
    from interlock.cli.text.escape import json_text  # noqa: PLC0415 - the same
    from interlock.service.records.context import SystemClock  # noqa: PLC0415 - the same
    from interlock.views.review_view import run_reviews  # noqa: PLC0415 - the same
    from interlock.views.run_view import (
        holds_on,
        run_figures,
    )

    now = SystemClock().now()
    standings = budget_bars.run_standings(ledger, state, now)
    about = {
        "run": run_figures(state),
        "holds": holds_on(ledger, state, now),
        "accounts": [budget_bars.standing_value(each) for each in standings],
        "children": [row.id for row in ledger.rows.children(state.id)],
        "approvals": ledger.rows.approvals(run_id=state.id),
        "reviews": run_reviews(ledger, state, now),
        "earlier_records": after,
    }
    click.echo(f'{json_text(about)[:-1]},"records":[', nl=False)
    for number, row in enumerate(_records(ledger, state, after)):
        record = {"hash": row.hash, "record": msgspec.Raw(row.body)}
        click.echo(f"{',' if number else ''}{json_text(record)}", nl=False)
    click.echo("]}")


def run_lines(ledger: Ledger, state: RunState, after: int) -> Iterator[Line]:
    """Yield the page of one run, its timeline from behind record `after`."""
    from interlock.cli.text import run_page  # noqa: PLC0415 - commands import late
    from interlock.cli.text.render import Span, Tone  # noqa: PLC0415 - the same
    from interlock.model.run import LEDGER_RUN  # noqa: PLC0415 - the same

    if state.id == LEDGER_RUN:
        yield (Span("What happened to the ledger itself", Tone.STRONG),)
    else:
        yield from _about_lines(ledger, state)
    yield from ((), (Span("Timeline", Tone.HEADING),))
    yield from _timeline_lines(ledger, state, after)
    yield from run_page.report_lines(state)
    yield from _child_lines(ledger, ledger.rows.children(state.id))


def _about_lines(ledger: Ledger, state: RunState) -> Iterator[Line]:
    from interlock.cli.text import budget_bars, run_page  # noqa: PLC0415 - commands import late
    from interlock.cli.text.render import Span, Tone, text_width  # noqa: PLC0415 - the same
    from interlock.cli.text.review_page import reviews_lines  # noqa: PLC0415 - the same
    from interlock.service.records.context import SystemClock  # noqa: PLC0415 - the same
    from interlock.views.review_view import run_reviews  # noqa: PLC0415 - the same
    from interlock.views.run_view import holds_on  # noqa: PLC0415 - the same

    now = SystemClock().now()
    yield from run_page.header_lines(state, now, holds_on(ledger, state, now))
    yield ()
    yield from run_page.figure_lines(state)
    standings = budget_bars.run_standings(ledger, state, now)
    if standings:
        yield from ((), (Span("Budget", Tone.HEADING),))
        yield from budget_bars.bar_lines(standings)
    reviews = run_reviews(ledger, state, now)
    if not reviews.is_empty:
        yield from ((), (Span("Was it good enough?", Tone.HEADING),))
        yield from reviews_lines(reviews, width=text_width())


def _timeline_lines(ledger: Ledger, state: RunState, after: int) -> Iterator[Line]:
    from interlock.cli.text.render import Span, Tone  # noqa: PLC0415 - the same
    from interlock.cli.text.tables import terminal_width  # noqa: PLC0415 - the same
    from interlock.ledger.codec import decoded  # noqa: PLC0415 - the same
    from interlock.views.timeline import Teller, timeline_lines  # noqa: PLC0415 - the same
    from interlock.views.units import counted, offset  # noqa: PLC0415 - commands import late

    if after:
        earlier = f"  {counted(after, 'earlier record')}: `--all` shows them"
        yield (Span(earlier, Tone.FAINT),)
    teller = Teller(ledger.rows)
    width = terminal_width()
    first = ledger.rows.record(state.id, 1)
    began = state.updated_at if first is None else first.at
    column = 2 + len(offset(state.updated_at - began))
    for row in _records(ledger, state, after):
        when = offset(row.at - began).rjust(column)
        yield from timeline_lines(teller.entry(decoded(row.body)), when=when, width=width)


def _child_lines(ledger: Ledger, children: Sequence[RunRow]) -> Iterator[Line]:
    from interlock.cli.text.render import Span, Tone  # noqa: PLC0415 - the same
    from interlock.cli.text.tables import cut, terminal_width  # noqa: PLC0415 - the same
    from interlock.views.lookup import short_ids  # noqa: PLC0415 - commands import late

    if not children:
        return
    yield from ((), (Span("Runs below it", Tone.HEADING),))
    short = short_ids([row.id for row in children])
    for row in children:
        state = ledger.state(row.id)
        ended = row.status if state is None or state.outcome is None else state.outcome
        task = cut(row.task, terminal_width() - 30)
        yield (Span(f"  {short[row.id]}", Tone.CODE), Span(f"  {ended:<10}  {task}"))


def _records(ledger: Ledger, state: RunState, after: int) -> Iterator[RecordRow]:
    """Yield the records up to where the run was when it was looked at."""
    while after < state.seq:
        page = ledger.rows.records(state.id, after=after, limit=min(_PAGE, state.seq - after))
        if not page:
            return
        yield from page
        after = page[-1].seq
