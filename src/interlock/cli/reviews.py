"""`interlock reviews [RUN]`: what is pending, what speaks for it, and how the latest ended."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

import click

from interlock.cli.lazy_group import json_option
from interlock.cli.ledger_choice import ledger_option, reading_ledger

if TYPE_CHECKING:
    from interlock.cli.render import Line
    from interlock.ledger.ledger import Ledger
    from interlock.views.review_standing import RunReviews

_ALL: Final = 2**31 - 1


@click.command("reviews")
@click.argument("run", metavar="[RUN]", required=False)
@json_option
@ledger_option
def reviews_command(*, run: str | None, as_json: bool) -> None:
    """List the reviews that work waits for, of every run that is at work.

    With RUN, its id or enough of its beginning, also how its latest reviews ended. Each gate
    stands with what speaks for it: a check that passed or failed, or only the verdict.
    """
    from interlock.cli import render  # noqa: PLC0415 - commands import late, so that others start fast

    with reading_ledger() as ledger:
        found = _pending_everywhere(ledger) if run is None else [_of_run(ledger, run)]
    if as_json:
        render.print_json(found)
    elif found:
        render.print_lines(_lines(found, render.text_width()))
    else:
        click.echo("no review is pending")


def _of_run(ledger: Ledger, text: str) -> RunReviews:
    from interlock.cli.run_choice import found_run  # noqa: PLC0415 - the same
    from interlock.service.governor import unknown_run  # noqa: PLC0415 - the same
    from interlock.service.records.context import SystemClock  # noqa: PLC0415 - the same
    from interlock.views.review_standing import run_reviews  # noqa: PLC0415 - commands import late

    state = ledger.state(found_run(ledger.rows, text).id)
    if state is None:
        raise unknown_run(text)
    return run_reviews(ledger, state, SystemClock().now())


def _pending_everywhere(ledger: Ledger) -> Sequence[RunReviews]:
    from interlock.model.run import RunStatus  # noqa: PLC0415 - the same
    from interlock.service.records.context import SystemClock  # noqa: PLC0415 - the same
    from interlock.views.review_standing import run_reviews  # noqa: PLC0415 - commands import late

    now = SystemClock().now()
    rows = ledger.rows.runs(limit=_ALL, status=RunStatus.RUNNING.value)
    states = [state for row in rows if (state := ledger.state(row.id)) is not None]
    return [run_reviews(ledger, state, now) for state in states if state.reviews.pending]


def _lines(found: Sequence[RunReviews], width: int) -> Iterator[Line]:
    from interlock.cli.escape import escape  # noqa: PLC0415 - commands import late
    from interlock.cli.render import Span, Tone  # noqa: PLC0415 - the same
    from interlock.cli.review_lines import reviews_lines  # noqa: PLC0415 - the same
    from interlock.cli.run_choice import short_ids  # noqa: PLC0415 - the same
    from interlock.cli.tables import cut  # noqa: PLC0415 - the same

    short = short_ids([each.run for each in found])
    for place, each in enumerate(found):
        if place:
            yield ()
        run = short[each.run]
        task = cut(escape(each.task), width - len(run) - 2)
        yield (Span(run, Tone.CODE), Span(f"  {task}", Tone.STRONG))
        if each.is_empty:
            yield (Span("  no review was ever opened", Tone.FAINT),)
        yield from reviews_lines(each, width=width)
