"""TOML values that have to be JSON as well: schemas, and the parameters in examples."""

from __future__ import annotations

import math

from interlock.policy.config.syntax import is_list, is_table
from interlock.policy.config.wording import joined, kind_of, shown

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
