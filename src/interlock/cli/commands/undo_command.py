"""`interlock undo`: put files back to what they were, or forget what they were."""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import Final

import click

from interlock import settings
from interlock.cli.call.ledger_access import current_time, is_local, reading_ledger
from interlock.cli.call.operator_access import governing
from interlock.cli.call.options import chosen_place, json_option, ledger_option, show
from interlock.cli.text.progress_bar import progress, working
from interlock.cli.text.render import Line, Span, Tone, escape, terminal_width
from interlock.cli.text.tables import Column, table_lines
from interlock.edits.retention import Forgotten, Held, all_held, forget, holds, would_forget
from interlock.errors import EditError
from interlock.model.events import UndoKind, Undone
from interlock.ports import Rows
from interlock.service.governor import Governor
from interlock.service.records.edit_sets import application_of, application_without_report, owner_of
from interlock.service.records.undo_records import Undoing, everything_to_undo, look_at_undo
from interlock.views import units
from interlock.views.lookup import found_run, found_undo_id

_ABOUT: Final = """\
Put files back: a set of edits, or what was copied away before a command.

ID was told when the edits were applied, or the command allowed; its beginning is enough. Every
file of a set must be as the set left it, by its hash; where one has changed since, nothing is put
back. What is replaced is kept in turn: undoing can be undone.

--list shows what can be put back, of the runs that were at work last, or of one run.

--forget deletes what was kept so many days ago or earlier, of every run; 0 means everything.
Nothing is ever deleted unasked. On a terminal it asks first, elsewhere it needs --yes.
"""
_DAY: Final = 86_400 * 1_000_000
_MANY: Final = 50


@click.command("undo", help=_ABOUT)
@click.argument("undo", metavar="ID", required=False)
@click.option("--list", "is_list", is_flag=True, help="Show what can be put back.")
@click.option(
    "--run", metavar="RUN", help="With --list: of this run; enough of its id's beginning."
)
@click.option(
    "--forget",
    "days",
    metavar="DAYS",
    type=click.IntRange(min=0),
    help="Delete what was kept before so many days.",
)
@click.option("--yes", is_flag=True, help="Do not ask first.")
@json_option
@ledger_option
def undo_command(
    *,
    undo: str | None,
    is_list: bool,
    run: str | None,
    days: int | None,
    yes: bool,
) -> None:
    """Put back one thing, list all, or forget what is old."""
    if [undo is not None, is_list, days is not None].count(True) != 1:
        raise click.UsageError(
            "expected the ID of what is to be put back, or `--list`, or `--forget DAYS`"
        )
    if run is not None and not is_list:
        raise click.UsageError("`--run` goes with `--list`: an ID says itself whose it is")
    if undo is not None:
        _put_back(undo, yes=yes)
    elif days is not None:
        _forget(days, yes=yes)
    else:
        _list(run)


def _list(run: str | None) -> None:
    store = settings.current_ledger_places().undo
    with reading_ledger() as ledger:
        run_id = None if run is None else found_run(ledger.rows, run).id
        found = list(everything_to_undo(ledger.rows, store, run_id))
    held = _held_in(store)
    sizes = {(each.kind, each.id): each.size_bytes for each in held}
    listed = [(each, sizes.get((each.kind, each.id), 0)) for each in found]
    show(
        [each._asdict() | {"size_bytes": size} for each, size in listed],
        chain(
            _table(listed) if listed else [(Span("nothing to put back"),)],
            _closing_lines(held) if held else (),
        ),
    )


def _held_in(store: Path) -> list[Held]:
    with working("looking at what is kept"):
        return list(all_held(store))


def _put_back(undo: str, *, yes: bool) -> None:
    with governing() as interlock:
        undo = _whole(interlock.governor, undo)
        _check_is_kept(interlock.governor, undo)
        if not yes:
            _ask(look_at_undo(interlock.governor.context, undo))
        done = interlock.undo(undo)
    show(done, _lines(done))


def _whole(governor: Governor, text: str) -> str:
    """Return the id that a text is the beginning of; what the store holds needs no looking up."""
    store = governor.context.undo_store
    if holds(store, text):
        return text
    found = everything_to_undo(governor.ledger.rows, store, None)
    return found_undo_id([each.id for each in found], text)


def _check_is_kept(governor: Governor, undo: str) -> None:
    """Refuse what is on record but not in the store, before anybody is asked about it."""
    store = governor.context.undo_store
    if holds(store, undo):
        return
    # An id that is not even on record is told as that.
    with suppress(EditError):
        look_at_undo(governor.context, undo)
    raise EditError(
        f"nothing is kept as `{undo}` in `{store}`: it was forgotten, or never kept there, and"
        " cannot be put back; `interlock undo --list` shows what can"
    )


def _ask(found: Undoing) -> None:
    click.echo(f"workspace  {escape(found.workspace)}", err=True)
    click.echo(f"from       {units.span(current_time() - found.at)} ago", err=True)
    for path in found.paths:
        click.echo(f"put back   {escape(path)}", err=True)
    if not click.confirm("Put them back? What is there now is kept first.", err=True):
        raise EditError("nothing was put back: `--yes` puts back without asking")


def _lines(done: Undone) -> Iterator[Line]:
    yield (Span("PUT BACK", Tone.ALLOW), Span(f"  {units.counted(len(done.paths), 'path')}"))
    for path in done.paths:
        yield (Span(f"  {escape(path)}"),)
    if done.undo_id is not None:
        again = Span(f"interlock undo {done.undo_id}", Tone.CODE)
        yield ()
        yield (Span("to undo it: ", Tone.FAINT), again)


def _table(listed: Sequence[tuple[Undoing, int]]) -> Iterator[Line]:
    columns = [
        Column("id"),
        Column("from", right=True),
        Column("size", right=True, spared=1),
        Column("what", stretches=True),
    ]
    now = current_time()
    rows = [_row(each, size_bytes, now) for each, size_bytes in listed]
    return table_lines(columns, rows, width=terminal_width())


def _row(undoing: Undoing, size_bytes: int, now: int) -> list[Span]:
    return [
        Span(undoing.id, Tone.CODE),
        Span(units.span(now - undoing.at), Tone.FAINT),
        Span(units.size(size_bytes), Tone.FAINT),
        Span(escape(", ".join(undoing.paths))),
    ]


def _closing_lines(held: Sequence[Held]) -> Iterator[Line]:
    yield ()
    yield (
        Span(f"the store holds {_amount(held)}; to forget what is old: ", Tone.FAINT),
        Span("interlock undo --forget DAYS", Tone.CODE),
    )


def _forget(days: int, *, yes: bool) -> None:
    store = settings.current_ledger_places().undo
    before = current_time() - days * _DAY
    with working("looking at what is kept"):
        found = would_forget(store, before=before)
        unrecorded = _unrecorded(found.entries)
    going = frozenset(found.entries) - unrecorded
    if going and not yes:
        _ask_to_forget(store, going, _staying(found, unrecorded), days)
    with progress("forgetting", long=_MANY) as advance:
        # What nobody was told of stays, even where it got there meanwhile.
        done = forget(
            store, before=before, is_wanted=lambda held: held not in going, advance=advance
        )
    value = {"forgotten": done.entries, "damaged": done.damaged, "size_bytes": done.size_bytes}
    show(
        value | {"unrecorded": sorted(each.id for each in unrecorded)},
        _forgotten_lines(done, _staying(done, unrecorded), days),
    )


def _unrecorded(held: Sequence[Held]) -> frozenset[Held]:
    """Return the sets that were applied and are not on record, as those who died leave them.

    INVARIANT: they stay: whoever asks again with the same key would apply them once more.
    """
    place = chosen_place()
    if not held or (is_local(place) and not Path(place).expanduser().exists()):
        return frozenset()
    with reading_ledger() as ledger:
        return frozenset(each for each in held if _is_unrecorded(ledger.rows, each))


def _is_unrecorded(rows: Rows, held: Held) -> bool:

    judged = owner_of(held.id) if held.kind is UndoKind.EDITS else None
    # A store may hold what another ledger has on record.
    if judged is None or rows.record(*judged) is None:
        return False
    return application_of(rows, judged) is None and application_without_report(rows, judged) is None


def _staying(found: Forgotten, unrecorded: frozenset[Held]) -> list[str]:
    """Return a line for everything old that stays all the same."""
    damaged = [f"`{each.path}` is damaged: {each.complaint}" for each in found.damaged]
    waiting = [
        f"`{each.id}` was applied, but is not on record: ask again with its key"
        for each in sorted(unrecorded, key=lambda each: each.id)
    ]
    return damaged + waiting


def _ask_to_forget(store: Path, going: frozenset[Held], staying: Sequence[str], days: int) -> None:

    click.echo(f"store      {escape(str(store))}", err=True)
    click.echo(f"forget     {_amount(going)}, {_age(days)}", err=True)
    for line in staying:
        click.echo(f"stays      {escape(line)}", err=True)
    # It cannot be undone: whatever happens to stand on standard input is no answer.
    agreed = sys.stdin.isatty() and click.confirm(
        "Forget them? They cannot be put back any more.", err=True
    )
    if not agreed:
        raise EditError(
            f"nothing was forgotten: {_amount(going)} would go; `--yes` forgets without asking"
        )


def _forgotten_lines(done: Forgotten, staying: Sequence[str], days: int) -> Iterator[Line]:
    if done.entries:
        yield (Span("FORGOTTEN", Tone.ALLOW), Span(f"  {_amount(done.entries)}, {_age(days)}"))
    else:
        yield (Span(f"nothing to forget that was {_age(days)}"),)
    if done.remains_bytes:
        yield (Span(f"  deleted  {units.size(done.remains_bytes)} that were left from before"),)
    for line in staying:
        yield (Span("  stays    ", Tone.CAREFUL), Span(escape(line)))
    if done.damaged:
        yield (Span("look at what is damaged, then remove its folder by hand", Tone.FAINT),)


def _amount(held: Collection[Held]) -> str:
    number = f"{len(held):,} {'entry' if len(held) == 1 else 'entries'}"
    return f"{number}, {units.size(sum(each.size_bytes for each in held))}"


def _age(days: int) -> str:
    return f"kept {units.counted(days, 'day')} ago or earlier" if days else "kept before now"
