"""Every run in a line, a page at a time, by its last activity: none of them is read whole."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import msgspec

from interlock.errors import InputError
from interlock.ledger.ledger import Ledger
from interlock.model.rows import RunRow
from interlock.model.run import LEDGER_RUN, RunStatus

_PAGE: Final = 500
_MOST_LOOKED_AT: Final = 5_000
"""So many runs are looked through for one page; the next page goes on from there."""


class RunLine(msgspec.Struct, frozen=True, kw_only=True):
    """A run in a line."""

    id: str
    status: RunStatus
    agent: str
    project: str
    parent: str | None
    task: str
    started_at: int
    """Microseconds since 1970, UTC, like every time here."""
    updated_at: int
    records: int


class RunPage(msgspec.Struct, frozen=True, kw_only=True):
    """A few runs, the one that was active last first."""

    runs: tuple[RunLine, ...]
    cursor: str | None
    """Where the next page begins; None where this is the last one."""


def run_page(
    ledger: Ledger,
    *,
    limit: int,
    cursor: str | None = None,
    status: str | None = None,
    agent: str | None = None,
    project: str | None = None,
    text: str = "",
    is_shown: Callable[[RunRow], bool] = lambda _: True,
) -> RunPage:
    """Return a page of runs; `text` stands in their task, agent, project or id."""
    behind = None if cursor is None else place_behind(cursor)
    found: list[RunRow] = []
    wanted, looked_at, is_over = text.casefold(), 0, False
    while len(found) <= limit and looked_at < _MOST_LOOKED_AT and not is_over:
        page = ledger.rows.runs(
            limit=_PAGE, status=status, agent=agent, project=project, behind=behind
        )
        found.extend(each for each in page if _is_named(each, wanted) and is_shown(each))
        is_over = len(page) < _PAGE
        looked_at += len(page)
        if page:
            behind = page[-1].updated_at, page[-1].id
    if len(found) > limit:
        behind, is_over = (found[limit - 1].updated_at, found[limit - 1].id), False
    shown = tuple(_line(row) for row in found[:limit])
    return RunPage(runs=shown, cursor=None if is_over or behind is None else cursor_of(*behind))


def children_of(ledger: Ledger, run_id: str) -> Sequence[RunLine]:
    """Return the runs directly below a run, the oldest first."""
    return [_line(row) for row in ledger.rows.children(run_id)]


def _is_named(row: RunRow, wanted: str) -> bool:
    if row.id == LEDGER_RUN:
        return False
    named = (row.task, row.agent, row.project, row.id)
    return not wanted or any(wanted in each.casefold() for each in named)


def _line(row: RunRow) -> RunLine:
    return RunLine(
        id=row.id,
        status=RunStatus(row.status),
        agent=row.agent,
        project=row.project,
        parent=row.parent,
        task=row.task,
        started_at=row.started_at,
        updated_at=row.updated_at,
        records=row.seq,
    )


def cursor_of(at: int, of: str) -> str:
    """Return where a page ended: when, and of what in the order of ids."""
    return f"{at}.{of}"


def place_behind(cursor: str) -> tuple[int, str]:
    """Return what a cursor tells; raise InputError for what is none."""
    at, _, of = cursor.partition(".")
    if not (at.isascii() and at.isdecimal() and len(at) < 18 and of):
        raise InputError(f"`cursor` is `{cursor[:60]}`, expected what the last page gave")
    return int(at), of
