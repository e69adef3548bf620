"""One row of a client's log → what the stop gate is given; unknown fields are left alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar, cast

import msgspec

from interlock.errors import InputError
from interlock.model.stop import (
    StopContext,
    StopEvidence,
    finish_reason_from,
    last_event_from,
)

_Kind = TypeVar("_Kind")


def context_from_row(row: Mapping[str, object]) -> StopContext:
    """Return what a row says; InputError names the field that cannot be read."""
    finish_reason = _text(row, "finish_reason")
    last_event = _text(row, "last_event")
    return StopContext(
        text=_text(row, "text"),
        last_event=None if last_event is None else last_event_from(last_event),
        finish_reason=None if finish_reason is None else finish_reason_from(finish_reason),
        tool_ratio=_number(row, "tool_ratio"),
        n_prev_turns=_count(row, "n_prev_turns"),
        model=_text(row, "model"),
        tool_calls=_count(row, "tool_calls"),
        retries=_count(row, "retries") or 0,
        hard=_texts(row, "hard"),
        evidence=_evidence(row),
    )


def _text(row: Mapping[str, object], field: str) -> str | None:
    value = row.get(field)
    if value is not None and not isinstance(value, str):
        raise InputError(f"`{field}` is {_shown(value)}, expected a string or null")
    return value


def _number(row: Mapping[str, object], field: str) -> float | None:
    value = row.get(field)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InputError(f"`{field}` is {_shown(value)}, expected a number or null")
    try:
        return float(value)
    except OverflowError as error:
        raise InputError(f"`{field}` is too large, expected a share such as 0.75") from error


def _count(row: Mapping[str, object], field: str) -> int | None:
    value = row.get(field)
    if value is None:
        return None
    if isinstance(value, list):
        # Some clients log the calls themselves and not their number.
        return len(cast("list[object]", value))
    if isinstance(value, bool) or not isinstance(value, int):
        raise InputError(f"`{field}` is {_shown(value)}, expected a whole number or null")
    return value


def _texts(row: Mapping[str, object], field: str) -> tuple[str, ...]:
    return _converted(row.get(field) or [], tuple[str, ...], field, "an array of strings")


def _evidence(row: Mapping[str, object]) -> tuple[StopEvidence, ...]:
    expected = "an array of objects with `kind` and `text`"
    return _converted(row.get("evidence") or [], tuple[StopEvidence, ...], "evidence", expected)


def _converted(value: object, kind: type[_Kind], field: str, expected: str) -> _Kind:
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        reason = str(error)
        reason = f"{reason[:1].lower()}{reason[1:]}"
        raise InputError(f"`{field}` is not {expected}: {reason}") from error


def _shown(value: object) -> str:
    return f"`{str(value)[:40]}`"
