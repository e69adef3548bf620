"""A schema changes as a whole or not at all, and what it was before is kept."""

from __future__ import annotations

import random
import signal
from pathlib import Path

import apsw
import pytest

from crash.facts import assert_sound
from crash.nursery import Nursery
from crash.places import Place
from effort import rounds
from interlock.ledger.stores.sql_rows import migrations
from interlock.ledger.stores.sqlite import SqliteStore

ROUNDS = rounds(short=4, soak=200)
NOW = migrations("sqlite")[-1].version
LATER = [
    "CREATE TABLE copies AS SELECT * FROM records; CREATE INDEX copies_by_run ON copies (run_id);",
    "DROP TABLE copies; CREATE TABLE more AS SELECT * FROM records;",
]
_EMPTY = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE


@pytest.fixture
def filled(sqlite_place: Place, nursery: Nursery) -> Place:
    """A ledger as a writer left it that was killed."""
    child = sqlite_place.spawn(nursery)
    child.hear(400)
    sqlite_place.acknowledged += child.kill()
    return sqlite_place


@pytest.mark.soak
def test_death_within_a_migration_leaves_the_old_version_or_the_new(
    filled: Place, nursery: Nursery, tmp_path: Path
):
    whole = _copied(filled, tmp_path / "whole")
    [writes] = _migrating(whole, nursery, disk={}).last_lines(0)
    chance = random.Random(1)
    for turn in range(ROUNDS):
        place = _copied(filled, tmp_path / str(turn))
        disk = {"dies_at": chance.randint(1, int(writes)), "cut": turn if turn % 2 else None}
        _migrating(place, nursery, disk=disk).last_lines(-signal.SIGKILL)

        _assert_old_or_new(place)
        _migrating(place, nursery).last_lines(0)
        _assert_new(place)


@pytest.mark.soak
def test_a_kill_within_a_migration_leaves_the_old_version_or_the_new(
    filled: Place, nursery: Nursery, tmp_path: Path
):
    chance = random.Random(2)
    for turn in range(ROUNDS):
        place = _copied(filled, tmp_path / str(turn))
        child = _migrating(place, nursery)
        child.hear_for(chance.random() * 0.03)
        child.kill(may_have_ended=True)

        _assert_old_or_new(place)
        _migrating(place, nursery).last_lines(0)
        _assert_new(place)


def test_a_failing_migration_changes_nothing_and_keeps_the_copy(filled: Place, nursery: Nursery):
    child = nursery.spawn(
        "migrate", place=filled.url, keys=str(filled.keys), migrations=[LATER[0], "nonsense"]
    )
    child.last_lines(1)

    assert _version(filled.file) == NOW
    assert _version(_kept(filled.file)) == NOW
    filled.assert_sound()


def test_two_processes_migrate_once(filled: Place, nursery: Nursery):
    both = [_migrating(filled, nursery) for _ in range(2)]
    for child in both:
        child.last_lines(0)

    _assert_new(filled)


class _OfNothing:
    """What no records come to."""

    def step(self, *values: object) -> None:
        raise AssertionError(values)

    def final(self) -> str:
        return ""


@pytest.mark.parametrize("version", range(1, NOW))
def test_every_version_there_ever_was_opens(tmp_path: Path, version: int):
    file = tmp_path / "ledger.db"
    connection = apsw.Connection(str(file), flags=_EMPTY)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.create_aggregate_function("order_hash", _OfNothing, 1)
    for migration in migrations("sqlite")[:version]:
        connection.execute(migration.sql)
    connection.execute(f"PRAGMA user_version = {version}")
    connection.close()
    SqliteStore(file).close()

    assert _version(file) == NOW
    assert _version(file.with_name(f"ledger.db.v{version}")) == version
    Place.made(str(file), tmp_path / "keys").assert_sound()


def _migrating(place: Place, nursery: Nursery, **more: object):
    return nursery.spawn("migrate", place=place.url, keys=str(place.keys), migrations=LATER, **more)


def _copied(place: Place, folder: Path) -> Place:
    """The same ledger in another folder, with the write-ahead file that was left."""
    folder.mkdir()
    for file in (place.file, place.wal):
        (folder / file.name).write_bytes(file.read_bytes())
    copy = Place(str(folder / place.file.name), place.keys, place.run)
    copy.acknowledged = place.acknowledged
    return copy


def _assert_old_or_new(place: Place) -> None:
    version = _version(place.file)

    assert version in (NOW, NOW + len(LATER))
    if version == NOW:
        place.assert_sound()
    else:
        _assert_new(place)


def _assert_new(place: Place) -> None:
    assert _version(place.file) == NOW + len(LATER)
    kept = _kept(place.file)
    assert _version(kept) == NOW
    assert kept.stat().st_mode & 0o077 == 0
    assert list(kept.parent.glob(f"{kept.name}.*")) == []
    length = assert_sound(kept, place.keys, place.acknowledged)
    assert _count(place.file, "records") == _count(place.file, "more") == length


def _kept(file: Path) -> Path:
    return file.with_name(f"{file.name}.v{NOW}")


def _version(file: Path) -> int:
    return _number(file, "PRAGMA user_version")


def _count(file: Path, table: str) -> int:
    return _number(file, f"SELECT count(*) FROM {table}")


def _number(file: Path, query: str) -> int:
    connection = apsw.Connection(str(file), flags=apsw.SQLITE_OPEN_READWRITE)
    connection.set_busy_timeout(10_000)
    try:
        [[number]] = connection.execute(query).fetchall()
        assert isinstance(number, int)
        return number
    finally:
        connection.close()
