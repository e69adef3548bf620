"""A command that is run with bounds: its time, its output, and what it may know of us."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Final, NamedTuple

_LONGEST_SILENCE_S: Final = 0.1
_SHORTEST_PAUSE_S: Final = 0.000_5
_LONGEST_PAUSE_S: Final = 0.02
_PIECE: Final = 65_536
_REAPER: Final = Path(__file__).with_name("process_reaper.py")
_GRACE_S: Final = 10.0
"""So long the end of everything that a command has started is waited for."""


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
    leaves_nothing: bool = False,
) -> Ended:
    """Run a command without a shell, in a process group of its own, and wait for its end.

    It has exactly the environment that is given, and reads nothing unless `stdin` is given. Of
    what it prints, the end is kept; with `stdout`, only of what it prints as errors. Whatever
    is left of it when the time is over is killed with its whole group. What it leaves behind in
    the background after its own end is not waited for and, with `leaves_nothing`, killed as well:
    on Linux whatever it has started, in whatever session that is, and with us if we are killed;
    elsewhere its group.

    Raises OSError where it cannot be started at all.
    """
    if leaves_nothing and sys.platform == "linux" and sys.executable:
        return _run_with_reaper(
            argv, folder=folder, environment=environment, deadline=deadline, most_said=most_said
        )
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
        return _followed(child, _Tail(pipe, most_said), deadline, leaves_nothing=leaves_nothing)


def _run_with_reaper(
    argv: Sequence[str],
    *,
    folder: Path,
    environment: Mapping[str, str],
    deadline: Deadline,
    most_said: int,
) -> Ended:
    """Run a command below a process that all of its descendants come back to."""
    heard, complaints = os.pipe()
    listening, speaking = os.pipe()
    with os.fdopen(heard, "rb") as complaint, os.fdopen(listening, "rb", buffering=0) as pipe:
        try:
            options = [str(int("LC_CTYPE" in environment)), str(os.getpid()), str(complaints)]
            reaper = subprocess.Popen(  # noqa: S603 - never a shell; the caller vouches for the command
                [sys.executable, "-ISB", str(_REAPER), *options, *argv],
                cwd=folder,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=speaking,
                stderr=speaking,
                pass_fds=[complaints],
                start_new_session=True,
            )
        finally:
            os.close(speaking)
            os.close(complaints)
        os.set_blocking(pipe.fileno(), False)
        ended = _followed(reaper, _Tail(pipe, most_said), deadline, ends_by_itself=True)
        os.set_blocking(complaint.fileno(), False)
        if said := complaint.read():
            code, _, why = said.decode("utf-8", "replace").partition(" ")
            if code == "0":
                raise ValueError(why)
            raise OSError(int(code), os.strerror(int(code)), argv[0])
    return ended


def _followed(
    child: subprocess.Popen[bytes],
    tail: _Tail,
    deadline: Deadline,
    *,
    leaves_nothing: bool = False,
    ends_by_itself: bool = False,
) -> Ended:
    """Follow a command to its end; with `ends_by_itself` it ends all that it has started."""
    is_late = True
    try:
        while not _has_ended(child) and deadline.left_s():
            tail.wait(min(_LONGEST_SILENCE_S, deadline.left_s()))
        is_late = not _has_ended(child)
    finally:
        if is_late and ends_by_itself:
            _ask_to_end(child, tail)
        if is_late or leaves_nothing:
            # INVARIANT: the command was not waited for yet, so that its number is still its own.
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(child.pid, signal.SIGKILL)
        child.wait()
    tail.read()
    return Ended(None if is_late else child.returncode, tail.text)


def _ask_to_end(child: subprocess.Popen[bytes], tail: _Tail) -> None:
    """Let a command end what it has started, before it is ended itself."""
    grace = Deadline(_GRACE_S)
    child.send_signal(signal.SIGTERM)
    while not _has_ended(child) and grace.left_s():
        tail.wait(min(_LONGEST_SILENCE_S, grace.left_s()))


def _has_ended(child: subprocess.Popen[bytes]) -> bool:
    """Whether a command has come to its end; its number stays its own until it is waited for."""
    return os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


class _Tail:
    """The end of what comes through a pipe."""

    def __init__(self, pipe: IO[bytes], most: int) -> None:
        self._pipe = pipe
        self._most = most
        self._tail = bytearray()
        self._pause_s = _SHORTEST_PAUSE_S
        self.is_over = False

    @property
    def text(self) -> bytes:
        """The end of it."""
        return bytes(self._tail)

    def wait(self, timeout_s: float) -> None:
        """Wait for something to read, and read it; where nothing comes any more, only wait."""
        if self.is_over:
            # Most commands end right after their last word.
            time.sleep(min(timeout_s, self._pause_s))
            self._pause_s = min(2 * self._pause_s, _LONGEST_PAUSE_S)
        elif select.select([self._pipe], [], [], timeout_s)[0]:
            self.read()

    def read(self) -> None:
        """Read what is there now, a piece at most: somebody may talk for ever."""
        piece: bytes | None = self._pipe.read(_PIECE)
        if piece == b"":
            self.is_over = True
        self._tail += piece or b""
        del self._tail[: -self._most]
