"""The ledger of one run: everything that happened in it, in order, and what that comes to."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from interlock.ledger.codec import decoded
from interlock.ledger.ledger import Ledger
from interlock.model.events import Record
from interlock.model.rows import RecordRow
from interlock.model.run import RunState
from interlock.ports import Accounts, Rows
from interlock.service.records.budgets import Recorded

_PAGE: Final = 1000


class RunLedger:
    """One run as it is on record; it is read anew each time it is looked at."""

    def __init__(self, ledger: Ledger, run_id: str) -> None:
        self._ledger = ledger
        self._accounts: Accounts = Recorded(ledger)
        self.run_id = run_id

    @property
    def state(self) -> RunState:
        """What the run has come to: what it spent, changed, broke and waits for."""
        return self._accounts.state(self.run_id)

    def __iter__(self) -> Iterator[Record]:
        """Yield every record of the run, oldest first."""
        return (decoded(row.body) for row in records_of(self._ledger.rows, self.run_id))


def records_of(rows: Rows, run_id: str) -> Iterator[RecordRow]:
    """Yield every record of a run."""
    after = 0
    while page := rows.records(run_id, after=after, limit=_PAGE):
        yield from page
        after = page[-1].seq
