"""`interlock run -- COMMAND...`: any agent's command as a governed run."""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import click

from interlock import settings
from interlock.cli.call.options import chosen_place, ledger_call, wants_json
from interlock.cli.text.render import escape
from interlock.errors import InputError, InterlockError
from interlock.model.budget import Budget, Dimension
from interlock.model.question_fields import RunFields
from interlock.views.lookup import SHORT
from interlock.views.units import json_text

_ABOUT: Final = """\
Run any agent's command as a governed run, with or without hooks of its own.

The command is judged before it starts. What it prints passes through unchanged; from that and
from its time Interlock tells whether it should go on. A pause stops every process of it until a
person lets it go on (`interlock lift RUN`), a stop ends them all (`interlock halt RUN`). What it
leaves in the background ends with it.

\b
  interlock run -- aider --message 'fix the tests'
  interlock run --wall-time 3600 --budget tokens=200000 -- ./agent.sh
  interlock run --sandbox --write ~/.cache -- python agent.py

Exit code: the command's own (128 + N where signal N ended it); 4 where it must not run, 124 where
its time was over, 125 where Interlock stopped it or does not take it for done; 1 and 2 where
nothing was started, because something is missing or the call is wrong.
"""
_STREAMS: Final = 3


@ledger_call("run", help=_ABOUT)
@click.option("--task", metavar="TEXT", help="What it is to do; without it, the command.")
@click.option("--agent", metavar="NAME", help="Whose run it is; without it, the program's name.")
@click.option("--project", metavar="NAME", default="default", help="The project it belongs to.")
@click.option(
    "--budget",
    "budgets",
    metavar="KEY=VALUE",
    multiple=True,
    help="What it may use, such as `tokens=200000` or `cost-usd=5`; may be given again.",
)
@click.option(
    "--wall-time", metavar="SECONDS", type=click.IntRange(min=1), help="How long it may take."
)
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED)
def run_command(
    *,
    task: str | None,
    agent: str | None,
    project: str,
    budgets: Sequence[str],
    wall_time: int | None,
    command: Sequence[str],
) -> None:
    """Run a command, governed."""
    _open_streams()
    program = command[0]
    if shutil.which(program) is None:
        raise InputError(f"there is no program `{program}` to run: see `PATH`, or name its file")
    budget = _budget(budgets, wall_time)
    from interlock.adapters.supervision.supervisor import Supervisor  # noqa: PLC0415 - only where it is needed
    from interlock.service.interlock import Interlock  # noqa: PLC0415 - the same

    folder = settings.working_folder()
    with Interlock.open(chosen_place()) as interlock:
        fields: RunFields = {
            "client": "interlock-run",
            "project": project,
            "workspace": folder,
            "tree_budget": budget,
        }
        if agent is not None or settings.current_ledger_places().token is None:
            # Whoever has a token is named by that, unless it says otherwise.
            fields["agent"] = agent or Path(program).name
        run = interlock.run(task or shlex.join(command), **fields)
        say = _speaker(run.id)
        try:
            ending = Supervisor(interlock, run, say).supervise(
                command, folder=folder, environment=_environment()
            )
        except BaseException:
            with suppress(InterlockError):
                run.finish("failed")
            raise
    if wants_json():
        click.echo(json_text(ending._asdict()), err=True)
    click.get_current_context().exit(ending.exit_code)


def _open_streams() -> None:
    """Let nothing else have the number of a standard stream that was closed: it is written to."""
    for number in range(_STREAMS):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)


def _environment() -> Mapping[str, str]:
    """Return what the command knows: of the ledger that was chosen as well."""
    return {**settings.environment(), "INTERLOCK_LEDGER": _absolute(chosen_place())}


def _absolute(place: str) -> str:
    return place if "://" in place else str(Path(place).expanduser().absolute())


def _budget(given: Sequence[str], wall_time: int | None) -> Budget | None:
    """Return what the run may use, from words such as `tokens=200000`."""
    known = {each.value: each for each in Dimension}
    fields: dict[str, Any] = {} if wall_time is None else {"wall_time_s": wall_time}
    for each in given:
        key, _, value = each.partition("=")
        if key not in known or not value:
            named = ", ".join(f"`{name}`" for name in known)
            raise InputError(f"`--budget {each}`: expected KEY=VALUE, with a KEY of {named}")
        if known[key] is not Dimension.COST and not value.isdecimal():
            raise InputError(f"`--budget {each}`: expected a whole number behind `{key}=`")
        fields[key.replace("-", "_")] = value if known[key] is Dimension.COST else int(value)
    return Budget(**fields) if fields else None


def _speaker(run_id: str) -> Callable[[str], None]:
    """Return what tells the person at the terminal, or the program, what happens."""
    if wants_json():
        return lambda text: click.echo(json_text({"run": run_id, "said": text}), err=True)
    return lambda text: click.echo(escape(f"interlock run {run_id[:SHORT]}: {text}"), err=True)
