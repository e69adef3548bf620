"""Code and SQL inside a command line, in the words of commands and effects."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from interlock.commands.code.effects import effects_in
from interlock.commands.code.kinds import CodeEffect, CodeEffectKind
from interlock.commands.code.looks import looks_like_code
from interlock.commands.code.tokens import Language
from interlock.commands.shell.commands import Command, Effect, EffectKind
from interlock.commands.shell.machine import Machine
from interlock.commands.shell.places import CREDENTIAL
from interlock.commands.shell.provenance import DECODED, REMOTE, UNSEEN
from interlock.commands.shell.scope import Scope
from interlock.commands.shell.simple import Simple
from interlock.commands.shell.words import literal, unknown
from interlock.commands.sql.looks import looks_like_sql
from interlock.commands.sql.operations import SqlKind
from interlock.commands.sql.reading import operations_in

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


def follow_code(machine: Machine, code: str, language: str, command: Command, scope: Scope) -> None:
    """Note what a snippet in another language would do."""
    if not machine.affords(code):
        return
    effects = effects_in(code, Language(language))
    for effect in effects:
        if effect.kind in _ON_FILES:
            _note_file(machine, effect, command, scope)
        else:
            _OTHERS[effect.kind](machine, effect, command, scope)
    if _sends_secrets(machine, effects, scope):
        machine.note("code", [literal("send-secret")], command)
    kinds = {effect.kind for effect in effects}
    if {CodeEffectKind.EVAL, CodeEffectKind.FETCH} <= kinds:
        machine.note_effect(EffectKind.EXECUTE, unknown("what it fetched"), REMOTE, command)


def follow_sql(machine: Machine, text: str, command: Command, scope: Scope) -> None:
    """Note what SQL would do to the data."""
    if machine.affords(text):
        for operation in operations_in(text):
            words = [operation.kind.value, operation.object, operation.target]
            machine.note("sql", [literal(word) for word in words], command)
            if operation.kind is SqlKind.EXECUTE:
                machine.run_text(operation.target, scope.outside(), command.frame, via="sql")


def may_be_statement(line: str) -> bool:
    """Whether it is worth a closer look if a line is SQL or code: cheap, and rarely true."""
    first = line[:_FIRST_WORD].split(None, 1)[:1]
    return "(" in line or (bool(first) and first[0].lower() in _SQL_WORDS)


def follow_statement(machine: Machine, line: str, command: Command, scope: Scope) -> None:
    """Follow a line that was meant for a database or a program, not for a shell."""
    if looks_like_sql(line) or _is_bare_truncate(line):
        follow_sql(machine, line, command, scope)
    elif looks_like_code(line):
        follow_code(machine, line, Language.PYTHON.value, command, scope)


def _is_bare_truncate(line: str) -> bool:
    """`TRUNCATE users` is SQL; `truncate -s 0 file` is a program."""
    words = line.rstrip("; ").split()
    return len(words) == 2 and words[0] == "TRUNCATE" and not words[1].startswith("-")


def _note_file(machine: Machine, effect: CodeEffect, command: Command, scope: Scope) -> None:
    if not effect.target:
        return
    path = scope.path(effect.target)
    machine.effects.append(
        Effect(
            kind=_ON_FILES[effect.kind],
            target=effect.target,
            known=effect.known,
            places=machine.places.of(path, scope.project),
            recursive=effect.recursive,
            forced=effect.recursive,
            command=command,
        )
    )


def _run_line(machine: Machine, effect: CodeEffect, command: Command, scope: Scope) -> None:
    if effect.decoded:
        machine.note_effect(EffectKind.EXECUTE, unknown(effect.target), DECODED, command)
    elif effect.target.strip():
        line = effect.target if effect.known else f"{effect.target} $rest"
        machine.run_text(line, scope.outside(), command.frame.fed(UNSEEN), via=command.program)
    else:
        machine.give_up("its code runs a command that only the run decides", effect.excerpt)


def _run_words(machine: Machine, effect: CodeEffect, command: Command, scope: Scope) -> None:
    words = [unknown("$argument") if word is None else literal(word) for word in effect.argv]
    frame = command.frame.fed(UNSEEN).deeper().behind(command.program)
    machine.resolve(words, Simple(words, effect.excerpt), scope.outside(), frame)


def _evaluate(machine: Machine, effect: CodeEffect, command: Command, _scope: Scope) -> None:
    if effect.decoded:
        machine.note("code", [literal("eval-decoded")], command)
    else:
        machine.give_up("it evaluates code that only the run decides", effect.excerpt)


def _query(machine: Machine, effect: CodeEffect, command: Command, scope: Scope) -> None:
    follow_sql(machine, effect.target, command, scope)


def _as_code(machine: Machine, effect: CodeEffect, command: Command, _scope: Scope) -> None:
    machine.note("code", [literal(effect.kind.value), literal(effect.target)], command)


def _kill(machine: Machine, effect: CodeEffect, command: Command, _scope: Scope) -> None:
    """A process by its number is the code's own business; a number below one is everybody's."""
    if not effect.known:
        machine.note("code", [literal("kill")], command)


def _dump_environment(
    machine: Machine, _effect: CodeEffect, command: Command, _scope: Scope
) -> None:
    machine.note("env", [], command)


def _call_service(machine: Machine, effect: CodeEffect, command: Command, _scope: Scope) -> None:
    machine.note("api-call", [literal("delete"), literal(effect.target)], command)


def _nothing(_machine: Machine, _effect: CodeEffect, _command: Command, _scope: Scope) -> None:
    """Harmless by itself; it counts together with others."""


def _sends_secrets(machine: Machine, effects: list[CodeEffect], scope: Scope) -> bool:
    """Whether a snippet both reads what is secret and sends something."""
    kinds = {effect.kind for effect in effects}
    if CodeEffectKind.SEND not in kinds:
        return False
    return CodeEffectKind.ENV_DUMP in kinds or any(
        machine.places.of(scope.path(effect.target), scope.project) & CREDENTIAL
        for effect in effects
        if effect.kind is CodeEffectKind.READ
    )


Follower = Callable[[Machine, CodeEffect, Command, Scope], None]

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
