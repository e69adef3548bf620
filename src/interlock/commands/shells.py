"""Shells: what they are given to run, on the line, in a file or through a pipe."""

from __future__ import annotations

from typing import Final

from interlock.commands.shell.command import Command, EffectKind
from interlock.commands.shell.provenance import NOTHING, SHELL, UNSEEN, Stream
from interlock.commands.shell.scope import Scope
from interlock.commands.shell.words import Word
from interlock.commands.simulation import STANDARD_INPUT, Simulation

_FOREIGN_CODE: Final = ("-c", "-command", "/c", "/k", "-encodedcommand")
_SHELL_VALUES: Final = frozenset(("-o", "-O", "--rcfile", "--init-file", "+O", "+o"))


def run_script(simulation: Simulation, command: Command, scope: Scope) -> Stream | None:
    """A file that this very line wrote or fetched, run by its name."""
    head = command.argv[0]
    if "/" not in head.text:
        return None
    held = scope.files.get(scope.path(head.text))
    if held is None:
        return None
    return _run_held(simulation, command, head, held, scope)


def _run_held(
    simulation: Simulation, command: Command, source: Word, held: Stream, scope: Scope
) -> Stream:
    """Run bytes whose origin is known, and their text too where it is."""
    if held.labels:
        simulation.note_effect(EffectKind.EXECUTE, source, held.labels, command)
    if held.text is not None:
        frame = command.frame.fed(UNSEEN)
        return simulation.run_nested(held.text, scope.outside(), frame, via=command.program)
    return Stream(held.labels)


def run_shell(simulation: Simulation, command: Command, scope: Scope) -> Stream:
    """Follow `sh -c`, a script by its name, or a script that flows in."""
    code, rest = _shell_code(command)
    if _reads_stdin(command):
        return _run_stdin(simulation, command, scope)
    if code is not None:
        inner = scope.outside()
        if rest:
            inner.variables["0"] = rest[0]
            inner.set_arguments(rest[1:])
        if code.labels:
            simulation.note_effect(EffectKind.EXECUTE, code, code.labels, command)
        return simulation.run_nested(code.text, inner, command.frame, via=f"{command.program} -c")
    if rest:
        held = held_in(rest[0], command, scope, simulation)
        return _run_held(simulation, command, rest[0], held, scope)
    if _only_checks(command):
        return NOTHING
    return _run_stdin(simulation, command, scope)


def held_in(target: Word, command: Command, scope: Scope, simulation: Simulation) -> Stream:
    """Return what a script that is named holds: a file, standard input, or a descriptor."""
    if target.text in {"-", "/dev/stdin"}:
        return command.frame.stdin
    opened = (
        scope.defined.descriptors.get(target.text.rpartition("/")[2])
        if target.text.startswith(("/dev/fd/", "/proc/"))
        else None
    )
    return opened or simulation.places.stream(target, scope)


def _shell_code(command: Command) -> tuple[Word | None, list[Word]]:
    """Return the `-c` code with its arguments, or None and the script with its."""
    words = list(command.argv[1:])
    index = 0
    has_code = False
    while index < len(words):
        text = words[index].text
        if text == "--":
            index += 1
            break
        if text[:1] not in {"-", "+"} or text == "-":
            break
        has_code = has_code or (text[:1] == "-" and text[:2] != "--" and "c" in text)
        index += 2 if text in _SHELL_VALUES else 1
    rest = words[index:]
    if has_code and rest:
        return rest[0], rest[1:]
    return None, [] if has_code else rest


def _reads_stdin(command: Command) -> bool:
    """`sh -s arguments` reads its script from standard input."""
    for word in command.argv[1:]:
        if word.text[:1] != "-" or word.text == "--":
            return False
        if word.text[:2] != "--" and "s" in word.text and "c" not in word.text:
            return True
    return False


def _only_checks(command: Command) -> bool:
    texts = [word.text for word in command.argv[1:]]
    return "-n" in texts and "+n" not in texts


def _run_stdin(simulation: Simulation, command: Command, scope: Scope) -> Stream:
    stdin = command.frame.stdin
    if stdin.labels:
        simulation.note_effect(EffectKind.EXECUTE, STANDARD_INPUT, stdin.labels, command)
    if stdin.text is not None:
        frame = command.frame.fed(UNSEEN)
        return simulation.run_nested(stdin.text, scope.outside(), frame, via=command.program)
    if command.frame.piped and stdin.text is None and not stdin.labels:
        simulation.give_up("it runs what another command prints", command.text)
    return Stream(stdin.labels | SHELL)


def run_foreign_shell(simulation: Simulation, command: Command, scope: Scope) -> Stream:
    """Follow what another system's shell is given, as far as the grammars agree."""
    if command.frame.stdin.labels:
        simulation.note_effect(
            EffectKind.EXECUTE, STANDARD_INPUT, command.frame.stdin.labels, command
        )
    texts = [word.text.lower() for word in command.argv]
    start = next((texts.index(flag) for flag in _FOREIGN_CODE if flag in texts), None)
    if start is not None:
        line = " ".join([word.text for word in command.argv[start + 1 :]])
        simulation.run_nested(line, scope.outside(), command.frame, via=command.program)
    return UNSEEN
