"""One row of a client's log → what the stop gate is given; unknown fields are left alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar, cast

import msgspec

from interlock.errors import InputError
from interlock.model.stop import StopContext, StopEvidence, finish_reason_from, last_event_from
from interlock.policy.config.complaints import as_clause

_Kind = TypeVar("_Kind")


def context_from_row(row: Mapping[str, object]) -> StopContext:
    """Return what a row says; InputError names the field that cannot be read."""
    finish_reason, last_event = _text(row, "finish_reason"), _text(row, "last_event")
    text = _text(row, "text")
    return StopContext(
        # A log that has the field tells that nothing was said; one that has not tells nothing.
        text="" if text is None and "text" in row else text,
        last_event=None if last_event is None else last_event_from(last_event),
        finish_reason=None if finish_reason is None else finish_reason_from(finish_reason),
        tool_ratio=_share(row, "tool_ratio"),
        n_prev_turns=_count(row, "n_prev_turns"),
        model=_text(row, "model"),
        tool_calls=_count(row, "tool_calls"),
        retries=_count(row, "retries") or 0,
        hard=_array(row, "hard", str, "an array of strings"),
        evidence=_array(
            row, "evidence", StopEvidence, "an array of objects with `kind` and `text`"
        ),
    )


def _text(row: Mapping[str, object], field: str) -> str | None:
    return _value(row, field, str, "a string or null")


def _share(row: Mapping[str, object], field: str) -> float | None:
    value = _value(row, field, (int, float), "a number or null")
    try:
        return None if value is None else float(value)
    except OverflowError as error:
        raise InputError(f"`{field}` is too large, expected a share such as 0.75") from error


def _count(row: Mapping[str, object], field: str) -> int | None:
    value = row.get(field)
    if isinstance(value, list):
        # Some clients log the calls themselves and not their number.
        return len(cast("list[object]", value))
    return _value(row, field, int, "a whole number or null")


def _value(
    row: Mapping[str, object],
    field: str,
    kind: type[_Kind] | tuple[type[_Kind], ...],
    expected: str,
) -> _Kind | None:
    value = row.get(field)
    if value is None or (isinstance(value, kind) and not isinstance(value, bool)):
        return value
    raise InputError(f"`{field}` is `{str(value)[:40]}`, expected {expected}")


def _array(
    row: Mapping[str, object], field: str, kind: type[_Kind], expected: str
) -> tuple[_Kind, ...]:
    try:
        return msgspec.convert(row.get(field) or [], tuple[kind, ...])
    except msgspec.ValidationError as error:
        raise InputError(f"`{field}` is not {expected}: {as_clause(str(error))}") from error
