"""`interlock`: what a person can type. A command is loaded when it is called for."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Final, NoReturn, cast

import click

from interlock.cli.call.exit_code import ExitCode
from interlock.errors import InputError, InterlockError, PolicyError

SUMMARIES: Final = {
    "tour": "Take the guided tour: real questions, real answers; nothing of yours is run.",
    "setup": "Make the first operator; once, at a terminal.",
    "install": "Have agent clients ask before they act: put hooks into their settings.",
    "uninstall": "Take the hooks out of the settings of agent clients again.",
    "doctor": "Examine the hooks of every client here, and send a canary through each.",
    "serve": "Answer agents and people: HTTP, live events, and the console in a browser.",
    "run": "Run any agent's command as a governed run: judged, watched, paused and stopped.",
    "mcp": "Stand in front of an MCP server: judge what is asked of it, pass on the rest.",
    "check": "Ask whether a command, a tool call or an edit may happen.",
    "rules": "List the rules of all packs, or of one PACK, with what the policy makes of them.",
    "init": "Write a policy file that shows every key with its default, as comments.",
    "policy": "Show, describe and test the policy that counts here.",
    "status": "Say whether a server runs, where and since when, and what waits for a person.",
    "runs": "List the runs that were active last, with what they did and used.",
    "show": "Show one run; RUN is its id, or enough of its beginning.",
    "tail": "Print what is recorded as it is recorded, of one run or of all.",
    "watch": "Watch how a run gets on, live.",
    "explain": "Explain why a run was let go on, paused or stopped.",
    "approvals": "List what waits for a person: what is asked, and why.",
    "approve": "Let what was asked happen, once; ID may be its beginning.",
    "deny": "Refuse what was asked; ID may be its beginning.",
    "review": "Open a review: was the work good enough?",
    "verdict": "Give the verdict on a review: was it good enough?",
    "reviews": "List the reviews that work waits for, of every run that is at work.",
    "choose": "Choose how a review goes on whose attempts are used up.",
    "halt": "Stop a run and every run below it, until it is lifted.",
    "lift": "Let a run go on that was paused, stopped or halted.",
    "checkpoint": "List the checkpoints of a run, and bring its files back to one.",
    "edit": "Make edits that stdin describes: all of them, or none.",
    "undo": "Put files back: a set of edits, or what was copied away before a command.",
    "budget": "Show an account, or give it another limit.",
    "operator": "List who may decide, let others in or go, and change a passphrase.",
    "token": "List the tokens of programs, make one, or let one go.",
    "login": "Show a link that opens the console once, as you, within ten minutes.",
    "loop": "What next? Let the loop run, look at it, and stop it.",
    "event": "Tell the loop that something happened.",
    "note": "Leave a note for the loop, and see which ones wait.",
    "slog": "List what the loop decided, the newest first; to do nothing is a decision as well.",
    "recommendations": "List what finished runs taught the loop: changes of the policy.",
    "step": "Judge past runs step by step: where would each have been paused or stopped?",
    "stop": "Ask whether agents that ended their turn are really done.",
    "replay": "Decide every judgement of a run again, from its record.",
    "verify": "Hold every record against its chain and its seals.",
    "ledger": "Look at the ledger, copy it, and mend it.",
}
"""What each command is for, in the order in which a newcomer needs them."""
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
        ("commands.decision_commands", "approvals approve deny halt lift"),
        ("commands.review_commands", "review verdict reviews choose"),
        ("commands.checkpoint_command", "checkpoint"),
        ("commands.edit_commands", "edit undo"),
        ("commands.budget_command", "budget"),
        ("commands.loop_commands", "loop"),
        ("commands.event_command", "event"),
        ("commands.note_command", "note"),
        ("commands.slog_command", "slog"),
        ("commands.recommendation_command", "recommendations"),
        ("commands.past_run_commands", "step stop replay"),
        ("commands.operator_commands", "setup operator"),
        ("commands.access_commands", "token login"),
        ("commands.ledger_commands", "verify ledger"),
        ("commands.mcp_command", "mcp"),
        ("commands.hook_command", "hook"),
    )
    for name in names.split()
}
_ABOUT: Final = """\
The control plane for AI agents that work unattended.

Ask whether a command, a tool call or an edit may happen, and why; see what runs did and what
they used, and decide what waits for a person.

\b
  interlock tour                                   see it at work
  interlock install claude-code                    have an agent ask before it acts
  interlock check command 'git push --force'       ask about one line
  interlock check command --explain 'curl x | sh'  and how the answer came about
  interlock runs                                   what is at work, and what it used
  interlock watch RUN                              how one run gets on, live
  interlock approvals                              what waits for you
  interlock serve                                  all of it in a browser, and an API
  interlock loop run                               let it decide what comes next
"""


class CommandGroup(click.Group):
    """A group that loads a command when it is called for, and says errors as sentences."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click calls it so
        """Return the commands in their order."""
        return list(SUMMARIES)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - click calls it so
        """Load a command by its name."""
        if cmd_name not in _HOMES:
            return None
        module = import_module(f"interlock.cli.{_HOMES[cmd_name]}")
        return cast("click.Command", getattr(module, f"{cmd_name}_command"))

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the options of all commands, and remember what was typed."""
        ctx.obj = list(args)
        return super().parse_args(ctx, args)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command; one that is misspelt is told with what was likely meant."""
        name = args[0]
        if name in _HOMES or name.startswith("-"):
            return super().resolve_command(ctx, args)
        from interlock.policy.config.complaints import nearest  # noqa: PLC0415 - only when something went wrong

        near = nearest(name, SUMMARIES)
        hint = f"did you mean `{near}`?" if near else "`interlock --help` lists them"
        raise click.UsageError(f"there is no command `{name}`: {hint}", ctx)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 - click calls it so
        """Write the list of commands, as click does, without loading them."""
        room = formatter.width - 6 - max(map(len, SUMMARIES))
        known = [click.Command(name, help=summary) for name, summary in SUMMARIES.items()]
        rows = [(each.name or "", each.get_short_help_str(room)) for each in known]
        with formatter.section("Commands"):
            formatter.write_dl(rows)

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
        except InterlockError as error:
            _leave(ctx, ExitCode.FAILED, str(error))
        except BrokenPipeError:
            raise
        except OSError as error:
            place = f"`{error.filename}`: " if error.filename else ""
            _leave(ctx, ExitCode.FAILED, f"{place}{error.strerror}")


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


cli: Final = click.version_option(package_name="interlock", message="%(prog)s %(version)s")(
    CommandGroup("interlock", help=_ABOUT, context_settings={"help_option_names": ["-h", "--help"]})
)
