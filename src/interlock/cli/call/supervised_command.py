"""What both ways to run a command need, as a run or within one: its program, its surroundings."""

from __future__ import annotations

import os
import shutil
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import FrameType
from typing import Any, Final, NoReturn, TypeVar

import click

from interlock import settings
from interlock.cli.call.duration import Duration
from interlock.cli.call.options import chosen_place, wants_json
from interlock.cli.text.render import escape
from interlock.errors import InputError
from interlock.model.budget import Budget, Dimension
from interlock.model.short_code import code_of
from interlock.views.units import json_text

_STREAMS: Final = 3
_BY_SIGNAL: Final = 128
_CANNOT_RUN: Final = 126
_NO_PROGRAM: Final = 127
_Decorated = TypeVar("_Decorated", bound=Callable[..., object])
_RUN_OPTIONS: Final = (
    click.option("--project", metavar="NAME", default="default", help="The project it belongs to."),
    click.option(
        "--budget",
        "budgets",
        metavar="KEY=VALUE",
        multiple=True,
        help="What it may use, such as `tokens=200000` or `cost-usd=5`; may be given again.",
    ),
    click.option(
        "--wall-time",
        metavar="DURATION",
        type=Duration(least=1),
        help="How long it may take, such as 90s, 15m or 1h.",
    ),
)


def run_options(usual_agent: str) -> Callable[[_Decorated], _Decorated]:
    """Add what a run is begun with, besides its task: whose it is, and what it may use."""
    whose = f"Whose run it is; without it, {usual_agent}."

    def added(command: _Decorated) -> _Decorated:
        for option in reversed(_RUN_OPTIONS):
            command = option(command)
        return click.option("--agent", metavar="NAME", help=whose)(command)

    return added


def be_ready() -> None:
    """Leave in good order when told to, and let nothing else have a standard stream's number."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, _leave)
    for number in range(_STREAMS):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)


def _leave(number: int, frame: FrameType | None) -> NoReturn:  # noqa: ARG001 - the shape of a handler
    """Close what is open, where nothing runs yet or any more."""
    sys.exit(_BY_SIGNAL + number)


def require_program(program: str, hint: str = "see `PATH`, or name its file") -> None:
    """Leave as a shell does where there is no such program, or it cannot be run."""
    if shutil.which(program) is not None:
        return
    if "/" in program and Path(program).exists():
        code, said = _CANNOT_RUN, f"`{program}` cannot be run: is it a file, and executable?"
    else:
        code, said = _NO_PROGRAM, f"there is no program `{program}` to run: {hint}"
    click.echo(json_text({"error": said}) if wants_json() else escape(f"Error: {said}"), err=True)
    click.get_current_context().exit(code)


def absolute_place() -> str:
    """Return the ledger that was chosen, whatever folder it is looked for from."""
    place = chosen_place()
    return place if "://" in place else str(Path(place).expanduser().absolute())


def command_environment() -> Mapping[str, str]:
    """Return what the command knows: of the ledger that was chosen as well."""
    return {**settings.environment(), "INTERLOCK_LEDGER": absolute_place()}


def run_budget(given: Sequence[str], wall_time: int | None) -> Budget | None:
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


def run_speaker(run_id: str) -> Callable[[str], None]:
    """Return what tells the person at the terminal, or the program, what happens."""
    if wants_json():
        return lambda text: click.echo(json_text({"run": run_id, "said": text}), err=True)
    return lambda text: click.echo(escape(f"interlock run {code_of(run_id)}: {text}"), err=True)
