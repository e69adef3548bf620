"""What is wrong with a text that must mean something: a pattern, a condition, a schema."""

from __future__ import annotations

import shlex
from typing import Literal, assert_never

import re2

from interlock.errors import InputError
from interlock.model.review import refuse_name
from interlock.policy.config.complaints import joined, shown
from interlock.policy.config.key import TextKind
from interlock.policy.config.layers import CompileCondition, permission_problem
from interlock.secrets.credential_rules import names_credential

_RULE_ID = frozenset("abcdefghijklmnopqrstuvwxyz0123456789._-")
_Formed = Literal[TextKind.RULE_ID, TextKind.GATE_ID, TextKind.VARIABLE, TextKind.WORD]
_SHORTEST_HIDDEN = 32
_LONGEST_PATTERN = 1000
_PATTERN_MEMORY = 262_144
_COMMAND = TextKind.COMMAND.value
_LOOKAROUND = ("(?=", "(?!", "(?<=", "(?<!", "(?<")


def text_problem(text: str, kind: TextKind, compile_condition: CompileCondition) -> str | None:
    """Return what is wrong with a text of the kind, or nothing."""
    if kind is TextKind.HIDDEN:
        return _hidden_problem(text)
    if not text.strip() and kind is not TextKind.WORD:
        return f"{shown(text)} is empty; expected {kind.value}"
    match kind:
        case TextKind.PLAIN | TextKind.GLOB:
            return None
        case TextKind.COMMAND:
            return _command_problem(text)
        case TextKind.PATTERN:
            return _pattern_problem(text)
        case TextKind.RULE_ID | TextKind.GATE_ID | TextKind.VARIABLE | TextKind.WORD:
            return _form_problem(text, kind)
        case TextKind.KEY_PATH:
            problem = permission_problem(text)
            return problem and f"{shown(text)} {problem}"
        case TextKind.CONDITION:
            problem = compile_condition(text)
            return problem and f"{shown(text)} is not a CEL condition: {problem}"
        case _:
            assert_never(kind)


def schema_problem(schema: dict[str, object], place: str) -> tuple[str, str] | None:
    """Return where and why a table is not a JSON Schema to be checked offline, or nothing."""
    from jsonschema_rs import (  # noqa: PLC0415 - costly, and most files have no schema
        RegexOptions,
        ValidationError,
        validator_for,
    )

    try:
        validator_for(schema, offline=True, pattern_options=RegexOptions())
    except ValidationError as error:
        for part in error.instance_path:
            place = f"{place}[{part}]" if isinstance(part, int) else joined(place, part)
        return place, f"not a JSON Schema{_schema_error(error.message)}"
    return None


def _schema_error(message: str) -> str:
    if message.endswith('is not a "regex"'):
        return ": not a pattern; lookaround and back-references are not supported"
    return f": {message[0].lower()}{message[1:]}"


def _hidden_problem(text: str) -> str | None:
    if text and len(text) < _SHORTEST_HIDDEN:
        return (
            f"the key has {len(text)} characters; expected none or at least {_SHORTEST_HIDDEN}: "
            "`interlock init --user` writes a fresh one"
        )
    return None


def _command_problem(text: str) -> str | None:
    try:
        words = shlex.split(text)
    except ValueError as error:
        reason = str(error)
        return f"{shown(text)} cannot be split into words: {reason[:1].lower()}{reason[1:]}"
    return None if words and words[0] else f"{shown(text)} names no program; expected {_COMMAND}"


def _pattern_problem(pattern: str) -> str | None:
    if len(pattern) > _LONGEST_PATTERN:
        return (
            f"a pattern of {len(pattern)} characters; expected at most {_LONGEST_PATTERN}: "
            "split it into several"
        )
    options = re2.Options()
    options.log_errors = False
    # Large counted repetitions would take the engine seconds to compile.
    options.max_mem = _PATTERN_MEMORY
    try:
        re2.compile(pattern, options)
    except re2.error as error:
        return f"{shown(pattern)} is not an RE2 pattern: {_pattern_error(pattern, error)}"
    return None


def _pattern_error(pattern: str, error: Exception) -> str:
    [raw] = error.args
    what, _, part = raw.decode(errors="replace").partition(": ")
    if part.startswith(_LOOKAROUND):
        what = "lookaround is not supported"
    position = pattern.find(part) if part else -1
    return f"{what} at position {position}" if position >= 0 else what


def _form_problem(text: str, kind: _Formed) -> str | None:
    match kind:
        case TextKind.RULE_ID:
            fits, what = _RULE_ID.issuperset(text), "an id"
        case TextKind.GATE_ID:
            fits, what = _is_gate_id(text), "the id of a gate"
        case TextKind.VARIABLE:
            fits, what = _is_variable(text), "a variable that a check may see"
        case TextKind.WORD:
            fits, what = "\0" not in text, "a word of a command"
        case _:
            assert_never(kind)
    return None if fits else f"{shown(text)} is not {what}; expected {kind.value}"


def _is_gate_id(text: str) -> bool:
    try:
        refuse_name("gate", "id", text)
    except InputError:
        return False
    return True


def _is_variable(text: str) -> bool:
    name = text.replace("*", "_")
    return name.isascii() and name.isidentifier() and not names_credential(text)
