"""A value of the policy as people may see it."""

from __future__ import annotations

import decimal
from collections.abc import Iterable

import msgspec

from interlock.policy.config.document import Carrier
from interlock.policy.config.layer import Leaf, Value
from interlock.policy.config.shapes import Budget, Field, Money, Tables, Text, TextKind
from interlock.policy.config.syntax import is_table


def is_hidden(leaf: Leaf) -> bool:
    """Tell whether nobody may see what a place holds."""
    return leaf.key.shape == Text(kind=TextKind.HIDDEN)


def visible_value(leaf: Leaf, value: Value) -> object:
    """Return the value as plain JSON with money in dollars; of what is hidden, that it is set."""
    if is_hidden(leaf):
        return "(set, not shown)" if value else ""
    if isinstance(value, frozenset):
        return sorted(map(_carried, value), key=msgspec.json.encode)
    return in_dollars(leaf, value)


def in_dollars(leaf: Leaf, value: object) -> object:
    """Return the value with money as it would be written in a file, and the rest as it is."""
    match leaf.key.shape:
        case Budget() as shape:
            return _part_in_dollars(shape.fields, leaf.entry, value)
        case Tables() as shape if is_table(value):
            parts = value.items()
            return {name: _part_in_dollars(shape.fields, name, part) for name, part in parts}
        case _:
            return value


def _carried(carrier: Carrier) -> dict[str, object]:
    parts: dict[str, object] = msgspec.to_builtins(carrier)
    return {name: parameters for name, parameters in parts.items() if parameters}


def _part_in_dollars(fields: Iterable[Field], name: str | None, value: object) -> object:
    is_money = any(field.name == name and isinstance(field.shape, Money) for field in fields)
    if not is_money or not isinstance(value, int):
        return value
    dollars, micros = divmod(value, 1_000_000)
    return decimal.Decimal(f"{dollars}.{micros:06}".rstrip("0").removesuffix("."))
