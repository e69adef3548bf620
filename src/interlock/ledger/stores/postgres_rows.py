"""The statements of the Postgres store, one per intent."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, LiteralString, TypeVar

import msgspec

from interlock.ledger.stores.postgres_values import (
    Blobs,
    Column,
    Numbers,
    Step,
    Texts,
    Value,
    fitting,
)
from interlock.model.approval import Approval
from interlock.model.rows import (
    Changes,
    CredentialRow,
    KeyRow,
    PolicyRow,
    RecordRow,
    ReservationRow,
    RunRow,
    SealRow,
    SnapshotRow,
    WrittenRow,
)

T = TypeVar("T")
Ask = Callable[[LiteralString, Sequence[Value]], list[tuple[Any, ...]]]
"""Runs a statement that reads, and returns all of its rows."""

_RUN: Final = (
    "SELECT id, seq, hash, seal, key_id, started_at, updated_at, status, agent, project,"
    " parent, task FROM interlock_runs"
)
_RUN_BY_ID: Final = f"{_RUN} WHERE id = $1"
_RUNS: Final = (
    f"{_RUN} WHERE ($1::text IS NULL OR status = $1) AND ($2::text IS NULL OR agent = $2)"
    " AND ($3::text IS NULL OR project = $3) AND starts_with(id, $4)"
    " ORDER BY updated_at DESC, id LIMIT $5"
)
_CHILDREN: Final = f"{_RUN} WHERE parent = $1 ORDER BY started_at, id"
_RECORDS: Final = (
    "SELECT run_id, seq, at, kind, body, hash FROM interlock_records"
    " WHERE run_id = $1 AND seq > $2 ORDER BY seq LIMIT $3"
)
_RECORD: Final = (
    "SELECT run_id, seq, at, kind, body, hash FROM interlock_records WHERE run_id = $1 AND seq = $2"
)
# Each part stops by itself once it has a page: a union of whole tables would read them all.
_CHAINS: Final = (
    "(SELECT id FROM interlock_runs WHERE id > $1 ORDER BY 1 LIMIT $2) UNION"
    " (SELECT DISTINCT run_id FROM interlock_records WHERE run_id > $1 ORDER BY 1 LIMIT $2) UNION"
    " (SELECT DISTINCT run_id FROM interlock_seals WHERE run_id > $1 ORDER BY 1 LIMIT $2)"
    " ORDER BY 1 LIMIT $2"
)
_WRITTEN: Final = (
    "SELECT position, run_id, seq, at, kind, body, hash FROM interlock_records"
    " WHERE position > $1 ORDER BY position LIMIT $2"
)
_SNAPSHOT: Final = "SELECT run_id, seq, body FROM interlock_snapshots WHERE run_id = $1"
_ACCOUNT: Final = "SELECT body FROM interlock_accounts WHERE scope = $1"
_ACCOUNTS: Final = (
    "SELECT scope, body FROM interlock_accounts WHERE scope > $1 ORDER BY scope LIMIT 1000"
)
_KEY: Final = "SELECT run_id, key, seq, digest FROM interlock_keys WHERE run_id = $1 AND key = $2"
_KEYS: Final = (
    "SELECT run_id, key, seq, digest FROM interlock_keys"
    " WHERE run_id = $1 AND key > $2 ORDER BY key LIMIT $3"
)
_RESERVATION: Final = (
    "SELECT run_id, seq, lease_until FROM interlock_reservations WHERE run_id = $1 AND seq = $2"
)
_LAPSED: Final = (
    "SELECT run_id, seq, lease_until FROM interlock_reservations WHERE lease_until <= $1"
    " ORDER BY lease_until, run_id, seq LIMIT $2"
)
_APPROVAL: Final = "SELECT body FROM interlock_approvals WHERE id = $1"
_APPROVAL_FOR: Final = (
    "SELECT body FROM interlock_approvals WHERE run_id = $1 AND digest = $2"
    " ORDER BY opened_at DESC, id DESC LIMIT 1"
)
_APPROVALS: Final = (
    "SELECT body FROM interlock_approvals WHERE ($1::text IS NULL OR state = $1)"
    " AND ($2::text IS NULL OR run_id = $2) ORDER BY opened_at, id LIMIT $3"
)
_POLICY: Final = "SELECT hash, body FROM interlock_policies WHERE hash = $1"
_CREDENTIAL: Final = (
    "SELECT digest, kind, name, created_at FROM interlock_credentials WHERE digest = $1"
)
_CREDENTIALS: Final = (
    "SELECT digest, kind, name, created_at FROM interlock_credentials ORDER BY created_at, digest"
)
_SEALS: Final = (
    "SELECT run_id, seq, hash, at, key_id, seal FROM interlock_seals WHERE run_id = $1 ORDER BY seq"
)
_META: Final = "SELECT value FROM interlock_meta WHERE name = $1"

_ADD_RECORDS: Final = (
    "INSERT INTO interlock_records (run_id, seq, at, kind, body, hash)"
    " SELECT * FROM unnest($1, $2, $3, $4, $5, $6)"
)
_PUT_RUNS: Final = (
    "INSERT INTO interlock_runs SELECT * FROM unnest"
    "($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)"
    " ON CONFLICT (id) DO UPDATE SET seq = excluded.seq, hash = excluded.hash,"
    " seal = excluded.seal, key_id = excluded.key_id, started_at = excluded.started_at,"
    " updated_at = excluded.updated_at, status = excluded.status, agent = excluded.agent,"
    " project = excluded.project, parent = excluded.parent, task = excluded.task"
)
_PUT_ACCOUNTS: Final = (
    "INSERT INTO interlock_accounts SELECT * FROM unnest($1, $2)"
    " ON CONFLICT (scope) DO UPDATE SET body = excluded.body"
)
_PUT_KEYS: Final = (
    "INSERT INTO interlock_keys SELECT * FROM unnest($1, $2, $3, $4)"
    " ON CONFLICT (run_id, key) DO UPDATE SET seq = excluded.seq, digest = excluded.digest"
)
_HOLD: Final = (
    "INSERT INTO interlock_reservations SELECT * FROM unnest($1, $2, $3)"
    " ON CONFLICT (run_id, seq) DO UPDATE SET lease_until = excluded.lease_until"
)
_RELEASE: Final = (
    "DELETE FROM interlock_reservations AS held USING unnest($1, $2) AS released (run_id, seq)"
    " WHERE held.run_id = released.run_id AND held.seq = released.seq"
)
_PUT_APPROVALS: Final = (
    "INSERT INTO interlock_approvals SELECT * FROM unnest($1, $2, $3, $4, $5, $6)"
    " ON CONFLICT (id) DO UPDATE SET run_id = excluded.run_id, digest = excluded.digest,"
    " state = excluded.state, opened_at = excluded.opened_at, body = excluded.body"
)
_PUT_SNAPSHOTS: Final = (
    "INSERT INTO interlock_snapshots SELECT * FROM unnest($1, $2, $3)"
    " ON CONFLICT (run_id) DO UPDATE SET seq = excluded.seq, body = excluded.body"
)
_ADD_POLICIES: Final = (
    "INSERT INTO interlock_policies SELECT * FROM unnest($1, $2) ON CONFLICT DO NOTHING"
)
_PUT_CREDENTIALS: Final = (
    "INSERT INTO interlock_credentials SELECT * FROM unnest($1, $2, $3, $4)"
    " ON CONFLICT (digest) DO UPDATE SET kind = excluded.kind, name = excluded.name,"
    " created_at = excluded.created_at"
)
_ADD_SEALS: Final = (
    "INSERT INTO interlock_seals SELECT * FROM unnest($1, $2, $3, $4, $5, $6)"
    " ON CONFLICT DO NOTHING"
)
_TELL: Final = "SELECT pg_current_xact_id()::text FROM pg_notify($1, '')"

_APPROVAL_DECODER: Final = msgspec.json.Decoder(Approval)


_COLUMNS: Final[dict[str, Callable[[Any], Column]]] = {"t": Texts, "n": Numbers, "b": Blobs}


def write_steps(changes: Changes, channel: str) -> list[Step]:
    """Return what writes a whole group; the last step tells those who listen.

    That one answers with the number of its transaction. Rows that no lock protects are written
    in the order of their keys, so that no two groups can wait for each other.
    """
    steps: list[Step] = []
    for statement, shape, rows in _parts(changes):
        if rows:
            columns = zip(*rows, strict=True)
            values = [_COLUMNS[kind](each) for kind, each in zip(shape, columns, strict=True)]
            steps.append((statement, values))
    return [*steps, (_TELL, [channel])]


def _parts(changes: Changes) -> Iterator[tuple[LiteralString, str, Sequence[tuple[object, ...]]]]:
    held = [row for row in changes.reservations.values() if row is not None]
    released = [place for place, row in changes.reservations.items() if row is None]
    yield _ADD_RECORDS, "tnntbt", changes.records
    yield _PUT_RUNS, "tntttnnttttt", _by_key(changes.runs)
    yield _PUT_ACCOUNTS, "tb", sorted(changes.accounts.items())
    yield _PUT_KEYS, "ttnt", _by_key(changes.keys)
    yield _HOLD, "tnn", sorted(held)
    yield _RELEASE, "tn", sorted(released)
    approvals = [_approval_columns(each) for each in changes.approvals.values()]
    yield _PUT_APPROVALS, "ttttnb", sorted(approvals)
    yield _PUT_SNAPSHOTS, "tnb", _by_key(changes.snapshots)
    yield _ADD_POLICIES, "tb", _by_key(changes.policies)
    yield _PUT_CREDENTIALS, "tttn", _by_key(changes.credentials)
    yield _ADD_SEALS, "tntntt", sorted(changes.seals)


K = TypeVar("K", str, tuple[str, str])


def _by_key(rows: dict[K, T]) -> list[T]:
    return [rows[key] for key in sorted(rows)]


def _approval_columns(approval: Approval) -> tuple[str, str, str, str, int, bytes]:
    return (
        approval.id,
        approval.run_id,
        approval.digest,
        approval.state.value,
        approval.opened_at,
        msgspec.json.encode(approval, order="sorted"),
    )


class PostgresRows:
    """Reads rows, each question by a statement of its own."""

    def __init__(self, ask: Ask) -> None:
        self._ask = ask

    def run(self, run_id: str) -> RunRow | None:
        """Return a run by its id."""
        return self._one(RunRow._make, _RUN_BY_ID, fitting("a run's id", run_id))

    def runs(
        self,
        *,
        limit: int,
        status: str | None = None,
        agent: str | None = None,
        project: str | None = None,
        prefix: str = "",
    ) -> Sequence[RunRow]:
        """Return the runs that were active last."""
        return self._all(RunRow._make, _RUNS, status, agent, project, prefix, limit)

    def children(self, run_id: str) -> Sequence[RunRow]:
        """Return the runs directly below a run."""
        return self._all(RunRow._make, _CHILDREN, run_id)

    def records(self, run_id: str, *, after: int = 0, limit: int = 1000) -> Sequence[RecordRow]:
        """Return the records that follow record `after`."""
        return self._all(RecordRow._make, _RECORDS, run_id, after, limit)

    def record(self, run_id: str, seq: int) -> RecordRow | None:
        """Return one record."""
        return self._one(RecordRow._make, _RECORD, run_id, seq)

    def chains(self, *, after: str = "", limit: int = 1000) -> Sequence[str]:
        """Return every name that has a run, records or seals."""
        return self._all(_first, _CHAINS, after, limit)

    def written(self, *, after: int = 0, limit: int = 1000) -> Sequence[WrittenRow]:
        """Return the records of all runs in the order of writing."""
        return self._all(_written, _WRITTEN, after, limit)

    def snapshot(self, run_id: str) -> SnapshotRow | None:
        """Return the last snapshot of a run."""
        return self._one(SnapshotRow._make, _SNAPSHOT, run_id)

    def account(self, scope: str) -> bytes | None:
        """Return an account."""
        return self._one(_first, _ACCOUNT, fitting("an account's scope", scope))

    def accounts(self) -> Iterator[tuple[str, bytes]]:
        """Yield every account, page by page."""
        last = ""
        while page := self._all(tuple[str, bytes], _ACCOUNTS, last):
            yield from page
            last = page[-1][0]

    def key(self, run_id: str, key: str) -> KeyRow | None:
        """Return what a request key was used for."""
        return self._one(KeyRow._make, _KEY, run_id, fitting("a request key", key))

    def keys(self, run_id: str, *, after: str = "", limit: int = 1000) -> Sequence[KeyRow]:
        """Return the request keys of a run."""
        return self._all(KeyRow._make, _KEYS, run_id, after, limit)

    def reservation(self, run_id: str, seq: int) -> ReservationRow | None:
        """Return a promise that is still held."""
        return self._one(ReservationRow._make, _RESERVATION, run_id, seq)

    def lapsed(self, now: int, *, limit: int = 1000) -> Sequence[ReservationRow]:
        """Return promises whose lease is over."""
        return self._all(ReservationRow._make, _LAPSED, now, limit)

    def approval(self, approval_id: str) -> Approval | None:
        """Return an approval by its id."""
        return self._one(_approval, _APPROVAL, approval_id)

    def approval_for(self, run_id: str, digest: str) -> Approval | None:
        """Return the latest approval for exactly this."""
        return self._one(_approval, _APPROVAL_FOR, run_id, digest)

    def approvals(
        self, *, state: str | None = None, run_id: str | None = None, limit: int = 1000
    ) -> Sequence[Approval]:
        """Return approvals, the oldest first."""
        return self._all(_approval, _APPROVALS, state, run_id, limit)

    def policy(self, policy_hash: str) -> PolicyRow | None:
        """Return a policy by its hash."""
        return self._one(PolicyRow._make, _POLICY, policy_hash)

    def credential(self, digest: str) -> CredentialRow | None:
        """Return whose token has this digest."""
        return self._one(CredentialRow._make, _CREDENTIAL, digest)

    def credentials(self) -> Sequence[CredentialRow]:
        """Return everybody who has a token."""
        return self._all(CredentialRow._make, _CREDENTIALS)

    def seals(self, run_id: str) -> Sequence[SealRow]:
        """Return the seals on a run."""
        return self._all(SealRow._make, _SEALS, run_id)

    def meta(self, name: str) -> str | None:
        """Return a value about the ledger itself."""
        return self._one(_first, _META, name)

    def _one(
        self, make: Callable[[tuple[Any, ...]], T], statement: LiteralString, *values: Value
    ) -> T | None:
        found = self._ask(statement, values)
        return make(found[0]) if found else None

    def _all(
        self, make: Callable[[tuple[Any, ...]], T], statement: LiteralString, *values: Value
    ) -> list[T]:
        return [make(row) for row in self._ask(statement, values)]


def _first(row: tuple[Any, ...]) -> Any:  # noqa: ANN401 - the schema says what is in a column
    return row[0]


def _written(row: tuple[Any, ...]) -> WrittenRow:
    return WrittenRow(row[0], RecordRow._make(row[1:]))


def _approval(row: tuple[Any, ...]) -> Approval:
    return _APPROVAL_DECODER.decode(row[0])
