"""What waits for a person, what is at work, and what was answered last."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import msgspec

from interlock.ledger.chain import decoded
from interlock.ledger.ledger import Ledger
from interlock.model.events import ActionJudged
from interlock.model.rows import RunRow
from interlock.model.run import LEDGER_RUN, RunStatus
from interlock.model.system_loop import LOOP_RUN
from interlock.model.verdict import Decision
from interlock.ports import Rows
from interlock.views.day_view import Today, today_at
from interlock.views.deed import Deed, deed_of
from interlock.views.queue_view import QueueEntry, queue
from interlock.views.run_glance import Glances, LatestDeeds, RunGlance, glances_at

MOST_WAITING: Final = 6
MOST_RUNS: Final = 10
MOST_ANSWERS: Final = 14
_MOST_OPEN: Final = 200
_TAIL_PAGE: Final = 200
_MOST_PAGES: Final = 5
_OWN: Final = frozenset((LEDGER_RUN, LOOP_RUN))
"""The chains that are no agent's run."""


class OpenRun(msgspec.Struct, frozen=True, kw_only=True):
    """A run that is not finished, in one line."""

    glance: RunGlance
    deeds: LatestDeeds
    is_child: bool
    """Whether it stands below the one before it."""


class TailEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One answer to "may it do this?"."""

    run_id: str
    seq: int
    at: int
    decision: Decision
    deed: Deed
    agent: str
    why: str


class Overview(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that the first page shows."""

    is_new: bool
    """Whether there was no run yet."""
    waiting: tuple[QueueEntry, ...]
    more_waiting: int
    at_work: int
    asking: int
    paused: int
    stopped: int
    runs: tuple[OpenRun, ...]
    more_runs: int
    today: Today
    tail: tuple[TailEntry, ...]


def overview(ledger: Ledger, now: int, *, is_all: bool) -> Overview:
    """Look at everything at once; the tail has all answers, or those that are not just allowed."""
    rows, glances = ledger.rows, glances_at(ledger)
    found = rows.runs(limit=_MOST_OPEN, status=RunStatus.RUNNING.value)
    open_rows = [row for row in found if row.id not in _OWN]
    seen = [(row, glances.of(row)) for row in open_rows]
    words = [glance.standing.word for _, glance in seen]
    waiting = queue(ledger, now, with_ended=False).waiting
    ordered = _ordered(seen)
    # With the ledger's own chain there is always one.
    is_new = not open_rows and all(row.id in _OWN for row in rows.runs(limit=len(_OWN) + 1))
    return Overview(
        is_new=is_new,
        waiting=waiting[:MOST_WAITING],
        more_waiting=max(0, len(waiting) - MOST_WAITING),
        at_work=words.count("at work"),
        asking=words.count("waits"),
        paused=words.count("paused"),
        stopped=words.count("stopped") + words.count("halted"),
        runs=tuple(_open_runs(ordered[:MOST_RUNS], glances)),
        more_runs=max(0, len(ordered) - MOST_RUNS),
        today=today_at(ledger, now),
        tail=tuple(_tail(rows, is_all=is_all)),
    )


_Seen = tuple[RunRow, RunGlance]


def _ordered(seen: Sequence[_Seen]) -> Sequence[_Seen]:
    """Return the runs: those that wait first, then the latest active; each with those below it."""
    known = {row.id for row, _ in seen}
    by_parent: dict[str, list[_Seen]] = {}
    for each in seen:
        by_parent.setdefault(each[0].parent or "", []).append(each)
    roots = [each for each in seen if each[0].parent not in known]
    # Sorted twice: what is active lately stays in that order within what waits and what does not.
    roots.sort(key=lambda each: each[0].updated_at, reverse=True)
    roots.sort(key=lambda each: each[1].standing.tone != "ask")
    return list(_with_children(roots, by_parent))


def _with_children(runs: Iterable[_Seen], by_parent: dict[str, list[_Seen]]) -> Iterator[_Seen]:
    for each in runs:
        yield each
        yield from _with_children(by_parent.pop(each[0].id, ()), by_parent)


def _open_runs(ordered: Sequence[_Seen], glances: Glances) -> Iterator[OpenRun]:
    shown: set[str] = set()
    for row, glance in ordered:
        yield OpenRun(
            glance=glance, deeds=glances.deeds_of(row), is_child=(row.parent or "") in shown
        )
        shown.add(row.id)


def _tail(rows: Rows, *, is_all: bool) -> Iterator[TailEntry]:
    """Yield the latest answers, the newest first; of very many, only so far back."""
    agents: dict[str, str] = {}
    upto, left = rows.head().records, MOST_ANSWERS
    for _ in range(_MOST_PAGES):
        begin = max(0, upto - _TAIL_PAGE)
        page = rows.written(after=begin, limit=_TAIL_PAGE)
        for _, row in reversed(page):
            event = decoded(row.body).event if row.kind == "action-judged" else None
            if not isinstance(event, ActionJudged):
                continue
            if not is_all and event.decision is Decision.ALLOW:
                continue
            if row.run_id not in agents:
                run = rows.run(row.run_id)
                agents[row.run_id] = "" if run is None else run.agent
            findings = event.verdict.findings
            yield TailEntry(
                run_id=row.run_id,
                seq=row.seq,
                at=row.at,
                decision=event.decision,
                deed=deed_of(event.action),
                agent=agents[row.run_id],
                why=findings[0].message if findings else "",
            )
            left -= 1
            if not left:
                return
        upto = begin
        if not upto:
            return
