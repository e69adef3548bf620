"""What is wrong with a text that a policy file holds, by what it is read as."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from typing import Literal, assert_never

import msgspec
import re2

from interlock.errors import InputError
from interlock.model.review import refuse_name
from interlock.policy.config.complaints import joined, nearest, shown
from interlock.policy.config.document import KEY_BY_PATH, KEYS
from interlock.policy.config.key import Budget, Entries, TextKind, Tighter
from interlock.secrets.credential_rules import names_credential

CompileCondition = Callable[[str], str | None]
"""Returns what is wrong with a condition, or nothing."""

_Formed = Literal[TextKind.RULE_ID, TextKind.GATE_ID, TextKind.VARIABLE, TextKind.WORD]
_RULE_ID = frozenset("abcdefghijklmnopqrstuvwxyz0123456789._-")
_SHORTEST_HIDDEN = 32
_LONGEST_PATTERN = 1000
_PATTERN_MEMORY = 262_144
_LOOKAROUND = ("(?=", "(?!", "(?<=", "(?<!", "(?<")

_SEALED = tuple(key.path for key in KEYS if key.tighter is Tighter.USER_ONLY)
_TABLES = tuple(
    key.path for key in KEYS if isinstance(key.shape, Entries) and key.path not in _SEALED
)
_SECTIONS = tuple(
    dict.fromkeys(key.section for key in KEYS if key.section and key.path not in _SEALED)
)
_BUDGETS = {key.path: key.shape.keys for key in KEYS if isinstance(key.shape, Budget)}
_LIMITS = tuple(f"{path}.{key.name}" for path, keys in _BUDGETS.items() for key in keys)


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
            problem = _permission_problem(text)
            return problem and f"{shown(text)} {problem}"
        case TextKind.CONDITION:
            problem = compile_condition(text)
            return problem and f"{shown(text)} is not a CEL condition: {problem}"
        case _:
            assert_never(kind)


def canonical_permission(text: str) -> str:
    """Return a valid permission spelt as paths are printed, however its entry was quoted."""
    for table in _TABLES:
        entry = text.removeprefix(f"{table}.")
        if entry not in (text, "*"):
            return joined(table, _unquoted(entry))
    return text


def _unquoted(entry: str) -> str:
    if len(entry) > 1 and entry[0] == entry[-1] == "'":
        return entry[1:-1]
    try:
        return msgspec.json.decode(entry, type=str)
    except msgspec.MsgspecError:
        return entry


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
    if words and words[0]:
        return None
    return f"{shown(text)} names no program; expected {TextKind.COMMAND.value}"


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


def _permission_problem(text: str) -> str | None:
    """Return what is wrong with an entry of `project-may-loosen`, or nothing."""
    if any(f"{text}.".startswith(f"{sealed}.") for sealed in _SEALED):
        return "stands in the user's file only and cannot be left to a project"
    prefix = text.removesuffix(".*")
    is_table = prefix in _TABLES or prefix in _SECTIONS
    if prefix != text:
        close = None if is_table else nearest(prefix, (*_TABLES, *_SECTIONS))
        return None if is_table else f"is not a table of the policy{_meant(close, '.*')}"
    if is_table:
        return f"is a table; write `{text}.*` for everything in it"
    if text in KEY_BY_PATH or text in _LIMITS or _names_an_entry(text):
        return None
    return f"is not a key of the policy{_meant(nearest(text, (*KEY_BY_PATH, *_LIMITS)))}"


def _names_an_entry(text: str) -> bool:
    """Tell whether the text stands for an entry of a table that takes any name."""
    return any(text.startswith(f"{table}.") for table in _TABLES if table not in _BUDGETS)


def _meant(close: str | None, behind: str = "") -> str:
    return f"; did you mean `{close}{behind}`?" if close else ""
