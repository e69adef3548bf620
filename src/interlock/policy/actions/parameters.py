"""A tool's parameters: read from the text a model wrote, checked, and looked through."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final, cast

import msgspec

from interlock.errors import InputError
from interlock.policy.actions.calls.json_text import PLAIN, Scan, Unreadable, value_from_json

if TYPE_CHECKING:
    from jsonschema_rs import ValidationError

_LONGEST_PLACE: Final = 200
_EXPECTED: Final = "expected text, numbers, booleans, null, lists and objects"

_Path = tuple[str, ...]
_Container = dict[object, object] | list[object] | tuple[object, ...]
_LONGEST_NAMED_VALUE: Final = 512
_LONGEST_PATH: Final = 8
_LARGEST_PATTERN: Final = 1 << 20
"""In bytes, compiled: a pattern takes time in proportion to its size."""
_KINDS: Final[dict[type, str]] = {
    bool: "a boolean",
    int: "a number",
    float: "a number",
    str: "a string",
    list: "an array",
    dict: "an object",
}


def params_from_text(raw: str, scan: Scan) -> Mapping[str, object] | Unreadable:
    """Read the JSON text that a model wrote; empty text counts as `{}`."""
    if not raw.strip():
        return {}
    value = value_from_json(raw, scan)
    if isinstance(value, Unreadable):
        return Unreadable(value.rule, f"the parameters {value.message}")
    if not isinstance(value, dict):
        message = f"the parameters are {kind_of(value)}, expected an object"
        return Unreadable("not-an-object", message)
    return cast("Mapping[str, object]", value)


def kind_of(value: object) -> str:
    """Return the JSON kind of a value, for people."""
    return "null" if value is None else _KINDS.get(type(value), "a value")


class ToolSchema:
    """A tool's JSON Schema, as it was written and compiled."""

    def __init__(self, schema: Mapping[str, object]) -> None:
        import jsonschema_rs  # noqa: PLC0415 - heavy, and only policies with schemas need it

        self.document = schema
        # Neither the network nor files are touched for a `$ref`, and patterns stay linear.
        patterns = jsonschema_rs.RegexOptions(size_limit=_LARGEST_PATTERN)
        self._validator = jsonschema_rs.validator_for(
            dict(schema), offline=True, pattern_options=patterns
        )

    def errors(self, params: Mapping[str, object]) -> list[ValidationError]:
        """Return every place that does not fit."""
        return list(self._validator.iter_errors(dict(params)))

    def first_error(self, params: Mapping[str, object]) -> list[ValidationError]:
        """Return one place that does not fit, if there is any."""
        import jsonschema_rs  # noqa: PLC0415 - the same

        try:
            self._validator.validate(dict(params))
        except jsonschema_rs.ValidationError as error:
            return [error]
        return []


def tool_schema(schema: Mapping[str, object]) -> ToolSchema:
    """Return a tool's JSON Schema, compiled."""
    return ToolSchema(schema)


def strings_in(params: object) -> Iterator[tuple[str, str]]:
    """Yield the place and the text of every string in parsed JSON, keys included.

    A short value is given with the names it stands under, as `name="value"`: what a value
    means often shows only there.
    """
    waiting: list[tuple[_Path, object]] = [((), params)]
    seen: set[int] = set()
    while waiting:
        path, value = waiting.pop()
        if isinstance(value, str):
            yield _place(path), _with_names(path, value)
            continue
        # Parameters may contain themselves: once is enough.
        if id(value) in seen:
            continue
        seen.add(id(value))
        if isinstance(value, Mapping):
            entries = cast("Mapping[object, object]", value)
            yield from _keys_and_pairs(path, entries)
            below = [(key, child) for key, child in entries.items() if _holds_text(child)]
            waiting.extend([(_below(path, str(key)), child) for key, child in reversed(below)])
        elif isinstance(value, Sequence):
            items = cast("Sequence[object]", value)
            waiting.extend(
                (_below(path, f"[{index}]"), items[index]) for index in reversed(range(len(items)))
            )


def _holds_text(value: object) -> bool:
    return type(value) not in PLAIN and isinstance(value, str | Mapping | Sequence)


def _keys_and_pairs(path: _Path, entries: Mapping[object, object]) -> Iterator[tuple[str, str]]:
    """Yield the keys that no short value is rendered with, and `{name, value}` as one."""
    for key, child in entries.items():
        if not isinstance(child, str) or not _is_short(child):
            yield _place(path), str(key)
    value = entries.get("value")
    name = entries.get("name", entries.get("key"))
    if isinstance(name, str) and isinstance(value, str) and _is_short(value):
        yield _place((*path, "value")), f'{name}="{value}"'


def _with_names(path: _Path, value: str) -> str:
    names = [name for name in path if not name.startswith("[")][-2:]
    return f'{".".join(names)}="{value}"' if names and _is_short(value) else value


def _is_short(value: str) -> bool:
    return len(value) <= _LONGEST_NAMED_VALUE and "\n" not in value


def _below(path: _Path, name: str) -> _Path:
    return (*path[1 - _LONGEST_PATH :], name)


def _place(path: _Path) -> str:
    return ".".join(path).replace(".[", "[")


def check_is_json(params: Mapping[str, object]) -> None:
    """Raise InputError, with the place, for what JSON cannot say; half characters are let pass."""
    try:
        if msgspec.json.decode(msgspec.json.encode(params)) == params:
            return
    except RecursionError as error:
        raise InputError("the parameters are not JSON: they are nested too deeply") from error
    except (TypeError, ValueError):
        # Where it stands is found out below.
        pass
    found = _first_problem(params)
    if found is not None:
        place, what = found
        shown = place[:_LONGEST_PLACE].encode("utf-8", "replace").decode() or "params"
        raise InputError(f"the parameters are not JSON: `{shown}` is {what}, {_EXPECTED}")


def _first_problem(params: object) -> tuple[str, str] | None:
    """Return a place that holds what JSON cannot say, if there is one."""
    waiting: list[tuple[str, object]] = [("", params)]
    seen: set[int] = set()
    while waiting:
        place, value = waiting.pop()
        if (problem := _problem(value)) is not None:
            return place, problem
        # What holds itself is looked at once.
        identity = id(value)
        if isinstance(value, dict | list | tuple) and identity not in seen:
            seen.add(identity)
            waiting.extend(_inside(place, cast("_Container", value)))
    return None


def _problem(value: object) -> str | None:
    if isinstance(value, float):
        return None if math.isfinite(value) else f"the number {value}"
    if isinstance(value, dict):
        names = cast("dict[object, object]", value)
        is_named = all(isinstance(name, str) for name in names)
        return None if is_named else "an object with a name that is no text"
    kind = type(value).__name__
    is_plain = isinstance(value, str | int | list | tuple | None)
    return None if is_plain else f"of type `{kind}`"


def _inside(place: str, value: _Container) -> Iterator[tuple[str, object]]:
    if isinstance(value, dict):
        for name, item in value.items():
            yield (f"{place}.{name}" if place else str(name)), item
    else:
        yield from ((f"{place}[{index}]", item) for index, item in enumerate(value))
