"""Reading the fields of one table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import NamedTuple, assert_never

from interlock.policy.config import shapes
from interlock.policy.config.json_values import json_problem, json_value
from interlock.policy.config.shapes import (
    Choice,
    Examples,
    Field,
    FieldShape,
    Flag,
    Money,
    Number,
    Text,
    Texts,
)
from interlock.policy.config.syntax import is_table
from interlock.policy.config.values import Desk, read_items, read_text, read_value
from interlock.policy.config.wording import joined, kind_of, nearest, one_of, shown, suggestion

EXAMPLE_KEYS = {
    "command": ("command", "cwd"),
    "tool": ("tool", "params"),
    "path": ("path", "content", "old"),
}
"""What tells the three kinds of examples apart, and the keys of each."""


class Fields(NamedTuple):
    """The good fields of a table, and whether they are all of it."""

    values: dict[str, object]
    complete: bool


def read_fields(
    fields: Sequence[Field], place: str, table: dict[str, object], desk: Desk
) -> Fields:
    """Return the good fields; complain about each that is wrong, unknown or missing."""
    by_name = {field.name: field for field in fields}
    required = {field.name for field in fields if field.required and field.instead not in table}
    missing = required - table.keys()
    read: dict[str, object] = {}
    for name, value in table.items():
        if name in by_name:
            read[name] = _read_field(by_name[name].shape, f"{place}.{name}", value, desk)
        else:
            unknown = f"unknown key{suggestion(name, by_name)}"
            desk.complaints.about(joined(place, name), unknown)
            # Whoever misspelt a key has not forgotten it.
            missing.discard(nearest(name, by_name) or "")
    for field in fields:
        if field.name in missing:
            desk.complaints.about(place, f"the key `{field.name}` is missing")
    good = {name: value for name, value in read.items() if value is not None}
    complete = len(good) == len(table) and required <= good.keys()
    return Fields(good, complete=complete and _all_mean_something(fields, place, good, desk))


def _all_mean_something(
    fields: Sequence[Field], place: str, good: dict[str, object], desk: Desk
) -> bool:
    """Complain about each field that stands there without the one that it speaks about."""
    alone = [
        field
        for field in fields
        if field.name in good and field.needs and good.keys().isdisjoint(field.needs)
    ]
    for field in alone:
        desk.complaints.about(f"{place}.{field.name}", f"needs {one_of(field.needs)} beside it")
    return not alone


def _read_field(shape: FieldShape, place: str, value: object, desk: Desk) -> object | None:
    match shape:
        case Flag() | Number() | Money() | Choice() | Text() | Texts():
            return read_value(shape, place, value, desk)
        case shapes.Sequence():
            return read_items(place, value, desk, partial(read_text, shape.kind))
        case Examples():
            return read_items(place, value, desk, _read_example)
        case _:
            assert_never(shape)


def _read_example(place: str, item: object, desk: Desk) -> object | None:
    if isinstance(item, str):
        return item
    problems = list(_example_problems(place, item))
    for where, problem in problems:
        desk.complaints.about(where, problem)
    return None if problems else json_value(item)


def _example_problems(place: str, item: object) -> Iterator[tuple[str, str]]:
    if not is_table(item):
        yield place, f"{shown(item)} is {kind_of(item)}; expected a command line or a table"
        return
    kinds = [kind for kind in EXAMPLE_KEYS if kind in item]
    if len(kinds) != 1:
        yield place, f"expected exactly one of the keys {one_of(tuple(EXAMPLE_KEYS))}"
        return
    [kind] = kinds
    for name, value in item.items():
        if name not in EXAMPLE_KEYS[kind]:
            hint = suggestion(name, EXAMPLE_KEYS[kind])
            yield joined(place, name), f"unknown key beside `{kind}`{hint}"
        elif name == "params":
            yield from filter(None, [json_problem(value, joined(place, name))])
        elif not isinstance(value, str):
            yield joined(place, name), f"{shown(value)} is {kind_of(value)}; expected text"
