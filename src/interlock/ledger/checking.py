"""Does everything that is stored follow from what was written?

The chains are held against their heads and seals; everything else (the list of runs, snapshots,
accounts, request keys, promises, approvals) is made again from the records and compared. What is
remembered meanwhile does not grow with the length of the ledger, only with its longest run and
with the number of its accounts.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from typing import Final

import msgspec

from interlock.errors import DamagedError
from interlock.ledger.auditing import (
    Misfit,
    RunBooks,
    audit_accounts,
    audit_promises,
    audit_run,
    policy_named_by,
)
from interlock.ledger.chain import (
    GENESIS,
    ChainBrokenError,
    Fault,
    SealKey,
    check_head,
    check_seal,
    read_chain,
)
from interlock.ledger.projection import project
from interlock.ledger.rows import RecordRow, ReservationRow, Rows, RunRow, SealRow, SnapshotRow
from interlock.ledger.transaction import run_row, state_from
from interlock.model.events import PolicyAdopted, Record
from interlock.model.run import RunState, folded

_PAGE: Final = 1000
_ALL: Final = 2**63 - 1
_NO_KEY: Final = SealKey(b"")

Tell = Callable[[int], None]
"""Is told how many records have been read; each is read twice."""


class RunChecked(msgspec.Struct, frozen=True, kw_only=True):
    """What was found out about one run."""

    run_id: str
    records: int
    """How many hold."""
    fault: Fault | None = None
    notes: tuple[str, ...] = ()
    """What could not be checked, and why."""

    @property
    def problem(self) -> str | None:
        """What is wrong, with the place, if anything is."""
        if self.fault is None:
            return None
        return f"run `{self.fault.run_id}`, record {self.fault.seq}: {self.fault.problem}"


def verify_run(rows: Rows, run_id: str, key: SealKey | None) -> Fault | None:
    """Return the first place of a run where what is stored is not what was written.

    `rows` must be those of one moment: see `Store.frozen`.
    """
    return _Verification(rows, key, None).check(run_id, RunBooks()).fault


def verify_all(
    rows: Rows, key: SealKey | None, tell: Tell | None = None
) -> Iterator[RunChecked | Misfit]:
    """Yield what was found out about each run, and every row that does not follow from them.

    `rows` must be those of one moment: see `Store.frozen`. Accounts and promises are compared
    only where all chains hold: what a broken chain would have told is not known.
    """
    verification = _Verification(rows, key, tell)
    try:
        yield from verification.check_chains()
        yield from verification.check_books()
    except (DamagedError, msgspec.DecodeError) as error:
        yield Misfit(row="the ledger", difference=f"unreadable: {error}")


class _Verification:
    """What is remembered from one run to the next."""

    def __init__(self, rows: Rows, key: SealKey | None, tell: Tell | None) -> None:
        self._rows = rows
        self._key = key
        self._tell = tell
        self._policies: dict[str, str | None] = {}
        self._promises: dict[tuple[str, int], ReservationRow] = {}
        self._read = 0
        self._chained = 0
        self._is_whole = True

    def check_chains(self) -> Iterator[RunChecked | Misfit]:
        last = ""
        while names := self._names(last):
            for run_id in names:
                books = RunBooks()
                checked = self.check(run_id, books)
                yield checked
                self._chained += checked.records
                if checked.fault is not None:
                    self._is_whole = False
                    continue
                self._promises |= books.promises
                yield from audit_run(self._rows, run_id, books)
            last = names[-1]

    def _names(self, after: str) -> Sequence[str]:
        try:
            return self._rows.chains(after=after)
        except DamagedError:
            # Some record has an unreadable name: the run that it belongs to lacks it.
            self._is_whole = False
            return sorted(row.id for row in self._rows.runs(limit=_ALL) if row.id > after)

    def check_books(self) -> Iterator[Misfit]:
        if self._is_whole:
            yield from audit_promises(self._rows, self._promises)
            yield from audit_accounts(self._rows, chained=self._chained, count=self._count)

    def check(self, run_id: str, books: RunBooks) -> RunChecked:
        walk = _Walk(run_id)
        try:
            notes = self._walk_along(walk, books)
        except ChainBrokenError as broken:
            return RunChecked(run_id=run_id, records=walk.state.seq, fault=broken.fault)
        except DamagedError as error:
            fault = Fault(run_id=run_id, seq=walk.state.seq + 1, problem=str(error))
            return RunChecked(run_id=run_id, records=walk.state.seq, fault=fault)
        return RunChecked(run_id=run_id, records=walk.state.seq, notes=notes)

    def _walk_along(self, walk: _Walk, books: RunBooks) -> tuple[str, ...]:
        run, seals = self._rows.run(walk.run_id), self._rows.seals(walk.run_id)
        snapshot = self._rows.snapshot(walk.run_id)
        sealed = {seal.seq for seal in seals}
        for record, head in read_chain(self._records(walk.run_id), walk.run_id):
            walk.take(record, head, is_sealed=record.seq in sealed)
            project(books, record)
            self._check_policy(record)
            if snapshot is not None and snapshot.seq == record.seq:
                _check_snapshot(snapshot, walk.state)
        _check_run(walk, run, self._key)
        for seal in seals:
            check_seal(seal, walk.hashes, self._key)
        return tuple(_notes(run, seals, self._key))

    def _records(self, run_id: str) -> Iterator[RecordRow]:
        last = 0
        while page := self._page(run_id, last):
            yield from page
            last = page[-1].seq
            self._count(len(page))

    def _page(self, run_id: str, after: int) -> Sequence[RecordRow]:
        try:
            return self._rows.records(run_id, after=after, limit=_PAGE)
        except DamagedError:
            # Something in the page is unreadable: one by one tells which.
            row = self._rows.record(run_id, after + 1)
            return [] if row is None else [row]

    def _check_policy(self, record: Record) -> None:
        named = policy_named_by(record.event)
        if named is None:
            return
        if named not in self._policies:
            row = self._rows.policy(named)
            self._policies[named] = row and hashlib.sha256(row.body).hexdigest()
        stored = self._policies[named]
        if stored is None:
            raise _broken(record.run, record.seq, f"its policy `{named}` is not stored")
        if isinstance(record.event, PolicyAdopted) and record.event.body_digest != stored:
            problem = f"policy `{named}` is not stored as it was adopted"
            raise _broken(record.run, record.seq, problem)

    def _count(self, records: int) -> None:
        self._read += records
        if self._tell is not None:
            self._tell(self._read)


class _Walk:
    """How far along a chain we are, and what was seen on the way."""

    def __init__(self, run_id: str) -> None:
        self.run_id = run_id
        self.state = RunState(id=run_id)
        self.head = GENESIS
        self.hashes: dict[int, str] = {}
        """The hashes of the records that a seal names."""

    def take(self, record: Record, head: str, *, is_sealed: bool) -> None:
        self.state = folded(self.state, record)
        self.head = head
        if is_sealed:
            self.hashes[record.seq] = head


def _check_snapshot(snapshot: SnapshotRow, state: RunState) -> None:
    try:
        kept = state_from(snapshot)
    except msgspec.DecodeError:
        # Of an older shape, or damaged: nobody uses it.
        return
    if kept != state:
        problem = "the snapshot after it is not the state that the records tell"
        raise _broken(state.id, state.seq, problem)


def _check_run(walk: _Walk, run: RunRow | None, key: SealKey | None) -> None:
    state = walk.state
    if run is None:
        raise _broken(state.id, max(state.seq, 1), "the run is missing in the list of runs")
    check_head(run, state.seq, walk.head, key)
    told = run_row(state, walk.head, _NO_KEY)._replace(seal=run.seal, key_id=run.key_id)
    for name, wanted, found in zip(RunRow._fields, told, run, strict=True):
        if wanted != found:
            problem = f"the list of runs has {name} `{found}`, the records tell `{wanted}`"
            raise _broken(state.id, state.seq, problem)


def _notes(run: RunRow | None, seals: Sequence[SealRow], key: SealKey | None) -> Iterator[str]:
    ends = [] if run is None else [(run.seq, run.key_id)]
    for seq, key_id in [*((seal.seq, seal.key_id) for seal in seals), *ends]:
        if key is None or key.id != key_id:
            yield f"record {seq} is sealed with a key that is not here, `{key_id}`"


def _broken(run_id: str, seq: int, problem: str) -> ChainBrokenError:
    return ChainBrokenError(Fault(run_id=run_id, seq=seq, problem=problem))
