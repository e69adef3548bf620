"""What is on record of one run: its state, its records, and why it was answered so."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, TypeVar

import msgspec

from interlock.errors import UnknownError
from interlock.ledger.chain import decoded
from interlock.ledger.ledger import Ledger
from interlock.model.principal import Scope
from interlock.model.rows import RecordRow
from interlock.model.run import RunState
from interlock.model.step_statistics import StepStatistics
from interlock.server.desk.endpoint import Call, Endpoint, Limit, Perform, Place
from interlock.views.check_results import ReplayResult
from interlock.views.moment import answer_meant, moment_at
from interlock.views.run_catalogue import RunLine, children_of
from interlock.views.step_explanation import Explained, explained
from interlock.views.timeline import Timeline
from interlock.views.timeline_entry import Entry

T = TypeVar("T")


class StoredRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A record as it was written, with the hash of it and all before it."""

    hash: str
    record: msgspec.Raw


class RecordPage(msgspec.Struct, frozen=True, kw_only=True):
    """A few records of a run, in order."""

    records: tuple[StoredRecord, ...]
    after: int | None
    """Where the next page begins; None where this is the last one."""


class TimedEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that happened, as a person reads it, and when."""

    seq: int
    at: int
    entry: Entry


class TimelinePage(msgspec.Struct, frozen=True, kw_only=True):
    """A few things that happened in a run, in order."""

    entries: tuple[TimedEntry, ...]
    after: int | None


def _looked(look: Callable[[Ledger, str, Any], T]) -> Perform:
    """Return what looks at the run that the path names, with what stands behind the path."""

    async def perform(call: Call) -> T:
        run = await call.run()
        return await call.look(lambda: look(call.desk.ledger, run.id, call))

    return perform


def _state(_ledger: Ledger, run_id: str, call: Call) -> RunState:
    return call.desk.governor.state(run_id)


def _statistics(_ledger: Ledger, run_id: str, call: Call) -> StepStatistics:
    return call.desk.governor.state(run_id).step_statistics


def _children(ledger: Ledger, run_id: str, _call: Call) -> Sequence[RunLine]:
    return children_of(ledger, run_id)


def _records(ledger: Ledger, run_id: str, call: Call) -> RecordPage:
    page, after = _page(ledger, run_id, call)
    return RecordPage(records=tuple(map(_stored, page)), after=after)


def _record(ledger: Ledger, run_id: str, call: Call) -> StoredRecord:
    number = call.params["seq"]
    is_number = number.isascii() and number.isdecimal() and len(number) < 16
    row = ledger.rows.record(run_id, int(number)) if is_number else None
    if row is None:
        raise UnknownError(f"run `{run_id}` has no record `{number[:20]}`")
    return _stored(row)


def _timeline(ledger: Ledger, run_id: str, call: Call) -> TimelinePage:
    page, after = _page(ledger, run_id, call)
    timeline = Timeline(ledger.rows)
    entries = (
        TimedEntry(seq=row.seq, at=row.at, entry=timeline.entry(decoded(row.body))) for row in page
    )
    return TimelinePage(entries=tuple(entries), after=after)


def _page(ledger: Ledger, run_id: str, call: Call) -> tuple[Sequence[RecordRow], int | None]:
    limit = call.query.get("limit", 100)
    found = ledger.rows.records(run_id, after=call.query.get("after", 0), limit=limit + 1)
    page = found[:limit]
    return page, page[-1].seq if len(found) > limit else None


def _stored(row: RecordRow) -> StoredRecord:
    return StoredRecord(hash=row.hash, record=msgspec.Raw(row.body))


def _explanation(ledger: Ledger, run_id: str, call: Call) -> Explained:
    query = call.query
    seq = answer_meant(
        ledger.rows,
        run_id,
        step=query.get("step"),
        record=query.get("record"),
        stop=query.get("stop", False),
    )
    return explained(moment_at(ledger.rows, run_id, seq))


async def _replay(call: Call) -> ReplayResult:
    run = await call.run()
    async with call.desk.heavy:
        return await call.look(lambda: call.desk.replay(run.id))


def _of_run(
    name: str,
    look: Callable[[Ledger, str, Any], object],
    answer: object,
    summary: str,
    **query: object,
) -> Endpoint:
    return Endpoint(
        method="GET",
        path=f"/v1/runs/{{run}}/{name}",
        scope=Scope.VIEWER,
        agents=True,
        summary=summary,
        perform=_looked(look),
        query=query,
        answer=answer,
    )


_PAGED: Final = {"after": Place, "limit": Limit}

HISTORY_ENDPOINTS: Final = (
    _of_run("state", _state, RunState, "A run as it is on record"),
    _of_run("statistics", _statistics, StepStatistics, "What all answers before steps come to"),
    _of_run("children", _children, list[RunLine], "The runs directly below a run"),
    _of_run("records", _records, RecordPage, "What was recorded, as it was written", **_PAGED),
    _of_run("records/{seq}", _record, StoredRecord, "One record"),
    _of_run("timeline", _timeline, TimelinePage, "What happened, as a person reads it", **_PAGED),
    _of_run(
        "explanation",
        _explanation,
        Explained,
        "Why it continued, was paused or was stopped",
        step=Place,
        record=Place,
        stop=bool,
    ),
    Endpoint(
        method="POST",
        path="/v1/runs/{run}/replay",
        scope=Scope.VIEWER,
        agents=True,
        summary="Decide every judgement of a run again, from its record",
        perform=_replay,
        answer=ReplayResult,
    ),
)
