"""A command that is run with bounds: its time, its output, and what it may know of us."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Final, NamedTuple

_LONGEST_SILENCE_S: Final = 0.1
_PIECE: Final = 65_536


class Ended(NamedTuple):
    """How a command came to its end."""

    exit_code: int | None
    """None where its time was over and it was killed; negative where a signal ended it."""
    said: bytes
    """The end of what it printed."""


class Deadline:
    """A moment by which several commands together have to be done."""

    def __init__(self, timeout_s: float) -> None:
        self.timeout_s = timeout_s
        self._at = time.monotonic() + timeout_s

    def left_s(self) -> float:
        """Return how much time is left; never less than nothing."""
        return max(0.0, self._at - time.monotonic())


def run_bounded(
    argv: Sequence[str],
    *,
    folder: Path,
    environment: Mapping[str, str],
    deadline: Deadline,
    most_said: int,
    stdin: IO[bytes] | None = None,
    stdout: IO[bytes] | None = None,
) -> Ended:
    """Run a command without a shell, in a process group of its own, and wait for its end.

    It has exactly the environment that is given, and reads nothing unless `stdin` is given. Of
    what it prints, the end is kept; with `stdout`, only of what it prints as errors. Whatever
    is left of it when the time is over is killed with its whole group. What it leaves behind in
    the background after its own end is not waited for.

    Raises OSError where it cannot be started at all.
    """
    listening, speaking = os.pipe()
    with os.fdopen(listening, "rb", buffering=0) as pipe:
        try:
            child = subprocess.Popen(  # noqa: S603 - never a shell; the caller vouches for the command
                argv,
                cwd=folder,
                env=environment,
                stdin=subprocess.DEVNULL if stdin is None else stdin,
                stdout=speaking if stdout is None else stdout,
                stderr=speaking,
                start_new_session=True,
            )
        finally:
            os.close(speaking)
        os.set_blocking(pipe.fileno(), False)
        return _followed(child, _Tail(pipe, most_said), deadline)


def _followed(child: subprocess.Popen[bytes], tail: _Tail, deadline: Deadline) -> Ended:
    try:
        while not tail.is_over and child.poll() is None and deadline.left_s():
            tail.wait(min(_LONGEST_SILENCE_S, deadline.left_s()))
        with suppress(subprocess.TimeoutExpired):
            child.wait(deadline.left_s())
    finally:
        is_late = _killed(child)
    tail.read()
    return Ended(None if is_late else child.returncode, tail.text)


def _killed(child: subprocess.Popen[bytes]) -> bool:
    """Kill the group of a command that has not ended; return whether that was necessary."""
    if child.poll() is not None:
        return False
    # INVARIANT: the command was not waited for yet, so that its number is still its own.
    with suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)
    child.wait()
    return True


class _Tail:
    """The end of what comes through a pipe."""

    def __init__(self, pipe: IO[bytes], most: int) -> None:
        self._pipe = pipe
        self._most = most
        self._kept = bytearray()
        self.is_over = False

    @property
    def text(self) -> bytes:
        """What is kept."""
        return bytes(self._kept)

    def wait(self, timeout_s: float) -> None:
        """Wait for something to read, and read it."""
        if select.select([self._pipe], [], [], timeout_s)[0]:
            self.read()

    def read(self) -> None:
        """Read what is there now, a piece at most: somebody may talk for ever."""
        piece: bytes | None = self._pipe.read(_PIECE)
        if piece == b"":
            self.is_over = True
        self._kept += piece or b""
        del self._kept[: -self._most]
