"""Commands beside `env` that print all variables of a process, with what they hold."""

from __future__ import annotations

import re
from typing import Final

from interlock.commands.shell.command import Command
from interlock.commands.shell.provenance import ENVIRON, PROCESS, Stream
from interlock.commands.shell.scope import Scope
from interlock.commands.simulation import Simulation

_LETTERS: Final = r"[aAcCdefghHjlLmnrsSTuvVwxXZ]+"
"""Options of `ps` without a dash; those that take a word end them."""
_FILTERED: Final = (
    r"(?<![.\w$\"'])(?:\$ENV|env)\b(?!\s{0,9}[.\[:\"'?]"
    r"|\s{0,9}\|\s{0,9}(?:keys|length|has|\.|to_entries\s{0,9}\|\s{0,9}(?:length|map\(\.key\))))"
)
_SHOWN: Final = re.compile(
    r"\s{0,9}process\.env[\s;]{0,9}\Z"
    # Python: all of it in one line, or the body of a loop.
    r"|print\([^\n]{0,200}\bin\s[^\n]{0,40}os\.environ\.items\(\)"
    r"|\bin\s[^\n]{0,40}os\.environ\.items\(\)\)?\s{0,9}:\s{0,99}print\("
    r"|\bin\s{1,9}(?:Object\.keys\()?process\.env\b[^\n]{0,200}process\.env\[\w"
    r"|\bENV\.(?:sort\.)?(?:each|each_pair|map)\b"
    r"|\$ENV\{\s{0,9}\$\w[^\n]{0,200}%ENV|%ENV[^\n]{0,200}\$ENV\{\s{0,9}\$\w|Dumper\W{0,9}%ENV"
    r"|\bforeach\s{0,9}\(\s{0,9}(?:getenv\(\)|\$_ENV|\$_SERVER)\s{1,9}as\s{1,9}\$\w{1,40}\s{0,9}=>"
    r"|\bin\s{1,9}ENVIRON\b[^\n]{0,200}ENVIRON\[\s{0,9}[a-zA-Z_]"
)
_CHOSEN: Final = re.compile(
    r"\b(?:if|unless|grep|filter|select|startswith|startsWith|start_with|match|test)\b|[=!]?~|=="
)
"""How code says which of them it means."""


def follow_processes(simulation: Simulation, command: Command, _scope: Scope) -> Stream | None:
    """`ps eww` prints the variables of every process behind its line."""
    given = command.invocation
    words = (word.text for word in given.operands)
    letters = next((word for word in words if re.fullmatch(_LETTERS, word)), "")
    if "e" not in letters and not given.has("-E"):
        return None
    simulation.note("env", [], command)
    return Stream(PROCESS | ENVIRON)


def follow_filter(simulation: Simulation, command: Command, _scope: Scope) -> Stream | None:
    """`jq -n env` prints its own variables; `env.HOME` is one of them."""
    for word in command.invocation.operands[:1]:
        if ("env" in word.text or "ENV" in word.text) and re.search(_FILTERED, word.text):
            simulation.note("env", [], command)
            return Stream(ENVIRON)
    return None


def shows_variables(code: str) -> bool:
    """Whether code prints every variable, whatever its language."""
    if "env" not in code and "ENV" not in code:
        return False
    return _SHOWN.search(code) is not None and _CHOSEN.search(code) is None
