"""A transaction: one group of questions is worked on before it becomes durable together.

Each of them sees the run states and accounts as they are after everything that came before,
whether that is on disk or still in the same transaction.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import msgspec

from interlock.errors import DamagedError, InputError
from interlock.ledger.chain import (
    GENESIS,
    KEY_ID,
    SEAL,
    VERSION,
    SealKey,
    check_record,
    decoded,
    encoded,
    hash_of,
    kind_of,
    read_back,
)
from interlock.ledger.gaps import own_scopes, sealed_archived, sealed_gap
from interlock.ledger.projection import FORGOTTEN, Projection, project
from interlock.model.approval import Approval
from interlock.model.budget import EMPTY, Account
from interlock.model.events import Event, LedgerArchived, Record
from interlock.model.principal import Principal
from interlock.model.rows import (
    ARCHIVED,
    Changes,
    CredentialRow,
    GapRow,
    KeyRow,
    PolicyRow,
    RecordRow,
    RunRow,
    SealRow,
    SnapshotRow,
    WrittenRow,
)
from interlock.model.run import FOLD_VERSION, LEDGER_RUN, RunState, RunStatus, folded
from interlock.ports import Rows

SEAL_EVERY: Final = 256
"""A chain is sealed whenever so many records more are in it, and where its run ends."""
_SNAPSHOT_EVERY: Final = 64
_BYTES_PER_RECORD: Final = 256
"""A large state is stored less often, so that storing it costs a record no more than this."""
_PAGE: Final = 1000
_MOST_RUNS: Final = 1024

_ACCOUNT_ENCODER: Final = msgspec.json.Encoder(order="sorted")
_ACCOUNT_DECODER: Final = msgspec.json.Decoder(Account)


class _Sealed(msgspec.Struct, frozen=True, array_like=True):
    """A state as its snapshot holds it: only what was sealed here saves reading the records."""

    version: int
    state: msgspec.Raw
    seal: str


_SNAPSHOT_DECODER: Final = msgspec.msgpack.Decoder(_Sealed)
_STATE_DECODER: Final = msgspec.msgpack.Decoder(RunState)


class Chain(msgspec.Struct):
    """A run as it is remembered: its state, the hash of its last record, its next snapshot."""

    state: RunState
    head: str
    snapshot_due: int


class Cache:
    """What a process remembers between groups, so that it need not read it again."""

    def __init__(self) -> None:
        self.chains: OrderedDict[str, Chain] = OrderedDict()
        self.accounts: OrderedDict[str, Account] = OrderedDict()
        self.doubtful: set[str] = set()
        """The chains that others may have added to since."""

    def doubt(self) -> None:
        """Others have written: chains have to be caught up, accounts read again."""
        self.doubtful.update(self.chains)
        self.accounts.clear()

    def forget(self) -> None:
        """Forget everything: it will be read again."""
        self.chains.clear()
        self.accounts.clear()
        self.doubtful.clear()

    def trim(self, ended: Iterable[str]) -> None:
        """Forget what has ended, and what was not needed for longest."""
        for run_id in ended:
            self.chains.pop(run_id, None)
        while len(self.chains) > _MOST_RUNS:
            self.chains.popitem(last=False)
        while len(self.accounts) > _MOST_RUNS:
            self.accounts.popitem(last=False)
        if len(self.doubtful) > _MOST_RUNS:
            self.doubtful.intersection_update(self.chains)


class Transaction(Projection):
    """One group's view of the ledger, and everything it adds."""

    def __init__(self, rows: Rows, cache: Cache, *, is_current: bool, key: SealKey) -> None:
        super().__init__()
        self.accounts = cache.accounts
        self._rows = rows
        self._cache = cache
        self._key = key
        self._checked: set[str] = set()
        self._touched: dict[str, Chain] = {}
        if not is_current:
            cache.doubt()

    # What is known.

    def state(self, run_id: str) -> RunState:
        """Return a run's state; raise InputError if there is no such run."""
        chain = self._chain(run_id)
        if chain is None:
            raise InputError(f"there is no run `{run_id}`: start one, or look at `interlock runs`")
        return chain.state

    def has_run(self, run_id: str) -> bool:
        """Whether a run has any record."""
        return self._chain(run_id) is not None

    def run(self, run_id: str) -> RunRow | None:
        """Return a run as the list of runs has it; what this group adds to it is not in there."""
        return self._rows.run(run_id)

    def account(self, scope: str) -> Account:
        """Return an account; one that nothing was ever charged to is empty."""
        if scope not in self.accounts:
            body = self._rows.account(scope)
            self.accounts[scope] = EMPTY if body is None else account_from(body)
        return self.accounts[scope]

    def key(self, run_id: str, key: str) -> KeyRow | None:
        """Return what a request key was used for, unless that was to be forgotten."""
        row = self.changes.keys.get((run_id, key)) or self._rows.key(run_id, key)
        return None if row is None or row.seq == FORGOTTEN else row

    def has_reservation(self, run_id: str, seq: int) -> bool:
        """Whether the reservation that a record made is still open."""
        if (run_id, seq) in self.changes.reservations:
            return self.changes.reservations[run_id, seq] is not None
        return self._rows.reservation(run_id, seq) is not None

    def record(self, run_id: str, seq: int) -> Record | None:
        """Return one record of a run."""
        for row in reversed(self.changes.records):
            if (row.run_id, row.seq) == (run_id, seq):
                return decoded(row.body)
        row = self._rows.record(run_id, seq)
        return None if row is None else decoded(row.body)

    def approval(self, approval_id: str) -> Approval | None:
        """Return an approval by its id."""
        found = super().approval(approval_id)
        return self._rows.approval(approval_id) if found is None else found

    def approval_for(self, run_id: str, digest: str) -> Approval | None:
        """Return the latest approval for exactly this."""
        stored = self._rows.approval_for(run_id, digest)
        found = [
            each
            for each in self.changes.approvals.values()
            if (each.run_id, each.digest) == (run_id, digest)
        ]
        if stored is not None and stored.id not in self.changes.approvals:
            found.append(stored)
        return max(found, key=lambda each: (each.opened_at, each.id), default=None)

    def approvals_of(self, run_id: str, state: str) -> list[Approval]:
        """Return a run's approvals in one state."""
        known = {each.id: each for each in self._rows.approvals(run_id=run_id, state=state)}
        known.update((each.id, each) for each in self.changes.approvals.values())
        return [
            each for each in known.values() if each.run_id == run_id and each.state.value == state
        ]

    def credential(self, digest: str) -> CredentialRow | None:
        """Return a credential by its digest."""
        return super().credential(digest) or self._rows.credential(digest)

    def credentials(self) -> list[CredentialRow]:
        """Return every credential, as it is by now."""
        known = {row.digest: row for row in self._rows.credentials()} | self.changes.credentials
        return list(known.values())

    def has_policy(self, policy_hash: str) -> bool:
        """Whether a policy is stored already."""
        return self.policy(policy_hash) is not None

    def policy(self, policy_hash: str) -> PolicyRow | None:
        """Return a policy by its hash."""
        return self.changes.policies.get(policy_hash) or self._rows.policy(policy_hash)

    # What is added.

    def append(self, run_id: str, event: Event, *, at: int, by: Principal) -> Record:
        """Add a record to a run's chain; everything that follows from it follows at once."""
        chain = self._chain(run_id) or _empty_chain(run_id)
        record = Record(
            v=VERSION,
            run=run_id,
            seq=chain.state.seq + 1,
            at=at,
            by=by,
            prev=chain.head,
            event=event,
        )
        body = encoded(record)
        # What is folded is what everybody will read: nothing is answered that cannot be.
        record = read_back(body)
        self._take(chain, record, body)
        return record

    def adopt(self, row: RecordRow) -> None:
        """Add a record that another ledger wrote, as it is: it must be the next of its chain."""
        chain = self._chain(row.run_id) or _empty_chain(row.run_id)
        self._take(chain, check_record(row, row.run_id, chain.state.seq + 1, chain.head), row.body)

    def archive(self, archive: int, runs: Sequence[RunRow], gaps: Sequence[GapRow]) -> None:
        """Take out the records of runs, as a record of the ledger's own chain tells."""
        for run in runs:
            kept = run._replace(status=ARCHIVED)
            self.changes.runs[run.id] = kept
            self.changes.archived.append(sealed_archived(kept, archive, self._key))
            self._cache.chains.pop(run.id, None)
            for scope in own_scopes(run.id):
                self.accounts.pop(scope, None)
        self.changes.gaps += [sealed_gap(gap._replace(archive=archive), self._key) for gap in gaps]

    def restore(
        self,
        archive: int,
        runs: Sequence[RunRow],
        rows: Sequence[WrittenRow],
        seals: Sequence[SealRow],
    ) -> None:
        """Put the records of an archive back into their places, with what follows from them."""
        restored = Projection()
        for _, row in rows:
            project(restored, decoded(row.body))
        own = {scope for run in runs for scope in own_scopes(run.id)}
        for scope in own & restored.accounts.keys():
            # What others were charged with as well is in their accounts already.
            self.put_account(scope, restored.account(scope))
        self.changes.keys |= restored.changes.keys
        self.changes.approvals |= restored.changes.approvals
        self.changes.runs |= {run.id: run for run in runs}
        self.changes.seals += seals
        self.changes.returned += rows
        self.changes.restored.add(archive)

    def put_policy(self, row: PolicyRow) -> None:
        """Put a policy under its hash."""
        self.changes.policies[row.hash] = row

    def seal_meta(self) -> None:
        """Seal what the ledger says about itself."""
        meta = {**self._rows.all_meta(), KEY_ID: self._key.id}
        self.changes.meta = {KEY_ID: self._key.id, SEAL: self._key.seal_meta(meta)}

    def finished(self) -> Changes:
        """Return everything that was added, with the chains' new ends noted and sealed."""
        for scope in self.changes.accounts:
            self.changes.accounts[scope] = account_bytes(self.accounts[scope])
        for run_id, chain in self._touched.items():
            self.changes.runs[run_id] = run_row(chain.state, chain.head, self._key)
            self._put_snapshot(chain)
        for digest, row in self.changes.credentials.items():
            self.changes.credentials[digest] = sealed_credential(row, self._key)
        self._set_seals()
        return self.changes

    def ended(self) -> Iterator[str]:
        """Yield the runs that are over by now: hardly anybody asks for them again."""
        for run_id, chain in self._touched.items():
            if chain.state.status is RunStatus.FINISHED:
                yield run_id

    def _take(self, chain: Chain, record: Record, body: bytes) -> None:
        chain = msgspec.structs.replace(
            chain, state=folded(chain.state, record), head=hash_of(body)
        )
        self._cache.chains[record.run] = self._touched[record.run] = chain
        self._checked.add(record.run)
        kind = kind_of(record.event)
        self.changes.records.append(
            RecordRow(record.run, record.seq, record.at, kind, body, chain.head)
        )
        project(self, record)

    def _chain(self, run_id: str) -> Chain | None:
        chain = self._cache.chains.get(run_id)
        if run_id in self._checked or (chain is not None and run_id not in self._cache.doubtful):
            return chain
        row = self._rows.run(run_id)
        self._checked.add(run_id)
        if row is None:
            return None
        if row.status == ARCHIVED:
            raise archived_error(self._rows, run_id)
        if chain is None:
            chain = chain_from_snapshot(self._rows, run_id, self._key)
        chain = caught_up(self._rows, chain, row)
        self._cache.chains[run_id] = chain
        self._cache.chains.move_to_end(run_id)
        self._cache.doubtful.discard(run_id)
        return chain

    def _put_snapshot(self, chain: Chain) -> None:
        state = chain.state
        if state.seq < chain.snapshot_due:
            return
        try:
            body = snapshot_bytes(state, chain.head, self._key)
        except OverflowError:
            # It holds a number of more than 64 bits. The records tell the same.
            return
        snapshot = SnapshotRow(state.id, state.seq, body)
        chain.snapshot_due = _next_snapshot(snapshot)
        self.changes.snapshots[state.id] = snapshot

    def _set_seals(self) -> None:
        """Seal chains at intervals, and where a run ends."""
        for row in self.changes.records:
            chain = self._touched[row.run_id]
            is_end = chain.state.status is RunStatus.FINISHED and row.seq == chain.state.seq
            if is_end or row.seq % SEAL_EVERY == 0:
                seal = self._key.seal(row.run_id, row.seq, row.hash)
                self.changes.seals.append(
                    SealRow(row.run_id, row.seq, row.hash, row.at, self._key.id, seal)
                )


def run_row(state: RunState, head: str, key: SealKey) -> RunRow:
    """Return a run at a glance, its end sealed."""
    return RunRow(
        id=state.id,
        seq=state.seq,
        hash=head,
        seal=key.seal(state.id, state.seq, head),
        key_id=key.id,
        started_at=state.started_at,
        updated_at=state.updated_at,
        status=state.status.value,
        agent=state.agent,
        project=state.project,
        parent=state.ancestors[0] if state.ancestors else None,
        task=state.task,
        process=state.process,
    )


def sealed_credential(row: CredentialRow, key: SealKey) -> CredentialRow:
    """Return a credential with the seal that belongs to everything else in it."""
    unsealed = row._replace(seal="")
    return unsealed._replace(seal=key.seal_of("credential", msgspec.json.encode(unsealed)))


def archived_error(rows: Rows, run_id: str) -> InputError:
    """Return the error for a run whose records are elsewhere."""
    row = rows.archived(run_id)
    told = None if row is None else rows.record(LEDGER_RUN, row.archive)
    event = None if told is None else decoded(told.body).event
    file = event.file if isinstance(event, LedgerArchived) else "an archive"
    return InputError(
        f"run `{run_id}` was archived in {file}: `interlock ledger archive --restore FILE` brings"
        " it back"
    )


def _empty_chain(run_id: str) -> Chain:
    return Chain(RunState(id=run_id), GENESIS, _SNAPSHOT_EVERY)


def account_from(body: bytes) -> Account:
    """Return the account that a row holds."""
    try:
        return _ACCOUNT_DECODER.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise DamagedError(
            f"an account is unreadable: {error}: run `interlock ledger repair`"
        ) from error


def account_bytes(account: Account) -> bytes:
    """Return an account as its row holds it."""
    return _ACCOUNT_ENCODER.encode(account)


def snapshot_bytes(state: RunState, head: str, key: SealKey) -> bytes:
    """Return a run's state as its snapshot holds it, sealed with the record that it ends with."""
    body = msgspec.msgpack.encode(state)
    sealed = _Sealed(FOLD_VERSION, msgspec.Raw(body), key.seal_of(f"snapshot {head}", body))
    return msgspec.msgpack.encode(sealed)


def state_from(snapshot: SnapshotRow, head: str, key: SealKey) -> RunState | None:
    """Return the state that a snapshot holds; None if it is of another shape, or nobody's."""
    found = _sealed_in(snapshot)
    if found is None or found.seal != key.seal_of(f"snapshot {head}", bytes(found.state)):
        return None
    try:
        return _STATE_DECODER.decode(found.state)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None


def is_of_today(snapshot: SnapshotRow) -> bool:
    """Whether a snapshot has the shape of those that are written here."""
    return _sealed_in(snapshot) is not None


def _sealed_in(snapshot: SnapshotRow) -> _Sealed | None:
    try:
        found = _SNAPSHOT_DECODER.decode(snapshot.body)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
    return found if found.version == FOLD_VERSION else None


def chain_from_snapshot(rows: Rows, run_id: str, key: SealKey) -> Chain:
    """Return a run as its last snapshot has it, or empty."""
    snapshot = rows.snapshot(run_id)
    row = None if snapshot is None else rows.record(run_id, snapshot.seq)
    if snapshot is None or row is None:
        return _empty_chain(run_id)
    state = state_from(snapshot, row.hash, key)
    if state is None or (state.id, state.seq) != (run_id, snapshot.seq):
        # A snapshot only saves time: the records tell the same.
        return _empty_chain(run_id)
    return Chain(state, row.hash, _next_snapshot(snapshot))


def _next_snapshot(last: SnapshotRow) -> int:
    return last.seq + max(_SNAPSHOT_EVERY, len(last.body) // _BYTES_PER_RECORD)


def caught_up(rows: Rows, chain: Chain, row: RunRow) -> Chain:
    """Return a chain brought forward to where the store has it."""
    state, head = chain.state, chain.head
    while state.seq < row.seq:
        # No further than the row says: others may have written since it was read.
        page = rows.records(row.id, after=state.seq, limit=min(_PAGE, row.seq - state.seq))
        if not page:
            break
        for each in page:
            try:
                record = check_record(each, row.id, state.seq + 1, head)
            except DamagedError as error:
                raise DamagedError(f"{error}: run `interlock verify`") from error
            state, head = folded(state, record), each.hash
    if (state.seq, head) != (row.seq, row.hash):
        problem = f"ends at record {state.seq}, {row.seq} were written: run `interlock verify`"
        raise DamagedError(f"run `{row.id}` {problem}")
    return msgspec.structs.replace(chain, state=state, head=head)
