"""A crew: real processes that a test lets loose on one ledger at the same moment."""

from __future__ import annotations

import fcntl
import os
import signal
import socket
import subprocess
from collections.abc import Callable, Generator, Sequence
from contextlib import ExitStack, contextmanager
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TypeVar, cast

from concurrency.member import Done, Hello, Leave, Member, Order, Ready, Told
from concurrency.places import Place
from interlock.errors import InterlockError
from patience import LONG_ENOUGH_S
from warm_python import PythonProcess

TESTS = Path(__file__).parents[1]
T = TypeVar("T")
R = TypeVar("R")


class Crew:
    """So many processes, each on a line of its own."""

    def __init__(self, lines: Sequence[Connection], gate: Path) -> None:
        self._lines = list(lines)
        self._gate = gate
        self._gate.touch()
        self._busy: set[int] = set()
        """The processes that have not said yet what came of their order."""
        self._last: dict[int, Done] = {}
        """What was heard already of how a job ended."""
        self._pids = [self._heard(number, Hello).pid for number in range(len(lines))]

    def __len__(self) -> int:
        return len(self._lines)

    @property
    def agent(self) -> int:
        """One of them by its number, for a run that has its agent there and not here."""
        return self._pids[0]

    def detached(self, count: int) -> Crew:
        """Return a crew of some members, who from now on belong to it alone."""
        assert count <= len(self._lines), f"{len(self._lines)} members are left, {count} are wanted"
        crew = Crew([], self._gate)
        crew._busy = self._busy
        crew._lines, self._lines = self._lines[:count], self._lines[count:]
        crew._pids, self._pids = self._pids[:count], self._pids[count:]
        return crew

    def at_once(
        self,
        place: Place | Sequence[Place],
        job: Callable[[Member, T], R],
        tasks: Sequence[T],
        *,
        first: int = 0,
    ) -> list[R]:
        """Give each task to a member; let all go at the same moment; return what came of them.

        Several places are one for each task.
        """
        outcomes = self.outcomes(place, job, tasks, first=first)
        for outcome in outcomes:
            if isinstance(outcome, InterlockError):
                raise outcome
        return cast("list[R]", outcomes)

    def outcomes(
        self,
        place: Place | Sequence[Place],
        job: Callable[[Member, T], R],
        tasks: Sequence[T],
        *,
        first: int = 0,
    ) -> list[R | InterlockError]:
        """Do the same where some are expected to fail."""
        self.begin(place, job, tasks, first=first)
        return [cast("R | InterlockError", self.ended(first + each)) for each in range(len(tasks))]

    def begin(
        self,
        place: Place | Sequence[Place],
        job: Callable[[Member, T], R],
        tasks: Sequence[T],
        *,
        first: int = 0,
    ) -> None:
        """Let all go at the same moment, and do not wait for what comes of them."""
        numbers = range(first, first + len(tasks))
        places = [place] * len(tasks) if isinstance(place, Place) else place
        with self._gate.open() as gate:
            fcntl.flock(gate, fcntl.LOCK_EX)
            for number, where, task in zip(numbers, places, tasks, strict=True):
                order = Order(place=where, gate=self._gate, job=job, task=task)
                self._lines[number].send(order)
                self._busy.add(self._pids[number])
            for number in numbers:
                self._heard(number, Ready)

    def told(self, number: int) -> object:
        """Wait for a member's job to say something."""
        return self._heard(number, Told).what

    def goes_on(self, number: int) -> bool:
        """Wait for a member's job to say something or to end; return which."""
        line = self._lines[number]
        assert line.poll(LONG_ENOUGH_S), f"member {number} said nothing for {LONG_ENOUGH_S} s"
        message = line.recv()
        if isinstance(message, Done):
            self._last[number] = message
        return isinstance(message, Told)

    def ended(self, number: int) -> object:
        """Wait for a member's job to end; return its result, or the error that it ended with."""
        done = self._last.pop(number, None) or self._heard(number, Done)
        self._busy.discard(self._pids[number])
        if isinstance(done.error, InterlockError):
            return done.error
        if done.error is not None:
            raise AssertionError(f"member {number}: {done.trace}") from done.error
        return done.result

    def kill(self, number: int) -> list[object]:
        """End a member as `kill -9` does; return what it still said."""
        os.kill(self._pids[number], signal.SIGKILL)
        self._busy.discard(self._pids[number])
        last: list[object] = []
        try:
            while True:
                last.append(self._heard(number, Told).what)
        except (EOFError, ConnectionResetError):
            return last

    @property
    def is_idle(self) -> bool:
        """Whether every order that was given has come to its end."""
        return not self._busy

    def leave(self) -> None:
        """Let every member that still lives close its ledger."""
        # Who was asked nothing says nothing, unless the line is dead.
        living = [number for number, line in enumerate(self._lines) if not line.poll(0)]
        for number in living:
            self._lines[number].send(Leave())
        for number in living:
            self._heard(number, Done)

    def abandon(self) -> None:
        """End those who are still at work."""
        while self._busy:
            os.kill(self._busy.pop(), signal.SIGKILL)

    def _heard(self, number: int, kind: type[T]) -> T:
        line = self._lines[number]
        assert line.poll(LONG_ENOUGH_S), f"member {number} said nothing for {LONG_ENOUGH_S} s"
        message = line.recv()
        assert isinstance(message, kind), getattr(message, "trace", message)
        return message


class Hands:
    """One crew for many tests, replaced after a test that left somebody at work."""

    def __init__(self, count: int, folder: Path) -> None:
        self._count = count
        self._folder = folder
        self._stack = ExitStack()
        self._crew: Crew | None = None

    def idle(self) -> Crew:
        if self._crew is None or not self._crew.is_idle:
            self.close()
            self._crew = self._stack.enter_context(crew_of(self._count, self._folder))
        return self._crew

    def close(self) -> None:
        self._crew = None
        self._stack.close()


@contextmanager
def crew_of(count: int, folder: Path) -> Generator[Crew]:
    """So many processes, which end with the block, or with whoever asked for them."""
    pairs = [socket.socketpair() for _ in range(count)]
    theirs = [their.fileno() for _, their in pairs]
    nursery = PythonProcess[bytes](
        ["-m", "concurrency.member", *map(str, theirs)],
        pass_fds=theirs,
        stdin=subprocess.DEVNULL,
        env=_environment(),
    )
    lines = [Connection(our.detach()) for our, _ in pairs]
    for _, their in pairs:
        their.close()
    with nursery:
        crew: Crew | None = None
        try:
            crew = Crew(lines, folder / "gate")
            yield crew
        finally:
            if crew is not None:
                crew.abandon()
            for line in lines:
                line.close()


def _environment() -> dict[str, str]:
    # Not measured: whoever is killed leaves half a file of measurements behind.
    kept = {name: value for name, value in os.environ.items() if "COVERAGE" not in name}
    found = os.environ.get("PYTHONPATH")
    return kept | {"PYTHONPATH": os.pathsep.join([str(TESTS), *([found] if found else [])])}
