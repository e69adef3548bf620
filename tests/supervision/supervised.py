"""Commands under a supervisor of their own, and what the tests see of them."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import threading
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from gates.policies import gates_with
from interlock import Interlock
from patience import LONG_ENOUGH_S
from service.ledgers import CHEAP, PASSPHRASE
from warm_python import PythonProcess

FAMILY = """
import os, signal, subprocess, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
if len(sys.argv) > 1:
    # In a session of its own, and of no parent.
    if os.fork():
        os._exit(0)
    os.setsid()
    os.write(1, b"daemon %d\\n" % os.getpid())
else:
    subprocess.run([sys.executable, __file__, "daemon"])
    os.write(1, b"parent %d\\n" % os.getpid())
while not os.path.exists("go"):
    {work}
"""
"""A command that ignores SIGTERM, with a daemon that does as well."""


_FAMILY = (b"parent", b"daemon")


class Supervised:
    """A supervisor that runs, and the command below it."""

    def __init__(self, process: PythonProcess[bytes], report: IO[bytes], place: Place) -> None:
        self.process = process
        self._report = report
        self.place = place
        self.run_id = self.told()

    def told(self) -> str:
        """Wait for the next thing that the supervisor says."""
        line = self._report.readline()
        assert line, "the supervisor has ended"
        return json.loads(line)

    def ending(self) -> dict[str, object]:
        """Wait for the end; return what came of it."""
        *_, last = map(json.loads, self._report)
        self.process.wait(LONG_ENOUGH_S)
        return json.loads(last)

    def family(self) -> list[int]:
        """Wait until both processes of the family are there; return their numbers."""
        assert self.process.stdout is not None
        found: dict[bytes, int] = {}
        while len(found) < len(_FAMILY):
            line = self.process.stdout.readline()
            assert line, "the command has ended"
            name, _, rest = line.partition(b" ")
            if name in _FAMILY:
                found[name] = int(rest)
        return [found[name] for name in _FAMILY]

    @contextmanager
    def unread(self) -> Generator[None]:
        """Read what the command prints meanwhile, so that it can go on, and forget it."""
        assert self.process.stdout is not None
        reader = threading.Thread(target=self.process.stdout.read)
        reader.start()
        try:
            yield
        finally:
            self.process.kill()
            reader.join()


class Place:
    """A ledger with an operator, and a folder to work in."""

    def __init__(self, folder: Path) -> None:
        self.ledger = str(folder / "state" / "ledger.db")
        (folder / "state").mkdir(exist_ok=True)
        self.keys = str(folder / "keys")
        self.workspace = folder / "work"
        self.workspace.mkdir()
        self.policy = ""
        with self.open() as interlock:
            interlock.set_up("ada", PASSPHRASE, cost=CHEAP)

    def open(self) -> Interlock:
        """Open the ledger, as somebody else than the supervisor."""
        return Interlock.open(self.ledger, keys=self.keys, policy=gates_with(self.policy))

    def program(self, text: str) -> list[str]:
        """Return the words that run a program of these lines."""
        file = self.workspace / "program.py"
        file.write_text(text)
        return [sys.executable, str(file)]

    @contextmanager
    def supervised(
        self,
        command: Sequence[str],
        *,
        wall_time_s: int = 3600,
        grace_s: float = LONG_ENOUGH_S,
        stdout: int = subprocess.PIPE,
        stdin: int = subprocess.DEVNULL,
    ) -> Generator[Supervised]:
        """Run a command under a supervisor, which is ended in any case."""
        heard, report = os.pipe()
        orders = {
            "report": report,
            "ledger": self.ledger,
            "keys": self.keys,
            "policy": self.policy,
            "wall_time_s": wall_time_s,
            "grace_s": grace_s,
        }
        process = PythonProcess[bytes](
            ["-m", "supervision.supervisor_process", json.dumps(orders), *command],
            cwd=self.workspace,
            stdin=stdin,
            stdout=stdout,
            stderr=subprocess.PIPE,
            pass_fds=[report],
        )
        os.close(report)
        with os.fdopen(heard, "rb") as lines, process:
            try:
                yield Supervised(process, lines, self)
            finally:
                process.kill()


@contextmanager
def watched(pids: Sequence[int]) -> Generator[list[int]]:
    """Take hold of processes, so that their end can be waited for."""
    ends = [os.pidfd_open(pid) for pid in pids]
    try:
        yield ends
    finally:
        for end in ends:
            # Whatever a failed test leaves behind.
            with suppress(ProcessLookupError):
                signal.pidfd_send_signal(end, signal.SIGKILL)
            os.close(end)


def have_ended(ends: Sequence[int]) -> bool:
    """Wait until all of these have ended."""
    return all(select.select([end], [], [], LONG_ENOUGH_S)[0] for end in ends)


def state_of(pid: int) -> str:
    """Return what the kernel says of a process: `T` is stopped."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
