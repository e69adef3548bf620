"""Amounts, times and sizes: in words that a person takes in at a glance, and for programs."""

from __future__ import annotations

import os
import re
import time
from decimal import Decimal
from typing import Final, assert_never

import msgspec

from interlock.model.budget import Amounts, Dimension, Limits

LEAST_CALLS: Final = 1_000
"""Of fewer calls nothing is told per 1,000."""
LONGEST_NAME: Final = 24
"""Of a longer name a part is shown."""
_UUID: Final = re.compile(r"\b([0-9a-f]{8})-[0-9a-f]{4}-")
_SECOND: Final = 1_000_000
_UNITS: Final = ((86_400, "d"), (3_600, "h"), (60, "min"))
_THOUSANDS: Final = ((1_000_000_000, "G"), (1_000_000, "M"), (1_000, "k"))
_BYTES: Final = ((1 << 30, "GB"), (1 << 20, "MB"), (1 << 10, "kB"))

AmountValue = int | float | str


def span(microseconds: int) -> str:
    """Return a span of time in its largest unit, such as `12 min`."""
    seconds = max(0, microseconds) // _SECOND
    for size, unit in _UNITS:
        if seconds >= size:
            return f"{seconds // size} {unit}"
    return f"{seconds} s"


def duration(milliseconds: int) -> str:
    """Return how long something took, such as `40 ms`, `2.3 s` or `12 min`."""
    if milliseconds < 1_000:
        return f"{milliseconds} ms"
    if milliseconds < 60_000:
        return f"{milliseconds / 1000:.1f} s"
    return span(milliseconds * 1_000)


def offset(microseconds: int) -> str:
    """Return a place on a timeline, such as `0:07` or `1:02:33`."""
    minutes, seconds = divmod(max(0, microseconds) // _SECOND, 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"


def moment(microseconds: int) -> str:
    """Return a point in time, to the second."""
    return time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(microseconds // _SECOND))


def time_of_day(microseconds: int) -> str:
    """Return a time of day (UTC), to the second."""
    return time.strftime("%H:%M:%S", time.gmtime(microseconds // _SECOND))


def short_count(number: int) -> str:
    """Return a number in at most five characters, such as `78.8k`."""
    for size, unit in _THOUSANDS:
        if number >= size:
            shown = number / size
            return f"{shown:.1f}{unit}" if shown < 100 else f"{shown:.0f}{unit}"
    return str(number)


def tokens(number: int) -> str:
    """Return a number in three digits, such as `64.5 k`."""
    for size, unit in _THOUSANDS:
        if number >= size:
            share = number / size
            digits = 2 if share < 10 and unit != "k" else 1 if share < 100 else 0
            return f"{share:.{digits}f} {unit}"
    return str(number)


def from_home(path: str) -> str:
    """Return a path as its owner writes it: what is in the home folder begins with `~`."""
    home = os.environ.get("HOME", "").rstrip("/")
    return f"~{path[len(home) :]}" if home and path.startswith(f"{home}/") else path


def session(run: str) -> str:
    """Return what tells a session from others: the first of its UUID, or the end of its name."""
    uuid = _UUID.search(run)
    if uuid is not None:
        return uuid.group(1)
    return run if len(run) <= LONGEST_NAME else f"…{run[1 - LONGEST_NAME :]}"


def size(count: int) -> str:
    """Return a number of bytes, such as `1.2 MB`."""
    for unit_size, unit in _BYTES:
        if count >= unit_size:
            return f"{count / unit_size:.1f} {unit}"
    return f"{count} bytes"


def dollars(micros: int) -> str:
    """Return an amount of money; what is small keeps its digits."""
    usd = Decimal(micros) / 1_000_000
    if micros % 10_000 == 0 or micros >= 1_000_000:
        return f"${usd:,.2f}"
    return f"${usd:.4f}" if micros >= 100 else f"${usd:.6f}"


def counted(number: int, noun: str) -> str:
    """Return a number with its noun, such as `1 run` or `12 runs`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def amount(dimension: Dimension, value: int) -> str:
    """Return so much of a dimension for people."""
    match dimension:
        case Dimension.COST:
            return dollars(value)
        case Dimension.WALL_TIME:
            return f"{value // 1000:,} s"
        case Dimension.STORAGE:
            return size(value)
        case Dimension.TOKENS | Dimension.TOOL_CALLS | Dimension.DIFF_LINES:
            return f"{value:,}"
        case _:
            assert_never(dimension)


def amount_value(dimension: Dimension, value: int) -> AmountValue:
    """Return so much of a dimension for programs, in the unit that its name tells."""
    if dimension is Dimension.COST:
        # As text: a program must not add up dollars in floating point by accident.
        return f"{Decimal(value) / 1_000_000:f}"
    return value / 1000 if dimension is Dimension.WALL_TIME else value


def amounts_value(amounts: Amounts | Limits) -> dict[Dimension, AmountValue]:
    """Return every dimension that has an amount or a limit, for programs."""
    found = ((each, amounts.of(each)) for each in Dimension)
    return {each: amount_value(each, amount) for each, amount in found if amount is not None}


def json_text(value: object) -> str:
    """Return the value as one line of JSON, half characters included."""
    try:
        return msgspec.json.encode(value).decode()
    except UnicodeEncodeError:
        import json  # noqa: PLC0415 - only for text that is not text

        return json.dumps(msgspec.to_builtins(value), separators=(",", ":"))
