"""Does a single command only read? Does it talk to other machines?"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Final

from interlock.commands.programs import known_programs as known
from interlock.commands.programs.network_effects import is_remote
from interlock.commands.shell.command import Command, Invocation

_EXEC: Final = frozenset(("-exec", "-execdir", "-ok", "-okdir"))
_ADDRESS: Final = r"(?:[0-9]+|\$|/(?:\\.|[^/\\])*/)"
_ADDRESSES: Final = rf"(?:{_ADDRESS}(?:,[+~]?{_ADDRESS})?)?!?"
_SED_PICKS: Final = re.compile(rf"{_ADDRESSES}[pdqQ=](?:; ?{_ADDRESSES}[pdqQ=])*;?")
_SED_REPLACES: Final = re.compile(
    rf"{_ADDRESSES}s([/|,#@])(?:\\.|(?!\1)[^\\])*\1(?:\\.|(?!\1)[^\\])*\1[gpI0-9]*"
)
_AWK_WRITES: Final = re.compile(r"[>|@]|system|getline")


def reaches_out(command: Command) -> bool:
    """Whether a command talks to other machines."""
    if command.program in known.NETWORK_PROGRAMS:
        return True
    if command.program == "rsync":
        return any(is_remote(word.text) for word in command.invocation.operands)
    program = command.program
    module = command.invocation.value("-m") if program == "python" else None
    return _has_verb(command, known.NETWORK_VERBS.get(module.text if module else program, ()))


def only_reads(command: Command, following: Command | None) -> bool:
    """Whether a command leaves everything as it is; the one `following` may stand inside it."""
    if not is_what_it_says(command):
        return False
    unless = known.TRANSPARENT_UNLESS.get(command.program)
    if unless is not None and _is_without(command, unless) and _runs(command, following):
        return True
    if _EXEC & command.invocation.flags and not _runs(command, following):
        return False
    return any(reads(command) for reads in _WAYS_TO_READ)


def is_what_it_says(command: Command) -> bool:
    """Whether the program is the system's, with nothing in front that may change what it does."""
    path = command.argv[0].text
    if "/" in path and not path.startswith(known.SYSTEM_FOLDERS):
        return False
    return all(name in known.HARMLESS_VARIABLES for name, _ in command.assignments)


def _runs(command: Command, following: Command | None) -> bool:
    """Whether the command that follows is the one inside, so that it is judged by itself."""
    if following is None:
        return False
    own, inner = command.frame.via, following.frame.via
    inside = inner[len(own) : len(own) + 1]
    return inner[: len(own)] == own and [name.split()[0] for name in inside] == [command.program]


def _is_without(command: Command, options: frozenset[str]) -> bool:
    return not command.invocation.has(*options)


def _has_verb(command: Command, verbs: Sequence[str]) -> bool:
    operands = [word.text for word in command.invocation.operands[:2]]
    return bool(operands) and (operands[0] in verbs or " ".join(operands) in verbs)


def _reads_always(command: Command) -> bool:
    return command.program in known.READERS


def _reads_unless(command: Command) -> bool:
    unless = known.READERS_UNLESS.get(command.program)
    return unless is not None and _is_without(command, unless)


def _reads_with(command: Command) -> bool:
    return command.invocation.has(*known.READERS_ONLY_WITH.get(command.program, ()))


def _reads_few(command: Command) -> bool:
    few = known.OPERANDS_THAT_ARE_READ.get(command.program)
    return few is not None and len(command.invocation.operands) <= few


def _tells_of_itself(command: Command) -> bool:
    return len(command.argv) == 2 and command.argv[1].text in known.TELLING


def _reads_by_verb(command: Command) -> bool:
    return (
        _has_verb(command, known.READING_VERBS.get(command.program, ()))
        and _is_without(command, known.VERBS_UNLESS)
        and known.SETTINGS_IN_FRONT.isdisjoint(command.invocation.values)
    )


def _lists(command: Command) -> bool:
    invocation = command.invocation
    verb, *behind = [word.text for word in invocation.operands] or [""]
    options = known.LISTINGS.get(f"{command.program} {verb}")
    if options is None or not invocation.flags <= options:
        return False
    safe = known.SETTINGS_IN_FRONT.isdisjoint(invocation.values)
    return safe and (not behind or not known.LISTING_PICKS.isdisjoint(invocation.flags))


def _sed_prints(command: Command) -> bool:
    if command.program != "sed" or command.invocation.has("-i", "--in-place"):
        return False
    return sed_is_plain(command.invocation)


def sed_is_plain(invocation: Invocation) -> bool:
    """Whether every script of `sed` only picks lines, or replaces text on its way through."""
    if invocation.has("-f", "--file"):
        return False
    scripts = invocation.all_values("-e", "--expression") or invocation.operands[:1]
    return bool(scripts) and all(
        _SED_PICKS.fullmatch(script.text) or _SED_REPLACES.fullmatch(script.text)
        for script in scripts
    )


def _awk_prints(command: Command) -> bool:
    """Whether `awk` runs a script that neither writes a file nor runs a program."""
    invocation = command.invocation
    if command.program not in {"awk", "gawk", "mawk"} or invocation.has("-f", "-i", "--file"):
        return False
    script = " ".join([word.text for word in command.argv[1:]])
    return bool(invocation.operands) and _AWK_WRITES.search(script) is None


_WAYS_TO_READ: Final[tuple[Callable[[Command], bool], ...]] = (
    _reads_always,
    _reads_unless,
    _reads_with,
    _reads_few,
    _reads_by_verb,
    _lists,
    _tells_of_itself,
    _sed_prints,
    _awk_prints,
)
