"""A shell as a program: `bash -c`, a script by its name, a script that flows in."""

from __future__ import annotations

import re
from base64 import b64decode
from collections.abc import Sequence
from typing import Final, NamedTuple

from interlock.commands.program_input import STANDARD_INPUT
from interlock.commands.shell.cmdlets import static_calls
from interlock.commands.shell.command import Command
from interlock.commands.shell.provenance import DECODED, NOTHING, REMOTE, SHELL, UNSEEN, Stream
from interlock.commands.shell.scope import Scope
from interlock.commands.shell.words import Word, literal, unknown
from interlock.commands.simulation import Simulation

_FOREIGN_CODE: Final = ("-command", "-commandwithargs", "-cwa", "/c", "/k")
_FOREIGN_VALUES: Final = (
    *("-executionpolicy", "-ep", "-windowstyle", "-version", "-inputformat", "-outputformat"),
    *("-configurationname", "-workingdirectory", "-psconsolefile"),
)
_FOREIGN_NAME: Final = r"(?i)\$env:(\w{1,60})|%(\w{1,60})%"
_FOREIGN_PART: Final = (
    r"(?i)'[^']*+'|\"[^\"]*+\"|(?:%|\bforeach(?:-object)?)\s*+\{[^{};]*+\}"
    r"|(?P<ends>(?<!\$)[{};][{};\s]*+|\bif(?:\s++not)?\s++exist\s++\S++"
    r"|\b(?:if|elseif|else|foreach|for|while|try|catch|finally|do|switch)\b(?=\s*+[({]))"
    r"|\$env:\w{1,60}|%\w{1,60}%"
)
_FOREIGN_PLACES: Final = {
    "USERPROFILE": "$HOME",
    "HOMEPATH": "$HOME",
    "SYSTEMROOT": "C:/Windows",
    "WINDIR": "C:/Windows",
    "SYSTEMDRIVE": "C:",
}
_FOREIGN_EVAL: Final = r"(?i)\b(?:iex|invoke-expression)\b|&\s{0,9}\(\[scriptblock\]"
_FOREIGN_FETCH: Final = (
    r"(?i)\b(?:iwr|irm|curl|wget|invoke-(?:webrequest|restmethod)|download(?:string|data|file))\b"
)
_ENCODED_CODE: Final = ("-encodedcommand", "-ec")
_FOREIGN_SOCKET: Final = r"(?i)\.Sockets\.TCPClient\b[^\n]{0,4096}\b(?:iex|invoke-expression)\b"
_SHEBANG: Final = r"#!\s{0,9}(/[^\n]{1,200})"
_SHELL_STARTUP: Final = frozenset(("rcfile", "init-file"))
_SHELL_VALUES: Final = _SHELL_STARTUP | {"emulate"}
_SHELL_LONG: Final = _SHELL_STARTUP.union(
    "debug debugger dump-strings dump-po-strings help login noediting noprofile norc posix"
    " pretty-print restricted verbose version".split()
)
"""Long options that bash takes with one dash as well, in front of the single ones."""
_ATTACHED_NAMES: Final = frozenset(("zsh", "ksh", "mksh", "pdksh", "yash"))
"""Shells in which the name of an option may stand in the same word as its `-o`."""


def run_shell(simulation: Simulation, command: Command, scope: Scope) -> Stream:
    """Follow `sh -c`, a script by its name, or a script that flows in."""
    given = _shell_words(command)
    for source in given.startup:
        held = simulation.script(source, command, scope)
        _run_held(simulation, command, source, held, scope)
    if given.reads_stdin:
        return _run_stdin(simulation, command, scope)
    if given.has_code and given.rest:
        code, *rest = given.rest
        inner = scope.outside()
        if rest:
            inner.variables["0"] = rest[0]
            inner.set_arguments(rest[1:])
        simulation.note_execution(code, code.labels, command)
        return simulation.run_nested(code.text, inner, command.frame, via=f"{command.program} -c")
    if given.rest and not given.only_checks:
        held = simulation.script(given.rest[0], command, scope)
        return _run_held(simulation, command, given.rest[0], held, scope)
    if given.only_checks:
        return NOTHING
    return _run_stdin(simulation, command, scope)


def run_foreign_shell(simulation: Simulation, command: Command, scope: Scope) -> Stream:
    """Follow what another system's shell is given, as far as the grammars agree."""
    stdin = command.frame.stdin
    simulation.note_execution(STANDARD_INPUT, stdin.labels, command)
    if stdin.text is not None and (len(command.argv) == 1 or command.argv[-1].text == "-"):
        simulation.run_line(stdin.text, command, scope)
    at = 1
    while at < len(command.argv):
        word = command.argv[at]
        flag = word.text.lower()
        at += 1
        is_option = len(flag) > 1 and flag[0] in "-/"
        # Options may be cut short.
        if is_option and any(option.startswith(flag) for option in _ENCODED_CODE):
            simulation.note_execution(word, DECODED, command)
            _run_foreign(simulation, command, _decoded(_joined(command.argv[at : at + 1])), scope)
            at += 1
        elif is_option and any(option.startswith(flag) for option in _FOREIGN_CODE):
            _run_foreign(simulation, command, _joined(command.argv[at:]), scope)
            break
        elif is_option and "-file".startswith(flag):
            for file in command.argv[at : at + 1]:
                held = simulation.script(file, command, scope)
                simulation.note_execution(file, held.labels & REMOTE, command)
            break
        elif is_option:
            at += any(option.startswith(flag) for option in _FOREIGN_VALUES)
        elif command.program == "powershell":
            # What is no option is code.
            _run_foreign(simulation, command, _joined(command.argv[at - 1 :]), scope)
            break
    return UNSEEN


def runs_fetched(line: str) -> bool:
    """Whether a line of PowerShell fetches something and runs it."""
    return bool(re.search(_FOREIGN_EVAL, line) and re.search(_FOREIGN_FETCH, line))


def _run_foreign(simulation: Simulation, command: Command, line: str, scope: Scope) -> None:
    if re.search(_FOREIGN_SOCKET, line):
        simulation.note("code", ["socket-shell"], command)
    if runs_fetched(line):
        simulation.note_execution(unknown("what it fetched"), REMOTE, command)
    for same in static_calls(line) if "]::" in line else ():
        simulation.run_line(same, command, scope)
    line = re.sub(_FOREIGN_PART, _own_part, line.replace("\\", "/"))
    simulation.run_line(line, command, scope)


def _own_part(found: re.Match[str]) -> str:
    """Return the same where blocks and their keywords are only lines, one below the other."""
    return "\n" if found["ends"] else re.sub(_FOREIGN_NAME, _own_name, found[0])


def _own_name(found: re.Match[str]) -> str:
    """Return how a shell here would write the same variable."""
    name = (found[1] or found[2]).upper()
    return _FOREIGN_PLACES.get(name, f"${name}")


def _joined(words: Sequence[Word]) -> str:
    return " ".join([word.text for word in words])


def _decoded(encoded: str) -> str:
    """Return what PowerShell runs that is given in base64."""
    try:
        return b64decode(encoded, validate=True).decode("utf-16-le")
    except ValueError:
        return ""


def run_script(simulation: Simulation, command: Command, scope: Scope) -> Stream | None:
    """A file that this very line wrote or fetched, run by its name."""
    head = command.argv[0]
    held = None
    if "/" in head.text:
        path = scope.path(head.text)
        held = scope.held(path)
        if path not in scope.files and simulation.places.is_scratch(head.text):
            # What was built or installed in a folder is not what came with it.
            held = None
    if held is None and "/" not in head.text:
        # `PATH` may lead to it.
        ending = f"/{head.text}"
        held = next((each for path, each in scope.files.items() if path.endswith(ending)), None)
    if held is None:
        return None
    return _run_held(simulation, command, head, held, scope)


class _ShellWords(NamedTuple):
    """What a shell is started with: single options with their sign, start files, and the rest."""

    options: set[str]
    startup: list[Word]
    rest: list[Word]

    @property
    def has_code(self) -> bool:
        return not self.options.isdisjoint(("-c", "+c"))

    @property
    def reads_stdin(self) -> bool:
        return not self.options.isdisjoint(("-s", "+s")) and not self.has_code

    @property
    def only_checks(self) -> bool:
        return "-n" in self.options and self.options.isdisjoint(("+n", "-i", "-o", "+o"))


def _shell_words(command: Command) -> _ShellWords:
    """Take the words of a shell apart: every `o` and `O` of a cluster takes a word behind it."""
    options: set[str] = set()
    startup: list[Word] = []
    words = list(command.argv[1:])
    index = 0
    while index < len(words) and words[index].text[:1] in {"-", "+"}:
        text = words[index].text
        index += 1
        if text in {"-", "--"}:
            break
        name = text.lstrip("-")
        if text.startswith("--") or (name in _SHELL_LONG and not options):
            if name in _SHELL_STARTUP:
                startup += words[index : index + 1]
            index += name in _SHELL_VALUES
            continue
        if command.program in _ATTACHED_NAMES:
            before, named, attached = name.partition("o")
            name = before + named
            index -= bool(attached)
        index += name.count("o") + name.count("O")
        options.update(text[0] + letter for letter in name.lstrip("+"))
    return _ShellWords(options, startup, words[index:])


def _run_stdin(simulation: Simulation, command: Command, scope: Scope) -> Stream:
    stdin = command.frame.stdin
    simulation.doubt_input(command)
    printed = _run_held(simulation, command, STANDARD_INPUT, stdin, scope)
    return printed if stdin.text is not None else Stream(stdin.labels | SHELL)


def _run_held(
    simulation: Simulation, command: Command, source: Word, held: Stream, scope: Scope
) -> Stream:
    """Run bytes whose origin is known, and their text too where it is."""
    simulation.note_execution(source, held.labels, command)
    if held.text is None:
        return Stream(held.labels)
    interpreter = re.match(_SHEBANG, held.text)
    if interpreter is not None and command.argv[0] is source:
        words = [literal(part) for part in interpreter[1].split()]
        return simulation.run_words([*words, source, *command.argv[1:]], command, scope)
    inner = scope.outside()
    if command.argv[0] is source:
        inner.set_arguments(list(command.argv[1:]))
    frame = command.frame.of_script()
    return simulation.run_nested(held.text, inner, frame, via=command.program)
