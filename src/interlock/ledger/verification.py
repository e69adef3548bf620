"""Does everything that is stored follow from what was written?

The chains are held against their heads and seals; everything else (the list of runs, snapshots,
accounts, request keys, reservations, approvals, credentials) is made again from the records and
compared. What is remembered meanwhile does not grow with the length of the ledger, only with its
longest run and with the number of its runs and accounts.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final, TypeVar

import msgspec

from interlock.errors import DamagedError
from interlock.ledger.chain import (
    GENESIS,
    ChainBrokenError,
    Fault,
    SealKey,
    broken_at,
    check_head,
    check_meta,
    check_seal,
    decoded,
    read_chain,
)
from interlock.ledger.gaps import (
    ArchiveTally,
    accounts_behind,
    archive_of,
    in_order,
    sealed_gap,
)
from interlock.ledger.projection import Projection, project
from interlock.ledger.transaction import (
    SEAL_EVERY,
    account_bytes,
    account_from,
    is_of_today,
    run_row,
    sealed_credential,
    state_from,
)
from interlock.model.approval import Approval, ApprovalState
from interlock.model.budget import Account
from interlock.model.events import (
    ActionJudged,
    ApprovalOpened,
    Event,
    LedgerArchived,
    LedgerRestored,
    PolicyAdopted,
    Record,
    RunStarted,
)
from interlock.model.loop_events import CycleDecided
from interlock.model.order import BEFORE_ALL, followed, passed
from interlock.model.rows import (
    Changes,
    CredentialRow,
    GapRow,
    HeadRow,
    KeyRow,
    RecordRow,
    ReservationRow,
    RunRow,
    SnapshotRow,
    Tally,
    WrittenRow,
)
from interlock.model.run import LEDGER_RUN, RunState, RunStatus, folded
from interlock.ports import Rows

_PAGE: Final = 1000
_ALL: Final = 2**63 - 1
_NO_KEY: Final = SealKey(b"")

K = TypeVar("K", str, tuple[str, str], tuple[str, int])
V = TypeVar("V")

Progress = Callable[[int], None]
"""Is called with how many records have been read; each is read twice."""
Witness = Callable[[Record], None]
"""Is shown every record in the order of writing, where all chains hold."""
Skip = Callable[[Mapping[str, Account]], None]
"""Is told where archived records stood in that order, and what they made of accounts."""


class RunChecked(msgspec.Struct, frozen=True, kw_only=True):
    """What was found out about one run."""

    run_id: str
    records: int
    """How many hold."""
    fault: Fault | None = None

    @property
    def problem(self) -> str | None:
        """What is wrong, with the place, if anything is."""
        return None if self.fault is None else str(self.fault)


def verify_run(rows: Rows, run_id: str, key: SealKey) -> Fault | None:
    """Return the first place of a run where what is stored is not what was written.

    `rows` must be those of one moment: see `Store.frozen`.
    """
    return _Verification(rows, key, lambda _: None).check(_Walk(run_id)).fault


def verify_all(
    rows: Rows,
    key: SealKey,
    progress: Progress = lambda _: None,
    witness: Witness = lambda _: None,
    skip: Skip = lambda _: None,
) -> Iterator[RunChecked | Mismatch]:
    """Yield what was found out about each run, and every row that does not follow from them.

    `rows` must be those of one moment: see `Store.frozen`. Accounts and reservations are compared
    only where all chains hold: what a broken chain would have led to is not known.
    """
    verification = _Verification(rows, key, progress)
    try:
        yield from verification.check_chains()
        yield from verification.check_projections(witness, skip)
    except DamagedError as error:
        yield Mismatch(row="the ledger", difference=f"unreadable: {error}")


class _Verification:
    """What is remembered from one run to the next."""

    def __init__(self, rows: Rows, key: SealKey, progress: Progress) -> None:
        self._rows = rows
        self._key = key
        self._progress = progress
        self._policies: dict[str, str | None] = {}
        self._reservations: dict[tuple[str, int], ReservationRow] = {}
        self._credentials: dict[str, CredentialRow] = {}
        self._read = 0
        self._chained = 0
        self._is_whole = True
        self._archives = ArchiveTally()

    def check_chains(self) -> Iterator[RunChecked | Mismatch]:
        last = ""
        while names := self._names(last):
            for run_id in names:
                walk = _Walk(run_id)
                checked = self.check(walk)
                yield checked
                self._chained += checked.records
                if checked.fault is not None:
                    self._is_whole = False
                    continue
                self._reservations |= walk.open_reservations()
                if run_id == LEDGER_RUN:
                    self._credentials = walk.changes.credentials
                yield from _audit_run(self._rows, run_id, walk.changes)
            last = names[-1]

    def _names(self, after: str) -> Sequence[str]:
        try:
            return self._rows.chains(after=after)
        except DamagedError:
            # Some record has an unreadable name: the run that it belongs to lacks it.
            self._is_whole = False
            return sorted(row.id for row in self._rows.runs(limit=_ALL) if row.id > after)

    def check_projections(self, witness: Witness, skip: Skip) -> Iterator[Mismatch]:
        yield from _audit_meta(self._rows, self._key)
        if self._is_whole:
            yield from _audit_policies(self._rows, self._policies)
            yield from _audit_reservations(self._rows, self._reservations)
            yield from _audit_credentials(self._rows, self._credentials, self._key)
        yield from self._audit_written(witness, skip)
        if self._is_whole:
            for row, difference in self._archives.differences():
                yield Mismatch(row=row, difference=difference)

    def _audit_written(self, witness: Witness, skip: Skip) -> Iterator[Mismatch]:
        """Go along all records in the order of writing: yield what does not follow from it."""
        order = _Order()
        projection = Projection()
        for place, row in enumerate(in_order(self._rows), start=1):
            if isinstance(row, GapRow):
                if row != sealed_gap(row, self._key):
                    yield Mismatch(row=_gap(row), difference="they are not as sealed")
                order.skip(row)
                self._archives.take(row)
                projection.accounts |= (accounts := accounts_behind(row))
                skip(accounts)
            else:
                order.take(row)
                if self._is_whole:
                    record = decoded(row.record.body)
                    project(projection, record)
                    witness(record)
                self._read += 1
            if place % _PAGE == 0:
                # Only the accounts belong to more than one run.
                projection.changes = Changes()
                self._count(0)
        self._count(0)
        yield from order.audit(self._rows.tally())
        if self._is_whole:
            yield from _audit_count(order.head.records, self._chained)
            yield from _compare_accounts(self._rows, projection.accounts)

    def check(self, walk: _Walk) -> RunChecked:
        fault = None
        try:
            self._walk_along(walk)
        except ChainBrokenError as broken:
            fault = broken.fault
        except DamagedError as error:
            fault = Fault(run_id=walk.state.id, seq=walk.state.seq + 1, problem=str(error))
        return RunChecked(run_id=walk.state.id, records=walk.state.seq, fault=fault)

    def _walk_along(self, walk: _Walk) -> None:
        run_id = walk.state.id
        run, seals = self._rows.run(run_id), self._rows.seals(run_id)
        archive = archive_of(self._rows, run_id, run, self._key)
        if archive is not None and run is not None:
            self._archives.runs[archive] += 1
            walk.state = msgspec.structs.replace(walk.state, seq=run.seq)
            return
        snapshot = self._rows.snapshot(run_id)
        sealed, is_like_snapshot = {seal.seq for seal in seals}, True
        for record, head in read_chain(self._records(run_id), run_id):
            walk.take(record, head, is_sealed=record.seq in sealed)
            if record.seq % SEAL_EVERY == 0 and record.seq not in sealed:
                raise broken_at(run_id, record.seq, "its seal is missing")
            self._check_policy(record)
            if run_id == LEDGER_RUN:
                self._note_archive(record)
            if snapshot is not None and snapshot.seq == record.seq:
                is_like_snapshot = _is_like(snapshot, walk, self._key)
        _check_run(walk, run, self._key)
        if snapshot is not None and not is_like_snapshot:
            problem = "the snapshot after it is not the state that the records tell"
            raise broken_at(run_id, snapshot.seq, problem)
        if walk.state.status is RunStatus.FINISHED and walk.state.seq not in sealed:
            raise broken_at(run_id, walk.state.seq, "the seal on the end of the run is missing")
        for seal in seals:
            check_seal(seal, walk.sealed, self._key)

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

    def _note_archive(self, record: Record) -> None:
        match record.event:
            case LedgerArchived(policies=policies) as event:
                self._archives.known[record.seq] = event
                for named in policies:
                    self._stored_policy(record, named)
            case LedgerRestored(archive=archive):
                self._archives.known.pop(archive, None)
            case _:
                pass

    def _stored_policy(self, record: Record, named: str) -> str:
        """Return the digest of a policy that a record names."""
        if named not in self._policies:
            row = self._rows.policy(named)
            self._policies[named] = row and hashlib.sha256(row.body).hexdigest()
        stored = self._policies[named]
        if stored is None:
            raise broken_at(record.run, record.seq, f"its policy `{named}` is not stored")
        return stored

    def _check_policy(self, record: Record) -> None:
        named = policy_named_by(record.event)
        if named is None:
            return
        stored = self._stored_policy(record, named)
        if isinstance(record.event, PolicyAdopted) and record.event.body_digest != stored:
            problem = f"policy `{named}` is not stored as it was adopted"
            raise broken_at(record.run, record.seq, problem)

    def _count(self, records: int) -> None:
        self._read += records
        self._progress(self._read)


class _Walk(Projection):
    """How far along a chain we are, and what follows from what was seen on the way."""

    def __init__(self, run_id: str) -> None:
        super().__init__()
        self.state = RunState(id=run_id)
        self.head = GENESIS
        self.sealed: dict[int, tuple[str, int]] = {}
        """The hashes and times of the records that a seal names."""

    def take(self, record: Record, head: str, *, is_sealed: bool) -> None:
        self.state = folded(self.state, record)
        self.head = head
        if is_sealed:
            self.sealed[record.seq] = head, record.at
        project(self, record)

    def open_reservations(self) -> dict[tuple[str, int], ReservationRow]:
        found = self.changes.reservations.items()
        return {place: row for place, row in found if row is not None}


def _is_like(snapshot: SnapshotRow, walk: _Walk, key: SealKey) -> bool:
    """Whether a snapshot is the state so far, under its seal; one of another shape is not used."""
    return not is_of_today(snapshot) or state_from(snapshot, walk.head, key) == walk.state


def _check_run(walk: _Walk, run: RunRow | None, key: SealKey) -> None:
    state = walk.state
    if run is None:
        raise broken_at(state.id, max(state.seq, 1), "the run is missing in the list of runs")
    check_head(run, state.seq, walk.head, key)
    derived = run_row(state, walk.head, _NO_KEY)._replace(seal=run.seal, key_id=run.key_id)
    for name, wanted, found in zip(RunRow._fields, derived, run, strict=True):
        if wanted != found:
            problem = f"the list of runs has {name} `{found}`, the records tell `{wanted}`"
            raise broken_at(state.id, state.seq, problem)


class Mismatch(msgspec.Struct, frozen=True, kw_only=True):
    """A row that does not follow from the records."""

    row: str
    difference: str

    @property
    def problem(self) -> str:
        """What is wrong, with the place."""
        return f"{self.row}: {self.difference}"


def policy_named_by(event: Event) -> str | None:
    """Return the hash of the policy that an event names, if it names one."""
    match event:
        case ActionJudged(verdict=verdict):
            return verdict.policy_hash or None
        case RunStarted() | ApprovalOpened() | PolicyAdopted() | CycleDecided():
            return event.policy_hash or None
        case _:
            return None


def _audit_run(rows: Rows, run_id: str, expected: Changes) -> Iterator[Mismatch]:
    """Yield every request key and approval of a run that its records do not tell."""
    try:
        yield from _audit_keys(rows, run_id, expected.keys)
        yield from _audit_approvals(rows, run_id, expected.approvals)
    except DamagedError as error:
        yield Mismatch(row=f"the books of run `{run_id}`", difference=f"unreadable: {error}")


def _differing(
    derived: Mapping[K, V], stored: Mapping[K, V]
) -> Iterator[tuple[K, V | None, V | None]]:
    """Yield what the records tell and what is stored, where these are not the same."""
    for place in sorted({*derived, *stored}):
        wanted, found = derived.get(place), stored.get(place)
        if wanted != found:
            yield place, wanted, found


def _audit_keys(
    rows: Rows, run_id: str, expected: Mapping[tuple[str, str], KeyRow]
) -> Iterator[Mismatch]:
    stored = {(row.run_id, row.key): row for row in _keys(rows, run_id)}
    for (_, key), derived, found in _differing(expected, stored):
        yield Mismatch(
            row=f"request key `{key}` of run `{run_id}`",
            difference=f"the records tell {_answer(derived)}, stored is {_answer(found)}",
        )


def _keys(rows: Rows, run_id: str) -> Iterator[KeyRow]:
    # Pages begin behind a key: the empty one is behind none.
    empty = rows.key(run_id, "")
    if empty is not None:
        yield empty
    last = ""
    while page := rows.keys(run_id, after=last):
        yield from page
        last = page[-1].key


def _answer(row: KeyRow | None) -> str:
    return "no answer" if row is None else f"record {row.seq} for digest `{row.digest}`"


def _audit_approvals(rows: Rows, run_id: str, expected: dict[str, Approval]) -> Iterator[Mismatch]:
    stored = {
        each.id: (state, each)
        for state in ApprovalState
        for each in rows.approvals(state=state.value, run_id=run_id, limit=_ALL)
    }
    derived = {each.id: (each.state, each) for each in expected.values()}
    for approval_id, wanted, found in _differing(derived, stored):
        yield Mismatch(
            row=f"approval `{approval_id}` of run `{run_id}`",
            difference=_approval_difference(wanted and wanted[1], found and found[1]),
        )
    for digest in sorted({each.digest for each in expected.values()}):
        same = [each for each in expected.values() if each.digest == digest]
        latest = max(same, key=lambda each: (each.opened_at, each.id))
        if rows.approval_for(run_id, digest) != latest:
            yield Mismatch(
                row=f"approval `{latest.id}` of run `{run_id}`",
                difference=f"it is not found by its digest `{digest}`",
            )


def _approval_difference(derived: Approval | None, stored: Approval | None) -> str:
    if derived is None:
        return "no record opened it"
    if stored is None:
        return f"it is {derived.state.value}, and not stored as such"
    fields = ", ".join(
        f"{name} `{getattr(derived, name)}`, stored is `{getattr(stored, name)}`"
        for name in Approval.__struct_fields__
        if getattr(derived, name) != getattr(stored, name)
    )
    return f"the records tell {fields or 'another state'}"


def _audit_reservations(
    rows: Rows, expected: dict[tuple[str, int], ReservationRow]
) -> Iterator[Mismatch]:
    """Yield every reservation that is stored and not in the records, or the reverse."""
    stored = {(row.run_id, row.seq): row for row in rows.lapsed(_ALL, limit=_ALL)}
    for (run_id, seq), derived, found in _differing(expected, stored):
        yield Mismatch(
            row=f"the promise of run `{run_id}`, record {seq}",
            difference=f"the records tell {_lease(derived)}, stored is {_lease(found)}",
        )


def _lease(row: ReservationRow | None) -> str:
    return "none" if row is None else f"a lease until {row.lease_until}"


def _audit_credentials(
    rows: Rows, expected: Mapping[str, CredentialRow], key: SealKey
) -> Iterator[Mismatch]:
    """Yield every credential that nobody granted, or that is not as it was granted and sealed."""
    stored = {row.digest: row for row in rows.credentials()}
    derived = {digest: sealed_credential(row, key) for digest, row in expected.items()}
    for digest, wanted, found in _differing(derived, stored):
        whose = wanted or found
        yield Mismatch(
            row=f"credential `{digest[:12]}` of {whose.kind} `{whose.name}`" if whose else digest,
            difference=_credential_difference(wanted, found),
        )


def _credential_difference(derived: CredentialRow | None, stored: CredentialRow | None) -> str:
    if derived is None:
        return "no record granted it"
    if stored is None:
        return "it was granted, and is not stored"
    fields = ", ".join(
        f"{name} `{wanted}`, stored is `{found}`"
        for name, wanted, found in zip(CredentialRow._fields, derived, stored, strict=True)
        if wanted != found and name != "seal"
    )
    return f"the records tell {fields}" if fields else "its seal does not fit"


class _Order:
    """The order of all records, as far as it was gone along."""

    def __init__(self) -> None:
        self.head = BEFORE_ALL
        self._misplaced: str | None = None
        self._last: dict[str, int] = {}

    def take(self, row: WrittenRow) -> None:
        self.head = followed(self.head, [row.record])
        record, expected = row.record, self.head.records
        before = self._last.get(record.run_id, 0)
        self._last[record.run_id] = record.seq
        if self._misplaced is not None:
            return
        if row.position != expected:
            self._misplaced = f"place {expected} is missing: {_named(row)} follows"
        elif record.seq != before + 1:
            self._misplaced = f"{_named(row)} stands behind record {before}"

    def skip(self, gap: GapRow) -> None:
        """Go on behind archived records."""
        if self._misplaced is None and (gap.first, gap.follows) != (
            self.head.records + 1,
            self.head.hash,
        ):
            self._misplaced = f"{_gap(gap)} do not follow from the records before them"
        self.head = passed(gap)

    def audit(self, tally: Tally) -> Iterator[Mismatch]:
        """Yield what differs from what was noted with the last record."""
        if self._misplaced is not None:
            yield Mismatch(row="the order of the records", difference=self._misplaced)
        for name, noted, found in zip(HeadRow._fields, tally.head, self.head, strict=True):
            if noted != found:
                difference = f"noted is {name} `{noted}`, the records come to `{found}`"
                yield Mismatch(row="the head of the order", difference=difference)
        if tally.runs != tally.head.runs:
            difference = f"{tally.runs} are stored, {tally.head.runs} were started"
            yield Mismatch(row="the list of runs", difference=difference)


def _named(row: WrittenRow) -> str:
    return f"run `{row.record.run_id}`, record {row.record.seq} in place {row.position}"


def _gap(gap: GapRow) -> str:
    return f"the archived records in the places {gap.first} to {gap.last}"


def _audit_meta(rows: Rows, key: SealKey) -> Iterator[Mismatch]:
    """Yield what a ledger says about itself that is not under its seal."""
    if not rows.head().records:
        # It is sealed when it is first opened, before anything is written.
        return
    try:
        check_meta(rows.all_meta(), key)
    except DamagedError as error:
        yield Mismatch(row="the ledger", difference=str(error))


def _audit_policies(rows: Rows, named: Mapping[str, str | None]) -> Iterator[Mismatch]:
    """Yield every policy that no record names."""
    for row in rows.policies():
        if row.hash not in named:
            yield Mismatch(row=f"policy `{row.hash}`", difference="no record names it")


def _audit_count(written: int, chained: int) -> Iterator[Mismatch]:
    """Yield that there are records which belong to no chain."""
    if written != chained:
        difference = f"{written} are stored, the chains have {chained}"
        yield Mismatch(row="the records", difference=difference)


def _compare_accounts(rows: Rows, expected: Mapping[str, Account]) -> Iterator[Mismatch]:
    bodies = dict(rows.accounts())
    derived = {scope: account_bytes(account) for scope, account in expected.items()}
    stored = {scope: _rewritten(body) for scope, body in bodies.items()}
    for scope, wanted, _ in _differing(derived, stored):
        yield Mismatch(
            row=f"account `{scope}`",
            difference=f"the records add up to {_body(wanted)}, stored is"
            f" {_body(bodies.get(scope))}",
        )


def _rewritten(body: bytes) -> bytes:
    """Return an account as it would be written today, whatever version wrote it."""
    try:
        return account_bytes(account_from(body))
    except DamagedError:
        return body


def _body(body: bytes | None) -> str:
    return "nothing" if body is None else f"`{body.decode('utf-8', 'replace')}`"
