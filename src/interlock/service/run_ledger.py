"""The ledger of one run: everything that happened in it, in order, and what that comes to."""

from __future__ import annotations

from collections.abc import Iterator

from interlock.ledger.codec import decoded
from interlock.ledger.ledger import Ledger
from interlock.model.events import Record
from interlock.model.run import RunState
from interlock.ports import Accounts
from interlock.service.records.budgets import Recorded
from interlock.service.records.edit_sets import records_of


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
