"""`interlock ledger`: the record itself, looked at, copied, saved, and who may decide in it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from interlock.cli.lazy_group import json_option
from interlock.cli.ledger_choice import governing, ledger_option, reading_ledger
from interlock.errors import LedgerError

if TYPE_CHECKING:
    from interlock.ledger.stores.sqlite import SqliteStore
    from interlock.model.events import Actor
    from interlock.service.interlock import Interlock


@click.group("ledger")
@ledger_option
def ledger_group() -> None:
    """Look at the ledger, copy it, mend it, and let people in."""


@ledger_group.command("info")
@json_option
@ledger_option
def info_command(*, as_json: bool) -> None:
    """Show where the ledger is, what it holds, and who may decide in it."""
    from interlock.cli import render  # noqa: PLC0415 - commands import late, so that others start fast
    from interlock.views.ledger_info import info_lines, ledger_info  # noqa: PLC0415 - the same

    with reading_ledger() as ledger:
        info = ledger_info(ledger)
    if as_json:
        render.print_json(info)
    else:
        render.print_lines(info_lines(info))


@ledger_group.command("backup")
@click.argument("target", type=click.Path(path_type=Path))
@json_option
@ledger_option
def backup_command(*, target: Path, as_json: bool) -> None:
    """Copy the ledger to the new file TARGET while others go on writing."""
    from interlock.cli import measures, render  # noqa: PLC0415 - commands import late
    from interlock.cli.progress import progress  # noqa: PLC0415 - the same

    with reading_ledger() as ledger, progress("copying pages") as advance:
        _file_store(ledger.store).backup(target, advance)
    size = target.stat().st_size
    if as_json:
        render.print_json({"target": str(target), "bytes": size})
    else:
        click.echo(f"{target} holds a copy of {measures.size(size)}")


@ledger_group.command("recover")
@click.argument("source", type=click.Path(path_type=Path))
@click.argument("target", type=click.Path(path_type=Path))
@json_option
def recover_command(*, source: Path, target: Path, as_json: bool) -> None:
    """Save what can be read of the damaged file SOURCE into the new file TARGET."""
    from interlock.cli import render  # noqa: PLC0415 - commands import late
    from interlock.cli.recovering import recovered, recovered_lines, recovered_value  # noqa: PLC0415 - load late

    outcome = recovered(source, target)
    if as_json:
        render.print_json(recovered_value(outcome, target))
    else:
        render.print_lines(recovered_lines(outcome, target))


@ledger_group.command("export")
@click.argument("run", metavar="[RUN]", required=False)
@click.option("--json", "as_json", is_flag=True, hidden=True, help="It is JSON anyway.")
@ledger_option
def export_command(*, run: str | None, as_json: bool) -> None:
    """Print every record as a line of JSON with its hash; RUN is one run, or the whole ledger."""
    from interlock.cli.run_choice import found_run  # noqa: PLC0415 - commands import late
    from interlock.ledger.export import exported_lines  # noqa: PLC0415 - the same

    _ = as_json
    with reading_ledger() as ledger:
        run_id = None if run is None else found_run(ledger.rows, run).id
        sys.stdout.buffer.writelines(exported_lines(ledger.rows, run_id))
        sys.stdout.buffer.flush()


@ledger_group.command("operator")
@click.argument("name")
@click.option(
    "--agent", "is_agent", is_flag=True, help="An agent's credential, which can never decide."
)
@json_option
@ledger_option
def operator_command(*, name: str, is_agent: bool, as_json: bool) -> None:
    """Make a credential for NAME and print its token, which is shown this once.

    The first operator of a ledger lets themselves in; after that only an operator does. A ledger
    that is not there yet is made.
    """
    from interlock.cli import render  # noqa: PLC0415 - commands import late
    from interlock.model.events import ActorKind  # noqa: PLC0415 - the same
    from interlock.service.credentials import grant, new_token  # noqa: PLC0415 - the same

    token = new_token()
    kind = ActorKind.AGENT if is_agent else ActorKind.OPERATOR
    with governing(creates=True) as interlock:
        governor = interlock.governor
        by = _who_lets_in(interlock)
        governor.done(grant(governor.context, kind=kind, name=name, token=token, by=by))
    if as_json:
        render.print_json({"name": name, "kind": kind, "token": token})
        return
    click.echo(token)
    told = "it can ask, and never decide" if is_agent else "set INTERLOCK_TOKEN to it to decide"
    click.echo(f"this is the token of {kind.value} `{name}`, shown this once: {told}", err=True)


def _who_lets_in(interlock: Interlock) -> Actor | None:
    """Return the operator of this call; nobody is needed where there is none yet."""
    from interlock.cli.operator_choice import has_operator, operator  # noqa: PLC0415 - load late

    return operator(interlock) if has_operator(interlock) else None


def _file_store(store: object) -> SqliteStore:
    from interlock.ledger.stores.sqlite import SqliteStore  # noqa: PLC0415 - commands import late

    if not isinstance(store, SqliteStore):
        raise LedgerError("a Postgres ledger is copied by Postgres itself: use `pg_dump`")
    return store
