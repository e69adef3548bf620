"""The door of the command line: exit codes, and errors told as sentences, once."""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Final, NoReturn, TypeVar, cast

import click

from interlock.errors import InputError, InterlockError, PolicyError

if TYPE_CHECKING:
    from interlock.model.verdict import Decision

_JSON_WANTED: Final = "interlock.json"
_Decorated = TypeVar("_Decorated", bound=Callable[..., object])


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


class LazyGroup(click.Group):
    """A group that loads a command when it is called for, and tells errors as sentences."""

    def __init__(self, *, name: str, help: str, homes: Mapping[str, str]) -> None:  # noqa: A002 - click's own word
        super().__init__(
            name=name, help=help, context_settings={"help_option_names": ["-h", "--help"]}
        )
        self._homes = homes

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click calls it so
        """Return the commands in the order in which a newcomer needs them."""
        return list(self._homes)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - click calls it so
        """Load a command by its name."""
        home = self._homes.get(cmd_name)
        if home is None:
            return None
        module, _, attribute = home.partition(":")
        return cast("click.Command", getattr(import_module(module), attribute))

    def invoke(self, ctx: click.Context) -> object:
        """Run the command; whatever was raised on purpose is told here."""
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


def json_option(command: _Decorated) -> _Decorated:
    """Add `--json`; errors are then told as JSON as well."""

    def remember(ctx: click.Context, _: click.Parameter, value: bool) -> bool:
        ctx.meta[_JSON_WANTED] = value
        return value

    option = click.option(
        "--json", "as_json", is_flag=True, is_eager=True, callback=remember, help="Print JSON."
    )
    return option(command)


def _leave(
    ctx: click.Context, code: ExitCode, heading: str, details: Sequence[str] = ()
) -> NoReturn:
    from interlock.cli.text.escape import escape, json_text  # noqa: PLC0415 - only when something went wrong

    if ctx.meta.get(_JSON_WANTED):
        click.echo(
            json_text({"error": heading, **({"complaints": details} if details else {})}), err=True
        )
    else:
        for line in (f"Error: {heading}", *[f"  - {detail}" for detail in details]):
            click.echo(escape(line), err=True)
    ctx.exit(code)
