"""`interlock edit`: change files without damage; `undo`: put them back, or prune the store."""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import Final

import click

from interlock import settings
from interlock.cli.call.duration import Duration
from interlock.cli.call.exit_code import exit_code_of
from interlock.cli.call.ledger_access import (
    current_time,
    governing,
    is_local,
    operator,
    reading_ledger,
)
from interlock.cli.call.options import (
    chosen_place,
    chosen_policy,
    ledger_call,
    print_json,
    show,
    wants_json,
    yes_option,
)
from interlock.cli.text.render import (
    Line,
    Span,
    Tone,
    badge_line,
    escape,
    print_lines,
    terminal_width,
    text_width,
)
from interlock.cli.text.tables import Column, progress, table_lines, working
from interlock.cli.text.verdict_page import verdict_lines
from interlock.edits.edit_plan import plan_edits
from interlock.edits.retention import Forgotten, Held, all_held, forget, holds, would_forget
from interlock.errors import EditError
from interlock.ledger.abbreviations import found_run
from interlock.model.answers import EditAnswer
from interlock.model.edit import EditSet
from interlock.model.events import UndoKind, Undone
from interlock.model.short_code import code_of, codes_of
from interlock.policy.actions.recordable import recordable_text
from interlock.ports import Rows
from interlock.service.interlock import Interlock, Run
from interlock.service.records.context import Context
from interlock.service.records.edit_sets import (
    application_of,
    application_without_report,
    edits_from_json,
    owner_of,
    workspace_of,
)
from interlock.service.records.undo_records import (
    Undoing,
    everything_to_undo,
    found_undo,
    look_at_undo,
)
from interlock.views import units
from interlock.views.lookup import found_state

_ABOUT_EDIT: Final = """\
Apply the edits that stdin describes: all, or none.

\b
  {"edits": [{"path": "app.py", "old": "x = 1", "new": "x = 2"},
             {"path": "new.py", "old": "", "new": "y = 3\\n"}]}

`old` must stand in the file exactly once; `"replace_all": true` replaces it wherever it stands.
An empty `old` makes a new file. All edits speak of the files as they are now. They are judged by
what they would really change, and what was there is kept, so that `interlock undo` puts it back.

Without --run, a run is opened for this alone; it stays open where a person must agree first.

Exit code: 0 applied, 3 a person must agree first, 4 must not happen; 1 when an edit cannot be
made, 2 when the call is wrong or its input cannot be read. Unless it is 0, no file was changed.

Examples:
  interlock edit < edits.json
  interlock edit --dry-run < edits.json
"""
_TASK: Final = "edit files from the command line"
_NO_CLAIM: Final = "applied"
"""How a run of its own ends: that edits were made does not say that any work is done."""


@ledger_call("edit", help=_ABOUT_EDIT)
@click.option("--run", metavar="RUN", help="The run that asks; enough of its id's beginning.")
@click.option(
    "--workspace",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="The folder that paths are in, where no run says so; else this one.",
)
@click.option(
    "--key", metavar="KEY", help="A name for this request: sent again, it changes nothing."
)
@click.option("--dry-run", is_flag=True, help="Only show what would change, as a diff.")
def edit_command(
    *, run: str | None, workspace: Path | None, key: str | None, dry_run: bool
) -> None:
    """Read edits, and make them."""
    if run is not None and workspace is not None:
        raise click.UsageError("`--workspace` does not go with `--run`: a run has its own")
    edits = edits_from_json(sys.stdin.buffer.read())
    if dry_run:
        _show_diff(_planned(edits, _workspace_of(run, workspace)))
        return
    result = _in_run(edits, run, key) if run else _in_own_run(edits, workspace or Path(), key)
    show(_as_table(result), _result_lines(result))
    if result.answer is not None:
        click.get_current_context().exit(exit_code_of(result.answer.decision))


def _planned(edits: EditSet, workspace: Path) -> EditAnswer:
    """Plan without a run: nobody is asked, and nothing recorded."""
    planned = plan_edits(edits, workspace=workspace)
    diff = recordable_text(planned.unified_diff(), chosen_policy())
    return EditAnswer(plan=planned.plan, diff=diff)


def _workspace_of(run: str | None, workspace: Path | None) -> Path:
    if run is None:
        return workspace or Path()
    with reading_ledger() as ledger:
        return Path(workspace_of(found_state(ledger, run)))


def _in_run(edits: EditSet, run: str, key: str | None) -> EditAnswer:
    with Interlock.open(chosen_place()) as interlock:
        chosen = Run(interlock.governor, found_run(interlock.ledger.rows, run).id)
        return chosen.apply_edits(edits, key=key)


def _in_own_run(edits: EditSet, workspace: Path, key: str | None) -> EditAnswer:
    """Make the edits in a run of their own; what cannot be planned does not begin one."""
    plan_edits(edits, workspace=workspace)
    with Interlock.open(chosen_place()) as interlock:
        run = interlock.run(
            _TASK, agent="interlock-edit", client="cli", workspace=workspace.absolute()
        )
        try:
            result = run.apply_edits(edits, key=key)
        except BaseException:
            run.finish("failed")
            raise
        # Unless a person has to agree: an answer to a finished run helps nobody.
        if result.allowed or result.approval_id is None:
            run.finish(_NO_CLAIM if result.allowed else "blocked")
        return result


def _show_diff(result: EditAnswer) -> None:
    """Print a diff: in colour for a person, as it is for a program."""
    if wants_json():
        print_json(_as_table(result))
    elif sys.stdout.isatty():
        print_lines(_coloured(result.diff))
    else:
        click.echo(result.diff, nl=False)


def _as_table(result: EditAnswer) -> dict[str, object]:
    return {
        "allowed": result.allowed,
        "answer": result.answer,
        "plan": result.plan,
        "diff": result.diff,
        "applied": result.applied,
        "undo_id": result.undo_id,
        "repeated": result.repeated,
    }


def _coloured(diff: str) -> Iterator[Line]:
    tones = {"+": Tone.GOOD, "-": Tone.BAD, "@": Tone.CODE, "\\": Tone.FAINT}
    for line in diff.split("\n")[:-1]:
        tone = Tone.STRONG if line.startswith(("---", "+++")) else tones.get(line[:1], Tone.PLAIN)
        yield (Span(line.removesuffix("\r"), tone),)


def _result_lines(result: EditAnswer) -> Iterator[Line]:
    answer = result.answer
    if answer is not None and answer.verdict.findings:
        yield from verdict_lines(answer.verdict, width=text_width())
        yield ()
    if result.applied is not None:
        yield from _applied_lines(result)
        return
    yield (Span("nothing was changed", Tone.FAINT),)
    if answer is not None and answer.waits_for_person:
        yield _hint_line("to let it happen", f"interlock approve {code_of(answer.approval_id)}")
        again = f"interlock edit --run {code_of(answer.run_id)}"
        yield _hint_line("then send the same edits to", again)


def _applied_lines(result: EditAnswer) -> Iterator[Line]:
    files = () if result.applied is None else result.applied.files
    size = "" if result.plan is None else f", +{result.plan.added} -{result.plan.removed}"
    before = ", when it was first asked for" if result.repeated else ""
    count = units.counted(len(files), "file")
    yield badge_line("APPLIED", Tone.ALLOW, f"{count}{size}{before}")
    for file in files:
        what = "made" if file.before is None else "changed"
        yield (Span(f"  {what:<9}", Tone.FAINT), Span(file.path))
    yield from ((), _hint_line("to undo it", f"interlock undo {code_of(result.undo_id)}"))


def _hint_line(what: str, command: str) -> Line:
    return (Span(f"{what}: ", Tone.FAINT), Span(command, Tone.CODE))


_ABOUT_UNDO: Final = """\
Restore files from before a set of edits or a command.

ID was told when the edits were applied, or the command allowed; its beginning is enough. Every
file of a set must be as the set left it, by its hash; where one has changed since, nothing is put
back. What is replaced is kept in turn: undoing can be undone.

Without an ID, and with --list, what can be put back is listed, of the runs that were at work last,
or of one run.

--prune deletes what was kept so long ago or earlier, of every run; 0 means everything. Nothing is
ever deleted unasked. On a terminal it asks first, elsewhere it needs --yes; only an operator may,
with a passphrase.

Examples:
  interlock undo
  interlock undo T9MK4R --yes
  interlock undo --prune 30d
"""
_SECOND: Final = 1_000_000
_DAY_S: Final = 86_400
_MANY: Final = 50


@ledger_call("undo", help=_ABOUT_UNDO, decides=True)
@click.argument("undo", metavar="[ID]", required=False)
@click.option("--list", "is_list", is_flag=True, help="Show what can be put back.")
@click.option("--run", metavar="RUN", help="List what can be put back of this run, by its code.")
@click.option(
    "--prune",
    "age_s",
    metavar="AGE",
    type=Duration("d"),
    help="Delete what was kept so long ago, such as 30d.",
)
@yes_option
def undo_command(
    *, undo: str | None, is_list: bool, run: str | None, age_s: int | None, yes: bool
) -> None:
    """Put back one thing, list all, or delete what is old."""
    if [undo is not None, is_list, age_s is not None].count(True) > 1:
        raise click.UsageError("an ID, `--list` and `--prune AGE` are different calls: give one")
    if run is not None and (undo is not None or age_s is not None):
        raise click.UsageError("`--run` goes with the list alone: an ID says itself whose it is")
    if undo is not None:
        _put_back(undo, yes=yes)
    elif age_s is not None:
        _prune(age_s, yes=yes)
    else:
        _list_all(run)


def _list_all(run: str | None) -> None:
    store = settings.current_ledger_places().undo
    with reading_ledger() as ledger:
        run_id = None if run is None else found_run(ledger.rows, run).id
        found = list(everything_to_undo(ledger.rows, store, run_id))
    with working("looking at what is kept"):
        held = list(all_held(store))
    sizes = {(each.kind, each.id): each.size_bytes for each in held}
    listed = [(each, sizes.get((each.kind, each.id), 0)) for each in found]
    show(
        [each._asdict() | {"size_bytes": size} for each, size in listed],
        chain(
            _table(listed) if listed else [(Span("nothing to put back"),)],
            ((), _undo_line(listed[0][0])) if listed else (),
            ((), _store_line(held)) if held else (),
        ),
    )


def _put_back(undo: str, *, yes: bool) -> None:
    with governing() as interlock:
        undo = _stored_id(interlock.governor.context, undo)
        if not yes:
            _ask(look_at_undo(interlock.governor.context, undo))
        done = interlock.undo(undo)
    show(done, _undone_lines(done))


def _stored_id(context: Context, text: str) -> str:
    """Return the id that a text is the beginning of, if the store still has what belongs to it."""
    undo, store = found_undo(context, text), context.undo_store
    if holds(store, undo):
        return undo
    # An id that is not even on record is refused as that.
    with suppress(EditError):
        look_at_undo(context, undo)
    raise EditError(
        f"nothing is kept as `{undo}` in `{store}`: it was pruned, or never kept there, and"
        " cannot be put back; `interlock undo --list` shows what can"
    )


def _ask(found: Undoing) -> None:
    click.echo(f"workspace  {escape(found.workspace)}", err=True)
    click.echo(f"from       {units.span(current_time() - found.at)} ago", err=True)
    for path in found.paths:
        click.echo(f"put back   {escape(path)}", err=True)
    try:
        agreed = click.confirm("Put them back? What is there now is kept first.", err=True)
    except click.Abort:
        # Nobody is there to answer, as in a script.
        agreed = False
    if not agreed:
        raise EditError("nothing was put back: `--yes` puts back without asking")


def _undone_lines(done: Undone) -> Iterator[Line]:
    yield badge_line("PUT BACK", Tone.ALLOW, units.counted(len(done.paths), "path"))
    for path in done.paths:
        yield (Span(f"  {path}"),)
    if done.undo_id is not None:
        yield from ((), _hint_line("to undo it", f"interlock undo {code_of(done.undo_id)}"))


def _table(listed: Sequence[tuple[Undoing, int]]) -> Iterator[Line]:
    columns = [
        Column("id"),
        Column("from", right=True),
        Column("size", right=True, spared=1),
        Column("what", stretches=True),
    ]
    now, codes = current_time(), codes_of([each.id for each, _ in listed])
    rows = [
        [
            Span(codes[each.id], Tone.CODE),
            Span(units.span(now - each.at), Tone.FAINT),
            Span(units.size(size_bytes), Tone.FAINT),
            Span(", ".join(each.paths)),
        ]
        for each, size_bytes in listed
    ]
    return table_lines(columns, rows, width=terminal_width())


def _undo_line(latest: Undoing) -> Line:
    return _hint_line("to put one back, such as the first", f"interlock undo {code_of(latest.id)}")


def _store_line(held: Sequence[Held]) -> Line:
    what = f"the store holds {_amount(held)}; to delete what is old"
    return _hint_line(what, "interlock undo --prune 30d")


def _prune(age_s: int, *, yes: bool) -> None:
    store = settings.current_ledger_places().undo
    before = current_time() - age_s * _SECOND
    with working("looking at what is kept"):
        found = would_forget(store, before=before)
        unrecorded = _unrecorded(found.entries)
    going = frozenset(found.entries) - unrecorded
    if going:
        if not yes:
            _ask_to_prune(store, going, _staying(found, unrecorded), age_s)
        # What is gone cannot be put back any more: that is for people to say.
        with governing() as interlock:
            operator(interlock, "prune what can be put back")
    with progress("pruning", long=_MANY) as advance:
        # What nobody was shown stays, even where it got there meanwhile.
        done = forget(
            store, before=before, is_wanted=lambda held: held not in going, advance=advance
        )
    value = {"pruned": done.entries, "damaged": done.damaged, "size_bytes": done.size_bytes}
    show(
        value | {"unrecorded": sorted(each.id for each in unrecorded)},
        _pruned_lines(done, _staying(done, unrecorded), age_s),
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


def _ask_to_prune(store: Path, going: frozenset[Held], staying: Sequence[str], age_s: int) -> None:
    click.echo(f"store      {escape(str(store))}", err=True)
    click.echo(f"delete     {_amount(going)}, {_age(age_s)}", err=True)
    for line in staying:
        click.echo(f"stays      {escape(line)}", err=True)
    # It cannot be undone: whatever happens to stand on standard input is no answer.
    agreed = sys.stdin.isatty() and click.confirm(
        "Delete them? They cannot be restored then.", err=True
    )
    if not agreed:
        raise EditError(
            f"nothing was deleted: {_amount(going)} would go; `--yes` deletes without asking"
        )


def _pruned_lines(done: Forgotten, staying: Sequence[str], age_s: int) -> Iterator[Line]:
    if done.entries:
        yield badge_line("PRUNED", Tone.ALLOW, f"{_amount(done.entries)}, {_age(age_s)}")
    else:
        yield (Span(f"nothing to prune that was {_age(age_s)}"),)
    if done.remains_bytes:
        yield (Span(f"  deleted  {units.size(done.remains_bytes)} that were left from before"),)
    for line in staying:
        yield (Span("  stays    ", Tone.CAREFUL), Span(line))
    if done.damaged:
        yield (Span("look at what is damaged, then remove its folder by hand", Tone.FAINT),)


def _amount(held: Collection[Held]) -> str:
    number = f"{len(held):,} {'entry' if len(held) == 1 else 'entries'}"
    return f"{number}, {units.size(sum(each.size_bytes for each in held))}"


def _age(seconds: int) -> str:
    if not seconds:
        return "kept before now"
    days, rest = divmod(seconds, _DAY_S)
    age = units.span(seconds * _SECOND) if rest else units.counted(days, "day")
    return f"kept {age} ago or earlier"
