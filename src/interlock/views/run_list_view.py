"""Every run of a ledger, a page at a time, by its last activity."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from interlock.ledger.ledger import Ledger
from interlock.model.rows import RunRow
from interlock.model.run import LEDGER_RUN, RunStatus
from interlock.model.short_code import code_of
from interlock.model.system_loop import LOOP_RUN
from interlock.views.run_glance import RunGlance, glances_at

PAGE: Final = 50
MOST_PAGES: Final = 40
_MOST_LOOKED_AT: Final = 200
_MOST_SEARCHED: Final = 2_000
_OWN: Final = frozenset((LEDGER_RUN, LOOP_RUN))
STATES: Final = ("all", "open", "waiting", "paused", "stopped", "finished")
_WORDS: Final = {"waiting": ("waits",), "paused": ("paused",), "stopped": ("stopped", "halted")}
"""The standings that each filter shows."""


class RunFilter(msgspec.Struct, frozen=True, kw_only=True):
    """Which runs somebody wants to see."""

    state: str = "all"
    agent: str | None = None
    project: str | None = None
    q: str = ""
    page: int = 1


class RunList(msgspec.Struct, frozen=True, kw_only=True):
    """A page of runs."""

    runs: tuple[RunGlance, ...]
    counts: dict[str, int | None]
    """How many there are in each state; None where there are too many to say."""
    in_all: int
    next_page: int | None


def run_list(ledger: Ledger, wanted: RunFilter) -> RunList:
    """Return the runs of one page."""
    rows, glances = ledger.rows, glances_at(ledger)
    found = _matching(ledger, wanted)
    begin = (wanted.page - 1) * PAGE
    total = max(0, rows.head().runs - len([each for each in _OWN if rows.run(each) is not None]))
    return RunList(
        runs=tuple(glances.of(row) for row in found[begin : begin + PAGE]),
        counts=_counts(ledger, total),
        in_all=total,
        next_page=wanted.page + 1
        if len(found) > begin + PAGE and wanted.page < MOST_PAGES
        else None,
    )


def runs_named(rows: Sequence[RunRow], q: str) -> Sequence[RunRow]:
    """Return the runs whose task, agent, project or id has a text in it."""
    text = q.casefold()
    return [
        row
        for row in rows
        if row.id not in _OWN
        and any(
            text in each.casefold()
            for each in (row.task, row.agent, row.project, row.id, code_of(row.id))
        )
    ]


def _matching(ledger: Ledger, wanted: RunFilter) -> Sequence[RunRow]:
    """Return every run up to the end of the page that is wanted, and one more if there is one."""
    rows, glances = ledger.rows, glances_at(ledger)
    status = {"finished": RunStatus.FINISHED.value}.get(wanted.state)
    if wanted.state not in ("all", "finished"):
        status = RunStatus.RUNNING.value
    words = _WORDS.get(wanted.state)
    is_looked_through = bool(wanted.q) or words is not None
    limit = _MOST_SEARCHED if is_looked_through else wanted.page * PAGE + len(_OWN) + 1
    found = rows.runs(limit=limit, status=status, agent=wanted.agent, project=wanted.project)
    named = runs_named(found, wanted.q)
    if words is None:
        return named
    return [row for row in named[:_MOST_LOOKED_AT] if glances.of(row).standing.word in words]


def _counts(ledger: Ledger, total: int) -> dict[str, int | None]:
    rows, glances = ledger.rows, glances_at(ledger)
    found = rows.runs(limit=_MOST_LOOKED_AT + len(_OWN) + 1, status=RunStatus.RUNNING.value)
    running = [row for row in found if row.id not in _OWN]
    if len(running) > _MOST_LOOKED_AT:
        return {"all": total, **dict.fromkeys(STATES[1:])}
    words = [glances.of(row).standing.word for row in running]
    return {
        "all": total,
        "open": len(running),
        **{state: sum(map(words.count, of)) for state, of in _WORDS.items()},
        "finished": total - len(running),
    }
