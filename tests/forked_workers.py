"""Runs the collected tests in forked processes, so that one collection serves all of them.

Collecting takes longer than running most folders. Workers that are forked afterwards share the
collected tests, the imported modules and their memory.
"""

from __future__ import annotations

import os
import signal
import tempfile
import traceback
import warnings
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import groupby
from multiprocessing import connection, get_context
from multiprocessing.connection import Connection
from multiprocessing.context import ForkProcess
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final, NamedTuple, NoReturn

import pytest
from _pytest._io import TerminalWriter

_FORK: Final = get_context("fork")
_MAX_BATCH: Final = 60
_EXIT_TIMEOUT_SECONDS: Final = 60.0
_SLOW_FOLDERS: Final = tuple(
    "server loop built_docs console crash cli tests adapters supervision".split()
)
"""Started first, those that often wait before the others: the linters run at the same time."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let a session be run by several processes."""
    parser.addoption("--workers", type=int, default=0, help="run the tests in N forked processes")


def pytest_configure(config: pytest.Config) -> None:
    """Take over the loop that runs the tests where workers were asked for."""
    if workers := config.getoption("workers"):
        if workers < 0:
            raise pytest.UsageError(f"--workers takes a number of processes, not {workers}")
        config.pluginmanager.register(_ForkedWorkers(workers))


class _ForkedWorkers:
    """Hands batches of tests to worker processes and reports what they report."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._batches: deque[list[int]] = deque()
        self._workers: dict[Connection, _Worker] = {}

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool | None:
        """Run all tests; leave a session without tests to run to pytest itself."""
        if session.config.option.collectonly or session.testsfailed or not session.items:
            return None
        terminal: Any = session.config.pluginmanager.getplugin("terminalreporter")
        if terminal is not None:
            terminal.showfspath = False  # the files of several workers would alternate
        self._batches.extend(_batches(session.items))
        previous_handler = signal.signal(signal.SIGTERM, self._interrupt)
        try:
            for _ in range(min(self._count, len(self._batches))):
                self._start_worker(session)
            while self._workers:
                for pipe in connection.wait(list(self._workers)):
                    assert isinstance(pipe, Connection)
                    self._receive(session, pipe)
                if session.shouldfail:
                    raise session.Failed(session.shouldfail)
                if session.shouldstop:
                    raise session.Interrupted(session.shouldstop)
        finally:
            _end(list(self._workers.values()))
            signal.signal(signal.SIGTERM, previous_handler)
        return True

    def _interrupt(self, *_: object) -> NoReturn:
        """Be interrupted by what ends a job as by Ctrl-C, which reaches the workers as well."""
        for worker in self._workers.values():
            signal.pidfd_send_signal(worker.pidfd, signal.SIGINT)
        raise KeyboardInterrupt

    def _start_worker(self, session: pytest.Session) -> None:
        ends: Any = connection.Pipe()
        ours, theirs = ends
        # Inherited ends would hide that another worker has died.
        inherited = [ours, *self._workers]
        process = _FORK.Process(target=_work, args=(session, theirs, inherited))
        process.start()
        theirs.close()
        self._workers[ours] = _Worker(process, ours)

    def _receive(self, session: pytest.Session, pipe: Connection) -> None:
        worker = self._workers[pipe]
        try:
            message = pipe.recv()
        except (EOFError, OSError):
            del self._workers[pipe]
            self._report_death(session, worker)
            return
        if message is None:
            batch = self._take_batch(session, worker)
            worker.unfinished.extend(batch)
            worker.has_no_more_tests = not batch
            with suppress(BrokenPipeError):  # it has died since: the next message is its end
                pipe.send(batch)
            return
        if isinstance(message, _Warning):
            session.config.hook.pytest_warning_recorded.call_historic(kwargs=message.fields())
            return
        if isinstance(message, str):
            worker.error = message
            return
        hook = session.config.hook
        for data in message:
            report: Any = hook.pytest_report_from_serializable(config=session.config, data=data)
            hook.pytest_runtest_logreport(report=report)
            if report.when == "teardown":
                item = session.items[worker.unfinished.popleft()]
                hook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)

    def _take_batch(self, session: pytest.Session, worker: _Worker) -> list[int]:
        """Return tests from the folder that a worker is at, or from the one with fewest workers.

        What the tests of a folder share, such as a browser, is then started by few workers.
        """
        if not self._batches:
            return []
        workers_at = Counter(each.folder for each in self._workers.values())

        def rank(batch: list[int]) -> tuple[bool, int]:
            folder = session.items[batch[0]].path.parent
            return folder != worker.folder, workers_at[folder]

        batch = min(self._batches, key=rank)
        self._batches.remove(batch)
        worker.folder = session.items[batch[0]].path.parent
        return batch

    def _report_death(self, session: pytest.Session, worker: _Worker) -> None:
        """Report a worker that died and the test it was at; a new one takes over what it left."""
        _end([worker])
        code = worker.process.exitcode
        if worker.has_no_more_tests and not worker.unfinished and code == 0:
            return
        place: tuple[str, int | None, str] = ("", None, "a worker process")
        nodeid = place[2]
        if worker.unfinished:
            item = session.items[worker.unfinished.popleft()]
            nodeid, place = item.nodeid, item.location
            # A worker that never had a test is not replaced: the next one would die as well.
            if worker.unfinished:
                self._batches.append(list(worker.unfinished))
            if self._batches:
                self._start_worker(session)
        report = pytest.TestReport(
            nodeid=nodeid,
            location=place,
            keywords={},
            outcome="failed",
            longrepr=worker.error or f"the worker process died with exit code {code}",
            when="call" if nodeid != place[2] else "teardown",
        )
        session.config.hook.pytest_runtest_logreport(report=report)


class _Worker:
    """A worker process as its parent sees it."""

    def __init__(self, process: ForkProcess, pipe: Connection) -> None:
        self.process = process
        self.pipe = pipe
        # What `join` waits for is open in the processes that a test forked as well.
        self.pidfd = os.pidfd_open(process.pid or 0)
        self.unfinished: deque[int] = deque()
        self.folder: Path | None = None
        self.has_no_more_tests = False
        self.error = ""


def _end(workers: Sequence[_Worker]) -> None:
    """Have them tear down what they set up, and end those that do not."""
    for each in workers:
        each.pipe.close()
    try:
        for each in workers:
            if not connection.wait([each.pidfd], _EXIT_TIMEOUT_SECONDS):
                each.error = f"the worker process did not end in {_EXIT_TIMEOUT_SECONDS} s"
    finally:
        for each in workers:
            each.process.kill()
            each.process.join()
            os.close(each.pidfd)


class _Warning(NamedTuple):
    """A warning without its object, which need not survive being sent."""

    message: str
    category: str
    filename: str
    line_number: int
    when: str
    nodeid: str
    location: tuple[str, int, str] | None

    def fields(self) -> dict[str, object]:
        """Return what pytest's hook takes."""
        category = type(self.category, (Warning,), {})
        warning = warnings.WarningMessage(self.message, category, self.filename, self.line_number)
        fields = {"when": self.when, "nodeid": self.nodeid, "location": self.location}
        return {"warning_message": warning, **fields}


class _Reporter:
    """Sends a worker's reports to its parent, those of a test that passes in one message."""

    def __init__(self, config: pytest.Config, pipe: Connection) -> None:
        self._config = config
        self._pipe = pipe
        self._unsent: list[object] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if self._pipe.closed:
            os._exit(1)  # a process that a test forked, and that left the test
        hook = self._config.hook
        self._unsent.append(hook.pytest_report_to_serializable(config=self._config, report=report))
        if report.when == "teardown" or not report.passed:
            self._pipe.send(self._unsent)
            self._unsent = []

    def pytest_warning_recorded(
        self,
        warning_message: warnings.WarningMessage,
        when: str,
        nodeid: str,
        location: tuple[str, int, str] | None,
    ) -> None:
        message, category = str(warning_message.message), warning_message.category.__name__
        place = warning_message.filename, warning_message.lineno
        self._pipe.send(_Warning(message, category, *place, when, nodeid, location))


def _work(session: pytest.Session, pipe: Connection, inherited: Iterable[Connection]) -> None:
    """Run tests in a worker until there are no more, or until the parent is gone."""
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    for each in inherited:
        each.close()
    # A process that a test forks would hide that this one has died.
    os.register_at_fork(after_in_child=pipe.close)
    try:
        _separate_from_parent(session.config)
        session.config.pluginmanager.register(_Reporter(session.config, pipe))
        try:
            for item, following in _with_next(session.items, _received(pipe)):
                session.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        finally:
            session._setupstate.teardown_exact(None)
    except (EOFError, ConnectionError):
        return
    except BaseException:  # noqa: BLE001 - an exit and an interrupt have to be reported as well
        with suppress(OSError):
            pipe.send(f"the worker process broke:\n{traceback.format_exc()}")
    finally:
        pipe.close()  # it may take long to end, with the threads that tests left


def _separate_from_parent(config: pytest.Config) -> None:
    """Give a worker captured output and temporary files of its own, and no terminal."""
    if config.pluginmanager.hasplugin("terminalreporter"):
        config.pluginmanager.unregister(name="terminalreporter")
    # What is written to the terminal beside the reports, as the stacks of a timeout, is captured.
    writer = TerminalWriter(open(2, "w", closefd=False))  # noqa: SIM115 - open to the end
    config.pluginmanager.register(SimpleNamespace(_tw=writer), "terminalreporter")
    capture: Any = config.pluginmanager.getplugin("capturemanager")
    if capture is not None:
        capture.read_global_capture()
        capture.stop_global_capturing()
        capture.start_global_capturing()
    given: Path | None = None
    if (factory := vars(config).get("_tmp_path_factory")) is not None:
        # pytest empties the folder it is given, under the feet of the others.
        given, factory._given_basetemp = factory._given_basetemp, None
    if given is not None:
        given.mkdir(parents=True, exist_ok=True)
    os.environ["PYTEST_DEBUG_TEMPROOT"] = tempfile.mkdtemp(prefix="w", dir=given)


def _received(pipe: Connection) -> Iterator[int]:
    while True:
        pipe.send(None)
        batch: list[int] = pipe.recv()
        if not batch:
            return
        yield from batch


def _with_next(
    items: Sequence[pytest.Item], numbers: Iterator[int]
) -> Iterator[tuple[pytest.Item, pytest.Item | None]]:
    """Yield each test with its successor, which decides what is torn down between the two."""
    last: pytest.Item | None = None
    for number in numbers:
        if last is not None:
            yield last, items[number]
        last = items[number]
    if last is not None:
        yield last, None


def _batches(items: Sequence[pytest.Item]) -> list[list[int]]:
    """Return the numbers of the tests file by file, slow folders first."""
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
