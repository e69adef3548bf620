"""Keep one Postgres alive for exactly as long as its owner lives.

Run as a process of its own, with nothing but the standard library: tests that are killed
cannot clean up after themselves, and nobody else may end a server they do not know.
"""

from __future__ import annotations

import fcntl
import os
import pwd
import shutil
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import IO

OWNER_LOCK = "owner.lock"
KEEPER_LOCK = "keeper.lock"
LOG = "log"
READY = b"database system is ready to accept connections"


def main() -> None:
    """Start the server `sys.argv` describes, print its process id once it is ready, watch it."""
    folder, user, *command = sys.argv[1:]
    # Held until the last process of this keeper is gone: whoever gets it knows that all is over.
    with (Path(folder) / KEEPER_LOCK).open("a") as keeper:
        fcntl.flock(keeper, fcntl.LOCK_EX)
        if os.fork() == 0:
            # What ends the tests, and all that belong to them, is not to end who cleans up.
            os.setsid()
            _keep(Path(folder), user or None, command)


def _keep(folder: Path, user: str | None, command: list[str]) -> None:
    """Run the server until it ends by itself or its owner is gone; then remove the folder."""
    server = subprocess.Popen(
        command,
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        user=user,
        group=None if user is None else pwd.getpwnam(user).pw_gid,
        extra_groups=None if user is None else [],
        start_new_session=True,
    )
    abandoned = threading.Event()
    watch = threading.Thread(target=_end_with_owner, args=(folder, server, abandoned), daemon=True)
    watch.start()
    assert server.stdout is not None
    _copy_log(server.stdout, folder / LOG, server.pid)
    server.wait()
    if abandoned.is_set():
        shutil.rmtree(folder, ignore_errors=True)
    # The thread may still wait for the owner; nothing it holds outlives this process.
    os._exit(0)


def _end_with_owner(
    folder: Path, server: subprocess.Popen[bytes], abandoned: threading.Event
) -> None:
    """Wait for the lock that the owner holds while it lives, then stop the server at once."""
    with (folder / OWNER_LOCK).open("a") as owner:
        fcntl.flock(owner, fcntl.LOCK_EX)
        abandoned.set()
        server.send_signal(signal.SIGQUIT)


def _copy_log(lines: IO[bytes], log: Path, pid: int) -> None:
    """Copy the log until the server and all of its children have ended; report readiness."""
    with log.open("ab", buffering=0) as copy:
        for line in lines:
            copy.write(line)
            if READY in line:
                _tell_starter(pid)


def _tell_starter(pid: int) -> None:
    """Print the process id and let go of the starter's pipes, which ends its wait."""
    os.write(1, str(pid).encode())
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    os.close(nowhere)


if __name__ == "__main__":
    main()
