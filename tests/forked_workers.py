"""Pytest plugin: collect the tests once, then run them in forked worker processes.

Collecting takes longer than running most folders. Workers forked after it share the collected
tests, the imported modules and their memory.
"""

from __future__ import annotations

import os
import tempfile
import warnings
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import groupby
from multiprocessing import connection, get_context
from multiprocessing.connection import Connection
from multiprocessing.context import ForkProcess
from typing import Any, Final

import pytest

_FORK: Final = get_context("fork")
_MAX_BATCH: Final = 60
_EXIT_TIMEOUT_SECONDS: Final = 60.0
_SLOW_FOLDERS: Final = tuple(
    "built_docs console loop crash server cli adapters supervision".split()
)
"""Started first, because single files in them run for a long time."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option `--workers`."""
    parser.addoption("--workers", type=int, default=0, help="run the tests in N forked processes")


def pytest_configure(config: pytest.Config) -> None:
    """Replace the loop that runs the tests if there are workers."""
    if workers := config.getoption("workers"):
        config.pluginmanager.register(_ForkedWorkers(workers))


class _ForkedWorkers:
    """Hands batches of tests to worker processes and relays their reports."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._batches: deque[list[int]] = deque()
        self._workers: dict[Connection, _Worker] = {}

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool | None:
        """Run all tests; leave a session that runs none to pytest."""
        if session.config.option.collectonly or session.testsfailed or not session.items:
            return None
        terminal: Any = session.config.pluginmanager.getplugin("terminalreporter")
        if terminal is not None:
            terminal.showfspath = False  # the files of several workers would alternate
        self._batches.extend(_batches(session.items))
        try:
            for _ in range(min(self._count, len(self._batches))):
                self._start_worker(session)
            while self._workers:
                for line in connection.wait(list(self._workers)):
                    assert isinstance(line, Connection)
                    self._receive(session, line)
                if session.shouldfail:
                    raise session.Failed(session.shouldfail)
                if session.shouldstop:
                    raise session.Interrupted(session.shouldstop)
        finally:
            for worker in self._workers.values():
                worker.end()
        return True

    def _start_worker(self, session: pytest.Session) -> None:
        ends: Any = connection.Pipe()
        ours, theirs = ends
        # A worker that held other workers' pipes open would hide their deaths.
        inherited = [ours, *self._workers]
        process = _FORK.Process(target=_work, args=(session, theirs, inherited))
        process.start()
        theirs.close()
        self._workers[ours] = _Worker(process, ours)

    def _receive(self, session: pytest.Session, line: Connection) -> None:
        worker = self._workers[line]
        try:
            message = line.recv()
        except (EOFError, OSError):
            del self._workers[line]
            self._replace_dead_worker(session, worker)
            return
        if message is None:
            batch = self._batches.popleft() if self._batches else []
            worker.unfinished.extend(batch)
            line.send(batch)
            return
        if isinstance(message, warnings.WarningMessage):
            fields = {"warning_message": message, "when": "runtest", "nodeid": "", "location": None}
            session.config.hook.pytest_warning_recorded.call_historic(kwargs=fields)
            return
        report: Any = session.config.hook.pytest_report_from_serializable(
            config=session.config, data=message
        )
        session.config.hook.pytest_runtest_logreport(report=report)
        if report.when == "teardown":
            item = session.items[worker.unfinished.popleft()]
            session.config.hook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)

    def _replace_dead_worker(self, session: pytest.Session, worker: _Worker) -> None:
        """Fail the test that the worker died in; hand the rest of its batch to a new worker."""
        worker.process.join()
        if not worker.unfinished:
            return
        item = session.items[worker.unfinished.popleft()]
        report = pytest.TestReport(
            nodeid=item.nodeid,
            location=item.location,
            keywords={},
            outcome="failed",
            longrepr=f"the worker process died with exit code {worker.process.exitcode}",
            when="call",
        )
        session.config.hook.pytest_runtest_logreport(report=report)
        if worker.unfinished:
            self._batches.append(list(worker.unfinished))
        if self._batches:
            self._start_worker(session)


class _Worker:
    """A worker process, on the parent's side."""

    def __init__(self, process: ForkProcess, line: Connection) -> None:
        self.process = process
        self.unfinished: deque[int] = deque()
        self._line = line

    def end(self) -> None:
        """Let the worker tear down its fixtures; kill it after a timeout."""
        self._line.close()
        self.process.join(_EXIT_TIMEOUT_SECONDS)
        self.process.kill()
        self.process.join()


class _Reporter:
    """Sends a worker's reports to its parent."""

    def __init__(self, config: pytest.Config, line: Connection) -> None:
        self._config = config
        self._line = line

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._line.send(
            self._config.hook.pytest_report_to_serializable(config=self._config, report=report)
        )

    def pytest_warning_recorded(self, warning_message: warnings.WarningMessage) -> None:
        self._line.send(warning_message)


def _work(session: pytest.Session, line: Connection, inherited: Iterable[Connection]) -> None:
    """Run tests in a worker until there are no more, or until the parent is gone."""
    for each in inherited:
        each.close()
    _isolate(session.config)
    session.config.pluginmanager.register(_Reporter(session.config, line))
    with suppress(EOFError, BrokenPipeError):
        try:
            for item, following in _with_next(session.items, _receive_numbers(line)):
                session.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        finally:
            session._setupstate.teardown_exact(None)


def _isolate(config: pytest.Config) -> None:
    """Give a worker its own output capture and temporary folder, and no terminal."""
    config.pluginmanager.unregister(name="terminalreporter")
    capture: Any = config.pluginmanager.getplugin("capturemanager")
    if capture is not None:
        capture.read_global_capture()
        capture.stop_global_capturing()
        capture.start_global_capturing()
    os.environ["PYTEST_DEBUG_TEMPROOT"] = tempfile.mkdtemp(prefix="w")


def _receive_numbers(line: Connection) -> Iterator[int]:
    while True:
        line.send(None)
        batch: list[int] = line.recv()
        if not batch:
            return
        yield from batch


def _with_next(
    items: Sequence[pytest.Item], numbers: Iterator[int]
) -> Iterator[tuple[pytest.Item, pytest.Item | None]]:
    """Yield each test with the next one, which decides what is torn down between the two."""
    last: pytest.Item | None = None
    for number in numbers:
        if last is not None:
            yield last, items[number]
        last = items[number]
    if last is not None:
        yield last, None


def _batches(items: Sequence[pytest.Item]) -> list[list[int]]:
    """Return batches of indexes into the tests: one file per batch or more, slow folders first."""
    by_file = [list(group) for _, group in groupby(range(len(items)), lambda n: items[n].path)]
    by_file.sort(key=lambda group: _rank(items[group[0]]))
    return [
        group[start : start + _MAX_BATCH]
        for group in by_file
        for start in range(0, len(group), _MAX_BATCH)
    ]


def _rank(item: pytest.Item) -> int:
    folder = item.path.parent.name
    return _SLOW_FOLDERS.index(folder) if folder in _SLOW_FOLDERS else len(_SLOW_FOLDERS)
