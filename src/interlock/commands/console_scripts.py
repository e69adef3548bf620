"""Programs with a prompt that are given what to type: sftp, diskpart, telnet and the like."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Final

from interlock.commands.shell.command import Command
from interlock.commands.shell.scope import Scope
from interlock.commands.simulation import Simulation

_MOST_LINES: Final = 64
_ESCAPE: Final = r"\s{0,9}(?:~?!|shell\s)\s{0,9}(?=\S)"
"""What sends the rest of a line to a shell on this machine."""
_FILES: Final = ("-b", "-f", "-x", "--command")
_LINES: Final = ("-c", "-e", "-ex", "--ex")
_DIVIDER: Final = r"[\n;]|&&"


def follow_console(simulation: Simulation, command: Command, scope: Scope) -> None:
    """Note each line that the program is given, as if it were a call of it; follow its escapes."""
    if command.invocation.has(*simulation.programs.of(command.program).rehearses):
        return
    for line in follow_escapes(simulation, command, scope):
        simulation.note(command.program, line.split(), command)


def follow_escapes(simulation: Simulation, command: Command, scope: Scope) -> list[str]:
    """Follow the lines that leave for a shell; return the others."""
    others: list[str] = []
    for line in _lines(simulation, command, scope):
        found = re.match(_ESCAPE, line)
        if found is not None:
            simulation.run_line(line[found.end() :], command, scope)
        elif line.strip():
            others.append(line)
    return others


def _lines(simulation: Simulation, command: Command, scope: Scope) -> Iterator[str]:
    invocation = command.invocation
    for word in invocation.all_values(*_LINES):
        yield from re.split(_DIVIDER, word.text)[:_MOST_LINES]
    # Windows' own take their file behind a word: `diskpart /s file`.
    behind = [word for before, word in pairwise(command.argv) if before.text.lower() == "/s"]
    named = [*invocation.all_values(*_FILES), *behind]
    streams = [simulation.script(word, command, scope) for word in named] or [command.frame.stdin]
    for stream in streams:
        yield from (stream.text or "").replace("\\n", "\n").splitlines()[:_MOST_LINES]
