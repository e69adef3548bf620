"""Reading one value against its shape."""

from __future__ import annotations

import decimal
from collections.abc import Callable
from typing import NamedTuple, TypeVar, assert_never

from interlock.policy.config.layer import CompileCondition
from interlock.policy.config.permissions import canonical_permission
from interlock.policy.config.shapes import (
    MOST_ITEMS,
    Choice,
    Flag,
    Money,
    Number,
    Scalar,
    Setting,
    Text,
    TextKind,
    Texts,
)
from interlock.policy.config.syntax import is_list
from interlock.policy.config.texts import text_problem
from interlock.policy.config.wording import Complaints, kind_of, nearest, one_of, shown

_MILLIONTH = decimal.Decimal("0.000001")
_MONEY_PLACES = 6

INHERITED = "..."
"""Stands in a list for everything that the layer below has there."""


_Item = TypeVar("_Item")


class Desk(NamedTuple):
    """What reading needs at hand."""

    complaints: Complaints
    compile_condition: CompileCondition


def read_value(
    shape: Setting, place: str, value: object, desk: Desk
) -> bool | int | str | tuple[str, ...] | None:
    """Return the value as its shape wants it, or complain and return nothing."""
    match shape:
        case Flag() if isinstance(value, bool):
            return value
        case Number() if isinstance(value, int) and not isinstance(value, bool):
            return _read_number(shape, place, value, desk)
        case Money() if isinstance(value, int | float) and not isinstance(value, bool):
            return _read_money(shape, place, value, desk)
        case Choice() if isinstance(value, str):
            return _read_choice(shape, place, value, desk)
        case Text() if isinstance(value, str):
            return read_text(shape.kind, place, value, desk)
        case Texts():
            return _read_set(shape, place, value, desk)
        case _:
            desk.complaints.about(place, _mismatch(shape, value))
            return None


def read_text(kind: TextKind, place: str, value: object, desk: Desk) -> str | None:
    """Return a text of the kind, or complain and return nothing."""
    if not isinstance(value, str):
        desk.complaints.about(place, _mismatch(Text(kind=kind), value))
        return None
    if problem := text_problem(value, kind, desk.compile_condition):
        desk.complaints.about(place, problem)
        return None
    return canonical_permission(value) if kind is TextKind.KEY_PATH else value


def read_items(
    place: str,
    value: object,
    desk: Desk,
    read: Callable[[str, object, Desk], _Item | None],
    *,
    most: int = MOST_ITEMS,
) -> tuple[_Item, ...] | None:
    """Return a list item by item, or complain about each that is wrong and return nothing."""
    if not is_list(value):
        desk.complaints.about(place, f"{shown(value)} is {kind_of(value)}; expected a list")
        return None
    if len(value) > most:
        desk.complaints.about(place, f"{len(value)} entries; expected at most {most}")
        return None
    items = [read(f"{place}[{at}]", item, desk) for at, item in enumerate(value)]
    good = tuple(item for item in items if item is not None)
    return good if len(good) == len(items) else None


def expected(shape: Scalar) -> str:
    """Return in words what a shape takes."""
    match shape:
        case Flag():
            return "`true` or `false`"
        case Number(minimum=minimum, maximum=maximum) if minimum == maximum:
            return f"`{minimum}`"
        case Number():
            return f"a whole number from {shape.minimum} to {shape.maximum}"
        case Money():
            return (
                f"US dollars from 0 to {shape.maximum}, with at most {_MONEY_PLACES} decimal places"
            )
        case Choice():
            return one_of(shape.values)
        case Text(kind=TextKind.HIDDEN | TextKind.COMMAND as kind):
            return f"text, {kind.value}"
        case Text():
            return "text"
        case _:
            assert_never(shape)


def _read_number(shape: Number, place: str, value: int, desk: Desk) -> int | None:
    if shape.minimum <= value <= shape.maximum:
        return value
    desk.complaints.about(place, f"{shown(value)} is out of range; expected {expected(shape)}")
    return None


def _read_money(shape: Money, place: str, value: float, desk: Desk) -> int | None:
    if not 0 <= value <= shape.maximum:
        desk.complaints.about(place, f"{shown(value)} is out of range; expected {expected(shape)}")
        return None
    micro_usd = _micro_usd(value)
    if micro_usd is None:
        desk.complaints.about(place, f"{shown(value)} is too fine; expected {expected(shape)}")
    return micro_usd


def _micro_usd(value: float) -> int | None:
    """Return dollars in millionths, exactly as written, or nothing where some would be lost."""
    try:
        written = decimal.Decimal(str(value))
    except decimal.InvalidOperation:  # an exponent beyond all bounds
        return None
    amount = written.quantize(_MILLIONTH)
    return int(amount.scaleb(_MONEY_PLACES)) if amount == written else None


def _read_choice(shape: Choice, place: str, value: str, desk: Desk) -> str | None:
    if value in shape.values:
        return value
    close = nearest(value, shape.values)
    hint = f"; did you mean `{close}`?" if close else ""
    desk.complaints.about(place, f"{shown(value)} is unknown; expected {expected(shape)}{hint}")
    return None


def _read_set(shape: Texts, place: str, value: object, desk: Desk) -> tuple[str, ...] | None:
    def read(at: str, item: object, desk: Desk) -> str | None:
        return INHERITED if item == INHERITED else read_text(shape.kind, at, item, desk)

    items = read_items(place, value, desk, read, most=shape.most)
    return None if items is None else tuple(sorted(set(items)))


def _mismatch(shape: Scalar, value: object) -> str:
    if shape == Text(kind=TextKind.HIDDEN):
        return f"the value is {kind_of(value)}; expected {expected(shape)}"
    return f"{shown(value)} is {kind_of(value)}; expected {expected(shape)}"
