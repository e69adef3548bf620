"""Run tests over the tree of mutants: `mutants.py` starts this with the tree's own Python.

All tests are collected once; then each mutant gets a fork of this process, in which it is switched
on and the tests that reach it run one after another until one fails. What is computed while modules
are imported needs a fresh process instead.
"""

from __future__ import annotations

import os
import signal
import sys
import time
import traceback
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import Any, Final, Literal, TypeVar, cast

import msgspec
import pytest

Status = Literal["killed", "survived", "timed out", "unreached", "missing"]
_OPTIONS: Final = ("-q", "-p", "no:cacheprovider")
_MIN_CPU_LIMIT_SECONDS: Final = 20.0
_CPU_LIMIT_FACTOR: Final = 10.0
"""What a test may use of the processor, by what it took in the probe."""
_WALL_LIMIT_SECONDS: Final = 180.0
"""How long the tests of a mutant may take beyond four times what they took in the probe."""
_PAUSE_SECONDS: Final = 10.0
"""Longer than that the loop never waits: everything was suspended, so time limits mean nothing."""
_NO_MUTANT: Final = 0
_Line = TypeVar("_Line")


class Measured(msgspec.Struct, frozen=True):
    """A test of the probe."""

    test: str
    seconds: float
    failed: bool


class Job(msgspec.Struct, frozen=True):
    """A mutant and the tests to run, in order; those for a fresh process come last."""

    number: int
    tests: Sequence[str]
    fresh_tests: Sequence[str] = ()
    is_fresh: bool = False
    verifies: str = ""
    """The test that is run with no mutant on, to see whether it passes."""


class Result(msgspec.Struct, frozen=True):
    """What became of a mutant."""

    number: int
    status: Status
    test: str = ""
    """The test that killed it."""
    tried: int = 0
    is_fresh: bool = False
    cpu_seconds: float = 0.0


class Order(msgspec.Struct, frozen=True):
    """Everything that a process which runs tests has to know."""

    jobs: Sequence[Job]
    results: str
    """The file that results are appended to."""
    notes: str
    """The folder of `mutant_switch`."""
    measured: str
    workers: int = 2


def read_lines(path: Path, kind: type[_Line]) -> list[_Line]:
    """Return the values in a file of JSON lines, none if there is no such file."""
    lines = path.read_bytes().splitlines() if path.exists() else []
    return [msgspec.json.decode(line, type=kind) for line in lines]


def append_line(path: Path, value: msgspec.Struct) -> None:
    """Append one JSON line."""
    with path.open("ab") as file:
        file.write(msgspec.json.encode(value) + b"\n")


class _Recorder:
    """Writes down how long each test of the probe took, and whether it failed."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._seconds = dict[str, float]()
        self._failed = set[str]()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        seconds = self._seconds.get(report.nodeid, 0.0) + report.duration
        self._seconds[report.nodeid] = seconds
        if report.failed:
            self._failed.add(report.nodeid)
        if report.when == "teardown":
            failed = report.nodeid in self._failed
            append_line(self._path, Measured(report.nodeid, round(seconds, 4), failed))


class _Runner:
    """Runs the jobs of an order in place of pytest's own loop."""

    def __init__(self, order: Order, screen: int | None) -> None:
        """Take an order; without a screen to report to, run its only job in this process."""
        self._order = order
        self._screen = screen
        self._seconds = {
            each.test: each.seconds for each in read_lines(Path(order.measured), Measured)
        }
        self._items: Mapping[str, pytest.Item] = {}
        self._caches: Sequence[Callable[[], None]] = ()
        self._failed = ""
        self._waiting = deque(order.jobs)
        self._passes = dict[str, bool]()
        """Whether a test passes with no mutant on, as far as that is known."""
        self._held = defaultdict[str, list[tuple[Job, Result]]](list)
        self._cpu_seconds = 0.0
        self._done = 0

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self._failed = self._failed or report.nodeid

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        self._items = {item.nodeid: item for item in session.items}
        if self._screen is None:
            self._failed = "collection" if session.testsfailed else ""
            self._run(session, self._order.jobs[0])
        else:
            self._caches = _caches()
            self._warm_up(session)
            self._run_all(session, self._screen)
        return True

    def _warm_up(self, session: pytest.Session) -> None:
        """Let no mutant make what all forks share: a database to copy from."""
        for item in self._items.values():
            if "postgres_template" in cast("Any", item).fixturenames:
                os.waitpid(self._fork(session, Job(_NO_MUTANT, [item.nodeid])), 0)
                return

    def _run_all(self, session: pytest.Session, screen: int) -> None:
        """Run each job in a process of its own, a few at a time."""
        waiting, running = self._waiting, dict[int, tuple[Job, float]]()
        looked = time.monotonic()
        while waiting or running:
            if time.monotonic() - looked > _PAUSE_SECONDS:
                for pid in running:
                    _kill_tree(pid)
                waiting.extendleft(job for job, _ in running.values())
                running.clear()
            looked = time.monotonic()
            while waiting and len(running) < self._order.workers:
                job = waiting.popleft()
                limit = _WALL_LIMIT_SECONDS + 4 * sum(self._seconds.get(t, 1) for t in job.tests)
                running[self._fork(session, job)] = job, time.monotonic() + limit
            pid, status, usage = os.wait4(-1, os.WNOHANG)
            if pid in running:
                cpu_seconds = round(usage.ru_utime + usage.ru_stime, 2)
                self._cpu_seconds += cpu_seconds
                job, _ = running.pop(pid)
                for verdict in self._confirmed(job, self._result(pid, job, status, cpu_seconds)):
                    os.write(screen, self._settle(*verdict).encode())
            else:
                for overdue in [pid for pid, (_, end) in running.items() if looked > end]:
                    _kill_tree(overdue)
                time.sleep(0.02)

    def _confirmed(self, job: Job, result: Result) -> list[tuple[Job, Result]]:
        """Return what is certain now: a test that fails is run with no mutant on as well."""
        if job.verifies:
            self._passes[job.verifies] = result.status == "survived"
            return self._held.pop(job.verifies)
        if not result.test or result.test in self._passes:
            return [(job, result)]
        if result.test not in self._held:
            is_fresh = result.test not in self._items
            tests = job.tests[:1] if is_fresh else [result.test]
            verification = Job(_NO_MUTANT, tests, is_fresh=is_fresh, verifies=result.test)
            self._waiting.appendleft(verification)
        self._held[result.test].append((job, result))
        return []

    def _settle(self, job: Job, result: Result) -> str:
        """Write down a result, or go on with the search; return a line about it."""
        if result.test and not self._passes[result.test]:
            left = [test for test in job.tests[result.tried :] if self._passes.get(test, True)]
            if left:
                self._waiting.append(msgspec.structs.replace(job, tests=left))
                return f"ignored {result.test}, which fails with no mutant on\n"
            result = msgspec.structs.replace(result, status="survived", test="")
        if result.status == "survived" and job.fresh_tests:
            self._waiting.append(Job(job.number, job.fresh_tests, is_fresh=True))
            return ""
        append_line(Path(self._order.results), result)
        self._done += 1
        place = f"{self._done}/{len(self._order.jobs)} ({self._cpu_seconds:.0f} s)"
        return f"{place} mutant {result.number}: {result.status} {result.test}\n"

    def _fork(self, session: pytest.Session, job: Job) -> int:
        """Start a process for a job."""
        pid = os.fork()
        if pid:
            return pid
        try:
            os.setsid()
            os.environ["INTERLOCK_MUTANT"] = str(job.number)
            (Path(self._order.notes) / "processes" / str(os.getpid())).write_text(str(job.number))
            if job.is_fresh:
                order = msgspec.structs.replace(self._order, jobs=[job])
                path = self._path("order", os.getpid())
                path.write_bytes(msgspec.json.encode(order))
                os.execv(sys.executable, [sys.executable, __file__, "fresh", str(path)])
            for empty in self._caches:
                empty()
            capture = cast("Any", session.config.pluginmanager.get_plugin("capturemanager"))
            capture.stop_global_capturing()
            capture.start_global_capturing()
            self._run(session, job)
        except BaseException:  # noqa: BLE001 - the parent takes no result for a failure of ours
            self._path("broken", os.getpid()).write_text(traceback.format_exc())
        finally:
            os._exit(0)  # the parent's plugins end in the parent

    def _run(self, session: pytest.Session, job: Job) -> None:
        """Run the tests of a job in this process until one fails."""
        path, tried = self._path("result", os.getpid()), 0
        items = [self._items[test] for test in job.tests if test in self._items]
        for item, following in zip(items, [*items[1:], None], strict=False):
            if self._failed:
                break
            tried += 1
            # Holds if this process does not get through the test.
            died = Result(job.number, "killed", item.nodeid, tried, job.is_fresh)
            path.write_bytes(msgspec.json.encode(died))
            took = self._seconds.get(item.nodeid, 1.0)
            limit = max(_MIN_CPU_LIMIT_SECONDS, _CPU_LIMIT_FACTOR * took)
            signal.setitimer(signal.ITIMER_PROF, limit)
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        status: Status = "killed" if self._failed else "survived"
        result = Result(job.number, status, self._failed, tried, job.is_fresh)
        path.write_bytes(msgspec.json.encode(result))
        cast("Any", session)._setupstate.teardown_exact(None)  # noqa: SLF001 - ends what fixtures started

    def _result(self, pid: int, job: Job, status: int, cpu_seconds: float) -> Result:
        path = self._path("result", pid)
        with suppress(ProcessLookupError):
            os.killpg(pid, signal.SIGKILL)
        if not path.exists():
            if not job.is_fresh:
                raise RuntimeError(self._path("broken", pid).read_text())
            result = Result(job.number, "killed", "collection", 0, job.is_fresh)
        else:
            result = msgspec.json.decode(path.read_bytes(), type=Result)
            path.unlink()
        if os.WIFSIGNALED(status) and os.WTERMSIG(status) in {signal.SIGPROF, signal.SIGKILL}:
            result = msgspec.structs.replace(result, status="timed out")
        return msgspec.structs.replace(result, cpu_seconds=cpu_seconds)

    def _path(self, kind: str, pid: int) -> Path:
        return Path(self._order.notes) / f"{kind}.{pid}"


def _caches() -> list[Callable[[], None]]:
    """Return what empties each cache of ours: their values were computed with no mutant on."""
    here = str(Path.cwd())
    own = [each for each in list(sys.modules.values()) if _is_below(each, here)]
    values = [value for module in own for value in vars(module).values()]
    return [
        value.cache_clear
        for value in values
        if not isinstance(value, type) and hasattr(value, "cache_clear")
    ]


def _is_below(module: ModuleType, folder: str) -> bool:
    path: str = getattr(module, "__file__", None) or ""
    return path.startswith(folder) and "/site-packages/" not in path


def _kill_tree(pid: int) -> None:
    """Kill a process with all that it started."""
    for each in [*_below(pid), pid]:
        with suppress(ProcessLookupError):
            os.kill(each, signal.SIGKILL)


def _below(pid: int) -> Iterable[int]:
    with suppress(OSError):
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text()
        for child in map(int, children.split()):
            yield from _below(child)
            yield child


def main() -> None:
    """Probe, or run an order of jobs."""
    how, path, *arguments = sys.argv[1:]
    del sys.path[0]  # the tree has its own copy of this folder
    if how == "probe":
        options = [*_OPTIONS, "-p", "interlock.mutant_switch", *arguments]
        sys.exit(pytest.main(options, [_Recorder(Path(path))]))
    order = msgspec.json.decode(Path(path).read_bytes(), type=Order)
    screen = os.dup(1) if how == "kill" else None
    if screen is not None:
        log = os.open(f"{order.notes}/log", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.dup2(log, 1)
        os.dup2(log, 2)
    files = {
        test.partition("::")[0] for job in order.jobs for test in (*job.tests, *job.fresh_tests)
    }
    files = sorted(file for file in files if Path(file).exists())
    options = ["--continue-on-collection-errors"]
    pytest.main([*_OPTIONS, *options, *files], [_Runner(order, screen)])


if __name__ == "__main__":
    main()
