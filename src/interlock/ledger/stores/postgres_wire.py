"""Statements over one connection, any number of them there and back at once.

The driver's cursors take about three times the processor time for a group of statements, and
a third more for a single one. This speaks to the library below them: prepared statements,
binary values, everything in one go.
"""

from __future__ import annotations

import itertools
import selectors
from collections.abc import Sequence
from typing import Any, Final, LiteralString

import psycopg
from psycopg import errors
from psycopg.pq import DiagnosticField, ExecStatus, TransactionStatus
from psycopg.pq.abc import PGresult

from interlock.ledger.stores.postgres_values import AS_RECEIVED, Step, Value, as_sent

_BINARY: Final = 1
_Selector: Final = getattr(selectors, "PollSelector", selectors.SelectSelector)
_SUCCESS: Final = (ExecStatus.TUPLES_OK, ExecStatus.COMMAND_OK)
_Table = list[tuple[Any, ...]]


class Wire:
    """A connection on which statements are prepared as they are first met; for one thread."""

    def __init__(self, connection: psycopg.Connection) -> None:
        self._connection = connection
        self._link = connection.pgconn
        self._prepared: dict[str, bytes] = {}
        self._names = itertools.count()
        self._selector: selectors.BaseSelector = _Selector()
        self._selector.register(self._link.socket, selectors.EVENT_READ)

    @property
    def is_lost(self) -> bool:
        """Whether nothing can be said over it any more."""
        return self._connection.closed

    @property
    def is_idle(self) -> bool:
        """Whether no transaction is open."""
        return self._link.transaction_status == TransactionStatus.IDLE

    def ask(self, statement: LiteralString, values: Sequence[Value]) -> _Table:
        """Run one statement and return its rows."""
        return self.exchange([(statement, values)])[0]

    def exchange(self, steps: Sequence[Step]) -> list[_Table]:
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
        self, statement: LiteralString, values: Sequence[tuple[int, bytes | None]]
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


def _table(result: PGresult) -> _Table:
    """Return the rows of an answer."""
    columns = range(result.nfields)
    read = [AS_RECEIVED[result.ftype(column)] for column in columns]
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
