"""Children that are made to die: forked by one warm process, so that each costs next to nothing."""

from __future__ import annotations

import os
import select
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Final

import msgspec

from patience import LONG_ENOUGH_S
from warm_python import PythonProcess

TESTS: Final = Path(__file__).parents[1]


class Spawn(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """Fork a child that does this job."""

    job: str
    arguments: dict[str, object]


class Await(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """Wait for the end of a child."""

    pid: int


Order = Spawn | Await


class Nursery:
    """The process that all children come from; it ends with whoever holds this."""

    def __init__(self, log: Path) -> None:
        self.log = log
        self._living: dict[int, Child] = {}
        self._door, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs, log.open("ab") as errors:
            self._process = PythonProcess[bytes](
                ["-m", "crash.nursery_process", str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                env=_environment(),
                stdin=subprocess.DEVNULL,
                stdout=errors,
                stderr=errors,
            )

    def spawn(self, job: str, **arguments: object) -> Child:
        """Return a child that has begun to do a job of `crash.jobs`."""
        reading, writing = os.pipe()
        try:
            order = msgspec.json.encode(Spawn(job=job, arguments=arguments))
            socket.send_fds(self._door, [order], [writing])
            answer = self._door.recv(64)
        finally:
            os.close(writing)
        child = Child(int(answer), os.fdopen(reading, "rb"), self)
        self._living[child.pid] = child
        return child

    def status(self, pid: int) -> int:
        """Wait for the end of a child; return its exit code, negative if a signal ended it."""
        self._living.pop(pid).forget()
        self._door.send(msgspec.json.encode(Await(pid=pid)))
        return int(self._door.recv(64))

    def end_children(self) -> None:
        """End every child that is left over from a test that failed."""
        for pid in list(self._living):
            os.kill(pid, signal.SIGKILL)
            self.status(pid)

    def close(self) -> None:
        """End the process."""
        self._door.close()
        self._process.wait(LONG_ENOUGH_S)


class Child:
    """A process that does one job and tells, line by line, how far it has come."""

    def __init__(self, pid: int, told: IO[bytes], nursery: Nursery) -> None:
        self.pid = pid
        self.told: list[str] = []
        """Every line so far."""
        self._stream = told
        self._nursery = nursery
        self._unfinished = b""

    def hear(self, lines: int) -> list[str]:
        """Wait until it has told so many lines, or has ended; return everything it told."""
        while len(self.told) < lines and self._read(LONG_ENOUGH_S):
            pass
        return self.told

    def hear_until(self, line: str) -> None:
        """Wait until it tells exactly this."""
        limit = time.monotonic() + LONG_ENOUGH_S
        while line not in self.told:
            assert time.monotonic() < limit, f"no `{line}` within {LONG_ENOUGH_S} s"
            if not self._read(LONG_ENOUGH_S):
                code = self._nursery.status(self.pid)
                raise AssertionError(f"ended with {code} before `{line}`: {self._last_words()}")

    def hear_of(self, part: str, *, after: int) -> None:
        """Wait until a line behind the first few has this in it."""
        limit = time.monotonic() + LONG_ENOUGH_S
        while not any(part in line for line in self.told[after:]):
            if time.monotonic() >= limit:
                raise AssertionError(f"nothing of `{part}` in {LONG_ENOUGH_S} s: {self._stacks()}")
            assert self._read(LONG_ENOUGH_S), f"ended: {self._last_words()}"

    def hear_for(self, moment_s: float) -> None:
        """Listen for a moment, whatever it tells."""
        select.select([], [], [], moment_s)

    def kill(self, *, may_have_ended: bool = False) -> list[str]:
        """End it as `kill -9` does; return everything it had told."""
        os.kill(self.pid, signal.SIGKILL)
        return self.last_lines(-signal.SIGKILL, *([0] if may_have_ended else []))

    def interrupt(self) -> None:
        """Send it what Ctrl-C sends."""
        os.kill(self.pid, signal.SIGINT)

    def terminate(self, code: int) -> list[str]:
        """Tell it to end, and hold it to its exit code; return everything it had told."""
        os.kill(self.pid, signal.SIGTERM)
        return self.last_lines(code)

    def last_lines(self, *codes: int) -> list[str]:
        """Wait for its end, and hold it to its exit code; return everything it had told."""
        limit = time.monotonic() + LONG_ENOUGH_S
        while self._read(LONG_ENOUGH_S):
            assert time.monotonic() < limit, f"goes on and on: {self._stacks()}"
        found = self._nursery.status(self.pid)
        assert found in codes, f"ended with {found}, expected {codes}: {self._last_words()}"
        return self.told

    def forget(self) -> None:
        """Stop listening."""
        self._stream.close()

    def _read(self, limit_s: float) -> bool:
        """Take in what it tells next; return False at its end."""
        if not select.select([self._stream], [], [], limit_s)[0]:
            raise AssertionError(f"silent for {limit_s} s: {self._stacks()}")
        piece = os.read(self._stream.fileno(), 1 << 16)
        *lines, self._unfinished = (self._unfinished + piece).split(b"\n")
        self.told.extend(line.decode() for line in lines)
        return bool(piece)

    def _stacks(self) -> str:
        """End it; return where each of its threads stands, which it writes down then."""
        os.kill(self.pid, signal.SIGABRT)
        self._nursery.status(self.pid)
        return self._last_words()

    def _last_words(self) -> str:
        return self._nursery.log.read_text(errors="replace")[-14000:]


def orders(door: socket.socket) -> Iterator[tuple[Order, list[int]]]:
    """Yield what is asked for at the nursery's other end, until nobody is there any more."""
    while True:
        message, descriptors, _, _ = socket.recv_fds(door, 1 << 20, 1)
        if not message:
            return
        yield msgspec.json.decode(message, type=Order), descriptors


def _environment() -> dict[str, str]:
    # A child that is killed cannot hand in what it covered, and half a file spoils the rest.
    kept = {name: value for name, value in os.environ.items() if not name.startswith("COV")}
    path = os.pathsep.join([str(TESTS), *filter(None, [kept.get("PYTHONPATH")])])
    return kept | {"PYTHONPATH": path}
