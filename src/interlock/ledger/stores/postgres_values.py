"""How values travel to Postgres and back: losslessly, and in columns rather than one by one.

A Postgres text cannot hold the character zero. Ours can: it is written as two others, in such
a way that neither the order of texts nor what they begin with changes.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, NamedTuple, assert_never

from interlock.errors import InputError

_LONGEST_NAME: Final = 1024
"""In bytes: two of them fit into one entry of a Postgres index, which may have 2704."""
_ZERO: Final = "\x00"
_ONE: Final = "\x01"
_ZERO_STORED: Final = "\x010"
_ONE_STORED: Final = "\x011"
_BIGGEST: Final = 2**63 - 1

# Numbers that Postgres gives its own types, the same in every database.
_BYTEA: Final = 17
_BIGINT: Final = 20
_TEXT: Final = 25
_ARRAY_OF_BYTEA: Final = 1001
_ARRAY_OF_TEXT: Final = 1009
_ARRAY_OF_BIGINT: Final = 1016

_LENGTH: Final = struct.Struct("!i")
_NULL: Final = _LENGTH.pack(-1)
_ARRAY_HEAD: Final = struct.Struct("!iiIii")


class Column(NamedTuple):
    """Values of one column, as Postgres reads an array of them."""

    kind: int
    array: bytes


Value = str | int | Column | None
Step = tuple[str, Sequence[Value]]
"""A statement and its values."""


def column(letter: str, values: Iterable[Any]) -> Column:
    """Return values as a column: `t` is of texts, `n` of numbers, `b` of bytes."""
    kind, array, stored = _COLUMNS[letter]
    return Column(array, _array(kind, [None if each is None else stored(each) for each in values]))


def _array(kind: int, items: Sequence[bytes | None]) -> bytes:
    """Return an array in Postgres's binary form."""
    parts = [_ARRAY_HEAD.pack(1, int(None in items), kind, len(items), 1)]
    for item in items:
        if item is None:
            parts.append(_NULL)
        else:
            parts.append(_LENGTH.pack(len(item)))
            parts.append(item)
    return b"".join(parts)


def as_sent(value: Value) -> tuple[int, bytes | None]:
    """Return the type of a value, 0 where the statement tells, and its bytes."""
    match value:
        case str():
            return _TEXT, encoded(value)
        case int():
            return _BIGINT, number_bytes(value)
        case None:
            return 0, None
        case Column():
            return value.kind, value.array
        case _:
            assert_never(value)


def encoded(text: str) -> bytes:
    """Return a text as Postgres can keep it."""
    if _ZERO in text or _ONE in text:
        text = text.replace(_ONE, _ONE_STORED).replace(_ZERO, _ZERO_STORED)
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        problem = f"a text with half of a character at position {error.start} cannot be kept"
        raise InputError(f"{problem}: send whole characters") from error


def decoded(stored: bytes) -> str:
    """Return a text as it was before it was stored."""
    text = stored.decode()
    if _ONE in text:
        text = text.replace(_ZERO_STORED, _ZERO).replace(_ONE_STORED, _ONE)
    return text


def number_bytes(number: int) -> bytes:
    """Return a number as Postgres keeps it."""
    try:
        return number.to_bytes(8, signed=True)
    except OverflowError as error:
        raise InputError(f"{number} cannot be kept: the largest number is {_BIGGEST}") from error


def fitting(what: str, name: str) -> str:
    """Return a name that rows are found by, unless it is too long for that."""
    # Before anything is written with it: later the whole group would fail.
    if len(name) * 4 > _LONGEST_NAME and (length := len(encoded(name))) > _LONGEST_NAME:
        raise InputError(f"{what} has {length} bytes, at most {_LONGEST_NAME} can be kept")
    return name


def _number(stored: bytes) -> int:
    return int.from_bytes(stored, signed=True)


_COLUMNS: Final[dict[str, tuple[int, int, Callable[[Any], bytes]]]] = {
    "t": (_TEXT, _ARRAY_OF_TEXT, encoded),
    "n": (_BIGINT, _ARRAY_OF_BIGINT, number_bytes),
    "b": (_BYTEA, _ARRAY_OF_BYTEA, bytes),
}
AS_RECEIVED: Final[dict[int, Callable[[bytes], object]]] = {
    _TEXT: decoded,
    _BIGINT: _number,
    _BYTEA: bytes,
}
"""How values of each type are read."""
