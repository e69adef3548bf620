"""`interlock ledger`: the record itself, looked at, copied and saved."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from interlock.cli.call.exit_code import ExitCode
from interlock.cli.call.ledger_access import (
    agree_to_recovered,
    current_time,
    reading_ledger,
)
from interlock.cli.call.options import (
    chosen_place,
    json_option,
    ledger_call,
    ledger_option,
    show,
)
from interlock.cli.text.render import Line, Span, Tone, badge_line, labelled_rows
from interlock.cli.text.tables import progress
from interlock.errors import InputError
from interlock.ledger.chain import SealKey, exported_lines
from interlock.ledger.key_file import KeyFile
from interlock.ledger.recovery import Recovered, recover
from interlock.model.run import LEDGER_RUN
from interlock.service.ledgers import backup_ledger, open_ledger, put_anchor
from interlock.settings import current_ledger_places
from interlock.views import units
from interlock.views.ledger_view import (
    SAFE_SQLITE,
    LedgerInfo,
    Verification,
    ledger_info,
    verified_ledger,
    verified_run,
)
from interlock.views.lookup import found_run


@click.group("ledger")
@ledger_option
def ledger_command() -> None:
    """Look at the ledger, copy it, and mend it."""


@ledger_call("info", group=ledger_command)
def info_command() -> None:
    """Show where the ledger is, what it holds, and who may decide in it."""
    with reading_ledger() as ledger:
        info = ledger_info(ledger, chosen_place(), current_time())
    show(info, _info_lines(info))


@ledger_call("backup", group=ledger_command)
@click.argument("target", type=click.Path(path_type=Path))
def backup_command(*, target: Path) -> None:
    """Copy the ledger to the new file TARGET while others go on writing."""
    with reading_ledger() as ledger, progress("copying pages") as advance:
        keys = current_ledger_places().keys
        backup_ledger(ledger, target, keys=keys, progress=advance)
    size = target.stat().st_size
    copied = f"{target} holds a copy of {units.size(size)}"
    show({"target": str(target), "bytes": size}, [(Span(copied),)])


@ledger_call("recover", group=ledger_command, decides=True)
@click.argument("source", type=click.Path(path_type=Path))
@click.argument("target", type=click.Path(path_type=Path))
def recover_command(*, source: Path, target: Path) -> None:
    """Save what can be read of the damaged file SOURCE into the new file TARGET.

    Where it had an operator, only an operator may.
    """
    keys, new_keys = current_ledger_places().keys, list[Path]()

    def key_of(ledger_id: str) -> SealKey:
        key_file = KeyFile(keys, ledger_id)
        if not key_file.exists():
            key_file.make()
            new_keys.append(key_file.file)
        return key_file.key()

    with progress("looking at pages") as advance:
        outcome = recover(source, target, key_of, advance, agree_to_recovered)
    with open_ledger(target, keys=keys, problems=[]) as ledger:
        put_anchor(ledger, keys)
    value = {
        "target": str(target),
        "records": outcome.records,
        "runs": outcome.runs,
        "losses": outcome.losses,
        "lost_policies": outcome.lost_policies,
        "has_same_id": outcome.has_same_id,
        "has_same_digests": outcome.has_same_digests,
        "new_keys": list(map(str, new_keys)),
    }
    show(value, _recovered_lines(outcome, target, new_keys))


@ledger_command.command("export")
@click.argument("run", metavar="[RUN]", required=False)
@click.option("--json", is_flag=True, hidden=True, expose_value=False, help="It is JSON anyway.")
@ledger_option
def export_command(*, run: str | None) -> None:
    """Print every record as a line of JSON with its hash; RUN is one run, or the whole ledger."""
    with reading_ledger() as ledger:
        run_id = None if run is None else found_run(ledger.rows, run).id
        sys.stdout.buffer.writelines(exported_lines(ledger.rows, run_id))
        sys.stdout.buffer.flush()


@ledger_command.command("operator", hidden=True)
@click.argument("words", nargs=-1)
@json_option
def earlier_operator_command(*, words: Sequence[str]) -> None:
    """Say what has come in its place."""
    raise InputError(
        f"`interlock ledger operator {' '.join(words)}` is no more: `interlock setup` makes the"
        " first operator, `interlock operator add NAME` another one, and `interlock operator"
        " agent NAME` a token for an agent"
    )


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
        yield (
            "who was let in or let go at the end is not known: look at `interlock operator list`"
        )
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
    """Hold every record against its chain and its seals.

    Without RUN the whole ledger is verified, accounts and approvals included. Exit code: 0 when
    everything holds, 1 when anything does not; the first bad record of each run is named.
    """
    with reading_ledger() as ledger, ledger.store.frozen() as rows:
        if run is not None:
            found = verified_run(ledger, rows, run)
        else:
            with progress("verifying") as advance:
                found = verified_ledger(ledger, rows, advance)
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
