"""What only SQLite can get wrong."""

from __future__ import annotations

import stat
import threading
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from interlock.errors import DamagedError, LedgerError
from interlock.ledger.ledger import Ledger
from interlock.ledger.stores.sqlite import SqliteStore
from ledger.events import KEY, POLICY, a_start, a_violation, all_records, appending, planned


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("journal_mode", "wal"),
        ("synchronous", 2),
        ("foreign_keys", 1),
        ("trusted_schema", 0),
        ("journal_size_limit", 4 * 1024 * 1024),
    ],
)
def test_writes_with_everything_that_makes_it_safe(
    tmp_path: Path, setting: str, value: object
) -> None:
    with closing(SqliteStore(tmp_path / "ledger.db")) as store:
        assert store._writer.execute(f"PRAGMA {setting}").fetchall() == [(value,)]


def test_nobody_else_may_read_the_file(tmp_path: Path) -> None:
    path = tmp_path / "folder" / "ledger.db"
    with Ledger(SqliteStore(path), key=KEY) as ledger:
        ledger.execute(appending("r1", a_start()))
        ledger.store.tidy()
        for each in path.parent.iterdir():
            assert stat.S_IMODE(each.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


@pytest.mark.parametrize("table", ["records", "policies", "seals"])
@pytest.mark.parametrize("statement", ["DELETE FROM {}", "UPDATE {} SET hash = ''"])
def test_the_database_itself_refuses_to_change_history(
    tmp_path: Path, table: str, statement: str
) -> None:
    path = tmp_path / "ledger.db"
    with Ledger(SqliteStore(path), key=KEY) as ledger:
        ledger.execute(planned(lambda transaction: transaction.put_policy(POLICY)))
        ledger.execute(appending("r1", a_start(), *[a_violation()] * 255))

    with (
        closing(apsw.Connection(str(path))) as connection,
        pytest.raises(apsw.ConstraintError, match=f"{table} are append-only"),
    ):
        connection.execute(statement.format(table))


def test_the_write_ahead_file_stays_small_and_is_empty_when_all_is_done(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    wal = Path(f"{path}-wal")
    with Ledger(SqliteStore(path), key=KEY) as ledger:
        ledger.execute(appending("r1", a_start()))
        for _ in range(40):
            ledger.execute(appending("r1", *[a_violation("x" * 4_000)] * 60))
        assert wal.stat().st_size <= 6 * 1024 * 1024

        ledger.tidy()

        assert wal.stat().st_size == 0
    assert not wal.exists()


def test_a_long_look_at_one_moment_holds_nobody_up(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    with Ledger(SqliteStore(path), key=KEY) as ledger:
        ledger.execute(appending("r1", a_start()))
        with ledger.store.frozen() as rows:
            for _ in range(30):
                ledger.execute(appending("r1", *[a_violation("x" * 4_000)] * 60))
            ledger.tidy()
            assert len(rows.records("r1", limit=10_000)) == 1

        ledger.tidy()
        assert Path(f"{path}-wal").stat().st_size == 0


def test_a_copy_can_be_made_while_others_write(tmp_path: Path) -> None:
    path, copy = tmp_path / "ledger.db", tmp_path / "copy.db"
    told: list[tuple[int, int]] = []
    store = SqliteStore(path)
    with Ledger(store, key=KEY) as ledger:
        ledger.execute(appending("r1", a_start(), *[a_violation("x" * 4_000)] * 600))
        writer = threading.Thread(target=ledger.execute, args=(appending("r1", a_violation()),))
        writer.start()
        store.backup(copy, lambda done, total: told.append((done, total)))
        writer.join()

        with pytest.raises(LedgerError, match="exists already: choose another name"):
            store.backup(copy)
    assert told[-1][0] == told[-1][1]
    assert stat.S_IMODE(copy.stat().st_mode) == 0o600
    with Ledger(SqliteStore(copy), key=KEY) as ledger:
        assert len(all_records(ledger, "r1")) in (601, 602)


def test_a_file_from_the_future_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    SqliteStore(path).close()
    with closing(apsw.Connection(str(path))) as connection:
        connection.execute("PRAGMA user_version = 9999")

    with pytest.raises(LedgerError, match="schema version 9999, newer than the"):
        SqliteStore(path)


def test_something_else_is_not_taken_for_a_ledger(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    path.write_text("dear diary, " * 100)

    with pytest.raises(DamagedError, match="file is not a database"):
        SqliteStore(path)
    assert path.read_text() == "dear diary, " * 100
