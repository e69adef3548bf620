"""Processes that stand still for a while, and go on later as if nothing had been."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any

from warm_python import PythonProcess


def stop(process: PythonProcess[Any]) -> None:
    """Stop a process at a moment when it keeps no file from others.

    In the middle of a write it would keep the whole file locked for as long as it stands still,
    and whoever is to take over from it could only wait.
    """
    while True:
        process.send_signal(signal.SIGSTOP)
        process.wait_until_stopped()
        if not _keeps_a_file(process.pid):
            return
        process.send_signal(signal.SIGCONT)


def _keeps_a_file(pid: int) -> bool:
    """Whether a process holds a lock that nobody else can have beside it."""
    held = (line.split() for line in Path("/proc/locks").read_text().splitlines())
    return any(words[3:5] == ["WRITE", str(pid)] for words in held)
