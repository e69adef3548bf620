"""Connections to a Postgres: how they are made and shared, and how values travel over them.

Values travel losslessly, and in columns rather than one by one. A Postgres text cannot hold the
character zero. Ours can: it is written as two others, in such a way that neither the order of
texts nor what they begin with changes.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import selectors
import struct
import threading
from collections.abc import Callable, Generator, Iterable, Sequence
from functools import partial
from itertools import zip_longest
from typing import Any, Final, NamedTuple, assert_never
from urllib.parse import quote

import psycopg
from psycopg import errors
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.pq import DiagnosticField, ExecStatus, TransactionStatus
from psycopg.pq.abc import PGresult

from interlock.errors import DamagedError, InputError, LedgerError, UnavailableError
from interlock.ledger.stores.sql_rows import Found

WAIT_S: Final = 60
"""How long anybody may keep the others waiting."""
_MOST_READERS: Final = 8
_OLDEST_SERVER: Final = 14
_DEFAULTS: Final = {
    "application_name": "interlock",
    "connect_timeout": "10",
    # A server that is gone without a word is noticed within a minute, not within hours.
    "keepalives_idle": "30",
    "keepalives_interval": "10",
    "keepalives_count": "3",
    "tcp_user_timeout": "60000",
    # Of several servers, the one that takes writes.
    "target_session_attrs": "read-write",
}
_SETTINGS: Final = f"""
SET client_encoding = 'UTF8';
SET synchronous_commit = on;
SET default_transaction_isolation = 'read committed';
SET lock_timeout = '{WAIT_S}s';
""".encode()


class Address:
    """Where a Postgres is, and the only place that knows the password."""

    def __init__(self, url: str) -> None:
        given = _parameters(url)
        self._parameters = _DEFAULTS | given
        self._pid = os.getpid()
        self.name: Final = _shown(given)

    def connect(self) -> psycopg.Connection:
        """Return a new connection on which each statement is durable by itself."""
        connection = psycopg.connect(make_conninfo(**self._parameters), autocommit=True)
        try:
            _check_server(connection, self.name)
            connection.execute(_SETTINGS)
        except BaseException:
            connection.close()
            raise
        return connection

    def is_of_this_process(self) -> bool:
        """Whether connections made here belong to this process, not to the one it came from."""
        return os.getpid() == self._pid

    def check_process(self) -> None:
        """Refuse to share a connection with the process that this one was forked from."""
        if not self.is_of_this_process():
            raise LedgerError(f"{self.name} was opened before a fork: open it anew in the child")

    @contextlib.contextmanager
    def clear_errors(self, consequence: str) -> Generator[None]:
        """Say what Postgres says in words that tell a person what to do."""
        try:
            yield
        except errors.LockNotAvailable as error:
            raise UnavailableError(
                f"{self.name}: another server has been writing for {WAIT_S} s: {consequence}"
            ) from error
        except errors.DiskFull as error:
            problem = "the server's disk is full"
            raise UnavailableError(f"{self.name}: {problem}: {consequence}; make room") from error
        except errors.ReadOnlySqlTransaction as error:
            problem = "the server takes no writes, it may be a standby"
            raise UnavailableError(f"{self.name}: {problem}: {consequence}") from error
        except (errors.DataCorrupted, errors.IndexCorrupted) as error:
            raise DamagedError(
                f"{self.name} is damaged: {_said(error)}: restore a backup of the database"
            ) from error
        except errors.ProgramLimitExceeded as error:
            raise InputError(f"{self.name}: {_said(error)}: {consequence}") from error
        except (psycopg.OperationalError, errors.IdleInTransactionSessionTimeout) as error:
            problem = f"the server does not answer ({_said(error)})"
            raise UnavailableError(f"{self.name}: {problem}: {consequence}") from error
        except psycopg.Error as error:
            raise LedgerError(f"{self.name}: {_said(error)}: {consequence}") from error


class Readers:
    """Connections that only read, one for each thread; many threads share the few there are.

    Nothing runs in the background, and a server that is gone is noticed at once.
    """

    def __init__(self, address: Address) -> None:
        self._address = address
        self._seats = [_Seat() for _ in range(_MOST_READERS)]
        self._seats_given = itertools.count()
        self._own = threading.local()
        self._is_closed = False

    def ask(self, statement: str, values: Sequence[Value]) -> Found:
        """Run a statement that reads, and return all of its rows."""
        self._address.check_process()
        if self._is_closed:
            raise LedgerError(f"{self._address.name} is closed: open it again")
        seat = self._seat()
        # A plain lock: an interrupt in the middle of any other may leave it taken for ever.
        with seat.lock, self._address.clear_errors("nothing could be read"):
            try:
                return self._asked(seat, statement, values)
            finally:
                if self._is_closed:
                    seat.hang_up()

    def close(self) -> None:
        """Close every connection that nobody is reading from; the others close after use."""
        self._is_closed = True
        for seat in self._seats:
            if seat.lock.acquire(blocking=False):
                try:
                    seat.hang_up()
                finally:
                    seat.lock.release()

    def _seat(self) -> _Seat:
        """Return where this thread reads."""
        own: _Seat | None = getattr(self._own, "seat", None)
        if own is None:
            own = self._own.seat = self._seats[next(self._seats_given) % _MOST_READERS]
        return own

    def _asked(self, seat: _Seat, statement: str, values: Sequence[Value]) -> Found:
        pipeline = seat.pipeline
        if pipeline is not None:
            try:
                return pipeline.ask(statement, values)
            except psycopg.Error:
                if not pipeline.is_lost:
                    raise
                # The server was restarted, or somebody in between has lost patience.
        pipeline = seat.pipeline = Pipeline(self._address.connect())
        return pipeline.ask(statement, values)


class _Seat:
    """A connection, as soon as somebody reads, and what keeps others from it meanwhile."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.pipeline: Pipeline | None = None

    def hang_up(self) -> None:
        if self.pipeline is not None:
            self.pipeline.close()
            self.pipeline = None


def _check_server(connection: psycopg.Connection, name: str) -> None:
    version = connection.info.server_version // 10_000
    if version < _OLDEST_SERVER:
        raise LedgerError(
            f"{name} is Postgres {version}, at least {_OLDEST_SERVER} is needed: update the server"
        )
    encoding = connection.info.parameter_status("server_encoding")
    if encoding != "UTF8":
        raise LedgerError(
            f"{name} keeps texts as {encoding}, which cannot hold every text:"
            " create the database with ENCODING 'UTF8'"
        )


def _parameters(url: str) -> dict[str, str]:
    try:
        found = {name: str(value) for name, value in conninfo_to_dict(url).items()}
    except psycopg.Error:
        found = {}
    port, database = found.get("port", ""), found.get("dbname", "")
    # A password with a bare slash is taken for a port and a database: it must not be shown.
    if not found or port.strip("0123456789,") or "@" in database:
        # Not even a part of it is repeated: it may be a part of the password.
        raise InputError(
            "the ledger's address cannot be read: write"
            " `postgresql://user@host:5432/database`, special characters as %XX"
        )
    return found


def _shown(parameters: dict[str, str]) -> str:
    """Return an address with nothing in it that anybody might want to keep to themselves."""
    user, host, port, database = (
        quote(parameters.get(name, ""), safe="/,:") for name in ("user", "host", "port", "dbname")
    )
    login = f"{user}@" if user else ""
    if host.startswith("/"):
        return f"postgresql://{login}/{database}?host={host}"
    pairs = zip_longest(host.split(","), port.split(","), fillvalue="")
    places = ",".join(f"{name}:{number}" if number else name for name, number in pairs)
    return f"postgresql://{login}{places}/{database}"


def _said(error: psycopg.Error) -> str:
    """Return what the server said, on one line."""
    return " ".join(str(error).split())


_BINARY: Final = 1
Selector: Final = getattr(selectors, "PollSelector", selectors.SelectSelector)
_SUCCESS: Final = (ExecStatus.TUPLES_OK, ExecStatus.COMMAND_OK)


class Pipeline:
    """A connection on which statements are prepared as they are first met; for one thread."""

    def __init__(self, connection: psycopg.Connection) -> None:
        self._connection = connection
        self._link = connection.pgconn
        self._prepared: dict[str, bytes] = {}
        self._names = itertools.count()
        self._selector: selectors.BaseSelector = Selector()
        self._selector.register(self._link.socket, selectors.EVENT_READ)

    @property
    def is_lost(self) -> bool:
        """Whether nothing can be said over it any more."""
        return self._connection.closed

    @property
    def is_idle(self) -> bool:
        """Whether no transaction is open."""
        return self._link.transaction_status == TransactionStatus.IDLE

    def ask(self, statement: str, values: Sequence[Value]) -> Found:
        """Run one statement and return its rows."""
        return self.exchange([(statement, values)])[0]

    def exchange(self, steps: Sequence[Step]) -> list[Found]:
        """Run statements in order, up to the first that fails, and return the rows of each.

        Raise what the first one failed of. Whatever goes wrong otherwise ends the connection:
        nobody could tell any more what the next answer belongs to.
        """
        sent = [[as_sent(each) for each in values] for _, values in steps]
        awaited: list[tuple[str, bytes] | None] = []
        try:
            self._link.enter_pipeline_mode()
            for (statement, _), values in zip(steps, sent, strict=True):
                awaited += self._send(statement, values)
            self._link.pipeline_sync()
            self._flush()
            results = [self._result(each) for each in awaited]
            self._next_result()
            self._link.exit_pipeline_mode()
        except BaseException:
            self.close()
            raise
        for result in results:
            if result.status not in _SUCCESS:
                raise _error(result)
        return [_table(result) for result, each in zip(results, awaited, strict=True) if not each]

    def close(self) -> None:
        """Hang up."""
        self._selector.close()
        self._connection.close()

    def _send(
        self, statement: str, values: Sequence[tuple[int, bytes | None]]
    ) -> list[tuple[str, bytes] | None]:
        """Send a statement; return which answers will come: what they prepare, or None."""
        name = self._prepared.get(statement)
        awaited: list[tuple[str, bytes] | None] = [None]
        if name is None:
            name = f"interlock_{next(self._names)}".encode()
            self._link.send_prepare(name, statement.encode(), [kind for kind, _ in values])
            awaited = [(statement, name), None]
        formats = [_BINARY] * len(values)
        self._link.send_query_prepared(name, [each for _, each in values], formats, _BINARY)
        return awaited

    def _flush(self) -> None:
        """Send what is still here; meanwhile the server may want to be heard."""
        if not self._link.flush():
            return
        self._selector.modify(self._link.socket, selectors.EVENT_READ | selectors.EVENT_WRITE)
        while self._link.flush():
            for _, event in self._selector.select():
                if event & selectors.EVENT_READ:
                    self._link.consume_input()
        self._selector.modify(self._link.socket, selectors.EVENT_READ)

    def _result(self, prepares: tuple[str, bytes] | None) -> PGresult:
        """Return the answer to one message; what could be prepared is known from now on."""
        result = self._next_result()
        if result is None:
            raise psycopg.OperationalError("the connection was lost")
        while self._next_result() is not None:
            pass
        if prepares is not None and result.status == ExecStatus.COMMAND_OK:
            statement, name = prepares
            self._prepared[statement] = name
        return result

    def _next_result(self) -> PGresult | None:
        # The library would wait by itself, but without letting other threads run.
        while self._link.is_busy():
            self._selector.select()
            self._link.consume_input()
        return self._link.get_result()


def _table(result: PGresult) -> Found:
    """Return the rows of an answer."""
    columns = range(result.nfields)
    read = [_AS_RECEIVED[result.ftype(column)] for column in columns]
    return [
        tuple(
            None if (value := result.get_value(row, column)) is None else read[column](value)
            for column in columns
        )
        for row in range(result.ntuples)
    ]


def _error(result: PGresult) -> psycopg.Error:
    """Return the error that an answer tells of, as the driver would raise it."""
    state = (result.error_field(DiagnosticField.SQLSTATE) or b"").decode()
    said = (result.error_field(DiagnosticField.MESSAGE_PRIMARY) or result.error_message).decode()
    try:
        return errors.lookup(state)(said)
    except KeyError:
        # Without a state it is not the server who speaks, but the library that lost it.
        return psycopg.DatabaseError(said) if state else psycopg.OperationalError(said)


_LONGEST_NAME: Final = 1024
"""In bytes: two of them fit into one entry of a Postgres index, which may have 2704."""
_ZERO: Final = "\x00"
_ONE: Final = "\x01"
_ZERO_STORED: Final = "\x010"
_ONE_STORED: Final = "\x011"
_BIGGEST: Final = 2**63 - 1

# Numbers that Postgres gives its own types, the same in every database.
_BYTEA: Final = 17
_BIGINT: Final = 20
_TEXT: Final = 25
_ARRAY_OF_BYTEA: Final = 1001
_ARRAY_OF_TEXT: Final = 1009
_ARRAY_OF_BIGINT: Final = 1016

_LENGTH: Final = struct.Struct("!i")
_NULL: Final = _LENGTH.pack(-1)
_ARRAY_HEAD: Final = struct.Struct("!iiIii")


class Column(NamedTuple):
    """Values of one column, as Postgres reads an array of them."""

    kind: int
    array: bytes


Value = str | int | Column | None
Step = tuple[str, Sequence[Value]]
"""A statement and its values."""


def column(letter: str, values: Iterable[Any]) -> Column:
    """Return values as a column: `t` is of texts, `n` of numbers, `b` of bytes."""
    kind, array, stored = _COLUMNS[letter]
    return Column(array, _array(kind, [None if each is None else stored(each) for each in values]))


def _array(kind: int, items: Sequence[bytes | None]) -> bytes:
    """Return an array in Postgres's binary form."""
    parts = [_ARRAY_HEAD.pack(1, int(None in items), kind, len(items), 1)]
    for item in items:
        if item is None:
            parts.append(_NULL)
        else:
            parts.append(_LENGTH.pack(len(item)))
            parts.append(item)
    return b"".join(parts)


def as_sent(value: Value) -> tuple[int, bytes | None]:
    """Return the type of a value, 0 where the statement tells, and its bytes."""
    match value:
        case str():
            return _TEXT, text_bytes(value)
        case int():
            return _BIGINT, number_bytes(value)
        case None:
            return 0, None
        case Column():
            return value.kind, value.array
        case _:
            assert_never(value)


def text_bytes(text: str) -> bytes:
    """Return a text as Postgres can keep it."""
    if _ZERO in text or _ONE in text:
        text = text.replace(_ONE, _ONE_STORED).replace(_ZERO, _ZERO_STORED)
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        problem = f"a text with half of a character at position {error.start} cannot be kept"
        raise InputError(f"{problem}: send whole characters") from error


def text_from_bytes(stored: bytes) -> str:
    """Return a text as it was before it was stored."""
    text = stored.decode()
    if _ONE in text:
        text = text.replace(_ZERO_STORED, _ZERO).replace(_ONE_STORED, _ONE)
    return text


def number_bytes(number: int) -> bytes:
    """Return a number as Postgres keeps it."""
    try:
        return number.to_bytes(8, signed=True)
    except OverflowError as error:
        raise InputError(f"{number} cannot be kept: the largest number is {_BIGGEST}") from error


def fitting(what: str, name: str) -> str:
    """Return a name that rows are found by, unless it is too long for that."""
    # Before anything is written with it: later the whole group would fail.
    if len(name) * 4 > _LONGEST_NAME and (length := len(text_bytes(name))) > _LONGEST_NAME:
        raise InputError(f"{what} has {length} bytes, at most {_LONGEST_NAME} can be kept")
    return name


_COLUMNS: Final[dict[str, tuple[int, int, Callable[[Any], bytes]]]] = {
    "t": (_TEXT, _ARRAY_OF_TEXT, text_bytes),
    "n": (_BIGINT, _ARRAY_OF_BIGINT, number_bytes),
    "b": (_BYTEA, _ARRAY_OF_BYTEA, bytes),
}
_AS_RECEIVED: Final[dict[int, Callable[[bytes], object]]] = {
    _TEXT: text_from_bytes,
    _BIGINT: partial(int.from_bytes, signed=True),
    _BYTEA: bytes,
}
"""How values of each type are read."""
