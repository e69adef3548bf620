"""Connections to a Postgres: how they are made, kept for reading, and what their errors mean."""

from __future__ import annotations

import contextlib
import os
import threading
from collections import deque
from collections.abc import Generator, Sequence
from itertools import zip_longest
from typing import Any, Final, LiteralString
from urllib.parse import quote

import psycopg
from psycopg import errors
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from interlock.errors import DamagedError, InputError, LedgerError, UnavailableError
from interlock.ledger.stores.postgres_values import Value
from interlock.ledger.stores.postgres_wire import Wire

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
    """Connections that only read: as many as are needed at once, kept for the next time.

    Nothing runs in the background, and a server that is gone is told at once.
    """

    def __init__(self, address: Address) -> None:
        self._address = address
        self._idle: deque[Wire] = deque()
        self._places = threading.BoundedSemaphore(_MOST_READERS)
        self._is_closed = False

    def ask(self, statement: LiteralString, values: Sequence[Value]) -> list[tuple[Any, ...]]:
        """Run a statement that reads, and return all of its rows."""
        self._address.check_process()
        if self._is_closed:
            raise LedgerError(f"{self._address.name} is closed: open it again")
        with self._places, self._address.clear_errors("nothing could be read"):
            idle = self._taken()
            if idle is not None:
                try:
                    return self._asked(idle, statement, values)
                except psycopg.Error:
                    if not idle.is_lost:
                        raise
                    # The server was restarted, or somebody in between has lost patience.
                    self._drop_idle()
            return self._asked(Wire(self._address.connect()), statement, values)

    def close(self) -> None:
        """Close every connection that nobody is reading from; the others close after use."""
        self._is_closed = True
        self._drop_idle()

    def _taken(self) -> Wire | None:
        try:
            return self._idle.pop()
        except IndexError:
            return None

    def _asked(
        self, wire: Wire, statement: LiteralString, values: Sequence[Value]
    ) -> list[tuple[Any, ...]]:
        try:
            return wire.ask(statement, values)
        finally:
            if not wire.is_lost:
                self._idle.append(wire)
            if self._is_closed:
                self._drop_idle()

    def _drop_idle(self) -> None:
        while (wire := self._taken()) is not None:
            wire.close()


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
