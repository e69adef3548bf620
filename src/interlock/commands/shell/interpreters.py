"""Shells, interpreters and database clients: what they are given to run."""

from __future__ import annotations

from typing import Final

from interlock.commands.programs import Interpreter, SqlClient
from interlock.commands.shell.builtins import set_arguments
from interlock.commands.shell.commands import Command, EffectKind
from interlock.commands.shell.machine import Machine
from interlock.commands.shell.provenance import NOTHING, SHELL, UNSEEN, Stream
from interlock.commands.shell.scope import Scope
from interlock.commands.shell.snippets import follow_code, follow_sql
from interlock.commands.shell.streams import stream_of_file
from interlock.commands.shell.words import Word, literal

_FOREIGN_CODE: Final = ("-c", "-command", "/c", "/k", "-encodedcommand")
_MONGO_CALLS: Final = (
    ("dropDatabase(", "drop"),
    (".drop(", "drop"),
    (".dropIndexes(", "drop"),
    (".deleteMany({})", "delete-all"),
    (".remove({})", "delete-all"),
    (".updateMany({},", "update-all"),
    (".shutdownServer(", "shutdown"),
)


def run_script(machine: Machine, command: Command, scope: Scope) -> Stream | None:
    """A file that this very line wrote or fetched, run by its name."""
    head = command.argv[0]
    if "/" not in head.text:
        return None
    held = scope.files.get(scope.path(head.text))
    if held is None:
        return None
    return _run_held(machine, command, head, held, scope)


def _run_held(
    machine: Machine, command: Command, source: Word, held: Stream, scope: Scope
) -> Stream:
    """Run bytes whose origin is known, and their text too where it is."""
    if held.labels:
        machine.note_effect(EffectKind.EXECUTE, source, held.labels, command)
    if held.text is not None:
        frame = command.frame.fed(UNSEEN)
        return machine.run_text(held.text, scope.outside(), frame, via=command.program)
    return Stream(held.labels)


def run_shell(machine: Machine, command: Command, scope: Scope) -> Stream:
    """Follow `sh -c`, a script by its name, or a script that flows in."""
    code, rest = _shell_code(command, machine.programs.shells.values)
    if _reads_stdin(command):
        return _run_stdin(machine, command, scope)
    if code is not None:
        inner = scope.outside()
        if rest:
            inner.variables["0"] = rest[0]
            set_arguments(inner, rest[1:])
        if code.labels:
            machine.note_effect(EffectKind.EXECUTE, code, code.labels, command)
        return machine.run_text(code.text, inner, command.frame, via=f"{command.program} -c")
    if rest:
        held = _held(rest[0], command, scope, machine)
        return _run_held(machine, command, rest[0], held, scope)
    if _only_checks(command):
        return NOTHING
    return _run_stdin(machine, command, scope)


def _held(target: Word, command: Command, scope: Scope, machine: Machine) -> Stream:
    if target.text in {"-", "/dev/stdin"}:
        return command.frame.stdin
    opened = (
        scope.defined.descriptors.get(target.text.rpartition("/")[2])
        if target.text.startswith(("/dev/fd/", "/proc/"))
        else None
    )
    return opened or stream_of_file(target, scope, machine.places)


def _shell_code(command: Command, values: frozenset[str]) -> tuple[Word | None, list[Word]]:
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
        index += 2 if text in values else 1
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


def _run_stdin(machine: Machine, command: Command, scope: Scope) -> Stream:
    stdin = command.frame.stdin
    if stdin.labels:
        machine.note_effect(EffectKind.EXECUTE, literal("standard input"), stdin.labels, command)
    if stdin.text is not None:
        frame = command.frame.fed(UNSEEN)
        return machine.run_text(stdin.text, scope.outside(), frame, via=command.program)
    if command.frame.piped and stdin.text is None and not stdin.labels:
        machine.give_up("it runs what another command prints", command.text)
    return Stream(stdin.labels | SHELL)


def run_foreign_shell(machine: Machine, command: Command, scope: Scope) -> Stream:
    """Follow what another system's shell is told, as far as the grammars agree."""
    if command.frame.stdin.labels:
        machine.note_effect(
            EffectKind.EXECUTE, literal("standard input"), command.frame.stdin.labels, command
        )
    texts = [word.text.lower() for word in command.argv]
    start = next((texts.index(flag) for flag in _FOREIGN_CODE if flag in texts), None)
    if start is not None:
        line = " ".join([word.text for word in command.argv[start + 1 :]])
        machine.run_text(line, scope.outside(), command.frame, via=command.program)
    return UNSEEN


def run_interpreter(
    machine: Machine, command: Command, interpreter: Interpreter, scope: Scope
) -> Stream:
    """Follow `python -c`, a script by its name, or code that flows in."""
    codes = command.invocation.all_values(*interpreter.code)
    operands = command.invocation.operands
    if interpreter.verbs and operands and operands[0].text in interpreter.verbs:
        codes = operands[1:2]
    for code in codes:
        if code.labels:
            machine.note_effect(EffectKind.EXECUTE, code, code.labels, command)
        follow_code(machine, code.text, interpreter.language, command, scope)
    if codes or command.invocation.has("-m"):
        return Stream(command.frame.stdin.labels)
    source = operands[0] if operands and operands[0].text != "-" else None
    held = command.frame.stdin if source is None else _held(source, command, scope, machine)
    if held.labels:
        machine.note_effect(
            EffectKind.EXECUTE, source or literal("standard input"), held.labels, command
        )
    if held.text is not None:
        follow_code(machine, held.text, interpreter.language, command, scope)
    return Stream(command.frame.stdin.labels)


def run_sql_client(machine: Machine, command: Command, client: SqlClient, scope: Scope) -> Stream:
    """Follow every statement that a client of a database is given."""
    texts = [word.text for word in command.invocation.all_values(*client.code)]
    operands = command.invocation.operands
    if client.operand is not None:
        texts += [word.text for word in operands[client.operand :]]
    for source in command.invocation.all_values(*client.files):
        texts.append(stream_of_file(source, scope, machine.places).text or "")
    if command.frame.stdin.text is not None:
        texts.append(command.frame.stdin.text)
    for text in texts:
        follow_sql(machine, text, command, scope)
    return UNSEEN
