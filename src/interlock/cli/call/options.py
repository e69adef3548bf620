"""What a call says besides its command: `--json`, and which ledger and which policy it means."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final, TypeVar

import click
import msgspec

from interlock import settings
from interlock.cli.call.command_names import NO_PAGER
from interlock.cli.call.exit_code import ExitCode
from interlock.cli.text.machine_text import machine_text
from interlock.cli.text.render import Line, coloured_text, print_lines
from interlock.errors import InputError
from interlock.model.rows import RecordRow
from interlock.policy.actions.compiled_policy import CompiledPolicy
from interlock.service.policies.policy_files import load_policy
from interlock.views.units import json_text

_JSON: Final = "interlock.json"
_LEDGER: Final = "interlock.ledger"
_USER_FILE: Final = "interlock.policy"
_NO_PROJECT: Final = "interlock.no-project"
_OPERATOR: Final = "interlock.operator"
_MEMORY: Final = ":memory:"
_Decorated = TypeVar("_Decorated", bound=Callable[..., object])


def remembered(key: str) -> Callable[[click.Context, click.Parameter, object], None]:
    """Note an option for the whole call, so that it may stand before or behind a subcommand."""

    def remember(ctx: click.Context, _: click.Parameter, value: object) -> None:
        if value:
            ctx.meta[key] = value

    return remember


json_option: Final = click.option(
    "--json",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=remembered(_JSON),
    help="Print JSON.",
)
"""`show` obeys it, and errors are then said as JSON as well."""
ledger_option: Final = click.option(
    "--ledger",
    metavar="PATH_OR_URL",
    expose_value=False,
    callback=remembered(_LEDGER),
    help="The ledger: a file, or the URL of a Postgres.",
)
"""Whatever opens a ledger obeys it."""
_policy_option: Final = click.option(
    "--policy",
    metavar="FILE",
    type=click.Path(path_type=Path),
    expose_value=False,
    callback=remembered(_USER_FILE),
    help="Use this file as the user's policy.",
)
_no_project_option: Final = click.option(
    "--no-project",
    is_flag=True,
    expose_value=False,
    callback=remembered(_NO_PROJECT),
    help="Leave the project's policy aside.",
)
_as_option: Final = click.option(
    "--as",
    metavar="NAME",
    expose_value=False,
    callback=remembered(_OPERATOR),
    help="Which operator you are; not needed where there is one only, or one of your name.",
)
note_option: Final = click.option(
    "--reason", "note", metavar="TEXT", help="Why; it goes on record with it."
)
reason_option: Final = click.option(
    "--reason", metavar="TEXT", required=True, help="Why; it goes on record."
)

yes_option: Final = click.option("--yes", is_flag=True, help="Do not ask first.")
processes_option: Final = click.option(
    "--processes",
    metavar="N",
    type=click.IntRange(1, 64),
    default=min(os.cpu_count() or 1, 8),
    show_default="one for each processor, up to 8",
    help="How many work at once.",
)


def policy_options(command: _Decorated) -> _Decorated:
    """Add `--policy` and `--no-project`; `chosen_policy` obeys them."""
    return _policy_option(_no_project_option(command))


def ledger_call(
    name: str,
    *,
    help: str | None = None,  # noqa: A002 - click's own word
    group: click.Group | None = None,
    decides: bool = False,
) -> Callable[[Callable[..., None]], click.Command]:
    """Make a command about a ledger: `--json` and `--ledger` stand behind its own options.

    One that `decides` has `--as` as well: who decides types a passphrase.
    """

    def made(callback: Callable[..., None]) -> click.Command:
        command = click.command(name, help=help)(callback)
        if group is not None:
            group.add_command(command)
        if decides:
            command = _as_option(command)
        return ledger_option(json_option(command))

    return made


def wants_json() -> bool:
    """Whether the call asks for JSON."""
    return _is_chosen(_JSON)


def show(value: object, lines: Iterable[Line], *, as_written: bool = False) -> None:
    """Print what a command found: the value for a program, or its lines for a person.

    What is longer than a terminal is high is shown by a pager. What is sealed is printed
    `as_written`, to be handed over again.
    """
    if wants_json():
        click.echo(json_text(value) if as_written else machine_text(value))
    elif is_paged():
        show_paged(coloured_text(lines))
    else:
        print_lines(lines)


def is_paged() -> bool:
    """Whether a pager may be used: at a terminal, unless a person wants none."""
    wanted = settings.environment().get("PAGER") != "" and not _is_chosen(NO_PAGER)
    return wanted and sys.stdin.isatty() and sys.stdout.isatty()


def show_paged(text: str) -> None:
    """Print a text to a terminal, page by page where it is longer than that is high."""
    height = os.get_terminal_size(sys.stdout.fileno()).lines
    if 0 < height <= text.count("\n"):
        # Colours are for a pager that is known to show them: click asks `less` for it.
        click.echo_via_pager(text)
    else:
        click.echo(text, nl=False, color=True)


def _is_chosen(key: str) -> bool:
    return bool(click.get_current_context().meta.get(key))


def print_json(value: object) -> None:
    """Print a value as one line of JSON, in the convention of all commands."""
    click.echo(machine_text(value))


def end_stream(bad: int) -> None:
    """Say how many lines of a stream could not be read, and leave with the exit code for that."""
    if bad:
        click.echo(f"{bad} line{'' if bad == 1 else 's'} could not be read", err=True)
        click.get_current_context().exit(ExitCode.MISUSED)


def print_record(row: RecordRow) -> None:
    """Print a record as it was written, with its hash."""
    click.echo(json_text({"hash": row.hash, "record": msgspec.Raw(row.body)}))


def chosen_place() -> str:
    """Return the path or URL of the ledger that the call or the environment names."""
    place: str = (
        click.get_current_context().meta.get(_LEDGER) or settings.current_ledger_places().ledger
    )
    if place == _MEMORY:
        raise InputError(
            f"`{_MEMORY}` ends with the program that opened it: name a file or a URL with --ledger"
        )
    return place


def chosen_operator() -> str | None:
    """Return the operator whom the call names, if it names one."""
    return click.get_current_context().meta.get(_OPERATOR)


def chosen_user_policy() -> CompiledPolicy:
    """Load the user's policy that counts for the running command, without any project's."""
    chosen = click.get_current_context().meta
    return load_policy(user=chosen.get(_USER_FILE) or settings.current_places().user, project=None)


def is_policy_found() -> bool:
    """Whether the policy is the one of this folder and user, not one that the call names."""
    chosen = click.get_current_context().meta
    return not chosen.get(_USER_FILE) and not chosen.get(_NO_PROJECT)


def chosen_policy() -> CompiledPolicy:
    """Load the policy that counts for the running command."""
    return policy_of_user(named_policy())


def named_policy() -> Path | None:
    """Return the file that the call names as the user's policy, if it names one."""
    return click.get_current_context().meta.get(_USER_FILE)


def policy_of_user(file: Path | None) -> CompiledPolicy:
    """Load the policy that would count if the user's were in this file; None is where it is."""
    places = settings.current_places()
    leaves_project = click.get_current_context().meta.get(_NO_PROJECT)
    return load_policy(user=file or places.user, project=None if leaves_project else places.project)


def is_ledger_named() -> bool:
    """Whether the call names a ledger."""
    return _is_chosen(_LEDGER)
