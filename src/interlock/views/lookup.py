"""Which run or approval is meant, by an id or the beginning of one; and its records."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from interlock.ledger.abbreviations import found_run
from interlock.ledger.ledger import Ledger
from interlock.model.rows import RecordRow
from interlock.model.run import RunState
from interlock.ports import Rows
from interlock.service.records.budgets import missing_run

_PAGE: Final = 500


def found_state(ledger: Ledger, text: str) -> RunState:
    """Return the state of the run that an id or its beginning names."""
    run_id = found_run(ledger.rows, text).id
    state = ledger.state(run_id)
    if state is None:
        raise missing_run(ledger.rows, run_id)
    return state


def every_record(rows: Rows) -> Iterator[RecordRow]:
    """Yield the records of all runs in the order in which they were written."""
    after = 0
    while page := rows.written(after=after, limit=_PAGE):
        for _, row in page:
            yield row
        after = page[-1].position
