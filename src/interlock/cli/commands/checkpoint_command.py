"""`interlock checkpoint`: what was saved of a run's work, and how to bring it back."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import click

from interlock import settings
from interlock.checkpoints.workspace_checkpoint import Restoration, restore_checkpoint
from interlock.cli.call.command_names import Commands
from interlock.cli.call.ledger_access import current_time, governing, reading_ledger
from interlock.cli.call.options import ledger_call, show, yes_option
from interlock.cli.text.render import Line, Span, Tone, badge_line, escape, terminal_width
from interlock.cli.text.tables import Column, table_lines
from interlock.errors import CheckpointError, InterlockError
from interlock.ledger.abbreviations import found_run, named
from interlock.ledger.chain import records_of
from interlock.model.short_code import codes_of
from interlock.model.step import Checkpoint, CheckpointKind
from interlock.service.checkpoint_restore import record_safety
from interlock.service.records.context import new_id
from interlock.views import units
from interlock.views.lookup import every_record
from interlock.views.run_view import TakenCheckpoint, checkpoints_among

_COMMIT: Final = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_NO_RUN: Final = "by-hand"
_SHORT_COMMIT: Final = 12
_COLUMNS: Final = (
    Column("checkpoint"),
    Column("step", right=True),
    Column("taken", right=True),
    Column("by"),
    Column("commit", spared=1),
    Column("what", stretches=True),
)


@click.group("checkpoint", cls=Commands)
def checkpoint_command() -> None:
    """List the checkpoints of a run, or restore one."""


@ledger_call("list", group=checkpoint_command)
@click.argument("run", metavar="RUN")
def list_command(*, run: str) -> None:
    """List what was saved of a run's work; RUN is its id, or enough of its beginning.

    Examples:
      interlock checkpoint list R4X9TM
      interlock checkpoint list R4X9TM --json
    """
    with reading_ledger() as ledger:
        rows = ledger.rows
        taken = list(checkpoints_among(records_of(rows, found_run(rows, run).id)))
    short = codes_of([each.checkpoint.id for each in taken])
    rows = [_row(each, short[each.checkpoint.id], current_time()) for each in taken]
    lines = table_lines(_COLUMNS, rows, width=terminal_width())
    show([each._asdict() for each in taken], lines if taken else [(Span("no checkpoints"),)])


@ledger_call("restore", group=checkpoint_command)
@click.argument("checkpoint", metavar="ID")
@click.option("--run", metavar="RUN", help="The run that it is of; enough of its id's beginning.")
@click.option(
    "--workspace",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    default=Path(),
    help="Where ID is the name of a commit: the folder to restore; else it is on record.",
)
@yes_option
def restore_command(*, checkpoint: str, run: str | None, workspace: Path, yes: bool) -> None:
    """Bring the files of a workspace back to a checkpoint.

    ID is that of a checkpoint, or enough of its beginning, or the whole name of the commit that
    one was kept as. The present files are kept first, so that it can be undone. HEAD, branches,
    the index and ignored files stay as they are. To go on from there, tell the agent: it does
    not know that its files have changed.

    Examples:
      interlock checkpoint restore N3HT7W
      interlock checkpoint restore N3HT7W --run R4X9TM --yes
    """
    taken = _chosen(checkpoint, run, workspace)
    if not yes:
        _ask(taken)
    done = restore_checkpoint(
        taken.checkpoint,
        run_id=taken.run_id,
        safety_id=new_id(),
        environment=settings.environment(),
    )
    safety = done.safety
    is_recorded = taken.run_id != _NO_RUN and _is_recorded(taken.run_id, safety)
    folder = shlex.quote(escape(safety.workspace))
    kept = safety.id if is_recorded else f"{safety.commit} --workspace {folder}"
    undo = f"interlock checkpoint restore {kept}"
    value = {"restored": done, "recorded": is_recorded, "undo": undo}
    show(value, _restored_lines(done, undo, is_recorded=is_recorded))


def _is_recorded(run_id: str, safety: Checkpoint) -> bool:
    """Put the safety checkpoint on record, if its run still runs; return whether it is there.

    The files are back by now: whatever goes wrong here must not hide how to undo that.
    """
    try:
        with governing() as interlock:
            return record_safety(interlock.governor, run_id, safety)
    except InterlockError as error:
        click.echo(f"what was kept first is not on record: {error}", err=True)
        return False


def _chosen(text: str, run: str | None, workspace: Path) -> TakenCheckpoint:
    """Return the checkpoint that is meant; a commit needs no ledger."""
    if _COMMIT.fullmatch(text):
        folder = str(workspace.absolute())
        alone = Checkpoint(id=text, step=0, kind=CheckpointKind.GIT, workspace=folder, commit=text)
        return TakenCheckpoint(_NO_RUN, 0, alone)
    with reading_ledger() as ledger:
        rows = ledger.rows
        found = every_record(rows) if run is None else records_of(rows, found_run(rows, run).id)
        taken = ((each.checkpoint.id, each) for each in checkpoints_among(found))
        return named("checkpoint", text, taken, "interlock checkpoint list RUN")


def _row(taken: TakenCheckpoint, short: str, now: int) -> list[Span]:
    checkpoint = taken.checkpoint
    failed = checkpoint.error is not None
    return [
        Span(short, Tone.CODE),
        Span(str(checkpoint.step)),
        Span(units.span(now - taken.at), Tone.FAINT),
        Span(checkpoint.kind.value, Tone.BAD if failed else Tone.PLAIN),
        Span((checkpoint.commit or "-")[:_SHORT_COMMIT], Tone.FAINT),
        Span(checkpoint.error or checkpoint.workspace, Tone.BAD if failed else Tone.PLAIN),
    ]


def _ask(taken: TakenCheckpoint) -> None:
    checkpoint = taken.checkpoint
    age = f", {units.span(current_time() - taken.at)} ago" if taken.at else ""
    what = f"step {checkpoint.step}{age}" if taken.at else f"commit {checkpoint.id[:_SHORT_COMMIT]}"
    click.echo(f"workspace  {escape(checkpoint.workspace)}", err=True)
    click.echo(f"back to    {what}", err=True)
    if not click.confirm("Bring its files back? What is there now is kept first.", err=True):
        raise CheckpointError("nothing was restored: `--yes` restores without asking")


def _restored_lines(done: Restoration, undo: str, *, is_recorded: bool) -> Iterator[Line]:
    figures = f"{units.counted(len(done.written), 'file')} put back, {len(done.removed)} removed"
    yield badge_line("RESTORED", Tone.ALLOW, figures)
    for what, tone, paths in (
        ("put back", Tone.FAINT, done.written),
        ("removed", Tone.FAINT, done.removed),
        ("left", Tone.CAREFUL, done.left),
    ):
        for path in paths:
            yield (Span(f"  {what:<10}", tone), Span(path))
    yield ()
    if not is_recorded:
        yield (Span(f"kept first as {done.safety.ref}", Tone.FAINT),)
    yield (Span("to undo it: ", Tone.FAINT), Span(undo, Tone.CODE))
