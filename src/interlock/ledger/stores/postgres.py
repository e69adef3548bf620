"""A ledger in a Postgres, for several servers: what concerns one run waits, the rest does not.

INVARIANT: within a process one connection writes; whatever it writes is covered by locks that
are taken in one order everywhere, so that no two servers can wait for each other.
"""

from __future__ import annotations

import contextlib
import hashlib
import selectors
import socket
import threading
import time
from collections.abc import Generator, Iterable, Sequence
from functools import cache
from typing import Any, Final, LiteralString

import psycopg
from psycopg import sql

from interlock.errors import LedgerError, UnavailableError
from interlock.ledger.stores.postgres_connection import (
    WAIT_S,
    Address,
    Pipeline,
    Readers,
    Selector,
    Step,
    Value,
    column,
    fitting,
)
from interlock.ledger.stores.sql_rows import (
    RECORDS,
    Columns,
    Conflict,
    Found,
    SqlRows,
    Table,
    pending,
    released_reservations,
    removals,
    rows_to_write,
)
from interlock.model.order import BEFORE_ALL
from interlock.model.rows import Changes, HeadRow, KeyRow, RunRow
from interlock.ports import Listener, Rows

_NOTHING_RECORDED: Final = "nothing of this was recorded; ask again"
_OUTCOME_UNKNOWN: Final = (
    "whether this was recorded is not known; asking again with the same key is safe"
)
_WRITER_SETTINGS: Final = f"""
SET idle_in_transaction_session_timeout = '{WAIT_S}s';
SET plan_cache_mode = force_generic_plan;
""".encode()
_VERSIONS: Final = """
CREATE TABLE IF NOT EXISTS interlock_schema (
    version integer PRIMARY KEY,
    applied_at timestamptz NOT NULL DEFAULT now()
)
"""
_ID: Final = "SELECT value FROM interlock_meta WHERE name = 'id'"
_LOCK: Final = "SELECT interlock_lock($1)"
_HEAD: Final = "SELECT records, runs, hash, at FROM interlock_head"
_SHORTEST_PAUSE_S: Final = 0.05
_LONGEST_PAUSE_S: Final = 2.0

_DELETE_RESERVATIONS: Final = (
    "DELETE FROM interlock_reservations AS held USING unnest($1, $2) AS released (run_id, seq)"
    " WHERE held.run_id = released.run_id AND held.seq = released.seq"
)
_APPEND: Final = "SELECT * FROM interlock_append($1, $2, $3, $4, $5, $6)"
_NOTIFY: Final = "SELECT pg_current_xact_id()::text FROM pg_notify($1, '')"


class PostgresRows(SqlRows):
    """Reads rows; a name that is too long to be found by is refused."""

    def run(self, run_id: str) -> RunRow | None:
        """Return a run by its id."""
        return super().run(fitting("a run's id", run_id))

    def account(self, scope: str) -> bytes | None:
        """Return an account."""
        return super().account(fitting("an account's scope", scope))

    def key(self, run_id: str, key: str) -> KeyRow | None:
        """Return what a request key was used for."""
        return super().key(run_id, fitting("a request key", key))


class PostgresStore:
    """Rows in a Postgres database."""

    idle_after_s: float | None = None
    """The server puts things in order by itself."""

    def __init__(self, url: str) -> None:
        self._address = Address(url)
        self.name: Final = self._address.name
        """The URL, without its password."""
        self._writer: Pipeline | None = None
        self._locks: list[int] = []
        self._begun_at = ""
        self._unchanged: str | None = None
        self._head = BEFORE_ALL
        """The end of the order, as of the last transaction."""
        self._is_closed = False
        with self._address.clear_errors("the ledger was not opened"):
            connection = self._connected()
            try:
                _migrate(connection, self._address.name)
                self._channel = f"interlock_{_value(connection, _ID)}"
            except BaseException:
                connection.close()
                raise
        self._writer = Pipeline(connection)
        self._rows = PostgresRows(self._ask)
        self._readers = Readers(self._address)
        self._reading = PostgresRows(self._readers.ask)

    @property
    def address(self) -> Address:
        """How it is reached."""
        return self._address

    def begin(self, locks: Sequence[str]) -> bool:
        """Wait until nobody else works on what the locks name."""
        self._address.check_process()
        if self._is_closed:
            raise LedgerError(f"{self.name} is closed: open it again")
        self._locks = sorted(map(lock_number, locks))
        with self._address.clear_errors(_NOTHING_RECORDED):
            self._begun_at, self._head = self._take_locks()
        return self._begun_at == self._unchanged

    def writing(self) -> Rows:
        """Return the rows as the open transaction sees them."""
        return self._rows

    def commit(self, changes: Changes) -> HeadRow:
        """Write everything, wait until it is durable, and wake whoever waits: all at once."""
        writer = self._open_writer()
        with self._address.clear_errors(_NOTHING_RECORDED):
            try:
                number, self._head = _write(writer, changes, self._channel, self._head)
            except psycopg.Error as error:
                if not writer.is_lost:
                    raise
                self._head = self._find_outcome(changes, error)
            else:
                self._unchanged = _if_alone(self._begun_at, number)
        return self._head

    def rollback(self) -> None:
        """Give up the open transaction, if there is one."""
        self._unchanged = None
        writer = self._writer
        if writer is None or writer.is_lost or writer.is_idle:
            return
        try:
            writer.ask("ROLLBACK", ())
        except psycopg.Error:
            # Without its connection the server gives the transaction up by itself.
            writer.close()

    def reading(self) -> Rows:
        """Return the rows as everybody sees them."""
        return self._reading

    @contextlib.contextmanager
    def frozen(self) -> Generator[Rows]:
        """Return the rows of one moment; the server keeps what is replaced until this is over."""
        self._address.check_process()
        turn = threading.Lock()
        with self._address.clear_errors("nothing could be read"):
            pipeline = Pipeline(self._address.connect())
        with contextlib.closing(pipeline):

            def ask(statement: str, values: Sequence[Value]) -> Found:
                with turn, self._address.clear_errors("nothing could be read"):
                    return pipeline.ask(statement, values)

            ask("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", ())
            rows = PostgresRows(ask)
            # The moment is the one of the first read.
            rows.meta("id")
            yield rows

    def listen(self) -> Listener:
        """Return somebody who is woken by every commit of every server."""
        self._address.check_process()
        return PostgresListener(self._address, self._channel)

    def tidy(self) -> None:
        """Nothing to put in order: the server does that by itself."""

    def close(self) -> None:
        """Close every connection; a transaction that is open is given up."""
        self._is_closed = True
        if self._address.is_of_this_process():
            self._readers.close()
            if self._writer is not None:
                self._writer.close()

    def _connected(self) -> psycopg.Connection:
        connection = self._address.connect()
        connection.execute(_WRITER_SETTINGS)
        self._unchanged = None
        return connection

    def _open_writer(self) -> Pipeline:
        if self._writer is None or self._writer.is_lost:
            problem = "the connection to the server was lost"
            raise UnavailableError(f"{self.name}: {problem}: {_NOTHING_RECORDED}")
        return self._writer

    def _ask(self, statement: str, values: Sequence[Value]) -> Found:
        writer = self._open_writer()
        with self._address.clear_errors(_NOTHING_RECORDED):
            return writer.ask(statement, values)

    def _take_locks(self) -> tuple[str, HeadRow]:
        """Begin with all locks held; return which transactions were over or under way then.

        The head of the order comes with it.
        """
        known = self._writer
        if known is not None and not known.is_lost:
            try:
                return _begin(known, self._locks)
            except psycopg.Error:
                if not known.is_lost:
                    raise
                # The server may have been restarted since the last group: nothing is lost yet.
        self._writer = None
        self._writer = Pipeline(self._connected())
        return _begin(self._writer, self._locks)

    def _find_outcome(self, changes: Changes, lost: psycopg.Error) -> HeadRow:
        """Return the head if a commit whose answer was lost took place; raise an error if not.

        The same locks are free again only when the lost transaction has come to its end, and
        then its last record is there or will never be.
        """
        unknown = UnavailableError(f"{self.name}: the connection was lost: {_OUTCOME_UNKNOWN}")
        if not changes.records or not self._locks:
            raise unknown from lost
        last = changes.records[-1]
        try:
            _, head = self._take_locks()
            found = self._rows.record(last.run_id, last.seq)
        except (psycopg.Error, LedgerError):
            raise unknown from lost
        finally:
            self.rollback()
        if found != last:
            raise lost
        return head


def lock_number(name: str) -> int:
    """Return the number under which every server locks a name."""
    digest = hashlib.sha256(b"interlock lock\0" + name.encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:8], signed=True)


def _begin(writer: Pipeline, locks: Sequence[int]) -> tuple[str, HeadRow]:
    steps: list[Step] = [("BEGIN", ()), (_LOCK, [column("n", locks)]), (_HEAD, ())]
    _, rows, heads = writer.exchange(steps)
    return str(rows[0][0]), HeadRow._make(heads[0]) if heads else BEFORE_ALL


def _write(
    writer: Pipeline, changes: Changes, channel: str, head: HeadRow
) -> tuple[int | None, HeadRow]:
    """Write and commit, there and back only once.

    Return the transaction's number, if it has one, and the head of the order behind it. Who
    listens is notified by the same transaction: never too early, and never not at all.
    """
    steps = _write_steps(changes, channel) if changes else []
    *_, appended, answer, _ = [[], [], *writer.exchange([*steps, ("COMMIT", ())])]
    if changes.records:
        head = HeadRow._make(appended[0])
    return int(answer[0][0]) if answer else None, head


def _write_steps(changes: Changes, channel: str) -> list[Step]:
    """Return what writes a whole group; the last step notifies those who listen.

    That one answers with the number of its transaction, and the one before it, which adds the
    records, with the head of the order. Rows that no lock protects are written in the order of
    their keys, so that no two groups can wait for each other.
    """
    parts = [
        (_insertion(table), table.types, sorted(rows)) for table, rows in rows_to_write(changes)
    ]
    parts.append((_DELETE_RESERVATIONS, "tn", sorted(released_reservations(changes))))
    steps = [_step(*part) for part in parts if part[-1]]
    steps += [(statement, [archive]) for statement, archive in removals(changes)]
    if changes.records:
        steps.append(_step(_APPEND, RECORDS.types, changes.records))
    return [*steps, (_NOTIFY, [channel])]


def _step(statement: str, types: str, rows: Iterable[Columns]) -> Step:
    return statement, list(map(column, types, zip(*rows, strict=True)))


@cache
def _insertion(table: Table) -> str:
    """Return what writes many rows, each column as one array."""
    places = ", ".join(f"${number}" for number in range(1, len(table.columns) + 1))
    target = f"interlock_{table.name} ({', '.join(table.columns)})"
    statement = f"INSERT INTO {target} SELECT * FROM unnest({places})"  # noqa: S608 - constants
    match table.conflict:
        case Conflict.REFUSED:
            return statement
        case Conflict.IGNORED:
            return f"{statement} ON CONFLICT DO NOTHING"
        case Conflict.REPLACES:
            key = ", ".join(table.columns[: table.key])
            others = [f"{name} = excluded.{name}" for name in table.columns[table.key :]]
            return f"{statement} ON CONFLICT ({key}) DO UPDATE SET {', '.join(others)}"


def _if_alone(begun_at: str, number: int | None) -> str | None:
    """Return what the next group finds if only this one has written since it began.

    Transactions are numbered as they first write. `begun_at` is `a:b:`, with the same number
    twice, if none was under way and `b` comes next; if that is the number this group then got,
    nobody came in between.
    """
    oldest, following, _ = begun_at.split(":")
    if oldest != following:
        return None
    if number is None:
        return begun_at
    return f"{number + 1}:{number + 1}:" if following == str(number) else None


def _migrate(connection: psycopg.Connection, name: str) -> None:
    if not pending("postgres", _version(connection), name):
        return
    with connection.transaction():
        connection.execute("SELECT pg_advisory_xact_lock(%s)", [lock_number("interlock schema")])
        connection.execute(_VERSIONS)
        # Another process may have been faster.
        for migration in pending("postgres", _version(connection), name):
            connection.execute(migration.sql.encode())
            connection.execute(
                "INSERT INTO interlock_schema (version) VALUES (%s)", [migration.version]
            )


def _version(connection: psycopg.Connection) -> int:
    if _value(connection, "SELECT to_regclass('interlock_schema')") is None:
        return 0
    return int(_value(connection, "SELECT coalesce(max(version), 0) FROM interlock_schema"))


def _value(connection: psycopg.Connection, statement: LiteralString) -> Any:  # noqa: ANN401 - as the schema says
    row = connection.execute(statement).fetchone()
    return None if row is None else row[0]


class PostgresListener:
    """Waits on a connection of its own; only one thread may wait."""

    def __init__(self, address: Address, channel: str) -> None:
        self._address = address
        self._channel = channel
        self._connection: psycopg.Connection | None = None
        with address.clear_errors("nobody can listen"):
            self._connection = self._listening()
        self._is_stopped = False
        self._wakeup, self._stopper = socket.socketpair()
        """Shutting down the second makes the first readable for good."""

    def wait(self, timeout_s: float | None) -> bool:
        """Return True on news, False after the timeout or `stop`.

        Reconnecting after an outage counts as news: notices may have been lost.
        """
        until = None if timeout_s is None else time.monotonic() + timeout_s
        if self._connection is not None:
            try:
                return self._heard(self._connection, until)
            except psycopg.Error:
                self._connection.close()
                self._connection = None
        return self._reconnected(until)

    def stop(self) -> None:
        """End the current wait and every later one, from any thread."""
        self._is_stopped = True
        # A forked child shares the sockets: it must not stop its parent.
        if self._address.is_of_this_process():
            with contextlib.suppress(OSError):
                self._stopper.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Stop listening."""
        self.stop()
        self._wakeup.close()
        self._stopper.close()
        if self._connection is not None and self._address.is_of_this_process():
            self._connection.close()

    def _listening(self) -> psycopg.Connection:
        connection = self._address.connect()
        try:
            connection.execute(sql.SQL("LISTEN {}").format(sql.Identifier(self._channel)))
        except BaseException:
            connection.close()
            raise
        return connection

    def _heard(self, connection: psycopg.Connection, until: float | None) -> bool:
        """Wait for a notice, then discard the others that have arrived."""
        # Another thread cannot interrupt the driver's own wait.
        link = connection.pgconn
        while not self._is_stopped:
            link.consume_input()
            if link.notifies() is not None:
                while link.notifies() is not None:
                    pass
                return True
            left_s = None if until is None else until - time.monotonic()
            if left_s is not None and left_s <= 0:
                break
            self._pause(left_s, link.socket)
        return False

    def _reconnected(self, until: float | None) -> bool:
        pause_s = _SHORTEST_PAUSE_S
        while not self._is_stopped:
            with contextlib.suppress(psycopg.Error):
                self._connection = self._listening()
                return True
            left_s = pause_s if until is None else min(pause_s, until - time.monotonic())
            if left_s <= 0:
                break
            self._pause(left_s)
            pause_s = min(pause_s * 2, _LONGEST_PAUSE_S)
        return False

    def _pause(self, longest_s: float | None, *sources: int) -> None:
        """Wait until a source is readable, `stop` is called or the time is up."""
        with Selector() as selector:
            for each in (self._wakeup.fileno(), *sources):
                selector.register(each, selectors.EVENT_READ)
            selector.select(longest_s)
