"""The process: how it starts, its quickest answer, and how it ends."""

from __future__ import annotations

import atexit
import gc
import io
import os
import sys
from collections.abc import Sequence
from typing import Final, cast

from interlock.cli.call.exit_code import ExitCode
from interlock.errors import InterlockError

_MANY_OBJECTS: Final = 200_000


def main() -> None:
    """Run the command line."""
    # Most calls are over before there is garbage, and what is left at the end goes with them.
    gc.set_threshold(_MANY_OBJECTS)
    atexit.register(gc.freeze)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # A terminal that cannot show a character gets its number, not a crash.
            stream.reconfigure(errors="backslashreplace")
    code = _answered_at_once(sys.argv[1:])
    if code is not None:
        # Everything is written and nothing is open: the rest of the memory goes with the process.
        os._exit(code)
    from interlock.cli.command_group import cli  # noqa: PLC0415 - not for the answer at once

    cli(prog_name="interlock")


def _answered_at_once(arguments: Sequence[str]) -> ExitCode | None:
    """Answer `check [command] [--json] LINE` for a program, which asks it before every command.

    Reading options costs more than such an answer. Every other call, and whatever goes wrong,
    is left to the command itself.
    """
    match arguments:
        case ["check", "command", line]:
            is_json = False
        case ["check", "command", "--json", line]:
            is_json = True
        case ["check", line] if " " in line:
            is_json = False
        case ["check", "--json", line] if " " in line:
            is_json = True
        case _:
            return None
    if line.startswith(("-", "{")) or not _is_plain(sys.stdout):
        return None
    modules = cast("dict[str, object]", sys.modules)
    # msgspec does as well without it, and to load it takes a tenth of the time for an answer.
    modules.setdefault("typing_extensions", None)
    from interlock.cli.commands.quick_check import quick_check  # noqa: PLC0415 - only for this answer

    if modules["typing_extensions"] is None:
        del modules["typing_extensions"]
    try:
        return quick_check(line, is_json=is_json)
    except (InterlockError, OSError):
        return None


def _is_plain(stream: object) -> bool:
    """Whether a program reads what is written, without a character that it could not."""
    return isinstance(stream, io.TextIOWrapper) and (
        stream.encoding.lower() == "utf-8" and not stream.isatty()
    )
