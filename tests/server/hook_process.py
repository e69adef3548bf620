"""Hooks as clients run them, and whoever answers them: real processes of a user of their own."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import msgspec
import pytest

from interlock import Interlock, hook_asker, hook_entry
from interlock.model.run import RunState
from interlock.server.desk.desk import Listening
from patience import LONG_ENOUGH_S
from warm_python import PythonProcess

ENTRY = hook_entry.__file__
# Whatever it starts bears the same mark, by which it is found.
_FORK: Final = """
import sys, warm_python
mark, before, *arguments = sys.argv[1:]
with open("/proc/self/comm", "w") as name:
    name.write(mark)
exec(before)
warm_python.fork_pythons()
warm_python.run_as_main(arguments)
"""


class Home:
    """A user's own folders, and what their processes see of them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.environment = {
            "HOME": str(folder),
            "XDG_RUNTIME_DIR": str(folder),
            "XDG_STATE_HOME": str(folder / "state"),
            "XDG_CONFIG_HOME": str(folder / "config"),
            "PATH": os.environ["PATH"],
        }
        self.place = hook_asker.hooks_place(self.environment)
        self._mark = folder.name[-15:]

    def hook(
        self,
        payload: object,
        *args: str,
        dialect: str = "interlock",
        as_fork: bool = False,
        **environment: str,
    ) -> subprocess.CompletedProcess[bytes]:
        """Run a hook to its end."""
        given = payload if isinstance(payload, bytes) else msgspec.json.encode(payload)
        with self.started(dialect, *args, as_fork=as_fork, **environment) as process:
            said, complaint = process.communicate(given)
        return subprocess.CompletedProcess(args, process.returncode, said, complaint)

    def begun(self, payload: object, *args: str, as_fork: bool = False) -> subprocess.Popen[bytes]:
        """Begin a hook; it has been told everything."""
        process = self.started("interlock", *args, as_fork=as_fork)
        assert process.stdin is not None
        process.stdin.write(msgspec.json.encode(payload))
        process.stdin.close()
        process.stdin = None
        return process

    def started(
        self,
        *args: str,
        entry: str = ENTRY,
        as_fork: bool = False,
        before: str = "",
        **environment: str,
    ) -> subprocess.Popen[bytes]:
        """Start a hook, which has been told nothing yet.

        The entry itself starts as soon by Python as by a fork, which may do something before; but
        what it starts where no server answers takes a hundredth of the time as a fork of that.
        """
        options: dict[str, Any] = {
            "stdin": subprocess.PIPE,
            "stdout": subprocess.PIPE,
            "stderr": subprocess.PIPE,
            "env": {**self.environment, **environment},
            "cwd": self.folder,
        }
        if as_fork:
            return PythonProcess[bytes](["-c", _FORK, self._mark, before, entry, *args], **options)
        return subprocess.Popen[bytes]([sys.executable, "-I", "-S", entry, *args], **options)

    @contextmanager
    def served(self) -> Generator[subprocess.Popen[bytes]]:
        """Have a server answer, until the end or until it is killed."""
        words = ["-m", "interlock", "serve", "--no-tcp", "--json"]
        with PythonProcess[bytes](
            words, env=self.environment, stdout=subprocess.PIPE, cwd="/"
        ) as server:
            try:
                assert server.stdout is not None
                assert server.stdout.readline()
                yield server
            finally:
                server.kill()

    def running(self) -> Listening | None:
        """Return what the server that hooks started says about itself.

        A hook that has waited long enough for it answers without it.
        """
        note = Path(self.place).with_suffix(".json")
        deadline = time.monotonic() + LONG_ENOUGH_S
        while time.monotonic() < deadline:
            with contextlib.suppress(FileNotFoundError, NotADirectoryError):
                return msgspec.json.decode(note.read_bytes(), type=Listening)
            time.sleep(0.01)
        return None

    def processes(self) -> list[int]:
        """Return every process that was started for this user and still runs."""
        found = Path("/proc").glob("[0-9]*/environ")
        return [int(each.parent.name) for each in found if self._is_own(each)]

    def _is_own(self, environ: Path) -> bool:
        try:
            started_with = environ.read_bytes().split(b"\0")
            is_marked = environ.with_name("comm").read_text() == f"{self._mark}\n"
            # What has ended, and was not waited for yet, has no environment.
            return f"HOME={self.folder}".encode() in started_with or (
                is_marked and any(started_with)
            )
        except OSError:
            return False

    def asked(self, line: bytes) -> bytes:
        """Return what the server says to a line, until it has no more to say."""
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(self.place)
            connection.sendall(line)
            connection.shutdown(socket.SHUT_WR)
            return b"".join(iter(lambda: connection.recv(65536), b""))

    @contextmanager
    def ledger(self, monkeypatch: pytest.MonkeyPatch) -> Generator[Interlock]:
        """Open the ledger that everybody here asks."""
        for name, value in self.environment.items():
            monkeypatch.setenv(name, value)
        with Interlock.open() as interlock:
            yield interlock


def sessions(interlock: Interlock) -> Sequence[RunState]:
    """Return the run of every session, as it is on record."""
    rows = interlock.ledger.rows.runs(limit=100)
    return [interlock.governor.state(row.id) for row in rows if row.agent == "agent"]


@pytest.fixture
def home() -> Generator[Home]:
    """A user, whose server ends with the test; the path is short, as a socket's has to be."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        own = Home(Path(folder))
        yield own
        # A server that a hook began to start may only come up by now: none of them stays.
        while left := own.processes():
            for each in left:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(each, signal.SIGKILL)
