"""A ledger in one file: SQLite, with everything that makes it safe switched on.

INVARIANT: within a process one connection writes and checkpoints; the other only reads.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import re
import secrets
import stat
import threading
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from pathlib import Path
from typing import Final, TypeVar
from weakref import WeakSet

import apsw

from interlock.descriptors import sync
from interlock.errors import DamagedError, LedgerError, UnavailableError
from interlock.ledger.stores.notifier import Notifier
from interlock.ledger.stores.sql_rows import (
    RECORDS,
    Conflict,
    Found,
    SqlRows,
    Table,
    migrations,
    pending,
    released_reservations,
    removals,
    rows_to_write,
)
from interlock.model.order import BEFORE_ALL, followed
from interlock.model.rows import Changes, HeadRow, RecordRow
from interlock.ports import Listener, Rows

T = TypeVar("T")

_BUSY_MS: Final = 60_000
CHECKPOINT_PAGES: Final = 1000
"""The write-ahead file stays at about 4 MB; fewer pages cost speed and gain little."""
_LOOK_EVERY_S: Final = 0.05
"""How long a commit of another process may stay unnoticed; a look takes a few microseconds."""
_PAUSE_S: Final = 0.02
_WAL_LIMIT: Final = 4 * 1024 * 1024
_OPENING: Final = f"""
PRAGMA journal_mode = WAL;
PRAGMA synchronous = FULL;
PRAGMA foreign_keys = ON;
PRAGMA trusted_schema = OFF;
PRAGMA journal_size_limit = {_WAL_LIMIT};
"""

# Reservations lie in the order of their leases, so that new ones stand together: the record of
# the judgement says where to look.
_BY_NUMBER: Final = (
    "lease_until = (SELECT json_extract(CAST(body AS TEXT), '$.event.lease_until')"
    " FROM records WHERE run_id = ?1 AND seq = ?2) AND run_id = ?1 AND seq = ?2"
)
_RESERVATION: Final = f"SELECT run_id, seq, lease_until FROM reservations WHERE {_BY_NUMBER}"  # noqa: S608 - a constant
_INSERT: Final = {
    Conflict.REFUSED: "INSERT",
    Conflict.IGNORED: "INSERT OR IGNORE",
    Conflict.REPLACES: "INSERT OR REPLACE",
}
_ADD_RECORD: Final = (
    f"INSERT INTO records (position, {', '.join(RECORDS.columns)})"  # noqa: S608 - constants
    f" VALUES ({', '.join('?' * (len(RECORDS.columns) + 1))})"
)
_MOVE_HEAD: Final = "UPDATE head SET records = ?, runs = ?, hash = ?, at = ?"
_TRIGGER: Final = re.compile(r"^(?P<sql>CREATE TRIGGER (?P<name>\w+) [^;]+; END);", re.MULTILINE)
_DELETE_RESERVATION: Final = f"DELETE FROM reservations WHERE {_BY_NUMBER}"  # noqa: S608 - a constant


Progress = Callable[[int, int], None]
"""Is called with how many pages have been copied, and how many there are."""
Inspection = Callable[[Rows | None], bool]
"""Looks at a ledger before anything in its files is changed: returns whether that may be.

One that is new, or was written before there was an order, is first looked at without its rows.
"""
_ORDERED: Final = 5
"""The version from which on all records have an order."""
_ARCHIVABLE: Final = 6
"""The version from which on records can be archived."""


class SqliteRows(SqlRows):
    """Reads rows over one connection; never leaves a read transaction open behind it."""

    reservation_by_number = _RESERVATION

    def __init__(self, connection: apsw.Connection, lock: threading.Lock | None = None) -> None:
        super().__init__(self._fetch)
        self._connection = connection
        self._turn: AbstractContextManager[object] = lock or nullcontext()

    def data_version(self) -> int:
        """Return a number that changes with every commit of anybody else's connection."""
        [(version,)] = self._fetch("PRAGMA data_version", ())
        return version

    def _fetch(self, statement: str, values: Sequence[str | int | None]) -> Found:
        try:
            with self._turn:
                return self._connection.execute(_in_sqlite(statement), values).fetchall()
        except (apsw.CorruptError, apsw.SQLError) as error:
            # Our own statements are right: where a table is missing, the file is another one.
            raise DamagedError(
                f"the ledger is damaged: {error}: `interlock ledger repair` saves what can be"
                " read into a new file"
            ) from error


@cache
def _in_sqlite(statement: str) -> str:
    """Return a statement with the names that the tables have in a file of their own."""
    return statement.replace("interlock_", "")


class SqliteStore:
    """Rows in a SQLite file."""

    idle_after_s: float | None = 5.0
    """After so much quiet the write-ahead file is emptied."""

    def __init__(
        self,
        path: Path,
        inspect: Inspection = lambda _: True,
        checkpoint_pages: int = CHECKPOINT_PAGES,
    ) -> None:
        self.path: Final = path
        self.name: Final = str(path)
        self._pid = os.getpid()
        self._reader: apsw.Connection | None = None
        with _clear_errors(path):
            _make_private(path)
            _refuse_irregular(path)
            _refuse_emptied(path)
            self._writer = _connection(path)
            try:
                self._is_sound = _open_properly(self._writer, path, inspect)
                if self._is_sound:
                    self._writer.wal_autocheckpoint(checkpoint_pages)
                self._rows = SqliteRows(self._writer)
                self._reader = _connection(path)
                self._reader.execute("PRAGMA query_only = ON")
                self._reading = SqliteRows(self._reader, threading.Lock())
                # What is read first opens the files beside it as well.
                self._reading.data_version()
                self._files = _Files(path, self._writer)
            except BaseException:
                self._close_connections()
                raise
        self._notifier = Notifier(self._version, poll_s=_LOOK_EVERY_S)
        self._data_version = -1
        self._head: HeadRow | None = None
        """The end of the order, while nobody else can have moved it."""

    def begin(self, locks: Sequence[str]) -> bool:  # noqa: ARG002 - SQLite has one writer at all
        """Wait for this process's turn to write."""
        self._check_process()
        with _clear_errors(self.path):
            _patiently(lambda: self._writer.execute("BEGIN IMMEDIATE"))
            version = self._rows.data_version()
        is_current, self._data_version = version == self._data_version, version
        if not is_current:
            self._head = None
        return is_current

    def writing(self) -> Rows:
        """Return the rows as the open transaction sees them."""
        return self._rows

    def commit(self, changes: Changes) -> HeadRow:
        """Write everything and wait until it is on disk; then wake whoever waits.

        It counts only in the file that the path names: whoever asks there next must find it.
        """
        with _clear_errors(self.path):
            before = self._head or self._rows.head()
            head = followed(before, changes.records)
            _write(self._writer, changes, before, head)
            self._writer.execute("COMMIT")
        self._files.check()
        self._head = head
        if changes:
            self._notifier.notify()
        return head

    def rollback(self) -> None:
        """Give up the open transaction, if there is one."""
        self._data_version = -1
        self._head = None
        if self._writer.in_transaction:
            with contextlib.suppress(apsw.Error):
                # SQLite may have given it up itself already, as it does on a full disk.
                self._writer.execute("ROLLBACK")

    def reading(self) -> Rows:
        """Return the rows as everybody sees them."""
        self._check_process()
        return self._reading

    @contextlib.contextmanager
    def frozen(self) -> Generator[Rows]:
        """Return the rows of one moment: read in a copy, where there is room for one.

        Beside a reader the write-ahead file only grows, and reading takes longer than copying.
        """
        with contextlib.ExitStack() as stack:
            with _clear_errors(self.path):
                try:
                    connection = stack.enter_context(_copied(self.path))
                except (apsw.FullError, apsw.CantOpenError, OSError):
                    connection = stack.enter_context(_moment(self.path))
            yield SqliteRows(connection, threading.Lock())

    def listen(self) -> Listener:
        """Return somebody who is woken by every commit on this machine."""
        return self._notifier.listen()

    def tidy(self) -> None:
        """Bring the write-ahead file into the database and empty it, unless somebody reads."""
        if self._is_sound:
            with _clear_errors(self.path):
                _empty_write_ahead_file(self._writer)

    def backup(self, target: Path, progress: Progress = lambda _done, _of: None) -> HeadRow:
        """Copy the ledger as it is now to another file, while others go on writing.

        Return the end of the order in the copy.
        """
        if target.exists():
            raise LedgerError(f"{target} exists already: choose another name for the copy")
        with _clear_errors(target):
            _make_private(target)
        try:
            # Without a moment of its own it would start over with every new record.
            with _clear_errors(target), _moment(self.path) as source:
                _copy(source, target, progress)
                return SqliteRows(source).head()
        except BaseException:
            target.unlink()
            raise

    def close(self) -> None:
        """Empty the write-ahead file and close."""
        if os.getpid() == self._pid:
            try:
                self.tidy()
            finally:
                self._close_connections()

    def _version(self) -> int:
        self._check_process()
        return self._reading.data_version()

    def _check_process(self) -> None:
        if os.getpid() != self._pid:
            raise LedgerError(f"{self.path} was opened before a fork: open it anew in the child")

    def _close_connections(self) -> None:
        for connection in (self._reader, self._writer):
            if connection is not None:
                connection.close()


class _Files:
    """The files of an open ledger: whether its path still names the ones that were opened."""

    def __init__(self, path: Path, connection: apsw.Connection) -> None:
        self._path = path
        file = path.resolve()
        self._names = (os.fspath(path), *(f"{file}{end}" for end in ("-wal", "-shm")))
        self._opened = self._now()
        has_moved = ctypes.c_int(0)
        pointer = ctypes.addressof(has_moved)
        connection.file_control("main", apsw.SQLITE_FCNTL_HAS_MOVED, pointer)
        if has_moved.value:
            raise self._replaced()

    def check(self) -> None:
        """Raise UnavailableError if another file, or none, has one of the names by now."""
        if self._now() != self._opened:
            raise self._replaced()

    def _now(self) -> list[tuple[int, int]]:
        try:
            found = [os.stat(name) for name in self._names]  # noqa: PTH116 - with every commit
        except FileNotFoundError:
            raise self._replaced() from None
        return [(each.st_dev, each.st_ino) for each in found]

    def _replaced(self) -> UnavailableError:
        return UnavailableError(
            f"{self._path} was moved, deleted or replaced while it was open: nothing more can be"
            " recorded; put the file back, or open the ledger again"
        )


def _write(connection: apsw.Connection, changes: Changes, before: HeadRow, head: HeadRow) -> None:
    if changes.records:
        placed = enumerate(changes.records, start=before.records + 1)
        connection.executemany(_ADD_RECORD, [(place, *row) for place, row in placed])
        connection.execute(_MOVE_HEAD, head)
    for table, rows in rows_to_write(changes):
        if rows:
            connection.executemany(_insertion(table), rows)
    if released := released_reservations(changes):
        connection.executemany(_DELETE_RESERVATION, released)
    for statement, archive in removals(changes):
        connection.execute(_in_sqlite(statement), (archive,))


@cache
def _insertion(table: Table) -> str:
    columns, places = ", ".join(table.columns), ", ".join("?" * len(table.columns))
    return f"{_INSERT[table.conflict]} INTO {table.name} ({columns}) VALUES ({places})"


def _copy(source: apsw.Connection, target: Path, progress: Progress) -> None:
    with contextlib.closing(apsw.Connection(str(target))) as copy:
        with copy.backup("main", source, "main") as run:
            while not run.done:
                run.step(512)
                progress(run.page_count - run.remaining, run.page_count)
        copy.execute("PRAGMA journal_mode = DELETE").fetchall()


@contextlib.contextmanager
def _moment(path: Path) -> Generator[apsw.Connection]:
    """Open a connection that sees everything as it is now, and only reads."""
    with contextlib.closing(_connection(path)) as connection:
        connection.execute("PRAGMA query_only = ON")
        connection.execute("BEGIN")
        # The moment is the one of the first read.
        connection.execute("SELECT count(*) FROM meta").fetchall()
        yield connection


@contextlib.contextmanager
def _copied(path: Path) -> Generator[apsw.Connection]:
    """Open a copy of the ledger as it is now; it is gone as soon as this is over, or killed."""
    file = path.resolve()
    copy = file.with_name(f".{file.name}.{os.getpid()}.{secrets.token_hex(4)}")
    with contextlib.ExitStack() as stack:
        try:
            _make_private(copy)
            with _moment(path) as source:
                _copy(source, copy, lambda _done, _of: None)
            connection = stack.enter_context(contextlib.closing(_connection(copy)))
            # What is read first opens it: it needs no name after that.
            connection.execute("PRAGMA query_only = ON")
            connection.execute("BEGIN")
            connection.execute("SELECT count(*) FROM meta").fetchall()
        finally:
            copy.unlink(missing_ok=True)
        yield connection


def _patiently(perform: Callable[[], T]) -> T:
    """Wait for this process's turn: in the kernel, and where SQLite may not wait, here."""
    ends = time.monotonic() + _BUSY_MS / 1000
    while True:
        try:
            return perform()
        except apsw.BusyError:
            # SQLite says so while another process opens or closes the file.
            if time.monotonic() > ends:
                raise
            time.sleep(_PAUSE_S)


def _make_private(path: Path) -> None:
    """Make the file before SQLite does: nobody else may read it."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with contextlib.suppress(FileExistsError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, stat.S_IRUSR | stat.S_IWUSR))


def _refuse_irregular(path: Path) -> None:
    """Refuse what is no file, or leads away: a pipe would never answer, a device never end."""
    file = path.resolve()
    beside = [file.with_name(f"{file.name}{end}") for end in ("-wal", "-shm", "-journal")]
    for each in (file, *beside):
        # What stands beside it is never a link: SQLite makes it.
        with contextlib.suppress(FileNotFoundError):
            if not stat.S_ISREG(each.lstat().st_mode):
                raise LedgerError(f"{each} is not a regular file: move it away, and put back yours")


def _refuse_emptied(path: Path) -> None:
    """Tell an emptied file from a new one: SQLite would throw away what is left beside it."""
    file = path.resolve()
    left = file.with_name(f"{file.name}-wal")
    if file.stat().st_size == 0 and left.exists() and left.stat().st_size > 0:
        raise _damaged(path, f"it is empty, and {left.name} beside it is not")


def _connection(path: Path) -> apsw.Connection:
    flags = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_NOFOLLOW
    connection = left_alone_after_fork(apsw.Connection(str(path.resolve()), flags=flags))
    connection.transaction_mode = "IMMEDIATE"
    _wait_for_others(connection, _BUSY_MS)
    connection.wal_autocheckpoint(0)
    return connection


def _wait_for_others(connection: apsw.Connection, timeout_ms: int) -> None:
    connection.set_busy_timeout(timeout_ms)
    # Writers of other processes are waited for in the kernel, in turn, not by trying again.
    connection.setlk_timeout(timeout_ms, 0)


def _empty_write_ahead_file(connection: apsw.Connection) -> None:
    # Whoever waits here for a reader to finish keeps every writer waiting as well.
    _wait_for_others(connection, 0)
    try:
        # On a full disk it stays as it is, and nothing of it is lost.
        with contextlib.suppress(apsw.BusyError, apsw.FullError):
            connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
    finally:
        _wait_for_others(connection, _BUSY_MS)


def _open_properly(connection: apsw.Connection, path: Path, inspect: Inspection) -> bool:
    """Recover what a crash left, check the file, bring its schema up to date.

    Until all of that is done, what was found stays as it is: `recover` may need it. Return
    whether it is done; where something does not hold, what was left is only read.
    """
    connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
    try:
        return _patiently(lambda: _open_and_check(connection, path, inspect))
    except apsw.SQLError as error:
        # Our own statements are right, so what they found is not a ledger any more.
        raise _damaged(path, str(error)) from error


def _open_and_check(connection: apsw.Connection, path: Path, inspect: Inspection) -> bool:
    connection.execute(_OPENING).fetchall()
    _check(connection, path)
    if connection.pragma("user_version") < _ORDERED:
        _migrate(connection, path, inspect)
        is_sound = inspect(SqliteRows(connection))
    else:
        rows = SqliteRows(connection)
        rows.has_archives = connection.pragma("user_version") >= _ARCHIVABLE
        is_sound = inspect(rows)
        _migrate(connection, path, inspect)
    _check_guards(connection, path)
    if not is_sound:
        return False
    connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0)
    _empty_write_ahead_file(connection)
    return True


def _check_guards(connection: apsw.Connection, path: Path) -> None:
    """Refuse a file whose triggers are not the ones that keep what was written as it is."""
    found = connection.execute("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'")
    stored = {str(name): str(sql) for name, sql in found.fetchall()}
    if differing := sorted({*stored.items()} ^ {*_guards().items()}):
        raise _damaged(path, f"the trigger `{differing[0][0]}` is not as it was made")


@cache
def _guards() -> Mapping[str, str]:
    """Return the triggers that every ledger has, by name."""
    made = _TRIGGER.finditer("".join(each.sql for each in migrations("sqlite")))
    return {each["name"]: each["sql"] for each in made}


def _check(connection: apsw.Connection, path: Path) -> None:
    problems: list[str] = []
    try:
        found = connection.execute("PRAGMA quick_check(3)")
        # One by one: having said what it found, SQLite may fail for the same reason.
        while (row := found.fetchone()) is not None:
            problems.append(" ".join(str(row[0]).split()))
    except apsw.CorruptError as error:
        problems.append(str(error))
    if problems != ["ok"]:
        raise _damaged(path, "; ".join(problems))


def _migrate(connection: apsw.Connection, path: Path, inspect: Inspection) -> None:
    if not pending("sqlite", connection.pragma("user_version"), str(path)):
        return
    connection.create_aggregate_function("order_hash", _OrderHash, 1)
    with connection:
        # Another process may have been faster.
        version = connection.pragma("user_version")
        needed = pending("sqlite", version, str(path))
        if version < _ORDERED:
            # Nobody else can have made it one with an anchor meanwhile.
            inspect(None)
        if version and needed:
            _put_copy(path, version)
        for migration in needed:
            connection.execute(migration.sql)
            connection.pragma("user_version", migration.version)


class _OrderHash:
    """What the hashes of records come to, as a function of SQL."""

    def __init__(self) -> None:
        self._head = BEFORE_ALL

    def step(self, *values: object) -> None:
        [hash_] = values
        self._head = followed(self._head, [RecordRow("", 0, 0, "", b"", str(hash_))])

    def final(self) -> str:
        return self._head.hash


def _put_copy(path: Path, version: int) -> None:
    """Keep the database as it was before its schema changed; whoever may write calls this."""
    copy = path.with_name(f"{path.name}.v{version}")
    if copy.exists():
        return
    unfinished = copy.with_name(f"{copy.name}.unfinished")
    unfinished.unlink(missing_ok=True)
    _make_private(unfinished)
    with contextlib.closing(_connection(path)) as reader:
        reader.execute("VACUUM INTO ?", (str(unfinished),))
    sync(unfinished)
    unfinished.replace(copy)
    sync(copy.parent)


@contextlib.contextmanager
def _clear_errors(path: Path) -> Generator[None]:
    """Say what SQLite says in words that tell a person what to do."""
    try:
        yield
    except apsw.FullError as error:
        raise UnavailableError(
            f"{path}: the disk is full: nothing of this was recorded; make room and ask again"
        ) from error
    except (apsw.BusyError, apsw.LockedError) as error:
        raise UnavailableError(
            f"{path}: another process has been writing for {_BUSY_MS // 1000} s: ask again"
        ) from error
    except (apsw.CorruptError, apsw.NotADBError) as error:
        raise _damaged(path, str(error)) from error
    except (apsw.ReadOnlyError, apsw.CantOpenError, apsw.PermissionsError, OSError) as error:
        raise UnavailableError(f"{path} cannot be written: {error}") from error
    except apsw.IOError as error:
        raise UnavailableError(
            f"{path}: the disk does not answer properly ({error}): nothing of this was recorded"
        ) from error


def _damaged(path: Path, finding: str) -> DamagedError:
    return DamagedError(
        f"{path} is damaged: {finding}: `interlock ledger repair` saves what can be read into"
        " a new file"
    )


_open: Final[WeakSet[apsw.Connection]] = WeakSet()


def left_alone_after_fork(connection: apsw.Connection) -> apsw.Connection:
    """Return the connection; in a forked process it will never be closed, not even at its end.

    Closing waits for a lock that a thread of the parent may have held in the moment of the fork,
    and that thread does not exist in the child.
    """
    _open.add(connection)
    return connection


def _leave_alone() -> None:
    # The module as well: it closes what is still open when it goes.
    for inherited in (apsw, *_open):
        # One owner more than there are: nothing will ever be the last to let go of it.
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(inherited))


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_leave_alone)
