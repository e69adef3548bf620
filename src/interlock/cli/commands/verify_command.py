"""`interlock verify [RUN]`: is what is stored what was written?"""

from __future__ import annotations

from collections.abc import Iterator

import click

from interlock.cli.call.exit_code import ExitCode
from interlock.cli.call.ledger_access import reading_ledger
from interlock.cli.call.options import json_option, ledger_option, show
from interlock.cli.text.progress_bar import progress
from interlock.cli.text.render import Line, Span, Tone, escape
from interlock.views import units
from interlock.views.ledger_view import Verification, verified_ledger, verified_run


@click.command("verify")
@click.argument("run", metavar="[RUN]", required=False)
@json_option
@ledger_option
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
        yield (Span("bad  ", Tone.BAD), Span(escape(fault)))
    if found.faults:
        yield ()
    tone, word = (Tone.BAD, "damaged") if found.faults else (Tone.GOOD, "holds")
    records = f"{units.counted(found.records, 'record')} in {units.counted(found.runs, 'chain')}"
    seals = f"{units.counted(found.seals, 'seal')} checked with the local key"
    yield (Span(word, tone), Span(f"  {records}, {seals}"))
    if found.unchecked_seals:
        seals = units.counted(found.unchecked_seals, "seal")
        missing = f"       {seals} of another key could not be checked: that key is not here"
        yield (Span(missing, Tone.CAREFUL),)
