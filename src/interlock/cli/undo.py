"""`interlock undo`: put files back to what they were."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

import click

from interlock.cli.door import json_option
from interlock.cli.ledger_choice import governing, ledger_option, reading_ledger
from interlock.errors import EditError

if TYPE_CHECKING:
    from interlock.cli.showing import Line, Span
    from interlock.model.edit_events import Undone
    from interlock.service.editing.undo_records import Undoing

_ABOUT: Final = """\
Put files back: a set of edits, or what was copied away before a command.

ID was told when the edits were applied, or the command allowed. Every file of a set must be as
the set left it, by its hash; where one has changed since, nothing is put back. What is replaced
is kept in turn: undoing can be undone.

--list shows what can be put back, of the runs that were at work last, or of one run.
"""


@click.command("undo", help=_ABOUT)
@click.argument("undo", metavar="ID", required=False)
@click.option("--list", "is_list", is_flag=True, help="Show what can be put back.")
@click.option(
    "--run", metavar="RUN", help="With --list: of this run; enough of its id's beginning."
)
@click.option("--yes", is_flag=True, help="Do not ask first.")
@json_option
@ledger_option
def undo_command(
    *, undo: str | None, is_list: bool, run: str | None, yes: bool, as_json: bool
) -> None:
    """Put back one thing, or list all."""
    if is_list == (undo is not None):
        raise click.UsageError("expected the ID of what is to be put back, or `--list`")
    if run is not None and not is_list:
        raise click.UsageError("`--run` goes with `--list`: an ID says itself whose it is")
    if undo is None:
        _list(run, as_json=as_json)
    else:
        _put_back(undo, yes=yes, as_json=as_json)


def _list(run: str | None, *, as_json: bool) -> None:
    from interlock import settings  # noqa: PLC0415 - commands import late, so that others start fast
    from interlock.cli import showing  # noqa: PLC0415 - the same
    from interlock.cli.run_choice import found_run  # noqa: PLC0415 - the same
    from interlock.service.editing.undo_records import everything_to_undo  # noqa: PLC0415 - the same

    store = settings.current_ledger_places().undo
    with reading_ledger() as ledger:
        run_id = None if run is None else found_run(ledger.rows, run).id
        found = list(everything_to_undo(ledger.rows, store, run_id))
    if as_json:
        showing.print_json([each._asdict() for each in found])
    elif found:
        showing.print_lines(_table(found))
    else:
        click.echo("nothing to put back")


def _put_back(undo: str, *, yes: bool, as_json: bool) -> None:
    from interlock.cli import showing  # noqa: PLC0415 - commands import late
    from interlock.service.editing.undoing import look_at_undo  # noqa: PLC0415 - the same

    with governing() as interlock:
        if not yes:
            _ask(look_at_undo(interlock.governor, undo))
        done = interlock.undo(undo)
    if as_json:
        showing.print_json(done)
    else:
        showing.print_lines(_lines(done))


def _ask(found: Undoing) -> None:
    from interlock.cli.legible import legible  # noqa: PLC0415 - commands import late
    from interlock.cli.measures import span  # noqa: PLC0415 - the same
    from interlock.service.context import SystemClock  # noqa: PLC0415 - the same

    click.echo(f"workspace  {legible(found.workspace)}", err=True)
    click.echo(f"from       {span(SystemClock().now() - found.at)} ago", err=True)
    for path in found.paths:
        click.echo(f"put back   {legible(path)}", err=True)
    if not click.confirm("Put them back? What is there now is kept first.", err=True):
        raise EditError("nothing was put back: `--yes` puts back without asking")


def _lines(done: Undone) -> Iterator[Line]:
    from interlock.cli.legible import legible  # noqa: PLC0415 - commands import late
    from interlock.cli.measures import counted  # noqa: PLC0415 - the same
    from interlock.cli.showing import Span, Tone  # noqa: PLC0415 - the same

    yield (Span("PUT BACK", Tone.ALLOW), Span(f"  {counted(len(done.paths), 'path')}"))
    for path in done.paths:
        yield (Span(f"  {legible(path)}"),)
    if done.undo_id is not None:
        again = Span(f"interlock undo {done.undo_id}", Tone.CODE)
        yield ()
        yield (Span("to undo it: ", Tone.FAINT), again)


def _table(found: Sequence[Undoing]) -> Iterator[Line]:
    from interlock.cli.tables import Column, table_lines, terminal_width  # noqa: PLC0415 - commands import late
    from interlock.service.context import SystemClock  # noqa: PLC0415 - the same

    columns = [Column("id"), Column("from", right=True), Column("what", stretches=True)]
    now = SystemClock().now()
    return table_lines(columns, [_row(each, now) for each in found], width=terminal_width())


def _row(undoing: Undoing, now: int) -> list[Span]:
    from interlock.cli.legible import legible  # noqa: PLC0415 - commands import late
    from interlock.cli.measures import span  # noqa: PLC0415 - the same
    from interlock.cli.showing import Span, Tone  # noqa: PLC0415 - the same

    return [
        Span(undoing.id, Tone.CODE),
        Span(span(now - undoing.at), Tone.FAINT),
        Span(legible(", ".join(undoing.paths))),
    ]
