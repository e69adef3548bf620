"""What both ways to run a command need, as a run or within one: its program, its surroundings."""

from __future__ import annotations

import itertools
import os
import shutil
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import FrameType
from typing import Any, Final, NoReturn, TypeVar

import click
from msgspec.structs import replace

from interlock import settings
from interlock.cli.call.duration import Duration
from interlock.cli.call.options import chosen_place, wants_json
from interlock.cli.text.render import escape, plain_text, text_width
from interlock.cli.text.verdict_page import verdict_lines
from interlock.errors import InputError
from interlock.model.answers import Answer
from interlock.model.budget import Budget, Dimension
from interlock.model.run import RunState
from interlock.model.short_code import code_of
from interlock.views.run_view import would_have_text
from interlock.views.units import json_text

_STREAMS: Final = 3
_BY_SIGNAL: Final = 128
_CANNOT_RUN: Final = 126
_NO_PROGRAM: Final = 127
_LONGEST_LINE: Final = 256
_SHELLS: Final = frozenset(("sh", "bash", "dash", "zsh", "ksh", "ash", "fish"))
_CLIENTS: Final = frozenset(("claude", "codex", "gemini", "copilot", "opencode"))
"""Their own hooks have each of their calls judged."""
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


def answer_teller(run_id: str) -> Callable[[str, Answer], None] | None:
    """Return what tells a person why a command may not run; None where a program is told."""
    if wants_json():
        return None
    say = run_speaker(run_id)

    def tell(text: str, answer: Answer) -> None:
        say(text)
        verdict = replace(answer.verdict, decision=answer.decision)
        for line in verdict_lines(verdict, width=text_width()):
            click.echo(plain_text(line), err=True)

    return tell


def tell_of_script(command: Sequence[str], say: Callable[[str], None]) -> None:
    """Say that a shell script is judged as a whole, and what judges each of its lines."""
    script = _script_of(command)
    if script is not None:
        say(
            f"the lines inside `{script}` are not judged: `interlock run start` and"
            " `interlock run exec -- LINE` in the script govern them one by one"
        )


def tell_of_observed(state: RunState, say: Callable[[str], None]) -> None:
    """Say what would have been done, where the policy only observes."""
    observed = would_have_text(state.would_have)
    if observed:
        say(f"observe mode stopped nothing of this: {observed}")


def _script_of(command: Sequence[str]) -> str | None:
    """Return the shell script that a command is; None where it is none."""
    program, *words = command
    if Path(program).name in _SHELLS:
        operands = itertools.dropwhile(lambda word: word[:1] in "-+" and word != "-c", words)
        first = next(operands, "-c")
        return first if Path(first).is_file() else None
    if Path(program).name in _CLIENTS:
        return None
    try:
        with Path(shutil.which(program) or program).open("rb") as file:
            line = file.readline(_LONGEST_LINE)
    except OSError:
        return None
    words = line.decode("utf-8", "replace").split() if line.startswith(b"#!") else []
    return program if any(Path(word.removeprefix("#!")).name in _SHELLS for word in words) else None


def run_speaker(run_id: str) -> Callable[[str], None]:
    """Return what tells the person at the terminal, or the program, what happens."""
    if wants_json():
        return lambda text: click.echo(json_text({"run": run_id, "said": text}), err=True)
    return lambda text: click.echo(escape(f"interlock run {code_of(run_id)}: {text}"), err=True)
