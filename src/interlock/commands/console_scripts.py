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
_ASKED_BY: Final = frozenset(
    "sql query execute --sql --query --statement --execute -q -e -c".split()
)
"""Words in front of what a database is asked, in programs that nobody knows."""
_ASKED: Final = ("sql", "db", "db2")
"""How the names of such programs end."""
_CONSOLES: Final = ("shell", "ctl", "admin")
_STARTS_CONSOLE: Final = frozenset(("shell", "console", "repl"))


def may_be_asked(command: Command) -> bool:
    """Whether a program of which nothing is known may take SQL: cheap, and rarely true."""
    if command.program.endswith(_ASKED):
        return True
    asks = not _ASKED_BY.isdisjoint([word.text for word in command.argv])
    asks = asks or not _ASKED_BY.isdisjoint(command.invocation.values)
    return asks and "grep" not in command.program


def asked_in(command: Command) -> list[str]:
    """Return the texts that may be queries: operands, values of such options, what flows in."""
    texts: list[str] = []
    for before, word in pairwise(command.argv):
        option, equals, value = word.text.partition("=")
        if option[:2] == "--" and equals:
            texts += [value] if option in _ASKED_BY else []
        elif before.text[:2] != "--" or before.text in _ASKED_BY or "=" in before.text:
            texts.append(word.text)
    if command.program.endswith("sql"):
        texts.append(command.frame.stdin.text or "")
    return texts


def is_console(command: Command) -> bool:
    """Whether a program of which nothing is known takes what flows in line by line."""
    operands = [word.text for word in command.invocation.operands[:1]]
    return command.program.endswith(_CONSOLES) or not _STARTS_CONSOLE.isdisjoint(operands)


def follow_console(simulation: Simulation, command: Command, scope: Scope) -> None:
    """Note each line that the program is given, as if it were a call of it; follow its escapes."""
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
        text = (stream.text or "").replace("\\n", "\n")
        yield from re.split(_DIVIDER, text)[:_MOST_LINES]
