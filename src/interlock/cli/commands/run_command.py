"""`interlock run -- COMMAND...`: any agent's command as a governed run."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import sys
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, Final, NoReturn

import click

from interlock import settings
from interlock.cli.call.duration import Duration
from interlock.cli.call.options import chosen_place, ledger_call, wants_json
from interlock.cli.text.render import escape
from interlock.errors import InputError, InterlockError, LedgerError
from interlock.extras import require_extra
from interlock.model.budget import Budget, Dimension
from interlock.model.question_fields import RunFields
from interlock.service.interlock import Interlock
from interlock.service.whereabouts import running_server
from interlock.views.lookup import SHORT
from interlock.views.units import json_text

if TYPE_CHECKING:
    from interlock.adapters.supervision.sandbox import Sandbox

_ABOUT: Final = """\
Run an agent's command, governed: judged, watched, stopped.

The command is judged before it starts. What it prints passes through unchanged; from that and
from its time Interlock tells whether it should go on. A pause stops every process of it until a
person lets it go on (`interlock resume RUN`), a stop ends them all (`interlock halt RUN`). What it
leaves in the background ends with it.

Exit code: the command's own (128 + N where signal N ended it); 4 where it must not run, 124 where
its time was over, 125 where Interlock stopped it or does not take it for done; 1 and 2 where
nothing was started, because something is missing or the call is wrong.

Examples:
  interlock run -- aider --message 'fix the tests'
  interlock run --wall-time 1h --budget tokens=200000 -- ./agent.sh
  interlock run --sandbox --write ~/.cache -- python agent.py
"""
_STREAMS: Final = 3
_BY_SIGNAL: Final = 128
_TEMPORARY: Final = (Path("/tmp"), Path("/var/tmp"))  # noqa: S108 - what a sandbox leaves writable
_SERVER_WITHIN_S: Final = 30.0
_NAP_S: Final = 0.02
_IDLE_S: Final = 86_400
"""Whoever loses us still ends, some day."""


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
    "--wall-time",
    metavar="DURATION",
    type=Duration(least=1),
    help="How long it may take, such as 90s, 15m or 1h.",
)
@click.option(
    "--sandbox",
    is_flag=False,
    flag_value="auto",
    type=click.Choice(["auto", "landlock", "bubblewrap"]),
    help="Let it write to this folder and temporary ones only, and read no credentials.",
)
@click.option(
    "--write",
    "writes",
    metavar="PATH",
    multiple=True,
    type=click.Path(exists=True, path_type=Path),
    help="What it may write to as well; may be given again.",
)
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED)
def run_command(
    *,
    task: str | None,
    agent: str | None,
    project: str,
    budgets: Sequence[str],
    wall_time: int | None,
    sandbox: str | None,
    writes: Sequence[Path],
    command: Sequence[str],
) -> None:
    """Run a command, governed."""
    _be_ready()
    program = command[0]
    if shutil.which(program) is None:
        raise InputError(f"there is no program `{program}` to run: see `PATH`, or name its file")
    if writes and sandbox is None:
        raise click.UsageError("`--write` says what a sandbox leaves writable: add `--sandbox`")
    budget = _budget(budgets, wall_time)
    from interlock.adapters.supervision.supervisor import Supervisor  # noqa: PLC0415 - only where it is needed

    folder = settings.working_folder()
    with Interlock.open(chosen_place()) as interlock, ExitStack() as stack:
        held = None if sandbox is None else _sandbox(interlock, sandbox, folder, writes, project)
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
            if held is not None:
                for note in held.notes:
                    say(note)
                stack.enter_context(_server())
            ending = Supervisor(interlock, run, say, sandbox=held).supervise(
                command, folder=folder, environment=_environment()
            )
        except BaseException:
            with suppress(InterlockError):
                run.finish("failed")
            raise
    if wants_json():
        click.echo(json_text(ending._asdict()), err=True)
    click.get_current_context().exit(ending.exit_code)


# Whatever stands behind the command's name is the command's own.
run_command.allow_interspersed_args = False


def _leave(number: int, frame: FrameType | None) -> NoReturn:  # noqa: ARG001 - the shape of a handler
    """Close what is open, where nothing runs yet or any more."""
    sys.exit(_BY_SIGNAL + number)


def _be_ready() -> None:
    """Leave in good order when told to, and let nothing else have a standard stream's number."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, _leave)
    for number in range(_STREAMS):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)


def _sandbox(
    interlock: Interlock, kind: str, folder: Path, writes: Sequence[Path], project: str
) -> Sandbox:
    """Return what holds the command to its workspace; raise where nothing here does."""
    if running_server(_server_places()) is None:
        require_extra("interlock run --sandbox", "server")
    from interlock.adapters.supervision.confinement import Whereabouts, confinement  # noqa: PLC0415 - only where it is asked for
    from interlock.adapters.supervision.sandbox import sandbox_for  # noqa: PLC0415 - the same

    context = interlock.governor.context_of(project)
    server = _server_places().folder
    # What is not there yet when it starts, nobody in a sandbox will see.
    server.mkdir(mode=0o700, parents=True, exist_ok=True)
    temporary = [settings.environment().get("TMPDIR")]
    whereabouts = Whereabouts(
        workspace=folder,
        home=Path.home(),
        temporary=tuple(Path(each) for each in temporary if each) or _TEMPORARY,
        writes=tuple(path.absolute() for path in writes),
        server=server,
    )
    allowed = confinement(context.policy, context.own_places, whereabouts)
    return sandbox_for(kind, allowed, folder=folder)


def _server_places() -> settings.ServerPlaces:
    return settings.current_server_places(_absolute(chosen_place()))


@contextmanager
def _server() -> Generator[None]:
    """See to it that a server answers: what is in a sandbox cannot answer itself."""
    if running_server(_server_places()) is not None:
        yield
        return
    from interlock.cli.commands.hook_command import start_server  # noqa: PLC0415 - only for a sandbox

    server = start_server(_environment(), idle_s=_IDLE_S)
    try:
        until = time.monotonic() + _SERVER_WITHIN_S
        while running_server(_server_places()) is None and time.monotonic() < until:
            if server.poll() is not None:
                raise LedgerError(
                    "the server for what is in the sandbox did not start: try `interlock serve`"
                )
            time.sleep(_NAP_S)
        yield
    finally:
        server.terminate()
        server.wait()


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
