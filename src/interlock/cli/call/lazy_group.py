"""The door of the command line: exit codes, late loading, and errors said as sentences, once."""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple, NoReturn, cast

import click

from interlock.errors import InputError, InterlockError, PolicyError

if TYPE_CHECKING:
    from interlock.model.verdict import Decision


class ExitCode(enum.IntEnum):
    """What the exit code of every command means."""

    ALLOWED = 0
    """Allow or warn; for commands that judge nothing, success."""
    FAILED = 1
    """The policy or the environment is at fault."""
    MISUSED = 2
    """The call is wrong, or its input cannot be read."""
    CONFIRM = 3
    """A person must agree first."""
    BLOCKED = 4
    """It must not happen."""


def exit_code_of(decision: Decision) -> ExitCode:
    """Return the exit code that tells a decision."""
    by_rank = (ExitCode.ALLOWED, ExitCode.ALLOWED, ExitCode.CONFIRM, ExitCode.BLOCKED)
    return by_rank[decision.rank]


class LazyCommand(NamedTuple):
    """Where a command is, and what it is for: the list of commands needs to load none of them."""

    home: str
    """Its module and its name in it, joined by a colon."""
    summary: str


class LazyGroup(click.Group):
    """A group that loads a command when it is called for, and says errors as sentences."""

    def __init__(self, *, name: str, help: str, commands: Mapping[str, LazyCommand]) -> None:  # noqa: A002 - click's own word
        super().__init__(
            name=name, help=help, context_settings={"help_option_names": ["-h", "--help"]}
        )
        self._lazy = commands

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click calls it so
        """Return the commands in the order in which a newcomer needs them."""
        return list(self._lazy)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - click calls it so
        """Load a command by its name."""
        found = self._lazy.get(cmd_name)
        if found is None:
            return None
        module, _, attribute = found.home.partition(":")
        return cast("click.Command", getattr(import_module(module), attribute))

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 - click calls it so
        """Write the list of commands, as click does, without loading them."""
        room = formatter.width - 6 - max(map(len, self._lazy))
        known = [click.Command(name, help=each.summary) for name, each in self._lazy.items()]
        rows = [(each.name or "", each.get_short_help_str(room)) for each in known]
        with formatter.section("Commands"):
            formatter.write_dl(rows)

    def invoke(self, ctx: click.Context) -> object:
        """Run the command; whatever was raised on purpose is said here."""
        try:
            return super().invoke(ctx)
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
    ctx: click.Context, code: ExitCode, heading: str, details: Sequence[str] = ()
) -> NoReturn:
    from interlock.cli.call.options import wants_json  # noqa: PLC0415 - only when something went wrong
    from interlock.cli.text.render import escape  # noqa: PLC0415 - the same
    from interlock.views.json_text import json_text  # noqa: PLC0415 - the same

    if wants_json():
        complaints = {"complaints": details} if details else {}
        click.echo(json_text({"error": heading, **complaints}), err=True)
    else:
        for line in (f"Error: {heading}", *[f"  - {detail}" for detail in details]):
            click.echo(escape(line), err=True)
    ctx.exit(code)
