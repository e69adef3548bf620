"""A command with everything that it starts, by whatever way: frozen, thawed and ended together.

Between it and us stands the process that reaps (`interlock.checkpoints.process_reaper`): what
loses its parent comes to that one, a daemon too, so that all of them are found below it. It ends
them when the command has ended, when it is told to, and when we are killed.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

from interlock.adapters.supervision import confined_start
from interlock.checkpoints import process_reaper
from interlock.errors import InputError, InterlockError

_PROC: Final = Path("/proc")
_STILL: Final = frozenset("TtZXx")
"""What the kernel calls a process that is stopped, or has ended."""
_NAP_S: Final = 0.001
_LONGEST_FREEZE_S: Final = 5.0
"""Whoever another user owns, or waits for a disk, may never stand still."""
_LONGEST_COMPLAINT: Final = 4096


class Ends(NamedTuple):
    """What a command reads from and writes to."""

    stdin: int
    stdout: int
    stderr: int
    has_terminal: bool
    """Whether `stdin` is a terminal that is to control it."""


class _Process(NamedTuple):
    pid: int
    parent: int
    state: str


class ProcessTree:
    """A command that runs, with everything below it."""

    def __init__(self, reaper: subprocess.Popen[bytes], command: int) -> None:
        self._reaper = reaper
        self.command = command
        """Its number, which is that of its session and its first process group as well."""

    def interrupt(self, number: int) -> None:
        """Send the command's own process group a signal, as its terminal would."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.command, number)

    def freeze(self) -> None:
        """Stop all of them, and wait until they are; what they start meanwhile is stopped too."""
        until = time.monotonic() + _LONGEST_FREEZE_S
        while time.monotonic() < until:
            moves = [each.pid for each in self._members() if each.state not in _STILL]
            if not moves:
                return
            for pid in moves:
                _send(pid, signal.SIGSTOP)
            time.sleep(_NAP_S)

    def thaw(self) -> None:
        """Let all of them go on."""
        for each in self._members():
            _send(each.pid, signal.SIGCONT)

    def terminate(self) -> None:
        """Ask all of them to end; what was frozen goes on, to be able to."""
        for number in (signal.SIGTERM, signal.SIGCONT):
            for each in self._members():
                _send(each.pid, number)

    def kill(self) -> None:
        """End all of them, whatever they think of it."""
        self._reaper.send_signal(signal.SIGTERM)

    def wait(self) -> int:
        """Wait until none is left; return the command's exit code, negative for a signal."""
        return self._reaper.wait()

    def _members(self) -> Iterator[_Process]:
        """Yield every process below the one that reaps, parents before their children."""
        children: dict[int, list[_Process]] = {}
        for each in _all_processes():
            children.setdefault(each.parent, []).append(each)
        found = list(children.get(self._reaper.pid, ()))
        for each in found:
            found.extend(children.get(each.pid, ()))
            yield each


def started(
    argv: Sequence[str],
    *,
    folder: Path,
    environment: Mapping[str, str],
    ends: Ends,
    landlock: confined_start.LandlockRules | None = None,
) -> ProcessTree:
    """Start a command below a process that all of its descendants come back to.

    Raises InterlockError where what it must have cannot be had: then nothing of it has run.
    """
    if sys.platform != "linux":
        raise InputError(
            f"`interlock run` finds what a command has started on Linux only, not on"
            f" `{sys.platform}`: use the client's hooks instead"
        )
    heard, ready = os.pipe()
    nobody = os.open(os.devnull, os.O_WRONLY)
    keeps_locale = "LC_CTYPE" in environment
    specification: confined_start.Specification = {
        "ready": ready,
        "has_terminal": ends.has_terminal,
        "keeps_locale": keeps_locale,
        "landlock": landlock,
    }
    told = os.memfd_create("specification")
    os.write(told, json.dumps(specification).encode())
    os.lseek(told, 0, os.SEEK_SET)
    alone = [sys.executable, "-ISB"]
    reaping = [*alone, process_reaper.__file__]
    reaping += [str(int(keeps_locale)), str(os.getpid()), str(nobody)]
    starting = [*alone, confined_start.__file__, str(told)]
    with os.fdopen(heard, "rb") as answer:
        try:
            reaper = subprocess.Popen(  # noqa: S603 - never a shell; the command was judged before
                [*reaping, *starting, *argv],
                cwd=folder,
                env=environment,
                stdin=ends.stdin,
                stdout=ends.stdout,
                stderr=ends.stderr,
                pass_fds=[ready, nobody, told],
                # What a terminal sends to us must not end the one that has to clear up.
                start_new_session=True,
            )
        finally:
            for end in (ready, nobody, told):
                os.close(end)
        said = os.read(answer.fileno(), _LONGEST_COMPLAINT)
    if said[:-1].isdigit():
        return ProcessTree(reaper, int(said))
    reaper.wait()
    why = said[1:].decode("utf-8", "replace") or f"it ended with {reaper.returncode}"
    raise InterlockError(f"`{argv[0]}` was not started: {why}")


def _send(pid: int, number: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.kill(pid, number)


def _all_processes() -> Iterator[_Process]:
    """Yield every process of this machine."""
    for folder in _PROC.iterdir():
        if folder.name.isdecimal():
            with suppress(OSError):
                # The name of a program stands in parentheses, and may hold anything.
                words = (folder / "stat").read_text(errors="replace").rpartition(")")[2].split()
                yield _Process(int(folder.name), int(words[1]), words[0])
