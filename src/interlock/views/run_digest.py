"""A run in short: why it ended, and what was asked of a person, refused or held."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Final, NamedTuple

from interlock.ledger.chain import decoded, records_of
from interlock.model import events
from interlock.model.arbitration import Course
from interlock.model.facts import HoldKind
from interlock.model.hook import is_canary
from interlock.model.rows import RecordRow
from interlock.model.run import RunState, RunStatus
from interlock.model.verdict import Decision
from interlock.ports import Rows
from interlock.views.timeline import Timeline, action_text, is_approved
from interlock.views.timeline_entry import Entry

_LOOK_BACK: Final = 5_000
"""So many of the latest records of a run are looked at."""
_PAGE: Final = 500
_MOST: Final = 20
_ENDS_WITH: Final = 32
"""So many records before the end are looked at for why it came."""
_REFUSING: Final = (Decision.REQUIRE_CONFIRMATION, Decision.BLOCK)
_HOLDING: Final = (Course.AWAIT_PERSON, Course.HALT)
WORDS: Final = {
    HoldKind.PAUSE: "paused",
    HoldKind.STOP: "stopped",
    HoldKind.PERSON_STOP: "halted",
}
"""How a run is called that is held."""


class Digest(NamedTuple):
    """What a person wants to see of a run first."""

    entries: tuple[tuple[int, Entry], ...]
    """Questions, refusals and holds, the oldest first, each with its time."""
    left_out: int
    """How many earlier ones were found and are not among them."""


def digest_of(rows: Rows, state: RunState) -> Digest:
    """Return the latest questions, refusals and holds of a run."""
    timeline, count = Timeline(rows), 0
    latest: deque[events.Record] = deque(maxlen=_MOST)
    after = max(0, state.seq - _LOOK_BACK)
    for row in records_of(rows, state.id, after=after, last=state.seq):
        record = decoded(row.body)
        if _concerns_people(record.event):
            count += 1
            latest.append(record)
    entries = tuple((record.at, timeline.entry(record)) for record in latest)
    return Digest(entries, count - len(entries))


def _concerns_people(event: events.Event) -> bool:
    match event:
        case events.ActionJudged(decision=decision, verdict=verdict):
            is_told = is_approved(event) or verdict.would_have is not None
            return decision in _REFUSING or is_told
        case events.ActionObserved(forbidden=forbidden):
            return bool(forbidden)
        case events.StepJudged(ruling=ruling, held=held):
            return ruling.course in _HOLDING and not held
        case (
            events.ApprovalDecided()
            | events.BudgetChanged()
            | events.RunHalted()
            | events.RunLifted()
        ):
            return True
        case _:
            return False


def why_ended(rows: Rows, state: RunState) -> str:
    """Return why a run is over, in one line; empty while it is not."""
    if state.status is RunStatus.RUNNING:
        return ""
    hold = state.control.hold
    if hold is not None:
        return f"it was {WORDS[hold.kind]}: {hold.reason}"
    judged = () if state.report is None else state.report.evaluations
    failed = [f"{each.evaluator}: {'; '.join(each.evidence)}" for each in judged if not each.passed]
    return failed[0] if failed else _last_reason(rows, state)


def _last_reason(rows: Rows, state: RunState) -> str:
    """Return what the last answer or report before the end says."""
    after = max(0, state.seq - _ENDS_WITH)
    for row in reversed(list(records_of(rows, state.id, after=after, last=state.seq))):
        match decoded(row.body).event:
            case events.ActionJudged(decision=decision) as event if decision in _REFUSING:
                text = action_text(event.action)
                denied = f"`{text}` was denied: {_message(event)}"
                asked = f"nobody had approved `{text}`: {_message(event)}"
                return denied if decision is Decision.BLOCK else asked
            case events.ActionObserved(exit_code=int(code)):
                return f"its last command ended with exit code {code}"
            case events.StopJudged(ruling=ruling):
                return ruling.reason
            case events.ReviewChosen(decision=chosen):
                return chosen.reason
            case events.ActionJudged() | events.ActionObserved():
                break
            case _:
                pass
    return f"its agent or client reported it as {state.outcome}"


def last_refusal(rows: Rows, run_id: str | None = None) -> tuple[str, int] | None:
    """Return run and number of the last answer that asked a person, denied or held, if any did."""
    for row in _latest_first(rows, run_id):
        event = decoded(row.body).event if row.kind in ("action-judged", "step-judged") else None
        match event:
            case events.ActionJudged(decision=decision) if decision in _REFUSING:
                return row.run_id, row.seq
            case events.StepJudged(ruling=ruling, held=False) if ruling.course in _HOLDING:
                return row.run_id, row.seq
            case _:
                pass
    return None


def _latest_first(rows: Rows, run_id: str | None) -> Iterator[RecordRow]:
    """Yield the latest records, the newest first; tests of hooks only where they are meant."""
    if run_id is not None:
        run = rows.run(run_id)
        last = 0 if run is None else run.seq
        yield from reversed(rows.records(run_id, after=max(0, last - _LOOK_BACK), limit=_LOOK_BACK))
        return
    tests = {row.id for row in rows.runs(limit=_LOOK_BACK) if is_canary(row.task)}
    upto = rows.head().records
    for begin in range(upto - _PAGE, upto - _LOOK_BACK, -_PAGE):
        page = rows.written(after=max(0, begin), limit=_PAGE + min(0, begin))
        yield from (row for _, row in reversed(page) if row.run_id not in tests)
        if begin <= 0:
            return


def _message(event: events.ActionJudged) -> str:
    return "; ".join(finding.message for finding in event.verdict.findings)
