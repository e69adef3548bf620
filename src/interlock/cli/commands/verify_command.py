"""`interlock verify [RUN]`: is what is stored what was written?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

import click
import msgspec

from interlock.cli.lazy_group import ExitCode, json_option
from interlock.cli.options import ledger_option, reading_ledger
from interlock.errors import InputError

if TYPE_CHECKING:
    from interlock.cli.text.render import Line
    from interlock.ledger.ledger import Ledger
    from interlock.ports import Rows


_ALL: Final = 2**31 - 1


class _Verified(msgspec.Struct, kw_only=True):
    """What a verification came to."""

    runs: int = 0
    records: int = 0
    seals: int = 0
    """Seals that were checked with the local key."""
    unchecked_seals: int = 0
    """Seals of another key: only the hashes below them were checked."""
    faults: list[str] = msgspec.field(default_factory=list[str])


@click.command("verify")
@click.argument("run", metavar="[RUN]", required=False)
@json_option
@ledger_option
@click.pass_context
def verify_command(context: click.Context, *, run: str | None, as_json: bool) -> None:
    """Hold every record against its chain and its seals.

    Without RUN the whole ledger is verified, accounts and approvals included. Exit code: 0 when
    everything holds, 1 when anything does not; the first bad record of each run is named.
    """
    from interlock.cli.text import render  # noqa: PLC0415 - commands import late, so that others start fast

    with reading_ledger() as ledger, ledger.store.frozen() as rows:
        found = _one(ledger, rows, run) if run is not None else _everything(ledger, rows)
    if as_json:
        render.print_json(found)
    else:
        render.print_lines(_verified_lines(found))
    context.exit(ExitCode.FAILED if found.faults else ExitCode.ALLOWED)


def _one(ledger: Ledger, rows: Rows, text: str) -> _Verified:
    from interlock.ledger.verification import verify_run  # noqa: PLC0415 - commands import late

    run_id = _found_chain(rows, text)
    fault = verify_run(rows, run_id, ledger.key)
    row = rows.run(run_id)
    found = _Verified(runs=1, records=0 if row is None else row.seq)
    if fault is not None:
        found.faults.append(f"run `{fault.run_id}`, record {fault.seq}: {fault.problem}")
        found.records = fault.seq - 1
    _count_seals(found, rows, run_id, ledger.key.id)
    return found


def _everything(ledger: Ledger, rows: Rows) -> _Verified:
    from interlock.cli.text.progress_bar import progress  # noqa: PLC0415 - commands import late
    from interlock.ledger.verification import RunChecked, verify_all  # noqa: PLC0415 - the same

    # Every record is read twice: in its chain, and for the accounts.
    total = 2 * sum(row.seq for row in rows.runs(limit=_ALL))
    found = _Verified()
    with progress("verifying") as advance:
        for each in verify_all(rows, ledger.key, lambda read: advance(read, total)):
            if each.problem is not None:
                found.faults.append(each.problem)
            if isinstance(each, RunChecked):
                found.runs += 1
                found.records += each.records
                _count_seals(found, rows, each.run_id, ledger.key.id)
    return found


def _found_chain(rows: Rows, text: str) -> str:
    """Return a run's id; one that the list of runs has lost is found by its records."""
    from interlock.views.lookup import found_run  # noqa: PLC0415 - commands import late

    try:
        return found_run(rows, text).id
    except InputError:
        if rows.records(text, limit=1):
            return text
        raise


def _count_seals(found: _Verified, rows: Rows, run_id: str, key_id: str) -> None:
    row = rows.run(run_id)
    ends = () if row is None else (row.key_id,)
    for each in (*(seal.key_id for seal in rows.seals(run_id)), *ends):
        if each == key_id:
            found.seals += 1
        else:
            found.unchecked_seals += 1


def _verified_lines(found: _Verified) -> Iterator[Line]:
    from interlock.cli.text.escape import escape  # noqa: PLC0415 - commands import late
    from interlock.cli.text.render import Span, Tone  # noqa: PLC0415 - the same
    from interlock.views.units import counted  # noqa: PLC0415 - the same

    for fault in found.faults:
        yield (Span("bad  ", Tone.BAD), Span(escape(fault)))
    if found.faults:
        yield ()
    tone, word = (Tone.BAD, "damaged") if found.faults else (Tone.GOOD, "holds")
    records = f"{counted(found.records, 'record')} in {counted(found.runs, 'chain')}"
    seals = f"{counted(found.seals, 'seal')} checked with the local key"
    yield (Span(word, tone), Span(f"  {records}, {seals}"))
    if found.unchecked_seals:
        seals = counted(found.unchecked_seals, "seal")
        told = f"       {seals} of another key could not be checked: that key is not here"
        yield (Span(told, Tone.CAREFUL),)
