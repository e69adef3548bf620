"""`interlock run -- COMMAND...`: any agent's command as a governed run."""

from __future__ import annotations

import shlex
import time
from collections.abc import Generator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from interlock import settings
from interlock.cli.call.options import chosen_place, json_option, ledger_option, wants_json
from interlock.cli.call.supervised_command import (
    absolute_place,
    answer_teller,
    be_ready,
    command_environment,
    require_program,
    run_budget,
    run_options,
    run_speaker,
    tell_of_observed,
    tell_of_script,
)
from interlock.cli.commands.run_word_commands import RUN_WORDS
from interlock.errors import InterlockError, LedgerError
from interlock.extras import require_extra
from interlock.model.question_fields import RunFields
from interlock.service.interlock import Interlock
from interlock.service.people.run_speaker import SUPERVISED
from interlock.service.whereabouts import running_server
from interlock.views.units import json_text

if TYPE_CHECKING:
    from interlock.adapters.supervision.sandbox import Sandbox

_ABOUT: Final = """\
Run an agent's command, governed: judged, watched, stopped.

The command is judged before it starts. What it prints passes through unchanged; from that and
from its time Interlock tells whether it should go on. A pause stops every process of it until a
person lets it go on (`interlock resume RUN`), a stop ends them all (`interlock halt RUN`). What it
leaves in the background ends with it.

A shell script is governed line by line with the commands below: `interlock run start --task TEXT`
begins a run, `interlock run exec -- COMMAND` runs one line of it. They stand right behind `run`; a
program of that name is run with `interlock run -- start`.

Exit code: the command's own (128 + N where signal N ended it); 4 where it must not run, 124 where
its time was over, 125 where Interlock stopped it or does not take it for done, 126 where it cannot
be run, 127 where there is no such program; 1 and 2 where nothing was started, because something
is missing or the call is wrong.

Examples:
  interlock run -- aider --message 'fix the tests'
  interlock run --wall-time 1h --budget tokens=200000 -- ./agent.sh
  interlock run --sandbox --write ~/.cache -- python agent.py
"""
_TEMPORARY: Final = (Path("/tmp"), Path("/var/tmp"))  # noqa: S108 - what a sandbox leaves writable
_SERVER_WITHIN_S: Final = 30.0
_NAP_S: Final = 0.02
_IDLE_S: Final = 86_400
"""Whoever loses us still ends, some day."""


class _RunGroup(click.Group):
    """Runs whatever it is given, unless the first word is one of its own."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click calls it so
        """Return the words in the order in which a script says them."""
        return list(self.commands)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the options, and note whether the first word is one of its own."""
        ctx.obj = bool(args) and args[0] in self.commands
        return super().parse_args(ctx, args)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the word, or else what runs any command."""
        if ctx.obj:
            return super().resolve_command(ctx, args)
        return _supervised_command.name, _supervised_command, ["--", *args]


@click.group("run", cls=_RunGroup, commands=RUN_WORDS, help=_ABOUT)
@click.option("--task", metavar="TEXT", help="What it is to do; without it, the command.")
@run_options("the program's name")
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
@json_option
@ledger_option
def run_command(**_options: object) -> None:
    """Leave it to the word, or to what runs any command."""


@click.command("run", hidden=True)
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED)
@click.pass_context
def _supervised_command(context: click.Context, *, command: Sequence[str]) -> None:
    """Run a command, governed, with the options that stand in front of it."""
    options = {} if context.parent is None else context.parent.params
    _supervise(command, **options)


def _supervise(
    command: Sequence[str],
    *,
    task: str | None,
    agent: str | None,
    project: str,
    budgets: Sequence[str],
    wall_time: int | None,
    sandbox: str | None,
    writes: Sequence[Path],
) -> None:
    program = command[0]
    _require(program)
    if writes and sandbox is None:
        raise click.UsageError("`--write` says what a sandbox leaves writable: add `--sandbox`")
    budget = run_budget(budgets, wall_time)
    from interlock.adapters.supervision.supervisor import Supervisor  # noqa: PLC0415 - only where it is needed

    folder = settings.working_folder()
    with Interlock.open(chosen_place()) as interlock, ExitStack() as stack:
        held = None if sandbox is None else _sandbox(interlock, sandbox, folder, writes, project)
        fields: RunFields = {
            "client": SUPERVISED,
            "project": project,
            "workspace": folder,
            "tree_budget": budget,
        }
        if agent is not None or settings.current_ledger_places().token is None:
            # Whoever has a token is named by that, unless it says otherwise.
            fields["agent"] = agent or Path(program).name
        run = interlock.run(task or shlex.join(command), **fields)
        say = run_speaker(run.id)
        try:
            if held is not None:
                for note in held.notes:
                    say(note)
                stack.enter_context(_server())
            supervisor = Supervisor(interlock, run, say, show=answer_teller(run.id), sandbox=held)
            tell_of_script(command, say)
            ending = supervisor.supervise(command, folder=folder, environment=command_environment())
            tell_of_observed(run.state, say)
        except BaseException:
            with suppress(InterlockError):
                run.finish("failed")
            raise
    if wants_json():
        click.echo(json_text(ending._asdict()), err=True)
    click.get_current_context().exit(ending.exit_code)


def _require(program: str) -> None:
    be_ready()
    if program in run_command.commands:
        require_program(program, f"`interlock run {program}` has its options behind it")
    require_program(program)


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
    return settings.current_server_places(absolute_place())


@contextmanager
def _server() -> Generator[None]:
    """See to it that a server answers: what is in a sandbox cannot answer itself."""
    if running_server(_server_places()) is not None:
        yield
        return
    from interlock.cli.commands.hook_command import start_server  # noqa: PLC0415 - only for a sandbox

    server = start_server(command_environment(), idle_s=_IDLE_S)
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
