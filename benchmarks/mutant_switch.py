"""Switch on one mutant, and note which tests reach which mutants.

`mutants.py` copies this file into the tree of mutants as `interlock.mutant_switch`. The mutant is
the number in INTERLOCK_MUTANT; a process that was started with an environment of its own takes it
from the nearest ancestor that left a word in the folder `processes`. With no mutant on, each one
that is reached is noted beside the current test. For that run this is a pytest plugin as well.
"""

from __future__ import annotations

import os
from contextlib import suppress

TYPE_CHECKING = False
if TYPE_CHECKING:
    import pytest

_NOTES = os.path.abspath(os.path.join(__file__, *[os.pardir] * 4, "notes"))  # noqa: PTH100, PTH118 - starts fast


class _Process:
    """What this process has switched on, or which test it works for."""

    def __init__(self) -> None:
        self.pid = 0
        self.mutant: int | None = None
        self.test = ""
        self.runs_tests = False
        self.reached: set[int] = set()

    def begin(self) -> None:
        """Find out what holds in a process that has just started, or was just forked."""
        word = _word_of_ancestors()
        mutant = os.environ.get("INTERLOCK_MUTANT") or (word if word.isdigit() else "")
        self.mutant = int(mutant) if mutant else None
        test, _, _ = os.environ.get("PYTEST_CURRENT_TEST", "").rpartition(" (")
        self.turn_to(test or word)
        self.runs_tests = False
        self.pid = os.getpid()

    def turn_to(self, test: str) -> None:
        """Note what comes for another test."""
        self.test = test
        self.reached = set()

    def note(self, number: int) -> None:
        """Remember a mutant; a process that pytest does not end in order writes immediately."""
        self.reached.add(number)
        if not (self.runs_tests and self.test):
            _append(f"reached/{self.pid}", f"{self.test}\t{number}\n")


_PROCESS = _Process()


def is_on(number: int) -> bool:
    """Return whether a mutant is switched on; where none is, note that it was reached."""
    if _PROCESS.pid != os.getpid():
        _PROCESS.begin()
    if _PROCESS.mutant is None and number not in _PROCESS.reached:
        _PROCESS.note(number)
    return _PROCESS.mutant == number


def leave_word(word: str) -> None:
    """Tell the processes below this one which mutant is on, or which test runs."""
    path = f"{_NOTES}/processes/{os.getpid()}"
    with suppress(OSError):
        os.unlink(path)  # noqa: PTH108 - starts fast
    _append(f"processes/{os.getpid()}", word)


def pytest_configure() -> None:
    """Work for no test until one starts."""
    _PROCESS.begin()
    _PROCESS.turn_to("")
    _PROCESS.runs_tests = True


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Write down which tests there are; leave out those that an earlier run has measured."""
    with suppress(OSError), open(f"{_NOTES}/collected", "w") as lines:  # noqa: PTH123 - starts fast
        lines.writelines(f"{each.nodeid}\n" for each in items)
    with suppress(OSError), open(f"{_NOTES}/measured") as lines:  # noqa: PTH123 - starts fast
        measured = set(lines.read().splitlines())
        config.hook.pytest_deselected(items=[each for each in items if each.nodeid in measured])
        items[:] = [each for each in items if each.nodeid not in measured]


def pytest_runtest_logstart(nodeid: str) -> None:
    """Work for a test from here on."""
    _PROCESS.turn_to(nodeid)
    leave_word(nodeid)


def pytest_runtest_logfinish(nodeid: str) -> None:
    """Write down what the test reached."""
    if _PROCESS.reached:
        numbers = " ".join(map(str, sorted(_PROCESS.reached)))
        _append(f"reached/{os.getpid()}", f"{nodeid}\t{numbers}\n")
    _PROCESS.turn_to("")


def _append(name: str, text: str) -> None:
    # Another user, a sandbox or an installed copy may have no such folder, or may not write to it.
    with suppress(OSError):
        file = os.open(f"{_NOTES}/{name}", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
        os.write(file, text.encode())
        os.close(file)


def _word_of_ancestors() -> str:
    pid = os.getpid()
    with suppress(OSError, ValueError):
        while pid > 1:
            with suppress(FileNotFoundError), open(f"{_NOTES}/processes/{pid}") as word:  # noqa: PTH123 - starts fast
                return word.read()
            with open(f"/proc/{pid}/stat") as state:  # noqa: PTH123 - starts fast
                pid = int(state.read().rpartition(")")[2].split()[1])
    return ""
