"""From TOML text to plain values, in bounded time, and what is wrong with those that are texts."""

from __future__ import annotations

import math
import re
import shlex
import tomllib
from collections.abc import Callable, Mapping
from typing import Self

import msgspec
import re2

from interlock.errors import InputError
from interlock.model.review import refuse_name
from interlock.policy.config.complaints import (
    as_clause,
    did_you_mean,
    is_list,
    is_table,
    joined,
    mistaken,
    nearest,
    shown,
)
from interlock.policy.config.document import KEY_BY_PATH, KEYS
from interlock.policy.config.key import Budget, Entries, TextKind, Tighter
from interlock.secrets.credential_rules import names_credential

Problem = tuple[str, str]
"""A place, and what is wrong there."""

CompileCondition = Callable[[str], str | None]
"""Returns what is wrong with a condition, or nothing."""

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

_MOST_CHARACTERS = 262_144
_MOST_DOTS_IN_A_LINE = 128
_DEEPEST = 64
_TOO_DEEP = ("whole file", f"nested too deeply; expected at most {_DEEPEST} levels")
_LARGEST = 2**63 - 1


class _WrittenFraction(float):
    """A number with a fraction, which remembers how it was written.

    Money is read from what was written: nothing of it may get lost on the way.
    """

    _written: str

    def __new__(cls, written: str) -> Self:
        number = super().__new__(cls, written)
        number._written = written
        return number

    def __str__(self) -> str:
        return self._written


def parsed_table(text: str) -> dict[str, object] | Problem:
    """Return the text as a table, or where and why it is none."""
    if problem := _unfit(text):
        return problem
    try:
        table: dict[str, object] = tomllib.loads(text, parse_float=_WrittenFraction)
    except ValueError as error:
        return _syntax_problem(text, str(error))
    except RecursionError:
        return _TOO_DEEP
    return _TOO_DEEP if _is_too_deep(table) else table


def _unfit(text: str) -> Problem | None:
    if len(text) > _MOST_CHARACTERS:
        return "whole file", (
            f"{len(text)} characters long; expected at most {_MOST_CHARACTERS}: "
            "a policy this long is not read"
        )
    for number, line in enumerate(text.split("\n"), start=1):
        # The parser's time grows with the square of the parts of a dotted key.
        if line.count(".") > _MOST_DOTS_IN_A_LINE:
            return f"line {number}", (
                f"{line.count('.')} dots in one line; expected at most {_MOST_DOTS_IN_A_LINE}: "
                "break the line"
            )
        if not line.isascii() and (column := _lone_surrogate(line)):
            return f"line {number}, column {column}", "not Unicode text; save the file as UTF-8"
    return None


def _lone_surrogate(line: str) -> int:
    return next((at for at, char in enumerate(line, start=1) if "\ud800" <= char <= "\udfff"), 0)


def _syntax_problem(text: str, message: str) -> Problem:
    what, _, place = message.rpartition(" (at ")
    if not what:
        return "whole file", "not TOML: a number is too long"
    place = place.removesuffix(")")
    if place == "end of document":
        lines = text.rstrip("\n").split("\n")
        place = f"line {len(lines)}, column {len(lines[-1]) + 1}"
    return place, f"not TOML: {as_clause(what)}"


def _is_too_deep(table: dict[str, object]) -> bool:
    level: list[object] = [table]
    for _ in range(_DEEPEST):
        level = [inner for outer in level for inner in _children(outer)]
    return bool(level)


def _children(value: object) -> list[object]:
    if is_table(value):
        return list(value.values())
    return list(value) if is_list(value) else []


def schema_problem(schema: dict[str, object], place: str) -> Problem | None:
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
    return f": {as_clause(message)}"


def json_problem(value: object, place: str) -> Problem | None:
    """Return the first place whose value JSON does not know, with what is wrong there."""
    if is_table(value):
        inner = ((joined(place, name), item) for name, item in value.items())
    elif is_list(value):
        inner = ((f"{place}[{index}]", item) for index, item in enumerate(value))
    else:
        problem = _foreign_to_json(value)
        return (place, problem) if problem else None
    return next(filter(None, (json_problem(item, where) for where, item in inner)), None)


def _foreign_to_json(value: object) -> str | None:
    match value:
        case str() | bool():
            return None
        case int() if -_LARGEST <= value <= _LARGEST:
            return None
        case float() if math.isfinite(value):
            return None
        case int() | float():
            return f"{shown(value)} does not fit; expected a number of at most 64 bits"
        case _:
            return mistaken(value, "what JSON knows, such as text")


def json_table(table: dict[str, object]) -> dict[str, object]:
    """Return a table with plain numbers."""
    return {name: json_value(item) for name, item in table.items()}


def json_value(value: object) -> object:
    """Return the value with plain numbers, whole ones as such: JSON knows no other `1.0`."""
    if is_table(value):
        return json_table(value)
    if is_list(value):
        return [json_value(item) for item in value]
    if isinstance(value, float):
        return int(value) if value.is_integer() and abs(value) <= _LARGEST else float(value)
    return value


def text_problem(text: str, kind: TextKind, compile_condition: CompileCondition) -> str | None:
    """Return what is wrong with a text of the kind, or nothing."""
    if not text.strip() and kind not in (TextKind.HIDDEN, TextKind.WORD):
        return f"{shown(text)} is empty; expected {kind.value}"
    if kind is TextKind.CONDITION:
        return compile_condition(text)
    if kind in _FORMS:
        what, fits = _FORMS[kind]
        return None if fits(text) else f"{shown(text)} is not {what}; expected {kind.value}"
    return _PROBLEMS[kind](text) if kind in _PROBLEMS else None


def placed_in_file(problem: str, condition: str, file: str) -> str:
    """Return what is wrong with a condition, with the line and column of the file it stands in."""
    found = re.search(r"at line (\d+), column (\d+):", problem)
    if found is None:
        return problem
    row, column = int(found[1]), int(found[2])
    line = condition.split("\n")[row - 1]
    rows = [(at, text.find(line)) for at, text in enumerate(file.split("\n"), 1) if line in text]
    # The same text may stand there twice, or with escapes.
    place = f"line {row}, column {column} of the condition"
    if len(rows) == 1 and line:
        place = f"line {rows[0][0]}, column {rows[0][1] + column} of the file"
    return problem.replace(found[0], f"at {place}:", 1)


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
        return f"{shown(text)} cannot be split into words: {as_clause(str(error))}"
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


def _is_gate_id(text: str) -> bool:
    try:
        refuse_name("gate", "id", text)
    except InputError:
        return False
    return True


def _is_variable(text: str) -> bool:
    name = text.replace("*", "_")
    return name.isascii() and name.isidentifier() and not names_credential(text)


_FORMS: Mapping[TextKind, tuple[str, Callable[[str], bool]]] = {
    TextKind.RULE_ID: ("an id", _RULE_ID.issuperset),
    TextKind.GATE_ID: ("the id of a gate", _is_gate_id),
    TextKind.VARIABLE: ("a variable that a check may see", _is_variable),
    TextKind.WORD: ("a word of a command", lambda text: "\0" not in text),
}


def _permission_problem(text: str) -> str | None:
    """Return what is wrong with an entry of `project-may-loosen`, or nothing."""
    problem = _mistake_in_permission(text)
    return problem and f"{shown(text)} {problem}"


def _mistake_in_permission(text: str) -> str | None:
    if any(f"{text}.".startswith(f"{sealed}.") for sealed in _SEALED):
        return "may be set in the user's file only and cannot be left to a project"
    prefix = text.removesuffix(".*")
    is_table = prefix in _TABLES or prefix in _SECTIONS
    if prefix != text:
        close = None if is_table else nearest(prefix, (*_TABLES, *_SECTIONS))
        return None if is_table else f"is not a table of the policy{did_you_mean(close, '.*')}"
    if is_table:
        return f"is a table; write `{text}.*` for everything in it"
    if text in KEY_BY_PATH or text in _LIMITS or _names_an_entry(text):
        return None
    return f"is not a key of the policy{did_you_mean(nearest(text, (*KEY_BY_PATH, *_LIMITS)))}"


def _names_an_entry(text: str) -> bool:
    """Tell whether the text stands for an entry of a table that takes any name."""
    return any(text.startswith(f"{table}.") for table in _TABLES if table not in _BUDGETS)


_PROBLEMS: Mapping[TextKind, Callable[[str], str | None]] = {
    TextKind.HIDDEN: _hidden_problem,
    TextKind.COMMAND: _command_problem,
    TextKind.PATTERN: _pattern_problem,
    TextKind.KEY_PATH: _permission_problem,
}
