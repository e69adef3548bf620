"""Shells, interpreters and database clients: what they are given to run, in effects."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from interlock.commands.code.call_effects import effects_in, looks_like_code
from interlock.commands.code.code_tokens import Language
from interlock.commands.code.known_calls import CodeEffect, CodeEffectKind
from interlock.commands.programs.outputs import stream_of_file
from interlock.commands.programs.places import CREDENTIAL
from interlock.commands.programs.program_tables import Interpreter, SqlClient
from interlock.commands.shell.command import Command, Effect, EffectKind, SimpleCommand
from interlock.commands.shell.provenance import DECODED, NOTHING, REMOTE, SHELL, UNSEEN, Stream
from interlock.commands.shell.scope import Scope
from interlock.commands.shell.words import Word, literal, unknown
from interlock.commands.shell_builtins import set_arguments
from interlock.commands.simulator import Simulator
from interlock.commands.sql.sql_script import looks_like_sql, operations_in
from interlock.commands.sql.sql_statement import SqlKind

_FOREIGN_CODE: Final = ("-c", "-command", "/c", "/k", "-encodedcommand")
_SHELL_VALUES: Final = frozenset(("-o", "-O", "--rcfile", "--init-file", "+O", "+o"))


def run_script(simulator: Simulator, command: Command, scope: Scope) -> Stream | None:
    """A file that this very line wrote or fetched, run by its name."""
    head = command.argv[0]
    if "/" not in head.text:
        return None
    held = scope.files.get(scope.path(head.text))
    if held is None:
        return None
    return _run_held(simulator, command, head, held, scope)


def _run_held(
    simulator: Simulator, command: Command, source: Word, held: Stream, scope: Scope
) -> Stream:
    """Run bytes whose origin is known, and their text too where it is."""
    if held.labels:
        simulator.note_effect(EffectKind.EXECUTE, source, held.labels, command)
    if held.text is not None:
        frame = command.frame.fed(UNSEEN)
        return simulator.run_text(held.text, scope.outside(), frame, via=command.program)
    return Stream(held.labels)


def run_shell(simulator: Simulator, command: Command, scope: Scope) -> Stream:
    """Follow `sh -c`, a script by its name, or a script that flows in."""
    code, rest = _shell_code(command)
    if _reads_stdin(command):
        return _run_stdin(simulator, command, scope)
    if code is not None:
        inner = scope.outside()
        if rest:
            inner.variables["0"] = rest[0]
            set_arguments(inner, rest[1:])
        if code.labels:
            simulator.note_effect(EffectKind.EXECUTE, code, code.labels, command)
        return simulator.run_text(code.text, inner, command.frame, via=f"{command.program} -c")
    if rest:
        held = _held(rest[0], command, scope, simulator)
        return _run_held(simulator, command, rest[0], held, scope)
    if _only_checks(command):
        return NOTHING
    return _run_stdin(simulator, command, scope)


def _held(target: Word, command: Command, scope: Scope, simulator: Simulator) -> Stream:
    if target.text in {"-", "/dev/stdin"}:
        return command.frame.stdin
    opened = (
        scope.defined.descriptors.get(target.text.rpartition("/")[2])
        if target.text.startswith(("/dev/fd/", "/proc/"))
        else None
    )
    return opened or stream_of_file(target, scope, simulator.places)


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


def _run_stdin(simulator: Simulator, command: Command, scope: Scope) -> Stream:
    stdin = command.frame.stdin
    if stdin.labels:
        simulator.note_effect(EffectKind.EXECUTE, literal("standard input"), stdin.labels, command)
    if stdin.text is not None:
        frame = command.frame.fed(UNSEEN)
        return simulator.run_text(stdin.text, scope.outside(), frame, via=command.program)
    if command.frame.piped and stdin.text is None and not stdin.labels:
        simulator.give_up("it runs what another command prints", command.text)
    return Stream(stdin.labels | SHELL)


def run_foreign_shell(simulator: Simulator, command: Command, scope: Scope) -> Stream:
    """Follow what another system's shell is given, as far as the grammars agree."""
    if command.frame.stdin.labels:
        simulator.note_effect(
            EffectKind.EXECUTE, literal("standard input"), command.frame.stdin.labels, command
        )
    texts = [word.text.lower() for word in command.argv]
    start = next((texts.index(flag) for flag in _FOREIGN_CODE if flag in texts), None)
    if start is not None:
        line = " ".join([word.text for word in command.argv[start + 1 :]])
        simulator.run_text(line, scope.outside(), command.frame, via=command.program)
    return UNSEEN


def run_interpreter(
    simulator: Simulator, command: Command, interpreter: Interpreter, scope: Scope
) -> Stream:
    """Follow `python -c`, a script by its name, or code that flows in."""
    codes = command.invocation.all_values(*interpreter.options)
    operands = command.invocation.operands
    if interpreter.verbs and operands and operands[0].text in interpreter.verbs:
        codes = operands[1:2]
    for code in codes:
        if code.labels:
            simulator.note_effect(EffectKind.EXECUTE, code, code.labels, command)
        follow_code(simulator, code.text, interpreter.language, command, scope)
    if codes or command.invocation.has("-m"):
        return Stream(command.frame.stdin.labels)
    source = operands[0] if operands and operands[0].text != "-" else None
    held = command.frame.stdin if source is None else _held(source, command, scope, simulator)
    if held.labels:
        simulator.note_effect(
            EffectKind.EXECUTE, source or literal("standard input"), held.labels, command
        )
    if held.text is not None:
        follow_code(simulator, held.text, interpreter.language, command, scope)
    return Stream(command.frame.stdin.labels)


def run_sql_client(
    simulator: Simulator, command: Command, client: SqlClient, scope: Scope
) -> Stream:
    """Follow every statement that a client of a database is given."""
    texts = [word.text for word in command.invocation.all_values(*client.code)]
    operands = command.invocation.operands
    if client.operand is not None:
        texts += [word.text for word in operands[client.operand :]]
    for source in command.invocation.all_values(*client.files):
        texts.append(stream_of_file(source, scope, simulator.places).text or "")
    if command.frame.stdin.text is not None:
        texts.append(command.frame.stdin.text)
    for text in texts:
        follow_sql(simulator, text, command, scope)
    return UNSEEN


_ON_FILES: Final = {
    CodeEffectKind.DELETE: EffectKind.DELETE,
    CodeEffectKind.OVERWRITE: EffectKind.OVERWRITE,
    CodeEffectKind.APPEND: EffectKind.APPEND,
    CodeEffectKind.MOVE: EffectKind.MOVE,
    CodeEffectKind.READ: EffectKind.READ,
    CodeEffectKind.PERMIT: EffectKind.PERMIT,
}

_FIRST_WORD: Final = 80
_SQL_WORDS: Final = frozenset(
    (
        "drop delete truncate alter create update insert replace merge grant revoke select with"
        " exec execute begin start use explain"
    ).split()
)


def follow_code(
    simulator: Simulator, code: str, language: str, command: Command, scope: Scope
) -> None:
    """Note what a snippet in another language would do."""
    if not simulator.affords(code):
        return
    effects = effects_in(code, Language(language))
    for effect in effects:
        if effect.kind in _ON_FILES:
            _note_file(simulator, effect, command, scope)
        else:
            _OTHERS[effect.kind](simulator, effect, command, scope)
    if _sends_secrets(simulator, effects, scope):
        simulator.note("code", [literal("send-secret")], command)
    kinds = {effect.kind for effect in effects}
    if {CodeEffectKind.EVAL, CodeEffectKind.FETCH} <= kinds:
        simulator.note_effect(EffectKind.EXECUTE, unknown("what it fetched"), REMOTE, command)


def follow_sql(simulator: Simulator, text: str, command: Command, scope: Scope) -> None:
    """Note what SQL would do to the data."""
    if simulator.affords(text):
        for operation in operations_in(text):
            words = [operation.kind.value, operation.object, operation.target]
            simulator.note("sql", [literal(word) for word in words], command)
            if operation.kind is SqlKind.EXECUTE:
                simulator.run_text(operation.target, scope.outside(), command.frame, via="sql")


def may_be_statement(line: str) -> bool:
    """Whether it is worth a closer look if a line is SQL or code: cheap, and rarely true."""
    first = line[:_FIRST_WORD].split(None, 1)[:1]
    return "(" in line or (bool(first) and first[0].lower() in _SQL_WORDS)


def follow_statement(simulator: Simulator, line: str, command: Command, scope: Scope) -> None:
    """Follow a line that was meant for a database or a program, not for a shell."""
    if looks_like_sql(line) or _is_bare_truncate(line):
        follow_sql(simulator, line, command, scope)
    elif looks_like_code(line):
        follow_code(simulator, line, Language.PYTHON.value, command, scope)


def _is_bare_truncate(line: str) -> bool:
    """`TRUNCATE users` is SQL; `truncate -s 0 file` is a program."""
    words = line.rstrip("; ").split()
    return len(words) == 2 and words[0] == "TRUNCATE" and not words[1].startswith("-")


def _note_file(simulator: Simulator, effect: CodeEffect, command: Command, scope: Scope) -> None:
    if not effect.target:
        return
    path = scope.path(effect.target)
    simulator.effects.append(
        Effect(
            kind=_ON_FILES[effect.kind],
            target=effect.target,
            known=effect.known,
            places=simulator.places.of(path, scope.project),
            recursive=effect.recursive,
            forced=effect.recursive,
            command=command,
        )
    )


def _run_line(simulator: Simulator, effect: CodeEffect, command: Command, scope: Scope) -> None:
    if effect.decoded:
        simulator.note_effect(EffectKind.EXECUTE, unknown(effect.target), DECODED, command)
    elif effect.target.strip():
        line = effect.target if effect.known else f"{effect.target} $rest"
        simulator.run_text(line, scope.outside(), command.frame.fed(UNSEEN), via=command.program)
    else:
        simulator.give_up("its code runs a command that only the run decides", effect.excerpt)


def _run_words(simulator: Simulator, effect: CodeEffect, command: Command, scope: Scope) -> None:
    words = [unknown("$argument") if word is None else literal(word) for word in effect.argv]
    frame = command.frame.fed(UNSEEN).deeper().behind(command.program)
    simulator.resolve(words, SimpleCommand(words, effect.excerpt), scope.outside(), frame)


def _evaluate(simulator: Simulator, effect: CodeEffect, command: Command, _scope: Scope) -> None:
    if effect.decoded:
        simulator.note("code", [literal("eval-decoded")], command)
    else:
        simulator.give_up("it evaluates code that only the run decides", effect.excerpt)


def _query(simulator: Simulator, effect: CodeEffect, command: Command, scope: Scope) -> None:
    follow_sql(simulator, effect.target, command, scope)


def _as_code(simulator: Simulator, effect: CodeEffect, command: Command, _scope: Scope) -> None:
    simulator.note("code", [literal(effect.kind.value), literal(effect.target)], command)


def _kill(simulator: Simulator, effect: CodeEffect, command: Command, _scope: Scope) -> None:
    """A process by its number is the code's own business; a number below one is everybody's."""
    if not effect.known:
        simulator.note("code", [literal("kill")], command)


def _dump_environment(
    simulator: Simulator, _effect: CodeEffect, command: Command, _scope: Scope
) -> None:
    simulator.note("env", [], command)


def _call_service(
    simulator: Simulator, effect: CodeEffect, command: Command, _scope: Scope
) -> None:
    simulator.note("api-call", [literal("delete"), literal(effect.target)], command)


def _nothing(_machine: Simulator, _effect: CodeEffect, _command: Command, _scope: Scope) -> None:
    """Harmless by itself; it counts together with others."""


def _sends_secrets(simulator: Simulator, effects: list[CodeEffect], scope: Scope) -> bool:
    """Whether a snippet both reads what is secret and sends something."""
    kinds = {effect.kind for effect in effects}
    if CodeEffectKind.SEND not in kinds:
        return False
    return CodeEffectKind.ENV_DUMP in kinds or any(
        simulator.places.of(scope.path(effect.target), scope.project) & CREDENTIAL
        for effect in effects
        if effect.kind is CodeEffectKind.READ
    )


Follower = Callable[[Simulator, CodeEffect, Command, Scope], None]

_OTHERS: Final[dict[CodeEffectKind, Follower]] = {
    CodeEffectKind.SHELL: _run_line,
    CodeEffectKind.ARGV: _run_words,
    CodeEffectKind.EVAL: _evaluate,
    CodeEffectKind.SQL: _query,
    CodeEffectKind.SOCKET_SHELL: _as_code,
    CodeEffectKind.KILL: _kill,
    CodeEffectKind.ENV_DUMP: _dump_environment,
    CodeEffectKind.VENDOR_DELETE: _call_service,
    CodeEffectKind.SEND: _nothing,
    CodeEffectKind.FETCH: _nothing,
    CodeEffectKind.DECODE: _nothing,
}
