"""Does a single command only read? Does it talk to other machines?"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from interlock.commands.programs.file_effects import EXEC_FLAGS
from interlock.commands.programs.network_effects import is_remote
from interlock.commands.programs.program_tables import OnlyReads, Programs
from interlock.commands.shell.command import Command, Invocation

_VERBS_UNLESS: Final = frozenset("--output --ext-diff -O --open-files-in-pager".split())
"""Options with which even a verb that reads writes a file or runs a program."""
_SETTINGS_IN_FRONT: Final = frozenset("-c --config-env --exec-path".split())
"""Options with values in front of a verb that may name a program to be run."""
_LISTING_PICKS: Final = frozenset(
    "-l --list --get --get-all --get-regexp --contains --no-contains --merged --no-merged"
    " --points-at".split()
)
"""Options with which operands pick from a list."""
_TELLING: Final = frozenset(("--version", "--help"))
"""Where this is the only word behind a program, it tells about itself."""
_SYSTEM_FOLDERS: Final = ("/bin/", "/usr/bin/", "/usr/local/bin/", "/opt/homebrew/bin/")
"""A program that is called by its path is known only here: `./test` may be anything."""
_HARMLESS_VARIABLES: Final = frozenset(
    "LANG LC_ALL LC_COLLATE LC_CTYPE LANGUAGE TZ TERM COLUMNS LINES NO_COLOR GREP_COLORS".split()
)
"""Other variables in front of a program may name a program themselves: `PAGER`, `PATH`."""
SINKS: Final = frozenset(("/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty", "$null", "NUL"))
"""What is written there is not stored."""
_ADDRESS: Final = r"(?:[0-9]+|\$|/(?:\\.|[^/\\])*/)"
_ADDRESSES: Final = rf"(?:{_ADDRESS}(?:,[+~]?{_ADDRESS})?)?!?"
_SED_PICKS: Final = rf"{_ADDRESSES}[pdqQ=](?:; ?{_ADDRESSES}[pdqQ=])*;?"
_SED_REPLACES: Final = (
    rf"{_ADDRESSES}s([/|,#@])(?:\\.|(?!\1)[^\\])*\1(?:\\.|(?!\1)[^\\])*\1[gpI0-9]*"
)
_AWK_WRITES: Final = r"[>|@]|system|getline"


def reaches_out(command: Command, programs: Programs) -> bool:
    """Whether a command talks to other machines."""
    reach = programs.of(command.program).reaches_out
    if reach is None:
        return False
    if reach.remote_operands:
        return any(is_remote(word.text) for word in command.invocation.operands)
    return reach.always or _has_verb(command, reach.verbs)


def only_reads(command: Command, following: Command | None, programs: Programs) -> bool:
    """Whether a command leaves everything as it is; the one `following` may stand inside it."""
    if not is_what_it_says(command):
        return False
    known = programs.of(command.program)
    through = known.transparent
    runs_it = runs(command, following)
    if runs_it and through is not None and not command.invocation.has(*through.unless):
        return True
    if EXEC_FLAGS & command.invocation.flags and not runs_it:
        return False
    tells_of_itself = len(command.argv) == 2 and command.argv[1].text in _TELLING
    if tells_of_itself or _lists(command, programs):
        return True
    return known.only_reads is not None and _may_only_read(command, known.only_reads)


def _may_only_read(command: Command, reads: OnlyReads) -> bool:
    invocation = command.invocation
    return (
        reads.always
        or (reads.unless is not None and not invocation.has(*reads.unless))
        or invocation.has(*reads.with_options)
        or (reads.operands is not None and len(invocation.operands) <= reads.operands)
        or _reads_by_verb(command, reads.verbs)
        or (bool(reads.script) and SCRIPT_WAYS[reads.script](command))
    )


def is_what_it_says(command: Command) -> bool:
    """Whether the program is the system's, with nothing in front that may change what it does."""
    path = command.argv[0].text
    if "/" in path and not path.startswith(_SYSTEM_FOLDERS):
        return False
    return all(name in _HARMLESS_VARIABLES for name, _ in command.assignments)


def runs(command: Command, following: Command | None) -> bool:
    """Whether the command that follows is the one inside, so that it is judged by itself."""
    if following is None:
        return False
    own, inner = command.frame.via, following.frame.via
    # A program that is known only at run time has no name.
    inside = [name.partition(" ")[0] for name in inner[len(own) : len(own) + 1]]
    return inner[: len(own)] == own and inside == [command.program]


def _has_verb(command: Command, verbs: frozenset[str]) -> bool:
    operands = [word.text for word in command.invocation.operands[:2]]
    return bool(operands) and (operands[0] in verbs or " ".join(operands) in verbs)


def _reads_by_verb(command: Command, verbs: frozenset[str]) -> bool:
    return (
        _has_verb(command, verbs)
        and not command.invocation.has(*_VERBS_UNLESS)
        and _SETTINGS_IN_FRONT.isdisjoint(command.invocation.values)
    )


def _lists(command: Command, programs: Programs) -> bool:
    invocation = command.invocation
    verb, *behind = [word.text for word in invocation.operands] or [""]
    reads = programs.of(f"{command.program} {verb}").only_reads
    if reads is None or reads.lists is None or not invocation.flags <= reads.lists:
        return False
    safe = _SETTINGS_IN_FRONT.isdisjoint(invocation.values)
    return safe and (not behind or not _LISTING_PICKS.isdisjoint(invocation.flags))


def _sed_prints(command: Command) -> bool:
    invocation = command.invocation
    return not invocation.has("-i", "--in-place") and sed_is_plain(invocation)


def sed_is_plain(invocation: Invocation) -> bool:
    """Whether every script of `sed` only picks lines, or replaces text on its way through."""
    if invocation.has("-f", "--file"):
        return False
    scripts = invocation.all_values("-e", "--expression") or invocation.operands[:1]
    return bool(scripts) and all(
        re.fullmatch(_SED_PICKS, script.text) or re.fullmatch(_SED_REPLACES, script.text)
        for script in scripts
    )


def _awk_prints(command: Command) -> bool:
    """Whether `awk` runs a script that neither writes a file nor runs a program."""
    if command.invocation.has("-f", "-i", "--file") or not command.invocation.operands:
        return False
    return not any(re.search(_AWK_WRITES, word.text) for word in command.argv[1:])


SCRIPT_WAYS: Final[dict[str, Callable[[Command], bool]]] = {
    "sed": _sed_prints,
    "awk": _awk_prints,
}
"""What an entry of a program may say under `only-reads.script`."""
