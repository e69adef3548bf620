"""What a child acknowledged, and whether a ledger holds it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from interlock.ledger.chain import decoded
from interlock.ledger.ledger import Ledger
from interlock.model.action import CommandAction, EditAction
from interlock.model.events import (
    ActionJudged,
    ActionObserved,
    ApprovalOpened,
    Record,
    RunFinished,
    RunStarted,
    UsageReported,
    ViolationRecorded,
)
from interlock.ports import Rows
from interlock.service.ledgers import open_ledger
from interlock.views.ledger_view import verified_ledger

_ACKNOWLEDGED: Final = (
    *("started ", "judged ", "observed ", "used ", "violated ", "opened ", "finished "),
)


def assert_sound(place: str | Path, keys: Path, acknowledged: Iterable[str]) -> int:
    """Open a ledger, verify everything, look for what was acknowledged; return its length."""
    with open_ledger(place, keys=keys) as ledger:
        return assert_holds(ledger, acknowledged)


def assert_holds(ledger: Ledger, acknowledged: Iterable[str]) -> int:
    """Verify an open ledger, and look for what was acknowledged; return its length."""
    with ledger.store.frozen() as rows:
        problems = verified_ledger(ledger, rows, lambda _read, _of: None).faults
        told = {fact for record in records(rows) if (fact := _fact(record)) is not None}
        lost = sorted({line for line in acknowledged if line.startswith(_ACKNOWLEDGED)} - told)

        assert problems == []
        assert lost == []
        return sum(1 for _ in records(rows))


def records(rows: Rows) -> Iterator[Record]:
    """Yield every record of a ledger as it was written."""
    last = 0
    while page := rows.written(after=last):
        for row in page:
            yield decoded(row.record.body)
        last = page[-1].position


def _fact(record: Record) -> str | None:
    """Return the line with which a child acknowledges such a record."""
    run = record.run
    match record.event:
        case RunStarted(task=task):
            return f"started {run} {task}"
        case ActionJudged(action=CommandAction(command=command)):
            return f"judged {run}:{record.seq} {command}"
        case ActionJudged(action=EditAction(path=path)):
            return f"judged {run}:{record.seq} {path}"
        case ActionObserved(of=of):
            return f"observed {run}:{of}"
        case UsageReported(usage=usage):
            return f"used {run} {usage.input_tokens}"
        case ViolationRecorded(message=message):
            return f"violated {run} {message}"
        case ApprovalOpened(id=approval_id):
            return f"opened {run} {approval_id}"
        case RunFinished(outcome=outcome):
            return f"finished {run} {outcome}"
        case _:
            return None
