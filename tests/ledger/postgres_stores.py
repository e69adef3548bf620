"""What tests of the Postgres store share: rows, other processes, and a line that loses answers."""

from __future__ import annotations

import socket
import subprocess
import threading
from collections.abc import Generator
from contextlib import ExitStack, closing, contextmanager, suppress
from textwrap import dedent
from urllib.parse import urlsplit

import psycopg

from interlock.ledger.stores.postgres import PostgresStore
from interlock.model.rows import Changes, RecordRow, RunRow
from warm_python import PythonProcess


def answers(url: str, statement: str) -> list[tuple[object, ...]]:
    with closing(psycopg.connect(url, autocommit=True)) as connection:
        cursor = connection.execute(statement.encode())
        return cursor.fetchall() if cursor.description else []


def a_record(run_id: str = "r1", seq: int = 1) -> RecordRow:
    return RecordRow(run_id, seq, 1, "violation-recorded", b"{}", f"hash {seq}")


def a_run(run_id: str, *, task: str = "mend") -> RunRow:
    return RunRow(run_id, 1, "h", "s", "k", 1, 1, "running", "coder", "shop", None, task, "")


def changes_with(*records: RecordRow) -> Changes:
    changes = Changes()
    changes.records.extend(records)
    return changes


def write(store: PostgresStore, *records: RecordRow) -> None:
    store.begin([f"run/{row.run_id}" for row in records])
    store.commit(changes_with(*records))


def started(stack: ExitStack, program: str, *arguments: str) -> subprocess.Popen[str]:
    process = stack.enter_context(
        PythonProcess[str](
            ["-c", dedent(program), *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
    )
    stack.callback(process.kill)
    return process


def said(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def tell(process: subprocess.Popen[str]) -> None:
    assert process.stdin is not None
    process.stdin.write("go\n")
    process.stdin.flush()


class Line:
    """A line to a server that can lose an answer after the server has given it."""

    def __init__(self, server: str, entrance: socket.socket) -> None:
        self._server = server
        self._entrance = entrance
        self._swallows = threading.Event()
        self._hangs_up = False
        self._ends: list[socket.socket] = []
        self._threads: list[threading.Thread] = []
        self.url = ""

    def swallow_next_answer(self, *, and_hang_up: bool = False) -> None:
        self._hangs_up = and_hang_up
        self._swallows.set()

    def serve(self) -> None:
        while True:
            try:
                inside, _ = self._entrance.accept()
            except OSError:
                return
            outside = socket.socket(socket.AF_UNIX)
            outside.connect(self._server)
            self._ends += [inside, outside]
            for target, ends in ((self._ask, (inside, outside)), (self._answer, (outside, inside))):
                thread = threading.Thread(target=target, args=ends)
                self._threads.append(thread)
                thread.start()

    def close(self) -> None:
        """Hang up; call once nobody is let in any more."""
        for end in self._ends:
            _hang_up(end)
        for thread in self._threads:
            thread.join()
        for end in self._ends:
            end.close()

    def _ask(self, source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(65536):
                target.sendall(data)
        _hang_up(target)

    def _answer(self, source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            while (data := source.recv(65536)) and not self._swallows.is_set():
                target.sendall(data)
        if self._swallows.is_set() and self._hangs_up:
            _hang_up(self._entrance)
        self._swallows.clear()
        _hang_up(target)


def _hang_up(line: socket.socket) -> None:
    with suppress(OSError):
        line.shutdown(socket.SHUT_RDWR)


@contextmanager
def line_to(url: str) -> Generator[Line]:
    """A line to the server of a database, which listens on a port of this machine."""
    parts = urlsplit(url)
    folder = parts.query.partition("host=")[2]
    with socket.create_server(("127.0.0.1", 0)) as entrance:
        line = Line(f"{folder}/.s.PGSQL.5432", entrance)
        port = entrance.getsockname()[1]
        line.url = f"postgresql://postgres@127.0.0.1:{port}{parts.path}?sslmode=disable"
        thread = threading.Thread(target=line.serve)
        thread.start()
        try:
            yield line
        finally:
            _hang_up(entrance)
            thread.join()
            line.close()
