"""The record cannot be thinned or forged in silence: whatever is changed shows, and nothing else.

A ledger with a bit of everything is attacked in its own place, with its own keys, by somebody who
can write to its files and knows how they are made, but has not the key. Then it is opened, and
verified where it opens at all: one of both has to tell, and to name what.
"""

from __future__ import annotations

import os
import random
import re
import shutil
import tempfile
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final

import apsw
import pytest

from effort import SOAK
from interlock import Interlock, TokenUsage
from interlock.errors import DamagedError, InputError, LedgerError, UnavailableError
from interlock.ledger.anchor import AnchorFile
from interlock.ledger.chain import SealKey, decoded, encoded, hash_of
from interlock.ledger.ledger import Ledger
from interlock.ledger.stores.sqlite import SqliteStore
from interlock.ledger.verification import verify_all
from interlock.model.events import Record
from interlock.service.ledgers import backup_ledger, open_ledger
from interlock.service.policies.policy_files import default_policy
from warm_python import run_python

_LONG: Final = 260
"""Records of one run: more than lie between two seals."""
_CACHES: Final = frozenset({"snapshots"})
"""Tables that only save time: what is damaged in them is not used."""
_UNUSED: Final = frozenset({"earlier_credentials"})
"""Tables of an earlier version that nobody reads any more."""


class Scene:
    """A ledger in its place, which can be brought back to what it was."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.file = folder / "state" / "ledger.db"
        self.file.parent.mkdir(parents=True, exist_ok=True)
        self.keys = folder / "keys"
        self._kept: dict[Path, bytes] = {}

    @property
    def wal(self) -> Path:
        return self.file.with_name("ledger.db-wal")

    @property
    def key(self) -> Path:
        [found] = self.keys.glob("*.key")
        return found

    @property
    def anchor(self) -> Path:
        [found] = self.keys.glob("*.anchor")
        return found

    def opened(self) -> Ledger:
        return open_ledger(self.file, keys=self.keys)

    def asking(self) -> Interlock:
        return Interlock.open(self.file, keys=self.keys, policy=default_policy())

    def files(self) -> dict[Path, bytes]:
        return {each: each.read_bytes() for each in self.folder.rglob("*") if each.is_file()}

    def keep(self) -> None:
        self._kept = self.files()

    def restore(self, files: Mapping[Path, bytes] | None = None) -> None:
        """Make all files what they were, and let go of every other."""
        shutil.rmtree(self.folder)
        for file, content in (self._kept if files is None else files).items():
            file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            file.write_bytes(content)
            file.chmod(0o600)

    def told(self) -> list[str]:
        """What is said of the ledger when it is opened, or when it is verified."""
        try:
            with self.opened() as ledger, ledger.store.frozen() as rows:
                return [each.problem for each in verify_all(rows, ledger.key) if each.problem]
        except LedgerError as error:
            return [str(error)]

    def looked_at(self) -> tuple[list[str], list[str]]:
        """What `verify` says: of the ledger as a whole, and of what is in it."""
        problems: list[str] = []
        with (
            open_ledger(self.file, keys=self.keys, problems=problems) as ledger,
            ledger.store.frozen() as rows,
        ):
            return problems, [each.problem for each in verify_all(rows, ledger.key) if each.problem]

    def refusal(self) -> str:
        """What is said before anything is answered."""
        with pytest.raises(DamagedError) as told:
            self.asking().close()
        return str(told.value)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Scene:
    scene = Scene(tmp_path_factory.mktemp("record"))
    with scene.asking() as interlock:
        for number in range(3):
            run = interlock.run(f"task {number}", agent="coder", project="shop")
            for command in ("pytest -q", "rm -rf /", f"git push --force origin b{number}"):
                answer = run.command(command, key=f"{command}")
                if answer.allowed:
                    usage = TokenUsage(input_tokens=9, output_tokens=1)
                    run.observe(answer, exit_code=0, usage=usage, model="claude-sonnet-4-5")
            run.child("below").finish()
        run = interlock.run("long")
        for number in range(_LONG):
            run.violation("many", f"number {number}")
        interlock.run("over").finish()
        held = interlock.run("held")
        held.command("make")
    _grant(scene)
    scene.keep()
    return scene


def _grant(scene: Scene) -> None:
    with scene.asking() as interlock:
        interlock.set_up("ada", passphrase="a long enough passphrase 1")


@pytest.fixture
def scene(made: Scene) -> Iterator[Scene]:
    yield made
    made.restore()


@contextmanager
def attacked(file: Path) -> Generator[apsw.Connection]:
    """A connection on which nothing is refused; afterwards the schema is what it was."""
    with closing(apsw.Connection(str(file))) as connection:
        triggers = connection.execute(
            "SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'"
        ).fetchall()
        connection.execute("PRAGMA ignore_check_constraints = ON")
        for name, _ in triggers:
            connection.execute(f"DROP TRIGGER {name}")
        yield connection
        for _, sql in triggers:
            connection.execute(str(sql))


# Any cell, any row


def _tables() -> Iterator[tuple[str, str]]:
    """Yield every table of a ledger with each of its columns, as its schema has them."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "ledger.db"
        SqliteStore(file).close()
        with closing(apsw.Connection(str(file))) as connection:
            found = connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")
            for (name,) in sorted(found.fetchall()):
                for row in connection.execute(f"PRAGMA table_info({name})").fetchall():
                    yield str(name), str(row[1])


CELLS: Final = list(_tables())
TABLES: Final = sorted({table for table, _ in CELLS})


_ENDS: Final = ("first", "last")
_CHANGED: Final = [
    (table, column, end)
    for number, (table, column) in enumerate(CELLS)
    # In the short round one end of each column, the other one in the next.
    for end in (_ENDS if SOAK else [_ENDS[number % 2]])
]


@pytest.mark.parametrize(("table", "column", "end"), _CHANGED)
def test_any_cell_that_is_changed_is_told(scene: Scene, table: str, column: str, end: str) -> None:
    with attacked(scene.file) as connection:
        changed = _change_cell(connection, table, column, last=end == "last")

    _assert_told(scene, table, changed=changed)


@pytest.mark.parametrize("end", ["first", "last"])
@pytest.mark.parametrize("table", TABLES)
def test_any_row_that_is_deleted_is_told(scene: Scene, table: str, end: str) -> None:
    with attacked(scene.file) as connection:
        key = _row(connection, table, last=end == "last")
        if key is not None:
            connection.execute(f"DELETE FROM {table} WHERE {_where(key)}", tuple(key.values()))

    _assert_told(scene, table, changed=key is not None)


@pytest.mark.parametrize("table", TABLES)
def test_any_row_that_is_added_is_told(scene: Scene, table: str) -> None:
    with attacked(scene.file) as connection:
        row = _row(connection, table, last=True)
        if row is not None:
            added = [_another(value, _type(connection, table, name)) for name, value in row.items()]
            places = ", ".join("?" * len(added))
            connection.execute(f"INSERT INTO {table} VALUES ({places})", added)

    _assert_told(scene, table, changed=row is not None)


def _assert_told(scene: Scene, table: str, *, changed: bool) -> None:
    found = scene.told()
    if not changed or table in _UNUSED:
        assert found == []
    elif table in _CACHES and not found:
        _assert_same_answers(scene)
    else:
        assert found, f"nobody noticed a change in {table}"


def _assert_same_answers(scene: Scene) -> None:
    with scene.opened() as ledger:
        told = {row.id: ledger.state(row.id) for row in ledger.rows.runs(limit=100)}
    scene.restore()
    with scene.opened() as ledger:
        assert told == {row.id: ledger.state(row.id) for row in ledger.rows.runs(limit=100)}


Value = str | int | float | bytes | None


def _row(connection: apsw.Connection, table: str, *, last: bool) -> dict[str, Value] | None:
    names = [str(row[1]) for row in connection.execute(f"PRAGMA table_info({table})").fetchall()]
    order = "DESC" if last else "ASC"
    found = connection.execute(f"SELECT * FROM {table} ORDER BY 1 {order}, 2 {order}").fetchone()
    return None if found is None else dict(zip(names, found, strict=True))


def _where(row: Mapping[str, Value]) -> str:
    return " AND ".join(f"{name} IS ?" for name in row)


def _change_cell(connection: apsw.Connection, table: str, column: str, *, last: bool) -> bool:
    row = _row(connection, table, last=last)
    if row is None:
        return False
    statement = f"UPDATE {table} SET {column} = ? WHERE {_where(row)}"
    another = _another(row[column], _type(connection, table, column))
    connection.execute(statement, (another, *row.values()))
    return True


def _type(connection: apsw.Connection, table: str, column: str) -> str:
    rows = connection.execute(f"PRAGMA table_info({table})").fetchall()
    return {str(row[1]): str(row[2]) for row in rows}[column]


def _another(value: Value, kind: str) -> Value:
    match value:
        case int():
            return value + 7_000
        case str():
            return f"{value[:-1]}{'a' if value[-1:] != 'a' else 'b'}"
        case bytes():
            return value[:-1] + bytes([value[-1] ^ 1]) if value else b"x"
        case _:
            return 7_000 if kind == "INTEGER" else "something"


# A consistent rewrite, without the key

ANOTHER: Final = SealKey(b"the attacker's own")


def _rewrite(connection: apsw.Connection, key: SealKey | None, *, order: bool) -> None:
    """Drop the last record of the longest run, with everything that follows from it."""
    [(run, seq)] = connection.execute(
        "SELECT run_id, max(seq) FROM records GROUP BY run_id ORDER BY 2 DESC LIMIT 1"
    ).fetchall()
    connection.execute("DELETE FROM records WHERE run_id = ? AND seq = ?", (run, seq))
    connection.execute("DELETE FROM snapshots WHERE run_id = ?", (run,))
    before = int(str(seq)) - 1
    [(head, at)] = connection.execute(
        "SELECT hash, at FROM records WHERE run_id = ? AND seq = ?", (run, before)
    ).fetchall()
    connection.execute(
        "UPDATE runs SET seq = ?, hash = ?, updated_at = ? WHERE id = ?", (before, head, at, run)
    )
    if key is not None:
        seal = key.seal(str(run), before, str(head))
        connection.execute("UPDATE runs SET seal = ?, key_id = ? WHERE id = ?", (seal, key.id, run))
    if order:
        _reorder(connection)


def _reorder(connection: apsw.Connection) -> None:
    """Close the gaps, and make the head fit: no key is needed for that."""
    rows = connection.execute("SELECT position, hash, at FROM records ORDER BY 1").fetchall()
    total, at = "", 0
    for place, (position, hash_, at) in enumerate(rows, 1):  # noqa: B007 - the last one counts
        connection.execute("UPDATE records SET position = ? WHERE position = ?", (place, position))
        total = hash_of(f"{total}{hash_}".encode())
    connection.execute(
        "UPDATE head SET records = ?, hash = ?, at = ?, runs = (SELECT count(*) FROM runs)",
        (len(rows), total, at),
    )


@pytest.mark.parametrize("order", [False, True], ids=["order left", "order made to fit"])
@pytest.mark.parametrize("key", [None, ANOTHER], ids=["seal left", "another seal"])
def test_a_record_taken_from_the_end_is_missed(
    scene: Scene, key: SealKey | None, order: bool
) -> None:
    with attacked(scene.file) as connection:
        _rewrite(connection, key, order=order)

    refusal = scene.refusal()
    assert f"{scene.file} is not what was written: " in refusal
    assert re.search(r"1 record of \d+ are missing|\d+ records in .* were written", refusal)
    assert "`interlock ledger anchor --accept`" in refusal


def test_a_rewrite_of_the_same_length_is_told(scene: Scene) -> None:
    """Every byte of a run is forged, with all hashes: the anchor knows another head."""
    with attacked(scene.file) as connection:
        _forge_run(connection)
        _reorder(connection)

    assert "are not the ones that are here" in scene.refusal()


def test_a_rewrite_that_leaves_the_head_alone_is_told_by_verify(scene: Scene) -> None:
    with attacked(scene.file) as connection:
        run = _forge_run(connection)

    found = scene.told()
    assert any(each.startswith(f"run `{run}`, ") for each in found)
    assert any(each.startswith("the head of the order: ") for each in found)


def _forge_run(connection: apsw.Connection) -> str:
    [(run,)] = connection.execute("SELECT id FROM runs WHERE task = 'over'").fetchall()
    rows = connection.execute(
        "SELECT position, body FROM records WHERE run_id = ? ORDER BY seq", (run,)
    ).fetchall()
    prev = ""
    for position, body in rows:
        assert isinstance(body, bytes)
        old = decoded(body)
        forged = encoded(
            Record(
                v=old.v,
                run=old.run,
                seq=old.seq,
                at=old.at + 1,
                by=old.by,
                prev=prev,
                event=old.event,
            )
        )
        prev = hash_of(forged)
        connection.execute(
            "UPDATE records SET body = ?, hash = ?, at = at + 1 WHERE position = ?",
            (forged, prev, position),
        )
    seal = ANOTHER.seal(str(run), len(rows), prev)
    connection.execute(
        "UPDATE runs SET hash = ?, seal = ?, key_id = ?, started_at = started_at + 1,"
        " updated_at = updated_at + 1 WHERE id = ?",
        (prev, seal, ANOTHER.id, run),
    )
    connection.execute("DELETE FROM seals WHERE run_id = ?", (run,))
    return str(run)


def _delete_run(connection: apsw.Connection) -> None:
    [(run,)] = connection.execute("SELECT id FROM runs WHERE task = 'over'").fetchall()
    for table, column in (
        *(("records", "run_id"), ("seals", "run_id"), ("keys", "run_id")),
        *(("snapshots", "run_id"), ("approvals", "run_id"), ("runs", "id")),
    ):
        connection.execute(f"DELETE FROM {table} WHERE {column} = ?", (run,))


def _unseal(connection: apsw.Connection) -> None:
    """What once made every rewrite verify: no seal is of the key any more."""
    connection.execute("UPDATE runs SET key_id = 'nobody'")
    connection.execute("DELETE FROM seals")
    connection.execute("DELETE FROM meta WHERE name IN ('key-id', 'seal')")


def _grow_old(connection: apsw.Connection) -> None:
    """Say that it is a ledger from before there were anchors."""
    for table in ("head", "gaps", "archived_runs"):
        connection.execute(f"DROP TABLE {table}")
    connection.execute("PRAGMA user_version = 4")


TAMPERED: Final[dict[str, tuple[Callable[[apsw.Connection], object], str]]] = {
    "a whole run": (_delete_run, "were written"),
    "a whole run, and the order with it": (
        lambda to: (_delete_run(to), _reorder(to)),
        "are missing: the last one here is of",
    ),
    "all records": (
        lambda to: [to.execute(f"DELETE FROM {table}") for table in ("records", "runs", "seals")],
        "were written, 0 in 0 are stored",
    ),
    "all records, and the order with them": (
        lambda to: (
            [to.execute(f"DELETE FROM {table}") for table in ("records", "runs", "seals")],
            _reorder(to),
        ),
        "are missing: the last one here is of never",
    ),
    "every seal": (_unseal, "the table meta has no seal"),
    "another id": (
        lambda to: to.execute("UPDATE meta SET value = 'x' || substr(value, 2) WHERE name = 'id'"),
        "without its key",
    ),
    "no id": (
        lambda to: to.execute("DELETE FROM meta WHERE name = 'id'"),
        "the ledger has lost its id",
    ),
    "another key of seals": (
        lambda to: to.execute(f"UPDATE meta SET value = '{ANOTHER.id}' WHERE name = 'key-id'"),
        "the table meta names another key",
    ),
    "another key of digests": (
        lambda to: to.execute("UPDATE meta SET value = hex(value) WHERE name = 'digest-key'"),
        "the table meta is not what was sealed",
    ),
    "a row more in meta": (
        lambda to: to.execute("INSERT INTO meta VALUES ('trust', 'me')"),
        "the table meta has a row `trust` that nobody wrote",
    ),
    "no head": (lambda to: to.execute("DELETE FROM head"), "noted 0 times, not once"),
    "two heads": (
        lambda to: to.execute("INSERT INTO head SELECT * FROM head"),
        "noted 2 times, not once",
    ),
    "a place moved": (
        lambda to: to.execute("UPDATE records SET position = 90000 WHERE position = 1"),
        "the last in place 90,000",
    ),
    "a run in the list too few": (
        lambda to: to.execute("DELETE FROM runs WHERE task = 'over'"),
        "were written",
    ),
    "a run in the list too many": (
        lambda to: to.execute(
            "INSERT INTO runs SELECT 'ghost', seq, hash, seal, key_id, started_at, updated_at,"
            " status, agent, project, parent, task, process FROM runs LIMIT 1"
        ),
        "were written",
    ),
}


@pytest.mark.parametrize("name", TAMPERED)
def test_what_is_missing_is_told_before_anything_is_answered(scene: Scene, name: str) -> None:
    attack, told = TAMPERED[name]
    with attacked(scene.file) as connection:
        attack(connection)
    before = scene.file.read_bytes()

    assert told in scene.refusal()
    assert scene.file.read_bytes() == before, "what may be needed to save it was changed"


def test_a_ledger_that_says_it_is_old_is_held_against_its_anchor_all_the_same(scene: Scene) -> None:
    with attacked(scene.file) as connection:
        _delete_run(connection)
        _reorder(connection)
    with closing(apsw.Connection(str(scene.file))) as connection:
        _grow_old(connection)

    before = scene.file.read_bytes()
    assert "a newer ledger was there, its anchor is" in scene.refusal()
    assert scene.file.read_bytes() == before


@pytest.mark.parametrize(
    "name", sorted(set(TAMPERED) - {"another id", "no id", "no head", "two heads"})
)
def test_verify_looks_at_it_all_the_same_and_changes_nothing(scene: Scene, name: str) -> None:
    attack, told = TAMPERED[name]
    with attacked(scene.file) as connection:
        attack(connection)
    before = scene.files()

    problems, found = scene.looked_at()

    assert any(told in each for each in problems)
    # What only the anchor can tell is the end of the order; the rest has a place.
    assert found or "order with" in name
    assert {file: scene.files()[file] for file in before} == before


# Files


def _older(scene: Scene, records: int) -> dict[Path, bytes]:
    """The files as they were, then some more on the record."""
    with scene.opened() as ledger:
        before = scene.files()
    del ledger
    with scene.asking() as interlock:
        run = interlock.run("more")
        for number in range(records):
            run.violation("more", f"number {number}")
    return before


@pytest.mark.parametrize("records", [1, 5, 40])
def test_an_older_copy_of_the_file_is_told(scene: Scene, records: int) -> None:
    older = _older(scene, records)
    scene.file.write_bytes(older[scene.file])

    assert f"{records + 1} records of " in scene.refusal()


def test_an_older_copy_is_told_however_often_it_is_opened(scene: Scene) -> None:
    older = _older(scene, 3)
    scene.file.write_bytes(older[scene.file])

    assert [scene.refusal().count("4 records of ") for _ in range(3)] == [1, 1, 1]


def test_an_older_anchor_with_the_newer_file_does_no_harm(scene: Scene) -> None:
    """A power cut may leave one: the file is only ahead of it."""
    older = _older(scene, 20)
    scene.anchor.write_bytes(older[scene.anchor])

    assert scene.told() == []


def test_a_deleted_file_is_told_and_none_is_made_in_its_place(scene: Scene) -> None:
    scene.file.unlink()

    refusal = scene.refusal()
    assert f"{scene.file} is gone: a ledger was there, its anchor is {scene.anchor}" in refusal
    assert not scene.file.exists()


def _another_ledger(scene: Scene) -> Path:
    other = scene.folder / "other" / "ledger.db"
    other.parent.mkdir()
    open_ledger(other, keys=scene.folder / "other" / "keys").close()
    return other


def _flipped(file: Path, at: int) -> None:
    content = bytearray(file.read_bytes())
    content[at] ^= 0x55
    file.write_bytes(content)


FILE_ATTACKS: Final[dict[str, tuple[Callable[[Scene], object], str]]] = {
    "another new ledger": (
        lambda scene: shutil.copy(_another_ledger(scene), scene.file),
        "without its key",
    ),
    "another new ledger with its key": (
        lambda scene: (
            shutil.copy(_another_ledger(scene), scene.file),
            [shutil.copy(each, scene.keys) for each in (scene.folder / "other/keys").iterdir()],
        ),
        "another ledger was there",
    ),
    "a link to another ledger": (
        lambda scene: (
            scene.file.rename(scene.folder / "elsewhere.db"),
            scene.file.symlink_to(_another_ledger(scene)),
        ),
        "without its key",
    ),
    "an empty file": (lambda scene: scene.file.write_bytes(b""), "a newer ledger was there"),
    "half of the file": (
        lambda scene: os.truncate(scene.file, scene.file.stat().st_size // 8192 * 4096),
        "is damaged",
    ),
    "a folder": (
        lambda scene: (scene.file.unlink(), scene.file.mkdir()),
        "is a folder: name a file in it",
    ),
    "a pipe": (
        lambda scene: (scene.file.unlink(), os.mkfifo(scene.file)),
        "is not a regular file",
    ),
    "a device": (
        lambda scene: (scene.file.unlink(), scene.file.symlink_to("/dev/zero")),
        "is not a regular file",
    ),
    "a link that leads nowhere": (
        lambda scene: (scene.file.unlink(), scene.file.symlink_to(scene.folder / "nothing")),
        "is gone",
    ),
    "a pipe for a write-ahead file": (lambda scene: os.mkfifo(scene.wal), "is not a regular file"),
    "a link for a write-ahead file": (
        lambda scene: scene.wal.symlink_to(scene.folder / "elsewhere"),
        "is not a regular file",
    ),
    "no key": (lambda scene: scene.key.unlink(), "without its key"),
    "no key and no anchor": (
        lambda scene: (scene.key.unlink(), scene.anchor.unlink()),
        "without its key",
    ),
    "no keys at all": (lambda scene: shutil.rmtree(scene.keys), "without its key"),
    "another key": (
        lambda scene: scene.key.write_text(f"{'ab' * 32}\nanchored\n"),
        "is not what was written there",
    ),
    "another key and no anchor": (
        lambda scene: (scene.key.write_text("ab" * 32), scene.anchor.unlink()),
        "names another key",
    ),
    "no anchor": (lambda scene: scene.anchor.unlink(), "is gone"),
    "an empty anchor": (lambda scene: scene.anchor.write_bytes(b""), "not what was written there"),
    "an anchor of garbage": (
        lambda scene: scene.anchor.write_bytes(random.Random(1).randbytes(1100)),
        "not what was written there",
    ),
    "both slots of an anchor": (
        lambda scene: (_flipped(scene.anchor, 3), _flipped(scene.anchor, 515)),
        "not what was written there",
    ),
    "an anchor of zeros": (
        lambda scene: scene.anchor.write_bytes(bytes(scene.anchor.stat().st_size)),
        "not what was written there",
    ),
}


@pytest.mark.parametrize("name", FILE_ATTACKS)
def test_other_files_are_told(scene: Scene, name: str) -> None:
    attack, told = FILE_ATTACKS[name]
    attack(scene)

    with pytest.raises((LedgerError, InputError)) as refused:
        scene.asking().close()
    assert told in str(refused.value)


# The write-ahead file


@pytest.fixture
def crashed(scene: Scene) -> Scene:
    """The files as whoever was killed leaves them: the newest only in the write-ahead file."""
    interlock = scene.asking()
    run = interlock.run("in the write-ahead file")
    for number in range(30):
        run.violation("late", f"number {number}")
    files = scene.files()
    interlock.close()
    scene.restore({file: content for file, content in files.items() if file.suffix != ".db-shm"})
    assert scene.wal.stat().st_size > 0
    return scene


WAL_ATTACKS: Final[dict[str, Callable[[Scene], object]]] = {
    "deleted": lambda scene: scene.wal.unlink(),
    "emptied": lambda scene: os.truncate(scene.wal, 0),
    "its head": lambda scene: _flipped(scene.wal, 5),
    "its salt": lambda scene: _flipped(scene.wal, 18),
    "its first frame": lambda scene: _flipped(scene.wal, 32 + 24 + 100),
    "its middle": lambda scene: _flipped(scene.wal, scene.wal.stat().st_size // 2),
    "its last frame": lambda scene: _flipped(scene.wal, scene.wal.stat().st_size - 1000),
    "cut off": lambda scene: os.truncate(scene.wal, scene.wal.stat().st_size - 2000),
    "cut in half": lambda scene: os.truncate(scene.wal, scene.wal.stat().st_size // 2),
    "garbage": lambda scene: scene.wal.write_bytes(random.Random(2).randbytes(60_000)),
    "swapped": lambda scene: scene.wal.write_bytes(_other_wal(scene)),
}


def _other_wal(scene: Scene) -> bytes:
    other = scene.folder / "other.db"
    with closing(apsw.Connection(str(other))) as connection:
        connection.execute("PRAGMA journal_mode = WAL").fetchall()
        connection.execute("CREATE TABLE t (x); INSERT INTO t VALUES (1)")
        return other.with_name("other.db-wal").read_bytes()


@pytest.mark.parametrize("name", WAL_ATTACKS)
def test_a_write_ahead_file_that_lost_something_is_told_and_kept(crashed: Scene, name: str) -> None:
    WAL_ATTACKS[name](crashed)
    left = crashed.wal.read_bytes() if crashed.wal.exists() else None

    refusal = crashed.refusal()
    assert str(crashed.file) in refusal
    if left:
        assert crashed.wal.read_bytes() == left, "`recover` might have saved something from it"


@pytest.mark.parametrize("name", sorted(set(WAL_ATTACKS) - {"deleted", "emptied"}))
def test_verify_leaves_a_write_ahead_file_as_it_is(crashed: Scene, name: str) -> None:
    WAL_ATTACKS[name](crashed)
    left = crashed.wal.read_bytes()

    try:
        told, _ = crashed.looked_at()
    except DamagedError as error:
        told = [str(error)]

    assert any("are missing" in each or "a newer ledger was there" in each for each in told)
    assert crashed.wal.read_bytes() == left


def test_a_write_ahead_file_that_was_left_is_taken_in(crashed: Scene) -> None:
    assert crashed.told() == []


# While it is open


def _moved_away(scene: Scene) -> None:
    scene.file.rename(scene.folder / "away.db")


def _replaced_by_copy(scene: Scene) -> None:
    copy = scene.folder / "copy.db"
    shutil.copy(scene.file, copy)
    copy.replace(scene.file)


def _replaced_by_link(scene: Scene) -> None:
    copy = scene.folder / "copy.db"
    shutil.copy(scene.file, copy)
    scene.file.unlink()
    scene.file.symlink_to(copy)


def _replace_anchor(scene: Scene) -> None:
    copy, anchor = scene.folder / "anchor", scene.anchor
    copy.write_bytes(anchor.read_bytes())
    copy.replace(anchor)


WHILE_OPEN: Final[dict[str, Callable[[Scene], object]]] = {
    "deleted": lambda scene: scene.file.unlink(),
    "moved away": _moved_away,
    "replaced by a copy of itself": _replaced_by_copy,
    "replaced by a link to a copy": _replaced_by_link,
    "write-ahead file deleted": lambda scene: scene.wal.unlink(),
    "write-ahead file moved": lambda scene: scene.wal.rename(scene.folder / "wal"),
    "shared memory deleted": lambda scene: scene.file.with_name("ledger.db-shm").unlink(),
    "its folder moved": lambda scene: scene.file.parent.rename(scene.folder / "moved"),
    "all of it deleted": lambda scene: shutil.rmtree(scene.file.parent),
    "anchor deleted": lambda scene: scene.anchor.unlink(),
    "anchor replaced by a copy": _replace_anchor,
    "anchor emptied": lambda scene: os.truncate(scene.anchor, 0),
    "keys deleted": lambda scene: shutil.rmtree(scene.keys),
}


@pytest.mark.parametrize("name", WHILE_OPEN)
def test_nothing_is_answered_from_a_file_that_the_path_does_not_name(
    scene: Scene, name: str
) -> None:
    interlock = scene.asking()
    run = interlock.run("while it is open")
    assert run.command("ls").allowed
    WHILE_OPEN[name](scene)

    for _ in range(3):
        with pytest.raises(LedgerError):
            run.command("ls")
    with pytest.raises(LedgerError):
        run.violation("late", "nobody hears of it")
    interlock.close()


def _read(file: Path) -> None:
    with closing(apsw.Connection(str(file))) as connection:
        connection.execute("SELECT count(*) FROM records").fetchall()


def _write_as_another(scene: Scene) -> None:
    with scene.asking() as other:
        other.run("of another").violation("r", "m")


HARMLESS: Final[dict[str, Callable[[Scene], object]]] = {
    "nothing": lambda scene: None,
    "touched": lambda scene: scene.file.touch(),
    "another link to it": lambda scene: os.link(scene.file, scene.folder / "same.db"),
    "moved away and back": lambda scene: (
        scene.file.rename(scene.folder / "away.db"),
        (scene.folder / "away.db").rename(scene.file),
    ),
    "copied": lambda scene: shutil.copy(scene.file, scene.folder / "copy.db"),
    "read by others": lambda scene: _read(scene.file),
    "opened by another": lambda scene: scene.opened().close(),
    "written by another": _write_as_another,
    "a file beside it": lambda scene: (scene.file.parent / "notes").write_text("mine"),
    "an unknown file among the keys": lambda scene: (scene.keys / "x.txt").write_text("mine"),
    "its permissions": lambda scene: scene.file.chmod(0o600),
}


@pytest.mark.parametrize("name", HARMLESS)
def test_what_does_no_harm_keeps_nobody_from_an_answer(scene: Scene, name: str) -> None:
    with scene.asking() as interlock:
        run = interlock.run("while it is open")
        HARMLESS[name](scene)
        assert run.command("ls").allowed
        run.violation("late", "heard")

    assert scene.told() == []


@pytest.mark.parametrize("records", [1, 30])
def test_a_key_that_was_made_to_forget_the_anchor_is_no_way_round(
    scene: Scene, records: int
) -> None:
    """An older file, the anchor gone, and no word of it beside the key."""
    older = _older(scene, records)
    scene.file.write_bytes(older[scene.file])
    anchor = scene.anchor
    anchor.unlink()
    scene.key.write_text(f"{scene.key.read_text().split()[0]}\n")

    assert f"its anchor {anchor} is gone" in scene.refusal()


# What is no attack


def test_a_ledger_from_before_there_were_anchors_gets_one(scene: Scene) -> None:
    with attacked(scene.file) as connection:
        connection.execute("DELETE FROM meta WHERE name IN ('key-id', 'seal')")
    with closing(apsw.Connection(str(scene.file))) as connection:
        _grow_old(connection)
    scene.anchor.unlink()
    scene.key.write_text(scene.key.read_text().split()[0])

    assert scene.told() == []
    with scene.opened() as ledger:
        known, head = AnchorFile.read(_kept(ledger)), ledger.rows.head()
    assert known == head
    assert head.records > _LONG
    scene.anchor.unlink()
    assert "is gone" in scene.refusal()


def _kept(ledger: Ledger) -> AnchorFile:
    assert ledger.anchor is not None
    return ledger.anchor


_AT_ONCE = """
import os, sys, traceback
from interlock import Interlock

wait, go = os.pipe()
children = []
for _ in range(4):
    child = os.fork()
    if not child:
        os.close(go)
        os.read(wait, 1)
        try:
            with Interlock.open(sys.argv[1], keys=sys.argv[2]) as interlock:
                interlock.run("at once").violation("r", "m")
        except BaseException:
            traceback.print_exc()
        sys.stderr.flush()
        os._exit(0)
    children.append(child)
os.close(go)
for child in children:
    os.waitpid(child, 0)
"""


def test_whoever_opens_a_new_ledger_at_the_same_time_as_others_is_no_attacker(
    tmp_path: Path,
) -> None:
    """Hooks start many processes at once, and any of them may be the first."""
    for number in range(3):
        place, keys = tmp_path / f"{number}" / "ledger.db", tmp_path / f"{number}" / "keys"
        place.parent.mkdir()
        done = run_python("-c", _AT_ONCE, str(place), str(keys))
        assert (done.returncode, done.stderr) == (0, b"")
        with open_ledger(place, keys=keys) as ledger:
            assert _kept(ledger).read() == ledger.rows.head()
            assert len(ledger.rows.runs(limit=9)) == 5


def test_whoever_is_killed_leaves_a_ledger_that_opens(scene: Scene) -> None:
    code = (
        "import os, sys\n"
        "from interlock import Interlock\n"
        "run = Interlock.open(sys.argv[1], keys=sys.argv[2]).run('killed')\n"
        "for number in range(20): run.violation('r', f'number {number}')\n"
        "os.kill(os.getpid(), 9)\n"
    )
    before = _records(scene)
    done = run_python("-c", code, str(scene.file), str(scene.keys))

    assert done.returncode == -9, done.stderr
    assert scene.told() == []
    assert _records(scene) == before + 21


def _records(scene: Scene) -> int:
    with scene.opened() as ledger:
        return ledger.rows.head().records


def test_a_ledger_that_was_moved_opens_in_its_new_place(scene: Scene) -> None:
    moved = scene.folder / "moved" / "renamed.db"
    moved.parent.mkdir()
    scene.file.rename(moved)

    with open_ledger(moved, keys=scene.keys) as ledger, ledger.store.frozen() as rows:
        assert [each.problem for each in verify_all(rows, ledger.key) if each.problem] == []


def test_a_backup_opens_although_the_ledger_went_on(scene: Scene) -> None:
    copy = scene.folder / "copy.db"
    with scene.asking() as interlock:
        backup_ledger(interlock.ledger, copy, keys=scene.keys, progress=lambda _done, _of: None)
        interlock.run("later").violation("r", "m")

    with open_ledger(copy, keys=scene.keys) as ledger, ledger.store.frozen() as rows:
        assert [each.problem for each in verify_all(rows, ledger.key) if each.problem] == []
    assert scene.told() == []


def test_an_older_copy_in_another_place_is_no_way_round(scene: Scene) -> None:
    copy = scene.folder / "copy.db"
    shutil.copy(scene.file, copy)
    with scene.asking() as interlock:
        interlock.run("later").violation("r", "m")

    with pytest.raises(DamagedError, match=r"2 records of .* are missing"):
        open_ledger(copy, keys=scene.keys)


def test_an_anchor_that_was_torn_while_it_was_written_still_holds(scene: Scene) -> None:
    """Either slot may be lost to a power cut: the other one is a group older at most."""
    content = scene.anchor.read_bytes()
    for slot in (0, 512):
        scene.anchor.write_bytes(content[:slot] + bytes(512) + content[slot + 512 :])
        assert scene.told() == []
        scene.anchor.write_bytes(content)


def test_a_path_by_another_way_is_the_same_ledger(scene: Scene) -> None:
    way = scene.folder / "way"
    way.symlink_to(scene.file.parent)
    for name in (way / "ledger.db", scene.file.parent / ".." / "state" / "ledger.db"):
        with Interlock.open(name, keys=scene.keys, policy=default_policy()) as interlock:
            interlock.run("by another way").violation("r", "m")

    assert scene.told() == []


def test_whoever_is_killed_before_the_anchor_is_written_is_ahead_of_it(scene: Scene) -> None:
    """What was committed and never answered may be there."""
    before = scene.anchor.read_bytes()
    with scene.asking() as interlock:
        interlock.run("never heard of").violation("r", "m")
    scene.anchor.write_bytes(before)

    with scene.asking() as interlock:
        interlock.run("afterwards").violation("r", "m")
    assert scene.told() == []


def test_an_anchor_never_goes_back(scene: Scene) -> None:
    """Two openings of one file write in turn: the anchor is always that of the later one."""
    with scene.asking() as one, scene.asking() as other:
        mine, theirs = one.run("mine"), other.run("theirs")
        for number in range(10):
            (mine, theirs)[number % 2].violation("r", f"number {number}")
            for each in (one, other):
                known = each.ledger.anchor
                assert known is not None
                found = known.read()
                assert found is not None
                assert found.records == each.ledger.rows.head().records
    assert scene.told() == []


def test_an_answer_that_cannot_be_anchored_is_not_given(scene: Scene) -> None:
    with scene.asking() as interlock:
        run = interlock.run("unanchored")
        scene.keys.chmod(0o700)
        scene.anchor.unlink()
        with pytest.raises(UnavailableError, match=r"the anchor .* cannot be written"):
            run.command("ls", key="once")
