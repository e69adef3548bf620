"""`interlock ledger`: the record itself, looked at, copied and saved."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import click

from interlock.cli.call.command_names import Commands
from interlock.cli.call.duration import Duration
from interlock.cli.call.exit_code import ExitCode
from interlock.cli.call.ledger_access import (
    agree_to_accept,
    agree_to_recovered,
    current_time,
    governing,
    operator,
    reading_ledger,
)
from interlock.cli.call.options import (
    ledger_call,
    ledger_option,
    show,
)
from interlock.cli.text.render import Line, Span, Tone, badge_line, escape, labelled_rows
from interlock.cli.text.tables import progress, working
from interlock.errors import InputError
from interlock.ledger.abbreviations import found_run
from interlock.ledger.anchor import Anchor
from interlock.ledger.archive import ArchiveHead, archive_head, verified_archive
from interlock.ledger.chain import SealKey, exported_lines
from interlock.ledger.key_file import KeyFile, new_key
from interlock.ledger.ledger import Ledger
from interlock.ledger.recovery import Recovered, recover
from interlock.model.principal import Principal
from interlock.model.run import LEDGER_RUN
from interlock.service import archives
from interlock.service.interlock import Interlock
from interlock.service.ledgers import backup_ledger, open_ledger, put_anchor
from interlock.service.records.context import SystemClock
from interlock.settings import current_ledger_places
from interlock.views import units
from interlock.views.grounds import Grounds
from interlock.views.ledger_view import (
    SAFE_SQLITE,
    LedgerInfo,
    Verification,
    ledger_info,
    verified_ledger,
    verified_run,
)

_SECOND: Final = 1_000_000


@click.group("ledger", cls=Commands)
@ledger_option
def ledger_command() -> None:
    """Inspect, back up, archive and repair the ledger."""


@ledger_call("info", group=ledger_command)
def info_command() -> None:
    """Show where the ledger is, what it holds, and who may decide in it.

    Examples:
      interlock ledger info
      interlock ledger info --json
    """
    with reading_ledger() as ledger:
        info = ledger_info(ledger, current_time())
    show(info, _info_lines(info))


@ledger_call("backup", group=ledger_command)
@click.argument("target", type=click.Path(path_type=Path))
def backup_command(*, target: Path) -> None:
    """Copy the ledger to the new file TARGET while others go on writing.

    Examples:
      interlock ledger backup copy.db
    """
    with reading_ledger() as ledger, progress("copying pages") as advance:
        keys = current_ledger_places().keys
        backup_ledger(ledger, target, keys=keys, progress=advance)
    size = target.stat().st_size
    copied = f"{target} holds a copy of {units.size(size)}"
    show({"target": str(target), "bytes": size}, [(Span(copied),)])


@ledger_call("checkpoint", group=ledger_command)
def checkpoint_command() -> None:
    """Bring the write-ahead file into the ledger's file, and empty it.

    Examples:
      interlock ledger checkpoint
    """
    with reading_ledger() as ledger:
        ledger.tidy()
        left = ledger_info(ledger, current_time()).wal_bytes
    if left is None:
        told = "the database does so by itself"
    elif left:
        told = f"somebody reads: {units.size(left)} are left beside the file until they are done"
    else:
        told = "everything is in the ledger's file"
    show({"wal_bytes": left}, [(Span(told),)])


@ledger_call("repair", group=ledger_command, decides=True)
@click.argument("source", type=click.Path(path_type=Path))
@click.argument("target", type=click.Path(path_type=Path))
def repair_command(*, source: Path, target: Path) -> None:
    """Save what can be read of the damaged file SOURCE into the new file TARGET.

    Where it had an operator, only an operator may.

    Examples:
      interlock ledger repair damaged.db saved.db
    """
    from interlock.service import anchors  # noqa: PLC0415 - what sends them takes long to load

    keys, new_keys = current_ledger_places().keys, dict[KeyFile, bytes]()
    by: list[Principal] = []

    def key_of(ledger_id: str) -> SealKey:
        key_file = KeyFile(keys, ledger_id)
        if key_file.exists():
            return key_file.key()
        return SealKey(new_keys.setdefault(key_file, new_key()))

    with contextlib.ExitStack() as shown:
        advance = shown.enter_context(progress("looking at pages"))

        def agree(ledger: Ledger) -> None:
            # What is shown would wipe out the question.
            shown.close()
            by.append(agree_to_recovered(ledger))
            # Not before: a lost key is missed, as long as none stands in its place.
            for key_file, key in new_keys.items():
                key_file.make(key)

        outcome = recover(source, target, key_of, advance, agree)
    lost = [
        f"run `{run.run_id}` has {run.saved} of {run.written} records" for run in outcome.losses
    ]
    with open_ledger(target, keys=keys, problems=[]) as ledger:
        if lost:
            # Answers in other runs were given on what is lost.
            anchors.accept_ledger(ledger, lost, keys=keys, by=by[0], clock=SystemClock())
        else:
            put_anchor(ledger, keys)
    value = {
        "target": str(target),
        "records": outcome.records,
        "runs": outcome.runs,
        "losses": outcome.losses,
        "lost_policies": outcome.lost_policies,
        "has_same_id": outcome.has_same_id,
        "has_same_digests": outcome.has_same_digests,
        "new_keys": [str(each.file) for each in new_keys],
    }
    show(value, _recovered_lines(outcome, target, [each.file for each in new_keys]))


@ledger_call("anchor", group=ledger_command, decides=True)
@click.option("--to", "file", type=click.Path(path_type=Path), help="Write it to this new file.")
@click.option("--git-ref", metavar="REF", help="Let this ref of a git repository name it.")
@click.option(
    "--repository",
    type=click.Path(path_type=Path),
    default=Path(),
    help="The repository of the ref; the current folder where it is not said.",
)
@click.option("--webhook", metavar="URL", help="Send it there with POST.")
@click.option(
    "--check",
    "earlier",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Hold the ledger against one from earlier.",
)
@click.option(
    "--accept",
    "accepts",
    is_flag=True,
    help="Let the ledger count as it is, although it is not what was written.",
)
def anchor_command(
    *,
    file: Path | None,
    git_ref: str | None,
    repository: Path,
    webhook: str | None,
    earlier: Path | None,
    accepts: bool,
) -> None:
    """Show the ledger's anchor: how many records it has, and what they come to.

    Nothing in it is secret. Whoever keeps it where nobody who writes to the ledger can change it
    can tell later, with --check, whether everything is still there.

    Examples:
      interlock ledger anchor
      interlock ledger anchor --to anchor.json
      interlock ledger anchor --check anchor.json
    """
    from interlock.service import anchors  # noqa: PLC0415 - what sends it takes long to load

    if sum((earlier is not None, accepts, any((file, git_ref, webhook)))) > 1:
        raise InputError("--check, --accept and sending it somewhere are three calls")
    if accepts:
        anchor = _accepted()
    else:
        with reading_ledger() as ledger:
            anchor = (
                anchors.current_anchor(ledger)
                if earlier is None
                else anchors.check_exported(ledger, earlier)
            )
    if file is not None:
        anchors.export_to_file(anchor, file)
    if git_ref is not None:
        anchors.export_to_git(anchor, git_ref, repository)
    if webhook is not None:
        anchors.export_to_webhook(anchor, webhook)
    show(anchor, _anchor_lines(anchor, is_checked=earlier is not None), as_written=True)


def _accepted() -> Anchor:
    from interlock.service import anchors  # noqa: PLC0415 - see above

    problems: list[str] = []
    keys = current_ledger_places().keys
    with reading_ledger(problems=problems) as ledger:
        if not problems:
            raise InputError("the ledger is what was written: there is nothing to accept")
        for problem in problems:
            click.echo(escape(problem), err=True)
        by = agree_to_accept(ledger)
        return anchors.accept_ledger(ledger, problems, keys=keys, by=by, clock=SystemClock())


def _anchor_lines(anchor: Anchor, *, is_checked: bool) -> Iterator[Line]:
    if is_checked:
        yield badge_line("holds", Tone.GOOD, "everything that the anchor knows is still there")
    runs = units.counted(anchor.runs, "chain")
    yield from labelled_rows(
        ("ledger", anchor.ledger),
        ("place", anchor.place),
        ("records", f"{anchor.records:,} in {runs}"),
        ("hash", anchor.hash),
        ("seal", f"{anchor.seal} of key {anchor.key_id}"),
    )


@ledger_call("archive", group=ledger_command, decides=True)
@click.option(
    "--older-than",
    "age_s",
    metavar="AGE",
    type=Duration("d", least=1),
    help="What ended so long ago, such as 30d.",
)
@click.option(
    "--to",
    "folder",
    type=click.Path(path_type=Path),
    help="The folder of the archive; `archives` beside the ledger's file where it is not said.",
)
@click.option(
    "--check",
    "checked",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Hold an archive against its chains and seals; no ledger is needed.",
)
@click.option(
    "--restore",
    "restored",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Put back what is in an archive.",
)
def archive_command(
    *, age_s: int | None, folder: Path | None, checked: Path | None, restored: Path | None
) -> None:
    """Take the records of runs that ended long ago out of the ledger, into a file.

    Their chains' heads stay, and everything else can be verified as before. What is open, and
    whatever stands above or below it, is left alone.

    Examples:
      interlock ledger archive --older-than 30d
      interlock ledger archive --older-than 90d --to archives
    """
    if sum(each is not None for each in (age_s, checked, restored)) != 1:
        raise InputError("say one of them: --older-than AGE, --check FILE or --restore FILE")
    if checked is not None:
        archive = _checked_archive(checked)
        told = f"{units.counted(archive.records, 'record')} of {archive.runs:,} runs are as written"
        show(archive, [badge_line("holds", Tone.GOOD, told)])
        return
    with governing() as interlock:
        if restored is not None:
            done = [_restored(interlock, restored)]
        else:
            done = _archived(interlock, age_s or 0, folder)
    word = "archived" if restored is None else "restored"
    show(done, [_archive_line(word, each) for each in done] or [(Span("nothing is that old"),)])


def _checked_archive(file: Path) -> ArchiveHead:
    key_file = KeyFile(current_ledger_places().keys, archive_head(file).ledger)
    return verified_archive(file, key_file.key()).head


def _archived(
    interlock: Interlock, age_s: int, folder: Path | None
) -> Sequence[archives.ArchiveWritten]:
    target = archives.archive_folder(interlock.ledger, folder)
    by = operator(interlock, "archive runs")
    with working("archiving"):
        return archives.archive_runs(
            interlock.ledger,
            before=current_time() - age_s * _SECOND,
            folder=target,
            by=by,
            clock=SystemClock(),
            grounds=Grounds,
        )


def _restored(interlock: Interlock, file: Path) -> archives.ArchiveWritten:
    by = operator(interlock, "restore runs")
    return archives.restore_runs(interlock.ledger, file, by=by, clock=SystemClock())


def _archive_line(word: str, written: archives.ArchiveWritten) -> Line:
    records = units.counted(written.records, "record")
    runs = units.counted(written.runs, "run")
    return badge_line(word, Tone.GOOD, f"{records} of {runs}: {written.file}")


@ledger_command.command("export")
@click.argument("run", metavar="[RUN]", required=False)
@click.option("--json", is_flag=True, hidden=True, expose_value=False, help="It is JSON anyway.")
@ledger_option
def export_command(*, run: str | None) -> None:
    """Print every record as a line of JSON with its hash; RUN is one run, or the whole ledger.

    Examples:
      interlock ledger export > ledger.jsonl
      interlock ledger export R4X9TM
    """
    with reading_ledger() as ledger:
        run_id = None if run is None else found_run(ledger.rows, run).id
        sys.stdout.buffer.writelines(exported_lines(ledger.rows, run_id))
        sys.stdout.buffer.flush()


def _recovered_lines(outcome: Recovered, target: Path, new_keys: Sequence[Path]) -> Iterator[Line]:
    """Yield what was saved, then everything that was not."""
    records = units.counted(outcome.records, "record")
    saved = f"{records} of {units.counted(len(outcome.runs), 'chain')} in {target}"
    yield badge_line("saved", Tone.CAREFUL if outcome.losses else Tone.GOOD, saved)
    for run in outcome.losses:
        lost = units.counted(run.written - run.saved, "record")
        yield (Span("lost   ", Tone.BAD), Span(f"{lost} at the end of run {run.run_id}"))
    for key in new_keys:
        yield (Span(f"its key was not found: it is sealed with a new one, {key}", Tone.CAREFUL),)
    for warning in _warnings(outcome):
        yield (Span(warning, Tone.CAREFUL),)
    yield (Span(f"look at it with `interlock verify --ledger {target}`", Tone.FAINT),)


def _warnings(outcome: Recovered) -> Iterator[str]:
    if outcome.lost_policies:
        lost = units.counted(len(outcome.lost_policies), "policy text")
        yield f"{lost} could not be read: what was decided under them cannot be replayed"
    if any(run.run_id == LEDGER_RUN for run in outcome.losses):
        yield ("the last changes of operators are not known: look at `interlock operator list`")
    if not outcome.has_same_id:
        yield "the ledger's id could not be read: it has a new one"
    if not outcome.has_same_digests:
        yield "open approvals cannot be used any more: ask again"


def _info_lines(info: LedgerInfo) -> Iterator[Line]:
    wal = "" if info.wal_bytes is None else f", write-ahead file {units.size(info.wal_bytes)}"
    waits = units.counted(info.pending_approvals, "question")
    yield (Span(info.place, Tone.STRONG),)
    yield from labelled_rows(
        ("id", info.id),
        ("kind", f"{info.kind} {info.engine_version}, schema version {info.schema_version}"),
        ("size", f"{units.size(info.bytes)}{wal}"),
        ("runs", f"{info.runs:,}, of which {info.running:,} running"),
        ("records", f"{info.records:,}"),
        ("waiting", f"{waits} for a person" if info.pending_approvals else "nothing for a person"),
        (
            "decide",
            ", ".join(info.operators) or "nobody yet: run `interlock setup`",
        ),
        ("agents", ", ".join(info.agents)),
    )
    if not info.is_safe:
        wanted = ".".join(map(str, SAFE_SQLITE))
        danger = f"SQLite {info.engine_version} can damage a file that two processes write"
        yield (Span(f"  {danger}: install {wanted} or newer", Tone.CAREFUL),)


@ledger_call("verify")
@click.argument("run", metavar="[RUN]", required=False)
@click.pass_context
def verify_command(context: click.Context, *, run: str | None) -> None:
    """Verify every record against its hash chain and seals.

    Without RUN the whole ledger is verified, accounts and approvals included. Exit code: 0 when
    everything holds, 1 when anything does not; the first bad record of each run is named.

    Examples:
      interlock verify
      interlock verify R4X9TM --json
    """
    problems: list[str] = []
    with reading_ledger(problems=problems) as ledger, ledger.store.frozen() as rows:
        if run is not None:
            found = verified_run(ledger, rows, run)
        else:
            with progress("verifying") as advance:
                found = verified_ledger(ledger, rows, advance)
    found.faults[:0] = problems
    show(found, _verified_lines(found))
    context.exit(ExitCode.FAILED if found.faults else ExitCode.ALLOWED)


def _verified_lines(found: Verification) -> Iterator[Line]:
    for fault in found.faults:
        yield (Span("bad  ", Tone.BAD), Span(fault))
    if found.faults:
        yield ()
    tone, word = (Tone.BAD, "damaged") if found.faults else (Tone.GOOD, "holds")
    records = f"{units.counted(found.records, 'record')} in {units.counted(found.runs, 'chain')}"
    seals = f"{units.counted(found.seals, 'seal')} checked with the local key"
    yield badge_line(word, tone, f"{records}, {seals}")
