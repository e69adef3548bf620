"""From TOML text to plain values, in bounded time whatever the text, and to those of JSON."""

from __future__ import annotations

import math
import tomllib
from typing import Self

from interlock.policy.config.complaints import is_list, is_table, joined, mistaken, shown

Problem = tuple[str, str]
"""A place, and what is wrong there."""

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
    return place, f"not TOML: {what[0].lower()}{what[1:]}"


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
    return f": {message[0].lower()}{message[1:]}"


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
