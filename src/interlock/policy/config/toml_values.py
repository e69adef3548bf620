"""From TOML text to plain values, in bounded time whatever the text."""

from __future__ import annotations

import math
import tomllib
from typing import Self, TypeGuard

from interlock.policy.config.complaints import Complaints, joined, kind_of, shown

_MOST_CHARACTERS = 262_144
_MOST_DOTS_IN_A_LINE = 128
_DEEPEST = 64


class WrittenFraction(float):
    """A number with a fraction, which remembers how it was written.

    Money is read from what was written: nothing of it may get lost on the way.
    """

    _written: str

    def __new__(cls, written: str) -> Self:
        """Return the number that the text stands for."""
        number = super().__new__(cls, written)
        number._written = written
        return number

    def __str__(self) -> str:
        """Return the text."""
        return self._written


def parsed_table(text: str, complaints: Complaints) -> dict[str, object] | None:
    """Return the text as a table, or complain once and return nothing."""
    if problem := _unfit(text):
        complaints.about(*problem)
        return None
    try:
        table: dict[str, object] = tomllib.loads(text, parse_float=WrittenFraction)
    except ValueError as error:
        complaints.about(*_syntax_problem(text, str(error)))
        return None
    except RecursionError:
        complaints.about("whole file", f"nested too deeply; expected at most {_DEEPEST} levels")
        return None
    if _too_deep(table):
        complaints.about("whole file", f"nested too deeply; expected at most {_DEEPEST} levels")
        return None
    return table


def value_at(table: dict[str, object], section: str, name: str) -> object | None:
    """Return the value of a key in a section, or at the top where the section has no name."""
    inner = table.get(section) if section else table
    return inner.get(name) if is_table(inner) else None


def is_table(value: object) -> TypeGuard[dict[str, object]]:
    """Tell whether a TOML value is a table."""
    return isinstance(value, dict)


def is_list(value: object) -> TypeGuard[list[object]]:
    """Tell whether a TOML value is a list."""
    return isinstance(value, list)


def _unfit(text: str) -> tuple[str, str] | None:
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


def _syntax_problem(text: str, message: str) -> tuple[str, str]:
    what, _, place = message.rpartition(" (at ")
    if not what:
        return "whole file", "not TOML: a number is too long"
    place = place.removesuffix(")")
    if place == "end of document":
        lines = text.rstrip("\n").split("\n")
        place = f"line {len(lines)}, column {len(lines[-1]) + 1}"
    return place, f"not TOML: {what[0].lower()}{what[1:]}"


def _too_deep(table: dict[str, object]) -> bool:
    level: list[object] = [table]
    for _ in range(_DEEPEST):
        level = [inner for outer in level for inner in _children(outer)]
    return bool(level)


def _children(value: object) -> list[object]:
    if is_table(value):
        return list(value.values())
    return value if is_list(value) else []


_LARGEST = 2**63 - 1


def json_problem(value: object, place: str) -> tuple[str, str] | None:
    """Return the first place whose value JSON does not know, with what is wrong there."""
    if is_table(value):
        inner = ((joined(place, name), item) for name, item in value.items())
    elif is_list(value):
        inner = ((f"{place}[{index}]", item) for index, item in enumerate(value))
    else:
        problem = _scalar_problem(value)
        return (place, problem) if problem else None
    return next(filter(None, (json_problem(item, where) for where, item in inner)), None)


def json_value(value: object) -> object:
    """Return the value with plain numbers, whole ones as such: JSON knows no other `1.0`."""
    if is_table(value):
        return {name: json_value(item) for name, item in value.items()}
    if is_list(value):
        return [json_value(item) for item in value]
    if isinstance(value, float):
        return int(value) if value.is_integer() and abs(value) <= _LARGEST else float(value)
    return value


def _scalar_problem(value: object) -> str | None:
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
            return f"{shown(value)} is {kind_of(value)}; expected what JSON knows, such as text"
