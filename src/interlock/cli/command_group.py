"""`interlock`: what a person can type. A command is loaded when it is called for."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Final, NoReturn, cast

import click

from interlock.cli.call.command_names import NO_PAGER, Commands, with_examples
from interlock.cli.call.exit_code import ExitCode
from interlock.errors import HaltedError, InputError, InterlockError, PolicyError

GROUPS: Final = {
    "Ask": {
        "check": "Ask whether a command, a tool call or an edit may happen.",
        "explain": "Explain why a call was refused, or a run paused or stopped.",
        "rules": "List the rules, and what the policy makes of each.",
        "audit": "Audit past sessions: what would have been asked or stopped.",
        "simulate": "Try a policy on past runs: which answers would change.",
        "calibrate": "Choose thresholds that keep a promise, from past runs.",
        "backtest": "Judge past steps, or past ends of turns, from JSON lines.",
        "tour": "Take the guided tour; nothing of yours is touched.",
    },
    "Run": {
        "run": "Run an agent's command, governed: judged, watched, stopped.",
        "mcp": "Govern an MCP server: judge each call, pass on the rest.",
        "serve": "Start the server: HTTP API, live events, web console.",
        "edit": "Apply the edits that stdin describes: all, or none.",
        "undo": "Restore files from before a set of edits or a command.",
        "loop": "Run the loop that decides what comes next, or stop it.",
        "event": "Send an event to the loop.",
        "note": "Leave a note for the loop, or list those that wait.",
    },
    "Decide": {
        "approvals": "List what waits for a person: what is asked, and why.",
        "approve": "Let what was asked happen, once.",
        "deny": "Refuse what was asked.",
        "review": "Open a review of work, submit its verdict, resolve it.",
        "halt": "Stop a run and every run below it, until it is resumed.",
        "resume": "Resume a run that was paused, stopped or halted.",
        "budget": "Show what was used of a budget, or set a limit.",
        "recommendations": "List changes of the policy that past runs suggest.",
    },
    "Look": {
        "status": "Say what is governed, by which policy, and what waits.",
        "runs": "List the latest runs, with what they did and used.",
        "show": "Show one run: how it stands, why, and what was refused.",
        "watch": "Watch a run live.",
        "tail": "Print records as they are made, of one run or of all.",
        "replay": "Decide every answer of a run again, from its record.",
        "verify": "Verify every record against its hash chain and seals.",
        "checkpoint": "List the checkpoints of a run, or restore one.",
    },
    "Set up": {
        "setup": "Make the first operator: the person who approves.",
        "install": "Install hooks: agent clients ask before they act.",
        "uninstall": "Remove the hooks from the settings of agent clients.",
        "doctor": "Test the hooks of every client, with a line that is not run.",
        "init": "Write a policy file with the settings that people change.",
        "policy": "Show, test and adopt the policy.",
        "operator": "Manage the people who may decide.",
        "token": "Manage the tokens of agents and programs.",
        "login": "Show a link that opens the web console as you.",
        "completion": "Install tab completion for bash, zsh or fish.",
        "ledger": "Inspect, back up, archive and repair the ledger.",
    },
}
"""What each command is for, by what a person wants to do."""
SUMMARIES: Final = {name: text for group in GROUPS.values() for name, text in group.items()}
_HOMES: Final = {
    name: module
    for module, names in (
        ("tour.tour_command", "tour"),
        ("commands.install_commands", "install uninstall doctor"),
        ("commands.serve_command", "serve"),
        ("commands.status_command", "status"),
        ("commands.run_command", "run"),
        ("commands.check_command", "check"),
        ("commands.policy_commands", "rules init policy"),
        ("commands.run_commands", "runs show explain"),
        ("commands.watch_commands", "tail watch"),
        ("commands.decision_commands", "approvals approve deny halt resume"),
        ("commands.review_commands", "review"),
        ("commands.checkpoint_command", "checkpoint"),
        ("commands.edit_commands", "edit undo"),
        ("commands.budget_command", "budget"),
        ("commands.loop_commands", "loop"),
        ("commands.event_command", "event"),
        ("commands.note_command", "note"),
        ("commands.recommendation_command", "recommendations"),
        ("commands.audit_command", "audit"),
        ("commands.past_run_commands", "backtest replay"),
        ("commands.simulate_command", "simulate"),
        ("calibrate.calibrate_command", "calibrate"),
        ("commands.operator_commands", "setup operator"),
        ("commands.access_commands", "token login"),
        ("commands.ledger_commands", "verify ledger"),
        ("commands.mcp_command", "mcp"),
        ("commands.hook_command", "hook"),
        ("commands.completion_command", "completion"),
        ("commands.help_command", "help"),
    )
    for name in names.split()
}
_ABOUT: Final = """\
The control plane for AI agents that work unattended.

\b
  interlock tour                    see it at work
  interlock install claude-code     have an agent ask before it acts
  interlock check git push --force  ask about one command
  interlock audit                   see what your agents did so far
  interlock approvals               what waits for you
  interlock serve                   all of it in a browser
"""
_MORE: Final = "`interlock help COMMAND` says more about one, with examples."


class CommandGroup(Commands):
    """A group that loads a command when it is called for, and says errors as sentences."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click calls it so
        """Return the commands in their order."""
        return list(SUMMARIES)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Load a command by its name."""
        if cmd_name not in _HOMES:
            return None
        module = import_module(f"interlock.cli.{_HOMES[cmd_name]}")
        command = with_examples(cast("click.Command", getattr(module, f"{cmd_name}_command")))
        if ctx.resilient_parsing:
            # Somebody presses Tab.
            from interlock.cli.call.code_completion import with_codes  # noqa: PLC0415 - only then

            return with_codes(command, cmd_name)
        return command

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the options of all commands, and remember what was typed."""
        ctx.obj = list(args)
        return super().parse_args(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 - click calls it so
        """Write the commands in their groups, without loading them."""
        widest = max(map(len, SUMMARIES))
        for title, group in GROUPS.items():
            with formatter.section(title):
                formatter.write_dl([(f"{name:<{widest}}", text) for name, text in group.items()])

    def invoke(self, ctx: click.Context) -> object:
        """Run the command; whatever was raised on purpose is said here."""
        try:
            return super().invoke(ctx)
        except click.UsageError as error:
            # What cannot be read is not read as far as its options.
            if "--json" not in cast("list[str]", ctx.obj):
                raise
            _leave(ctx, ExitCode.MISUSED, error.format_message(), is_json=True)
        except PolicyError as error:
            count = len(error.complaints)
            heading = f"the policy does not load: {count} complaint{'' if count == 1 else 's'}"
            _leave(ctx, ExitCode.FAILED, heading, error.complaints)
        except InputError as error:
            _leave(ctx, ExitCode.MISUSED, str(error))
        except HaltedError as error:
            _leave(ctx, ExitCode.BLOCKED, str(error))
        except InterlockError as error:
            _leave(ctx, ExitCode.FAILED, str(error))
        except BrokenPipeError:
            raise
        except KeyboardInterrupt:
            _leave(ctx, ExitCode.INTERRUPTED, "interrupted")
        except OSError as error:
            place = f"`{error.filename}`: " if error.filename else ""
            _leave(ctx, ExitCode.FAILED, f"{place}{error.strerror or error}")


def _leave(
    ctx: click.Context,
    code: ExitCode,
    heading: str,
    details: Sequence[str] = (),
    *,
    is_json: bool = False,
) -> NoReturn:
    from interlock.cli.call.options import wants_json  # noqa: PLC0415 - only when something went wrong
    from interlock.cli.text.render import escape  # noqa: PLC0415 - the same
    from interlock.views.units import json_text  # noqa: PLC0415 - the same

    if is_json or wants_json():
        complaints = {"complaints": details} if details else {}
        click.echo(json_text({"error": heading, **complaints}), err=True)
    else:
        for line in (f"Error: {heading}", *[f"  - {detail}" for detail in details]):
            click.echo(escape(line), err=True)
    ctx.exit(code)


def _note_no_pager(ctx: click.Context, _: click.Parameter, value: object) -> None:
    ctx.meta[NO_PAGER] = value


_no_pager: Final = click.option(
    "--no-pager",
    is_flag=True,
    expose_value=False,
    callback=_note_no_pager,
    help="Show long lists without a pager.",
)
_version: Final = click.version_option(
    None, "-V", "--version", package_name="interlock", message="%(prog)s %(version)s"
)
cli: Final = _version(
    _no_pager(
        CommandGroup(
            "interlock",
            help=_ABOUT,
            epilog=_MORE,
            context_settings={"help_option_names": ["-h", "--help"]},
        )
    )
)
