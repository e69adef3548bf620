"""JSON that is taken apart only where somebody looks, so that a large document costs little.

A part is either still packed or a value already; every function here takes both. What is of
another kind than was asked for is empty or None: histories come from all versions of everything.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import Final, TypeVar, cast

import msgspec

from interlock.errors import InputError

T = TypeVar("T")
Table = Mapping[str, object]
_MICRO: Final = 1_000_000
_LAST: Final = 253_402_300_799 * _MICRO
"""The end of the year 9999: no calendar goes further."""
_UNREAD: Final = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
_TABLE: Final = msgspec.json.Decoder(dict[str, msgspec.Raw])
_LIST: Final = msgspec.json.Decoder(list[msgspec.Raw])


def decoded(content: bytes | msgspec.Raw) -> object:
    """Return what a text in JSON says; raise InputError where it says nothing."""
    with suppress(*_UNREAD):
        return msgspec.json.decode(content)
    return _decoded_slowly(content, lambda found: found)


def value(part: object) -> object:
    """Return a part as it is; half characters are mended. Raise InputError where it is broken."""
    if not isinstance(part, bytes | msgspec.Raw):
        return part
    with suppress(*_UNREAD):
        return msgspec.json.decode(part)
    return _decoded_slowly(part, mended)


def _decoded_slowly(content: bytes | msgspec.Raw, finished: Callable[[object], object]) -> object:
    """Return the same of a text with half characters, as cut-off text has, or odd numbers."""
    try:
        return finished(json.loads(bytes(content), parse_constant=_no_number, parse_float=_finite))
    except UnicodeDecodeError as error:
        raise InputError("not UTF-8") from error
    except ValueError as error:
        raise InputError(f"not JSON: {str(error)[:1].lower()}{str(error)[1:]}") from error
    except RecursionError as error:
        raise InputError("not read: nested too deeply") from error


def _finite(written: str) -> float | None:
    number = float(written)
    return number if math.isfinite(number) else None


def _no_number(written: str) -> None:
    """Say nothing for `NaN` and the like: that is no JSON, and nothing can be asked with it."""
    del written


def fields(part: object) -> Table:
    """Return the fields of a part, still packed."""
    found = _apart(part, _TABLE)
    return cast("Table", found) if isinstance(found, dict) else {}


def entries(part: object) -> Sequence[object]:
    """Return the entries of a part, still packed."""
    found = _apart(part, _LIST)
    return cast("Sequence[object]", found) if isinstance(found, list) else ()


def tables(part: object, unread: Callable[[int, str], None]) -> Iterator[tuple[int, Table]]:
    """Yield each table of a list with its place from 1 on; whatever else stands there is told."""
    for place, entry in enumerate(entries(part), 1):
        try:
            row = value(entry)
        except InputError as error:
            unread(place, str(error))
            continue
        if isinstance(row, dict):
            yield place, cast("Table", row)
        else:
            unread(place, "not an object")


def table(part: object) -> Table:
    """Return a part that is a table, as a whole."""
    found = value(part)
    return cast("Table", found) if isinstance(found, dict) else {}


def text(part: object) -> str:
    """Return a part that is text, and anything else as its JSON; nothing is no text."""
    found = part if isinstance(part, str) else value(part)
    if found is None:
        return ""
    if isinstance(found, str):
        return found
    try:
        return msgspec.json.encode(found).decode()
    except UnicodeEncodeError:
        return msgspec.json.encode(mended(found)).decode()


def params_from(arguments: object) -> Table | str:
    """Return parameters as a table, where the text that they are given as is one."""
    if not isinstance(arguments, str) and isinstance(arguments, Mapping):
        return cast("Table", arguments)
    written = text(arguments)
    try:
        found = value(written.encode("utf-8", "replace") or b"{}")
    except InputError:
        return written
    return cast("Table", found) if isinstance(found, dict) else written


def words(part: object) -> str | None:
    """Return a part that is text, if there is any in it."""
    found = part if isinstance(part, str) else value(part)
    return (found or None) if isinstance(found, str) else None


def whole(part: object) -> int | None:
    """Return a count."""
    found = value(part)
    return found if isinstance(found, int) and not isinstance(found, bool) and found >= 0 else None


def truth(part: object) -> bool | None:
    """Return a yes or no."""
    found = value(part)
    return found if isinstance(found, bool) else None


def microseconds(part: object) -> int | None:
    """Return a moment, given in seconds or as a date; None where it cannot be read."""
    moment = value(part)
    try:
        if isinstance(moment, str):
            return possible_moment(int(moment_of(moment).timestamp() * _MICRO))
        return possible_moment(int(moment * _MICRO)) if isinstance(moment, int | float) else None
    except (ValueError, OverflowError, OSError):
        return None


def moment_of(written: str) -> datetime:
    """Return a moment as ISO writes it, in UTC where nothing else is said; raise ValueError."""
    moment = datetime.fromisoformat(written)
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)


def possible_moment(at: int) -> int | None:
    """Return a moment in microseconds; None where no agent can have been at work then."""
    return at if 0 <= at <= _LAST else None


def mended(found: T) -> T:
    """Return a value in whose texts nothing is half a character."""
    if isinstance(found, str):
        return cast("T", found if found.isascii() else _whole_characters(found))
    if isinstance(found, dict):
        rows = cast("dict[str, object]", found)
        return cast("T", {mended(name): mended(each) for name, each in rows.items()})
    if isinstance(found, list):
        return cast("T", [mended(each) for each in cast("list[object]", found)])
    return found


def _whole_characters(found: str) -> str:
    try:
        found.encode()
    except UnicodeEncodeError:
        return found.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return found


def _apart(part: object, decoder: msgspec.json.Decoder[T]) -> object:
    if not isinstance(part, bytes | msgspec.Raw):
        return part
    try:
        return decoder.decode(part)
    except msgspec.ValidationError:
        return None
    except _UNREAD:
        return value(part)
