"""Can JSON say these parameters? What it cannot say would be taken for something else."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple, cast

import msgspec

from interlock.errors import InputError

_LONGEST_PLACE: Final = 200
_EXPECTED: Final = "expected text, numbers, booleans, null, lists and objects"

_Container = dict[object, object] | list[object] | tuple[object, ...]


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
        shown = found.place[:_LONGEST_PLACE].encode("utf-8", "replace").decode() or "params"
        raise InputError(f"the parameters are not JSON: `{shown}` is {found.what}, {_EXPECTED}")


class _Problem(NamedTuple):
    place: str
    what: str


def _first_problem(params: object) -> _Problem | None:
    """Return a place that holds what JSON cannot say, if there is one."""
    waiting: list[tuple[str, object]] = [("", params)]
    seen: set[int] = set()
    while waiting:
        place, value = waiting.pop()
        if (problem := _problem(value)) is not None:
            return _Problem(place, problem)
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
