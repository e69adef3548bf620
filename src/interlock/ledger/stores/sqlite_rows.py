"""The statements of the SQLite store, one per intent."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Final, TypeVar

import apsw
import msgspec

from interlock.errors import DamagedError
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

_RUN: Final = (
    "SELECT id, seq, hash, seal, key_id, started_at, updated_at, status, agent, project,"
    " parent, task FROM runs"
)
_RUN_BY_ID: Final = f"{_RUN} WHERE id = ?"
_RUNS: Final = (
    f"{_RUN} WHERE (?1 IS NULL OR status = ?1) AND (?2 IS NULL OR agent = ?2)"
    " AND (?3 IS NULL OR project = ?3) AND substr(id, 1, length(?4)) = ?4"
    " ORDER BY updated_at DESC, id LIMIT ?5"
)
_CHILDREN: Final = f"{_RUN} WHERE parent = ? ORDER BY started_at, id"
_RECORDS: Final = (
    "SELECT run_id, seq, at, kind, body, hash FROM records"
    " WHERE run_id = ? AND seq > ? ORDER BY seq LIMIT ?"
)
_RECORD: Final = (
    "SELECT run_id, seq, at, kind, body, hash FROM records WHERE run_id = ? AND seq = ?"
)
_CHAINS: Final = (
    "SELECT id FROM runs WHERE id > ?1 UNION SELECT run_id FROM records WHERE run_id > ?1"
    " UNION SELECT run_id FROM seals WHERE run_id > ?1 ORDER BY 1 LIMIT ?2"
)
_WRITTEN: Final = (
    "SELECT position, run_id, seq, at, kind, body, hash FROM records"
    " WHERE position > ? ORDER BY position LIMIT ?"
)
_SNAPSHOT: Final = "SELECT run_id, seq, body FROM snapshots WHERE run_id = ?"
_ACCOUNT: Final = "SELECT body FROM accounts WHERE scope = ?"
_ACCOUNTS: Final = "SELECT scope, body FROM accounts WHERE scope > ? ORDER BY scope LIMIT 1000"
_KEY: Final = "SELECT run_id, key, seq, digest FROM keys WHERE run_id = ? AND key = ?"
_KEYS: Final = (
    "SELECT run_id, key, seq, digest FROM keys WHERE run_id = ? AND key > ? ORDER BY key LIMIT ?"
)
# Promises lie in the order of their leases, so that new ones stand together: the record of the
# judgement tells where to look.
_PROMISED: Final = (
    "lease_until = (SELECT json_extract(CAST(body AS TEXT), '$.event.lease_until')"
    " FROM records WHERE run_id = ?1 AND seq = ?2) AND run_id = ?1 AND seq = ?2"
)
_RESERVATION: Final = f"SELECT run_id, seq, lease_until FROM reservations WHERE {_PROMISED}"  # noqa: S608 - a constant
_LAPSED: Final = (
    "SELECT run_id, seq, lease_until FROM reservations WHERE lease_until <= ?"
    " ORDER BY lease_until, run_id, seq LIMIT ?"
)
_APPROVAL: Final = "SELECT body FROM approvals WHERE id = ?"
_APPROVAL_FOR: Final = (
    "SELECT body FROM approvals WHERE run_id = ? AND digest = ?"
    " ORDER BY opened_at DESC, id DESC LIMIT 1"
)
_APPROVALS: Final = (
    "SELECT body FROM approvals WHERE (?1 IS NULL OR state = ?1) AND (?2 IS NULL OR run_id = ?2)"
    " ORDER BY opened_at, id LIMIT ?3"
)
_POLICY: Final = "SELECT hash, body FROM policies WHERE hash = ?"
_CREDENTIAL: Final = "SELECT digest, kind, name, created_at FROM credentials WHERE digest = ?"
_CREDENTIALS: Final = (
    "SELECT digest, kind, name, created_at FROM credentials ORDER BY created_at, digest"
)
_SEALS: Final = (
    "SELECT run_id, seq, hash, at, key_id, seal FROM seals WHERE run_id = ? ORDER BY seq"
)
_DATA_VERSION: Final = "PRAGMA data_version"
_META: Final = "SELECT value FROM meta WHERE name = ?"

_ADD_RECORD: Final = (
    "INSERT INTO records (run_id, seq, at, kind, body, hash) VALUES (?, ?, ?, ?, ?, ?)"
)
_PUT_RUN: Final = "INSERT OR REPLACE INTO runs VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
_PUT_ACCOUNT: Final = "INSERT OR REPLACE INTO accounts VALUES (?, ?)"
_PUT_KEY: Final = "INSERT OR REPLACE INTO keys VALUES (?, ?, ?, ?)"
_HOLD: Final = "INSERT OR REPLACE INTO reservations VALUES (?, ?, ?)"
_RELEASE: Final = f"DELETE FROM reservations WHERE {_PROMISED}"  # noqa: S608 - a constant
_PUT_APPROVAL: Final = "INSERT OR REPLACE INTO approvals VALUES (?, ?, ?, ?, ?, ?)"
_PUT_SNAPSHOT: Final = "INSERT OR REPLACE INTO snapshots VALUES (?, ?, ?)"
_ADD_POLICY: Final = "INSERT OR IGNORE INTO policies VALUES (?, ?)"
_PUT_CREDENTIAL: Final = "INSERT OR REPLACE INTO credentials VALUES (?, ?, ?, ?)"
_ADD_SEAL: Final = "INSERT OR IGNORE INTO seals VALUES (?, ?, ?, ?, ?, ?)"

_APPROVAL_DECODER: Final = msgspec.json.Decoder(Approval)


def write(connection: apsw.Connection, changes: Changes) -> None:
    """Write everything that a group adds or changes."""
    held = [row for row in changes.reservations.values() if row is not None]
    released = [place for place, row in changes.reservations.items() if row is None]
    approvals = [approval_columns(each) for each in changes.approvals.values()]
    for statement, rows in (
        (_ADD_RECORD, changes.records),
        (_PUT_RUN, changes.runs.values()),
        (_PUT_ACCOUNT, changes.accounts.items()),
        (_PUT_KEY, changes.keys.values()),
        (_HOLD, held),
        (_RELEASE, released),
        (_PUT_APPROVAL, approvals),
        (_PUT_SNAPSHOT, changes.snapshots.values()),
        (_ADD_POLICY, changes.policies.values()),
        (_PUT_CREDENTIAL, changes.credentials.values()),
        (_ADD_SEAL, changes.seals),
    ):
        if rows:
            connection.executemany(statement, rows)


def approval_columns(approval: Approval) -> tuple[str, str, str, str, int, bytes]:
    """Return an approval as the columns of its row."""
    body = msgspec.json.encode(approval, order="sorted")
    return (
        approval.id,
        approval.run_id,
        approval.digest,
        approval.state.value,
        approval.opened_at,
        body,
    )


class SqliteRows:
    """Reads rows over one connection; never leaves a read transaction open behind it."""

    def __init__(self, connection: apsw.Connection, lock: threading.Lock | None = None) -> None:
        self._connection = connection
        self._turn: AbstractContextManager[object] = lock or nullcontext()

    def run(self, run_id: str) -> RunRow | None:
        """Return a run by its id."""
        return self._one(RunRow._make, _RUN_BY_ID, run_id)

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
        return self._all(_first_text, _CHAINS, after, limit)

    def written(self, *, after: int = 0, limit: int = 1000) -> Sequence[WrittenRow]:
        """Return the records of all runs in the order of writing."""
        return self._all(_written, _WRITTEN, after, limit)

    def snapshot(self, run_id: str) -> SnapshotRow | None:
        """Return the last snapshot of a run."""
        return self._one(SnapshotRow._make, _SNAPSHOT, run_id)

    def account(self, scope: str) -> bytes | None:
        """Return an account."""
        return self._one(_first_bytes, _ACCOUNT, scope)

    def accounts(self) -> Iterator[tuple[str, bytes]]:
        """Yield every account, page by page."""
        last = ""
        while page := self._all(_pair, _ACCOUNTS, last):
            yield from page
            last = page[-1][0]

    def key(self, run_id: str, key: str) -> KeyRow | None:
        """Return what a request key was used for."""
        return self._one(KeyRow._make, _KEY, run_id, key)

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
        return self._one(_first_text, _META, name)

    def data_version(self) -> int:
        """Return a number that changes with every commit of anybody else's connection."""
        return self._one(_first_number, _DATA_VERSION) or 0

    def _one(
        self, make: Callable[[Iterable[object]], T], statement: str, *values: str | int | None
    ) -> T | None:
        found = self._all(make, statement, *values)
        return found[0] if found else None

    def _all(
        self, make: Callable[[Iterable[object]], T], statement: str, *values: str | int | None
    ) -> list[T]:
        try:
            with self._turn:
                found = self._connection.execute(statement, values).fetchall()
            return [make(row) for row in found]
        except apsw.CorruptError as error:
            raise DamagedError(
                f"the ledger is damaged: {error}: `interlock ledger recover` saves what can be"
                " read into a new file"
            ) from error
        except (UnicodeDecodeError, msgspec.DecodeError) as error:
            raise DamagedError(f"a row is unreadable: {error}: run `interlock verify`") from error


def _first_bytes(row: Iterable[object]) -> bytes:
    (value,) = row
    assert isinstance(value, bytes)  # noqa: S101 - the column is BLOB NOT NULL in a STRICT table
    return value


def _first_number(row: Iterable[object]) -> int:
    (value,) = row
    assert isinstance(value, int)  # noqa: S101 - SQLite answers with a number
    return value


def _first_text(row: Iterable[object]) -> str:
    (value,) = row
    return str(value)


def _pair(row: Iterable[object]) -> tuple[str, bytes]:
    scope, body = row
    assert isinstance(body, bytes)  # noqa: S101 - the column is BLOB NOT NULL in a STRICT table
    return str(scope), body


def _written(row: Iterable[object]) -> WrittenRow:
    position, *columns = row
    assert isinstance(position, int)  # noqa: S101 - the column is the row's own number
    return WrittenRow(position, RecordRow._make(columns))


def _approval(row: Iterable[object]) -> Approval:
    return _APPROVAL_DECODER.decode(_first_bytes(row))
