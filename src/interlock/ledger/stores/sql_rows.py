"""Rows in a database: which tables they are written to, and how they are read out again.

Both are the same for SQLite and Postgres. The statements are in what both understand, with
Postgres's names of the tables. INVARIANT: in each of them `$1` occurs before `$2`, and so on:
SQLite numbers parameters as it meets them.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any, Final, NamedTuple, TypeVar

import msgspec

from interlock.errors import DamagedError, LedgerError
from interlock.model.approval import Approval
from interlock.model.rows import (
    ArchivedRow,
    Changes,
    CredentialRow,
    GapRow,
    HeadRow,
    KeyRow,
    PolicyRow,
    RecordRow,
    ReservationRow,
    RunRow,
    SealRow,
    SnapshotRow,
    Tally,
    WrittenRow,
)

T = TypeVar("T")
Columns = tuple[str | int | bytes | None, ...]
Found = list[tuple[Any, ...]]
Ask = Callable[[str, Sequence[str | int | None]], Found]
"""Runs a statement that reads, and returns all of its rows."""


class Conflict(enum.Enum):
    """What becomes of a new row where one is stored that is known by the same."""

    REFUSED = "refused"
    IGNORED = "ignored"
    REPLACES = "replaces"


class Table(NamedTuple):
    """A table, as rows are written to it and read."""

    name: str
    columns: tuple[str, ...]
    types: str
    """A letter for each column: `t` is text, `n` a number, `b` bytes."""
    key: int
    """By how many of its first columns a row is known."""
    conflict: Conflict = Conflict.REPLACES


_APPROVAL_COLUMNS: Final = ("id", "run_id", "digest", "state", "opened_at", "body")
RECORDS: Final = Table("records", RecordRow._fields, "tnntbt", 2, Conflict.REFUSED)
RUNS: Final = Table("runs", RunRow._fields, "tntttnntttttt", 1)
ACCOUNTS: Final = Table("accounts", ("scope", "body"), "tb", 1)
KEYS: Final = Table("keys", KeyRow._fields, "ttnt", 2)
RESERVATIONS: Final = Table("reservations", ReservationRow._fields, "tnn", 2)
APPROVALS: Final = Table("approvals", _APPROVAL_COLUMNS, "ttttnb", 1)
SNAPSHOTS: Final = Table("snapshots", SnapshotRow._fields, "tnb", 1)
POLICIES: Final = Table("policies", PolicyRow._fields, "tb", 1, Conflict.IGNORED)
CREDENTIALS: Final = Table("credentials", CredentialRow._fields, "tttttnnt", 1)
SEALS: Final = Table("seals", SealRow._fields, "tntntt", 2, Conflict.IGNORED)
META: Final = Table("meta", ("name", "value"), "tt", 1)
HEAD: Final = Table("head", HeadRow._fields, "nntn", 0)
ARCHIVED_RUNS: Final = Table("archived_runs", ArchivedRow._fields, "tnt", 1, Conflict.REFUSED)
GAPS: Final = Table("gaps", GapRow._fields, "nnntntnbt", 1, Conflict.REFUSED)
_PLACED: Final = Table(
    "records", ("position", *RECORDS.columns), f"n{RECORDS.types}", 1, Conflict.REFUSED
)


def rows_to_write(changes: Changes) -> Iterator[tuple[Table, Collection[Columns]]]:
    """Yield the rows that a group adds or changes, table by table, but for its records.

    Those get their places, and the head of the order with them, each store in its own way.
    """
    yield RUNS, changes.runs.values()
    yield ACCOUNTS, changes.accounts.items()
    yield KEYS, changes.keys.values()
    yield RESERVATIONS, [row for row in changes.reservations.values() if row is not None]
    yield APPROVALS, [_approval_columns(each) for each in changes.approvals.values()]
    yield SNAPSHOTS, changes.snapshots.values()
    yield POLICIES, changes.policies.values()
    yield CREDENTIALS, changes.credentials.values()
    yield SEALS, changes.seals
    yield META, changes.meta.items()
    yield ARCHIVED_RUNS, changes.archived
    yield GAPS, changes.gaps
    yield _PLACED, [(place, *record) for place, record in changes.returned]


def released_reservations(changes: Changes) -> list[tuple[str, int]]:
    """Return the run and the record of every reservation that is released."""
    return [place for place, row in changes.reservations.items() if row is None]


def removals(changes: Changes) -> Iterator[tuple[str, int]]:
    """Yield what takes rows out, each with the archive that it is about.

    It comes behind what is written: a record goes only where an archived run says so.
    """
    for archive in sorted({row.archive for row in changes.archived}):
        for statement in _REMOVALS:
            yield statement, archive
    for archive in sorted(changes.restored):
        for table in (ARCHIVED_RUNS, GAPS):
            yield f"DELETE FROM interlock_{table.name} WHERE archive = $1", archive  # noqa: S608 - constants


def _select(table: Table, rest: str) -> str:
    return f"SELECT {', '.join(table.columns)} FROM interlock_{table.name} {rest}"  # noqa: S608 - constants


_RUN_BY_ID: Final = _select(RUNS, "WHERE id = $1")
_RUNS: Final = _select(
    RUNS,
    "WHERE (CAST($1 AS text) IS NULL OR status = $1)"
    " AND (CAST($2 AS text) IS NULL OR agent = $2)"
    " AND (CAST($3 AS text) IS NULL OR project = $3) AND substr(id, 1, length($4)) = $4"
    " AND (CAST($5 AS bigint) IS NULL OR updated_at < $5 OR (updated_at = $5 AND id > $6))"
    " ORDER BY updated_at DESC, id LIMIT $7",
)
_RUN_FOR: Final = _select(RUNS, "WHERE process = $1 AND process <> '' ORDER BY id DESC LIMIT 1")
_CHILDREN: Final = _select(RUNS, "WHERE parent = $1 ORDER BY started_at, id")
_RECORD: Final = _select(RECORDS, "WHERE run_id = $1 AND seq = $2")
_RECORDS: Final = _select(RECORDS, "WHERE run_id = $1 AND seq > $2 ORDER BY seq LIMIT $3")
# Each part stops by itself once it has a page: a union of whole tables would read them all.
_NAMED: Final = (
    "SELECT name FROM (SELECT DISTINCT {1} AS name FROM interlock_{0}"
    " WHERE {1} > $1 ORDER BY 1 LIMIT $2) AS from_{0}"
)
_OF_RUNS: Final = ("records", "seals", "keys", "approvals", "snapshots")
_CHAINS: Final = " UNION ".join(
    [
        _NAMED.format("runs", "id"),
        *(_NAMED.format(table, "run_id") for table in (*_OF_RUNS, ARCHIVED_RUNS.name)),
    ]
)
_IN_ARCHIVE: Final = "FROM interlock_archived_runs WHERE archive = $1"
_REMOVALS: Final = (
    *(
        f"DELETE FROM interlock_{table} WHERE run_id IN (SELECT run_id {_IN_ARCHIVE})"  # noqa: S608 - constants
        for table in _OF_RUNS
    ),
    *(
        f"DELETE FROM interlock_accounts WHERE scope IN (SELECT '{kind}/' || run_id {_IN_ARCHIVE})"  # noqa: S608 - constants
        for kind in ("run", "tree")
    ),
)
_WRITTEN: Final = (
    "SELECT position, run_id, seq, at, kind, body, hash FROM interlock_records"
    " WHERE position > $1 ORDER BY position LIMIT $2"
)
_SNAPSHOT: Final = _select(SNAPSHOTS, "WHERE run_id = $1")
_ACCOUNT: Final = "SELECT body FROM interlock_accounts WHERE scope = $1"
_ACCOUNTS: Final = _select(ACCOUNTS, "WHERE scope > $1 ORDER BY scope LIMIT 1000")
_KEY: Final = _select(KEYS, "WHERE run_id = $1 AND key = $2")
_KEYS: Final = _select(KEYS, "WHERE run_id = $1 AND key > $2 ORDER BY key LIMIT $3")
_RESERVATION: Final = _select(RESERVATIONS, "WHERE run_id = $1 AND seq = $2")
_LAPSED: Final = _select(
    RESERVATIONS, "WHERE lease_until <= $1 ORDER BY lease_until, run_id, seq LIMIT $2"
)
_APPROVAL: Final = _select(APPROVALS, "WHERE id = $1")
_APPROVAL_FOR: Final = _select(
    APPROVALS, "WHERE run_id = $1 AND digest = $2 ORDER BY opened_at DESC, id DESC LIMIT 1"
)
_APPROVALS: Final = _select(
    APPROVALS,
    "WHERE (CAST($1 AS text) IS NULL OR state = $1)"
    " AND (CAST($2 AS text) IS NULL OR run_id = $2)"
    " AND (CAST($3 AS bigint) IS NULL OR opened_at > $3 OR (opened_at = $3 AND id > $4))"
    " ORDER BY opened_at, id LIMIT $5",
)
_POLICY: Final = _select(POLICIES, "WHERE hash = $1")
_POLICIES: Final = _select(POLICIES, "ORDER BY hash")
_CREDENTIAL: Final = _select(CREDENTIALS, "WHERE digest = $1")
_CREDENTIALS: Final = _select(CREDENTIALS, "ORDER BY created_at, digest")
_SEALS: Final = _select(SEALS, "WHERE run_id = $1 ORDER BY seq")
_META: Final = "SELECT value FROM interlock_meta WHERE name = $1"
_ALL_META: Final = _select(META, "ORDER BY name")
_HEAD: Final = _select(HEAD, "")
# In one statement, and so of one moment.
_ARCHIVED_RECORDS: Final = (
    " + (SELECT CAST(coalesce(sum(last - first + 1), 0) AS bigint) FROM interlock_gaps)"
)
_TALLY: Final = _select(HEAD, "").replace(
    " FROM",
    f", (SELECT count(*) FROM interlock_records){_ARCHIVED_RECORDS},"  # noqa: S608 - constants
    " (SELECT coalesce(max(position), 0) FROM interlock_records),"
    " (SELECT count(*) FROM interlock_runs) FROM",
)
_GAPS: Final = _select(GAPS, "WHERE last > $1 ORDER BY first")
_ARCHIVED: Final = _select(ARCHIVED_RUNS, "WHERE run_id = $1")

_APPROVAL_DECODER: Final = msgspec.json.Decoder(Approval)


class SqlRows:
    """Reads rows, each question by a statement of its own."""

    reservation_by_number: str = _RESERVATION
    """How a reservation is found by the record that made it."""
    has_archives: bool = True
    """Whether its schema is of a time in which records could be archived."""

    def __init__(self, ask: Ask) -> None:
        self._ask = ask

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
        behind: tuple[int, str] | None = None,
    ) -> Sequence[RunRow]:
        """Return the runs that were active last."""
        at, run_id = behind or (None, "")
        return self._all(RunRow._make, _RUNS, status, agent, project, prefix, at, run_id, limit)

    def run_for(self, process: str) -> RunRow | None:
        """Return the latest run that was started for a process."""
        return self._one(RunRow._make, _RUN_FOR, process)

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
        """Return every name of a run that anything is stored for."""
        return self._all(_first, f"{_CHAINS} ORDER BY 1 LIMIT $2", after, limit)

    def written(self, *, after: int = 0, limit: int = 1000) -> Sequence[WrittenRow]:
        """Return the records of all runs in the order of writing."""
        return self._all(_written, _WRITTEN, after, limit)

    def snapshot(self, run_id: str) -> SnapshotRow | None:
        """Return the last snapshot of a run."""
        return self._one(SnapshotRow._make, _SNAPSHOT, run_id)

    def account(self, scope: str) -> bytes | None:
        """Return an account."""
        return self._one(_first, _ACCOUNT, scope)

    def accounts(self) -> Iterator[tuple[str, bytes]]:
        """Yield every account, page by page."""
        last = ""
        while page := self._all(tuple[str, bytes], _ACCOUNTS, last):
            yield from page
            last = page[-1][0]

    def key(self, run_id: str, key: str) -> KeyRow | None:
        """Return what a request key was used for."""
        return self._one(KeyRow._make, _KEY, run_id, key)

    def keys(self, run_id: str, *, after: str = "", limit: int = 1000) -> Sequence[KeyRow]:
        """Return the request keys of a run."""
        return self._all(KeyRow._make, _KEYS, run_id, after, limit)

    def reservation(self, run_id: str, seq: int) -> ReservationRow | None:
        """Return a reservation that is still open."""
        return self._one(ReservationRow._make, self.reservation_by_number, run_id, seq)

    def lapsed(self, now: int, *, limit: int = 1000) -> Sequence[ReservationRow]:
        """Return reservations whose lease is over."""
        return self._all(ReservationRow._make, _LAPSED, now, limit)

    def approval(self, approval_id: str) -> Approval | None:
        """Return an approval by its id."""
        return self._one(_approval, _APPROVAL, approval_id)

    def approval_for(self, run_id: str, digest: str) -> Approval | None:
        """Return the latest approval for exactly this."""
        return self._one(_approval, _APPROVAL_FOR, run_id, digest)

    def approvals(
        self,
        *,
        state: str | None = None,
        run_id: str | None = None,
        behind: tuple[int, str] | None = None,
        limit: int = 1000,
    ) -> Sequence[Approval]:
        """Return approvals, the oldest first."""
        return self._all(_approval, _APPROVALS, state, run_id, *(behind or (None, "")), limit)

    def policy(self, policy_hash: str) -> PolicyRow | None:
        """Return a policy by its hash."""
        return self._one(PolicyRow._make, _POLICY, policy_hash)

    def policies(self) -> Sequence[PolicyRow]:
        """Return every policy."""
        return self._all(PolicyRow._make, _POLICIES)

    def credential(self, digest: str) -> CredentialRow | None:
        """Return whose token has this digest."""
        return self._one(CredentialRow._make, _CREDENTIAL, digest)

    def credentials(self) -> Sequence[CredentialRow]:
        """Return every credential there ever was."""
        return self._all(CredentialRow._make, _CREDENTIALS)

    def seals(self, run_id: str) -> Sequence[SealRow]:
        """Return the seals on a run."""
        return self._all(SealRow._make, _SEALS, run_id)

    def meta(self, name: str) -> str | None:
        """Return a value about the ledger itself."""
        return self._one(_first, _META, name)

    def all_meta(self) -> Mapping[str, str]:
        """Return every value about the ledger itself."""
        return dict(self._all(tuple[str, str], _ALL_META))

    def head(self) -> HeadRow:
        """Return the end of the order."""
        return _the_one(self._all(HeadRow._make, _HEAD))

    def tally(self) -> Tally:
        """Return the end of the order, and what is found when everything is counted."""
        statement = _TALLY if self.has_archives else _TALLY.replace(_ARCHIVED_RECORDS, "")
        return _the_one(self._all(_tallied, statement))

    def gaps(self, *, after: int = 0) -> Sequence[GapRow]:
        """Return where archived records stood, in the order of writing."""
        return self._all(GapRow._make, _GAPS, after) if self.has_archives else ()

    def archived(self, run_id: str) -> ArchivedRow | None:
        """Return which archive has the records of a run."""
        return self._one(ArchivedRow._make, _ARCHIVED, run_id) if self.has_archives else None

    def _one(
        self,
        make: Callable[[tuple[Any, ...]], T],
        statement: str,
        *values: str | int | None,
    ) -> T | None:
        found = self._all(make, statement, *values)
        return found[0] if found else None

    def _all(
        self,
        make: Callable[[tuple[Any, ...]], T],
        statement: str,
        *values: str | int | None,
    ) -> list[T]:
        try:
            return [make(row) for row in self._ask(statement, values)]
        except (UnicodeDecodeError, msgspec.DecodeError) as error:
            raise DamagedError(f"a row is unreadable: {error}: run `interlock verify`") from error


def _approval_columns(approval: Approval) -> tuple[str, str, str, str, int, bytes]:
    return (
        approval.id,
        approval.run_id,
        approval.digest,
        approval.state.value,
        approval.opened_at,
        msgspec.json.encode(approval, order="sorted"),
    )


def _first(row: tuple[Any, ...]) -> Any:  # noqa: ANN401 - the schema says what is in a column
    return row[0]


def _the_one(found: list[T]) -> T:
    if len(found) != 1:
        raise DamagedError(
            f"the head of the order is noted {len(found)} times, not once: run `interlock ledger"
            " recover`"
        )
    return found[0]


def _tallied(row: tuple[Any, ...]) -> Tally:
    return Tally(HeadRow._make(row[:4]), *row[4:])


def _written(row: tuple[Any, ...]) -> WrittenRow:
    return WrittenRow(row[0], RecordRow._make(row[1:]))


def _approval(row: tuple[Any, ...]) -> Approval:
    """Return the approval of a row, unless that is found by something else than it says."""
    approval = _APPROVAL_DECODER.decode(row[-1])
    for name, wanted, found in zip(
        _APPROVAL_COLUMNS, _approval_columns(approval), row, strict=True
    ):
        if wanted != found and name != "body":
            raise DamagedError(
                f"approval `{approval.id}` is stored under {name} `{found}`, not `{wanted}`: run"
                " `interlock verify`"
            )
    return approval


class Migration(NamedTuple):
    """One step forward."""

    version: int
    sql: str


@cache
def migrations(dialect: str) -> tuple[Migration, ...]:
    """Return every migration of a dialect, in order."""
    folder = files("interlock.ledger.stores") / "schema" / dialect
    names = sorted(entry.name for entry in folder.iterdir() if entry.name.endswith(".sql"))
    return tuple(Migration(int(name[:4]), (folder / name).read_text("utf-8")) for name in names)


def pending(dialect: str, version: int, place: str) -> tuple[Migration, ...]:
    """Return what a database of this version still needs; refuse one from the future."""
    known = migrations(dialect)
    if version > known[-1].version:
        raise LedgerError(
            f"{place} has schema version {version}, newer than the {known[-1].version} known"
            " here: update Interlock"
        )
    return known[version:]
