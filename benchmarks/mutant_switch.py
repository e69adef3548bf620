"""Switch on one mutant, and note which tests reach which mutants.

`mutants.py` copies this file into the tree that it measures, as `interlock.mutant_switch`, where it
is a plugin of pytest as well. PYTEST_MUTANT holds the number of the mutant that is on, 0 for none,
or the test that reaches mutants; a process that was started without it asks its ancestors' notes.
"""

from __future__ import annotations

import os
from contextlib import suppress

TYPE_CHECKING = False
if TYPE_CHECKING:
    import pytest

WORK = "PYTEST_MUTANT"
_NOTES = os.path.abspath(os.path.join(__file__, *[os.pardir] * 4, "notes"))  # noqa: PTH100, PTH118 - starts fast


class _Process:
    """What this process works for."""

    def __init__(self) -> None:
        self.work: str | None = None
        self.mutant: int | None = None
        self.reached: set[int] = set()

    def begin(self, work: str | None = None) -> None:
        """Work for a mutant or a test; a process that has just been forked finds out later."""
        self.work, self.reached = work, set()
        self.mutant = int(work) if work and work.isdigit() else None


_PROCESS = _Process()
os.register_at_fork(after_in_child=_PROCESS.begin)


def is_on(number: int) -> bool:
    """Return whether a mutant is on; where none is chosen, note that it was reached."""
    if _PROCESS.work is None:
        _PROCESS.begin(os.environ.get(WORK) or _work_of_ancestors())
    if _PROCESS.mutant is None and number not in _PROCESS.reached:
        _PROCESS.reached.add(number)
        _write("reached", f"{_PROCESS.work}\t{number}\n")
    return number == _PROCESS.mutant


def work_for(work: str) -> None:
    """Have this process and those below it work for a mutant or a test."""
    os.environ[WORK] = work
    _PROCESS.begin(work)
    _write(f"processes/{os.getpid()}", work, os.O_TRUNC)


def pytest_runtest_logstart(nodeid: str) -> None:
    """Work for this test, unless for a mutant."""
    if _PROCESS.mutant is None and not os.environ.get(WORK, "").isdigit():
        work_for(nodeid)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Write down how long a step of a test took, and whether it failed."""
    name = f"run.{os.getpid()}" if os.environ.get(WORK, "").isdigit() else "tests"
    _write(name, f"{report.nodeid}\t{report.when}\t{report.duration:.4f}\t{report.outcome}\n")


def _write(name: str, text: str, how: int = os.O_APPEND) -> None:
    # Another user, a sandbox or an installed copy may have no such folder, or may not write to it.
    with suppress(OSError):
        file = os.open(f"{_NOTES}/{name}", os.O_WRONLY | os.O_CREAT | how, 0o666)
        os.write(file, text.encode())
        os.close(file)


def _work_of_ancestors() -> str:
    pid = os.getpid()
    with suppress(OSError, ValueError):
        while pid > 1:
            with suppress(FileNotFoundError), open(f"{_NOTES}/processes/{pid}") as work:  # noqa: PTH123 - starts fast
                return work.read()
            with open(f"/proc/{pid}/stat") as state:  # noqa: PTH123 - starts fast
                pid = int(state.read().rpartition(")")[2].split()[1])
    return ""
