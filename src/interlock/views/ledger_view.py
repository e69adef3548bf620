"""The ledger: where it is, what it holds, and whether that is what was written."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

import apsw
import msgspec

from interlock.errors import InputError
from interlock.ledger.abbreviations import found_run
from interlock.ledger.chain import read_chain, records_of
from interlock.ledger.ledger import Ledger
from interlock.ledger.stores.sql_rows import migrations
from interlock.ledger.stores.sqlite import SqliteStore
from interlock.ledger.verification import RunChecked, verify_all, verify_run
from interlock.model.run import LEDGER_RUN
from interlock.ports import ALL, Rows, Store
from interlock.views.grounds import Grounds

SAFE_SQLITE: Final = (3, 51, 3)
"""Earlier ones can damage a file when two processes start its write-ahead file anew at once."""


class LedgerInfo(msgspec.Struct, frozen=True, kw_only=True):
    """Where a ledger is, what it holds, and who may decide in it."""

    place: str
    id: str
    kind: str
    engine_version: str
    """The version of SQLite, or of the Postgres server."""
    is_safe: bool
    """Whether that version is without known faults that could cost records."""
    schema_version: int
    bytes: int
    wal_bytes: int | None
    runs: int
    running: int
    records: int
    pending_approvals: int
    operators: tuple[str, ...]
    agents: tuple[str, ...]


class _Engine(NamedTuple):
    kind: str
    version: str
    is_safe: bool
    bytes: int
    wal_bytes: int | None


def ledger_info(ledger: Ledger, now: int) -> LedgerInfo:
    """Look at a ledger that lasts."""
    rows, store = ledger.rows, ledger.store
    engine = _sqlite(store) if isinstance(store, SqliteStore) else _postgres(store)
    runs = [row for row in rows.runs(limit=ALL) if row.id != LEDGER_RUN]
    own = rows.run(LEDGER_RUN)
    pending = rows.approvals(state="pending", limit=ALL)
    return LedgerInfo(
        place=ledger.store.name,
        id=rows.meta("id") or "",
        kind=engine.kind,
        engine_version=engine.version,
        is_safe=engine.is_safe,
        schema_version=migrations(engine.kind)[-1].version,
        bytes=engine.bytes,
        wal_bytes=engine.wal_bytes,
        runs=len(runs),
        running=sum(row.status == "running" for row in runs),
        records=sum(row.seq for row in runs) + (0 if own is None else own.seq),
        pending_approvals=sum(each.is_open_at(now) for each in pending),
        operators=_named(rows, "operator"),
        agents=_named(rows, "agent"),
    )


def _sqlite(store: SqliteStore) -> _Engine:
    version = apsw.sqlite_lib_version()
    wal = store.path.with_name(f"{store.path.name}-wal")
    is_safe = tuple(int(part) for part in version.split(".")) >= SAFE_SQLITE
    wal_bytes = wal.stat().st_size if wal.exists() else 0
    return _Engine("sqlite", version, is_safe, store.path.stat().st_size, wal_bytes)


def _postgres(store: Store) -> _Engine:
    from interlock.ledger.stores.postgres import PostgresStore  # noqa: PLC0415 - only with the extra

    if not isinstance(store, PostgresStore):
        raise InputError(f"`{store.name}` ends with the program that opened it: it has no size")
    address = store.address
    with address.clear_errors("its size is not known"), address.connect() as connection:
        row = connection.execute("SELECT pg_database_size(current_database())").fetchone()
        number = connection.info.server_version
    version = f"{number // 10_000}.{number % 10_000}"
    return _Engine(
        "postgres", version, is_safe=True, bytes=int(row[0] if row else 0), wal_bytes=None
    )


def _named(rows: Rows, kind: str) -> tuple[str, ...]:
    valid = (row for row in rows.credentials() if row.revoked_at is None)
    return tuple(sorted({row.name for row in valid if row.kind == kind}))


class Verification(msgspec.Struct, kw_only=True):
    """What a verification came to."""

    runs: int = 0
    records: int = 0
    seals: int = 0
    """Seals that were checked with the local key."""
    faults: list[str] = msgspec.field(default_factory=list[str])


def verified_run(ledger: Ledger, rows: Rows, text: str) -> Verification:
    """Hold the records of one run against its chain and its seals."""
    run_id = _found_chain(rows, text)
    fault = verify_run(rows, run_id, ledger.key)
    row = rows.run(run_id)
    found = Verification(runs=1, records=0 if row is None else row.seq)
    if fault is not None:
        found.faults.append(str(fault))
        found.records = fault.seq - 1
    else:
        grounds = Grounds(rows, is_alone=True)
        for record, _ in read_chain(records_of(rows, run_id), run_id):
            grounds.take(record)
        found.faults.extend(grounds.problems)
    _count_seals(found, rows, run_id, ledger.key.id)
    return found


def verified_ledger(
    ledger: Ledger, rows: Rows, advance: Callable[[int, int], None]
) -> Verification:
    """Hold every record against its chain, its seals and those before it, and accounts to them."""
    # Every record is read twice: in its chain, and for the accounts.
    total = 2 * sum(row.seq for row in rows.runs(limit=ALL))
    found, grounds = Verification(), Grounds(rows)
    for each in verify_all(
        rows, ledger.key, lambda read: advance(read, total), grounds.take, grounds.skip
    ):
        if each.problem is not None:
            found.faults.append(each.problem)
        if isinstance(each, RunChecked):
            found.runs += 1
            found.records += each.records
            _count_seals(found, rows, each.run_id, ledger.key.id)
    found.faults.extend(grounds.problems)
    return found


def _found_chain(rows: Rows, text: str) -> str:
    """Return a run's id; one that the list of runs has lost is found by its records."""
    try:
        return found_run(rows, text).id
    except InputError:
        if rows.records(text, limit=1):
            return text
        raise


def _count_seals(found: Verification, rows: Rows, run_id: str, key_id: str) -> None:
    row = rows.run(run_id)
    ends = () if row is None else (row.key_id,)
    found.seals += [*(seal.key_id for seal in rows.seals(run_id)), *ends].count(key_id)
