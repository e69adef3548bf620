"""`interlock checkpoint`: what was saved of a run's work, and how to bring it back."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

import click

from interlock.cli.lazy_group import json_option
from interlock.cli.options import governing, ledger_option, reading_ledger
from interlock.cli.text.escape import escape
from interlock.errors import CheckpointError, InputError, InterlockError

if TYPE_CHECKING:
    from interlock.checkpoints.workspace_checkpoint import Restoration
    from interlock.cli.text.render import Line, Span
    from interlock.model.checkpoint import Checkpoint
    from interlock.model.rows import RecordRow
    from interlock.ports import Rows


_KIND: Final = "checkpoint-taken"
_PAGE: Final = 1000
_MOST_TOLD: Final = 5
_COMMIT: Final = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_NO_RUN: Final = "by-hand"
_SHORT_COMMIT: Final = 12


class _Kept(NamedTuple):
    """What was put back, and how to undo it."""

    done: Restoration
    is_recorded: bool
    """Whether the safety checkpoint is on record, so that its id is enough to find it."""
    undo: str


class _Taken(NamedTuple):
    """A checkpoint in its place on the record."""

    run_id: str
    at: int
    checkpoint: Checkpoint


@click.group("checkpoint")
def checkpoint_group() -> None:
    """List the checkpoints of a run, and bring its files back to one."""


@checkpoint_group.command("list")
@click.argument("run", metavar="RUN")
@json_option
@ledger_option
def list_command(*, run: str, as_json: bool) -> None:
    """List what was saved of a run's work; RUN is its id, or enough of its beginning."""
    from interlock.cli.text import render  # noqa: PLC0415 - commands import late, so that others start fast
    from interlock.views.lookup import found_run  # noqa: PLC0415 - the same

    with reading_ledger() as ledger:
        taken = list(_of_run(ledger.rows, found_run(ledger.rows, run).id))
    if as_json:
        render.print_json([each._asdict() for each in taken])
    elif taken:
        render.print_lines(_table(taken))
    else:
        click.echo("no checkpoints")


@checkpoint_group.command("restore")
@click.argument("checkpoint", metavar="ID")
@click.option("--run", metavar="RUN", help="The run that it is of; enough of its id's beginning.")
@click.option(
    "--workspace",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    default=Path(),
    help="Where ID is the name of a commit: the folder to restore; else it is on record.",
)
@click.option("--yes", is_flag=True, help="Do not ask first.")
@json_option
@ledger_option
def restore_command(
    *, checkpoint: str, run: str | None, workspace: Path, yes: bool, as_json: bool
) -> None:
    """Bring the files of a workspace back to a checkpoint.

    ID is that of a checkpoint, or enough of its beginning, or the whole name of the commit that
    one was kept as. The present files are kept first, so that it can be undone. HEAD, branches,
    the index and ignored files stay as they are. To go on from there, tell the agent: it does
    not know that its files have changed.
    """
    from interlock.cli.text import render  # noqa: PLC0415 - commands import late

    taken = _chosen(checkpoint, run, workspace)
    if not yes:
        _ask(taken)
    kept = _restored(taken)
    if as_json:
        told = {"restored": kept.done, "recorded": kept.is_recorded, "undo": kept.undo}
        render.print_json(told)
    else:
        render.print_lines(_restored_lines(kept))


def _restored(taken: _Taken) -> _Kept:
    from interlock import settings  # noqa: PLC0415 - commands import late
    from interlock.checkpoints.workspace_checkpoint import restore_checkpoint  # noqa: PLC0415 - the same
    from interlock.service.records.context import new_id  # noqa: PLC0415 - the same

    done = restore_checkpoint(
        taken.checkpoint,
        run_id=taken.run_id,
        safety_id=new_id(),
        environment=settings.environment(),
    )
    is_recorded = taken.run_id != _NO_RUN and _is_recorded(taken.run_id, done.safety)
    named = done.safety.id if is_recorded else f"{done.safety.commit} --workspace"
    where = "" if is_recorded else f" {_quoted(done.safety.workspace)}"
    return _Kept(done, is_recorded, f"interlock checkpoint restore {named}{where}")


def _is_recorded(run_id: str, safety: Checkpoint) -> bool:
    """Put the safety checkpoint on record, if its run still runs; return whether it is there.

    The files are back by now: whatever goes wrong here must not hide how to undo that.
    """
    from msgspec.structs import replace  # noqa: PLC0415 - commands import late

    from interlock.model.run import RunStatus  # noqa: PLC0415 - the same
    from interlock.service.operations import Operations  # noqa: PLC0415 - the same

    try:
        with governing() as interlock:
            governor = interlock.governor
            state = governor.state(run_id)
            if state.status is not RunStatus.RUNNING:
                return False
            # It holds the files of the present step, not of the one that was restored.
            present = replace(safety, step=state.going.steps)
            governor.done(Operations(governor).checkpoint(run_id, present))
    except InterlockError as error:
        click.echo(f"what was kept first is not on record: {error}", err=True)
        return False
    return True


def _chosen(text: str, run: str | None, workspace: Path) -> _Taken:
    """Return the checkpoint that is meant; a commit needs no ledger."""
    if _COMMIT.fullmatch(text):
        return _Taken(_NO_RUN, 0, _commit_alone(text, workspace))
    from interlock.views.lookup import found_run  # noqa: PLC0415 - commands import late

    with reading_ledger() as ledger:
        rows = ledger.rows
        every = _of_all(rows) if run is None else _of_run(rows, found_run(rows, run).id)
        return _only([each for each in every if text and each.checkpoint.id.startswith(text)], text)


def _commit_alone(commit: str, workspace: Path) -> Checkpoint:
    from interlock.model.checkpoint import Checkpoint, CheckpointKind  # noqa: PLC0415 - load late

    folder = str(workspace.absolute())
    return Checkpoint(id=commit, step=0, kind=CheckpointKind.GIT, workspace=folder, commit=commit)


def _only(found: Sequence[_Taken], text: str) -> _Taken:
    if not found:
        raise InputError(
            f"there is no checkpoint `{text}`: look at `interlock checkpoint list RUN`"
        )
    exact = [each for each in found if each.checkpoint.id == text]
    if len(exact or found) > 1:
        told = ", ".join(f"`{each.checkpoint.id}`" for each in found[:_MOST_TOLD])
        more = " and more" if len(found) > _MOST_TOLD else ""
        raise InputError(
            f"`{text}` could be more than one checkpoint: {told}{more}; write more of it"
        )
    return (exact or found)[0]


def _of_run(rows: Rows, run_id: str) -> Iterator[_Taken]:
    after = 0
    while page := rows.records(run_id, after=after, limit=_PAGE):
        yield from _among(page)
        after = page[-1].seq


def _of_all(rows: Rows) -> Iterator[_Taken]:
    after = 0
    while page := rows.written(after=after, limit=_PAGE):
        yield from _among([row for _, row in page])
        after = page[-1].position


def _among(records: Sequence[RecordRow]) -> Iterator[_Taken]:
    from interlock.ledger.codec import decoded  # noqa: PLC0415 - commands import late
    from interlock.model.events import CheckpointTaken  # noqa: PLC0415 - the same

    for row in records:
        if row.kind == _KIND:
            event = decoded(row.body).event
            if isinstance(event, CheckpointTaken):
                yield _Taken(row.run_id, row.at, event.checkpoint)


def _table(taken: Sequence[_Taken]) -> Iterator[Line]:
    from interlock.cli.text.tables import Column, table_lines, terminal_width  # noqa: PLC0415 - the same
    from interlock.service.records.context import SystemClock  # noqa: PLC0415 - the same
    from interlock.views.lookup import short_ids  # noqa: PLC0415 - commands import late

    columns = [
        Column("checkpoint"),
        Column("step", right=True),
        Column("taken", right=True),
        Column("by"),
        Column("commit", spared=1),
        Column("what", stretches=True),
    ]
    short = short_ids([each.checkpoint.id for each in taken])
    now = SystemClock().now()
    rows = [_row(each, short[each.checkpoint.id], now) for each in taken]
    return table_lines(columns, rows, width=terminal_width())


def _row(taken: _Taken, short: str, now: int) -> list[Span]:
    from interlock.cli.text.render import Span, Tone  # noqa: PLC0415 - the same
    from interlock.views.units import span  # noqa: PLC0415 - commands import late

    checkpoint = taken.checkpoint
    failed = checkpoint.error is not None
    return [
        Span(short, Tone.CODE),
        Span(str(checkpoint.step)),
        Span(span(now - taken.at), Tone.FAINT),
        Span(checkpoint.kind.value, Tone.BAD if failed else Tone.PLAIN),
        Span((checkpoint.commit or "-")[:_SHORT_COMMIT], Tone.FAINT),
        Span(checkpoint.error or checkpoint.workspace, Tone.BAD if failed else Tone.PLAIN),
    ]


def _ask(taken: _Taken) -> None:
    from interlock.service.records.context import SystemClock  # noqa: PLC0415 - the same
    from interlock.views.units import span  # noqa: PLC0415 - the same

    checkpoint = taken.checkpoint
    age = f", {span(SystemClock().now() - taken.at)} ago" if taken.at else ""
    what = f"step {checkpoint.step}{age}" if taken.at else f"commit {checkpoint.id[:_SHORT_COMMIT]}"
    click.echo(f"workspace  {escape(checkpoint.workspace)}", err=True)
    click.echo(f"back to    {what}", err=True)
    if not click.confirm("Bring its files back? What is there now is kept first.", err=True):
        raise CheckpointError("nothing was restored: `--yes` restores without asking")


def _restored_lines(kept: _Kept) -> Iterator[Line]:
    from interlock.cli.text.render import Span, Tone  # noqa: PLC0415 - the same
    from interlock.views.units import counted  # noqa: PLC0415 - the same

    done = kept.done
    figures = f"{counted(len(done.written), 'file')} put back, {len(done.removed)} removed"
    yield (Span("RESTORED", Tone.ALLOW), Span(f"  {figures}"))
    for path in done.written:
        yield (Span("  put back  ", Tone.FAINT), Span(escape(path)))
    for path in done.removed:
        yield (Span("  removed   ", Tone.FAINT), Span(escape(path)))
    for path in done.left:
        yield (Span("  left      ", Tone.CAREFUL), Span(escape(path)))
    yield ()
    if not kept.is_recorded:
        yield (Span(f"kept first as {done.safety.ref}", Tone.FAINT),)
    yield (Span("to undo it: ", Tone.FAINT), Span(kept.undo, Tone.CODE))


def _quoted(path: str) -> str:
    import shlex  # noqa: PLC0415 - only where something was restored

    return shlex.quote(escape(path))
