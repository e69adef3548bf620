"""Which of many things is meant: by an id, or the beginning of one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, TypeVar

from interlock.errors import InputError
from interlock.model.rows import RunRow
from interlock.ports import Rows

_MOST_NAMED: Final = 5
_Thing = TypeVar("_Thing")


def found_run(rows: Rows, text: str) -> RunRow:
    """Return the run that an id or its beginning names."""
    exact = rows.run(text)
    if exact is not None:
        return exact
    found = rows.runs(limit=_MOST_NAMED + 1, prefix=text) if text else ()
    return named("run", text, ((row.id, row) for row in found), "interlock runs")


def named(noun: str, text: str, things: Iterable[tuple[str, _Thing]], listed_by: str) -> _Thing:
    """Return the one thing whose id this is, or else begins so."""
    begun = [each for each in things if text and each[0].startswith(text)]
    found = [each for each in begun if each[0] == text] or begun
    if not found:
        raise InputError(f"there is no {noun} `{text}`: look at `{listed_by}`")
    if len(found) > 1:
        raise ambiguous(noun, text, [thing_id for thing_id, _ in begun])
    return found[0][1]


def ambiguous(noun: str, text: str, ids: Sequence[str]) -> InputError:
    """Return the error for a beginning that several ids have."""
    known = ", ".join(f"`{each}`" for each in ids[:_MOST_NAMED])
    more = " and more" if len(ids) > _MOST_NAMED else ""
    return InputError(f"`{text}` could be more than one {noun}: {known}{more}; write more of it")
