"""The ledger at a glance."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

import msgspec

from interlock.cli.options import chosen_place
from interlock.cli.text.render import Line, Span, Tone, labelled_lines, text_width
from interlock.ledger.stores.migrations import migrations
from interlock.ledger.stores.sqlite import SqliteStore
from interlock.model.run import LEDGER_RUN
from interlock.service.records.context import SystemClock
from interlock.views import units

if TYPE_CHECKING:
    from interlock.ledger.ledger import Ledger
    from interlock.ports import Rows


_ALL: Final = 2**31 - 1
_SAFE_SQLITE: Final = (3, 51, 3)
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


class _Engine(msgspec.Struct, frozen=True, kw_only=True):
    kind: str
    version: str
    is_safe: bool
    bytes: int
    wal_bytes: int | None


def ledger_info(ledger: Ledger) -> LedgerInfo:
    """Look at a ledger."""
    rows = ledger.rows
    engine = _sqlite(ledger.store) if isinstance(ledger.store, SqliteStore) else _postgres()
    runs = [row for row in rows.runs(limit=_ALL) if row.id != LEDGER_RUN]
    own = rows.run(LEDGER_RUN)
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
        pending_approvals=_pending(rows),
        operators=_named(rows, "operator"),
        agents=_named(rows, "agent"),
    )


def info_lines(info: LedgerInfo) -> Iterator[Line]:
    """Yield a ledger at a glance."""
    wal = "" if info.wal_bytes is None else f", write-ahead file {units.size(info.wal_bytes)}"
    waits = units.counted(info.pending_approvals, "question")
    rows = [
        ("id", info.id),
        ("kind", f"{info.kind} {info.engine_version}, schema version {info.schema_version}"),
        ("size", f"{units.size(info.bytes)}{wal}"),
        ("runs", f"{info.runs:,}, of which {info.running:,} running"),
        ("records", f"{info.records:,}"),
        ("waiting", f"{waits} for a person" if info.pending_approvals else "nothing for a person"),
        ("decide", ", ".join(info.operators) or "nobody yet: the first to approve will"),
        ("agents", ", ".join(info.agents)),
    ]
    yield (Span(info.place, Tone.STRONG),)
    for label, text in rows:
        if text:
            yield from labelled_lines(label, text, width=text_width())
    if not info.is_safe:
        wanted = ".".join(map(str, _SAFE_SQLITE))
        told = f"SQLite {info.engine_version} can damage a file that two processes write"
        yield (Span(f"  {told}: install {wanted} or newer", Tone.CAREFUL),)


def _sqlite(store: SqliteStore) -> _Engine:
    import apsw  # noqa: PLC0415 - only for a file

    version = apsw.sqlite_lib_version()
    wal = store.path.with_name(f"{store.path.name}-wal")
    return _Engine(
        kind="sqlite",
        version=version,
        is_safe=tuple(int(part) for part in version.split(".")) >= _SAFE_SQLITE,
        bytes=store.path.stat().st_size,
        wal_bytes=wal.stat().st_size if wal.exists() else 0,
    )


def _postgres() -> _Engine:
    from interlock.ledger.stores.postgres_connection import Address  # noqa: PLC0415 - only with the extra

    address = Address(chosen_place())
    with address.clear_errors("its size is not known"), address.connect() as connection:
        row = connection.execute("SELECT pg_database_size(current_database())").fetchone()
        number = connection.info.server_version
    return _Engine(
        kind="postgres",
        version=f"{number // 10_000}.{number % 10_000}",
        is_safe=True,
        bytes=0 if row is None else int(row[0]),
        wal_bytes=None,
    )


def _pending(rows: Rows) -> int:
    now = SystemClock().now()
    return sum(each.is_open_at(now) for each in rows.approvals(state="pending", limit=_ALL))


def _named(rows: Rows, kind: str) -> tuple[str, ...]:
    return tuple(sorted({row.name for row in rows.credentials() if row.kind == kind}))
