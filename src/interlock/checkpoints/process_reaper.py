"""Run a command, and leave nothing of it: a program of its own, started by its path.

    python process_reaper.py KEEPS_LOCALE PARENT COMPLAINTS COMMAND...

Whatever a process starts becomes a child of this one when its parent ends, a daemon too. So what
is left when the command has ended, when SIGTERM says that its time is over, or when the process
PARENT is gone that waits for it, is found and killed here, and nothing else is. The exit code is
the command's own; what kept it from being started is written to the descriptor COMPLAINTS. It
imports little: it is started for every check.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from collections.abc import Set as AbstractSet
from typing import Final, NoReturn

_SET_PARENT_DEATH_SIGNAL: Final = 1
_SET_CHILD_SUBREAPER: Final = 36
_SET_DUMPABLE: Final = 4
_NOT_STARTED: Final = 127
_AWAITED: Final = frozenset((signal.SIGCHLD, signal.SIGTERM))


def main() -> NoReturn:
    """Run the command that the arguments name."""
    keeps_locale, parent, complaints, *argv = sys.argv[1:]
    environment = dict(os.environ)
    if keeps_locale == "0":
        # Python has set it for itself.
        environment.pop("LC_CTYPE", None)
    # They wait until they are asked for: none can come at the wrong moment.
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, _AWAITED)
    library = ctypes.CDLL(None, use_errno=True)
    library.prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    library.prctl(_SET_PARENT_DEATH_SIGNAL, signal.SIGTERM, 0, 0, 0)
    if os.getppid() != int(parent):
        # It was gone before it could be missed.
        os._exit(1)
    child = os.fork()
    if child == 0:
        _become(argv, environment, int(complaints), blocked)
    os.close(int(complaints))
    status = None
    while status is None and signal.sigwait(_AWAITED) == signal.SIGCHLD:
        status = _status_of(child)
    _end_all_children()
    _leave(status)


def _become(
    argv: list[str], environment: dict[str, str], complaints: int, blocked: AbstractSet[int]
) -> NoReturn:
    try:
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
        # Python leaves this one to itself; a command expects it as it was.
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        os.set_inheritable(complaints, False)  # noqa: FBT003 - it has no name
        os.setsid()
        os.execvpe(argv[0], argv, environment)  # noqa: S606 - the caller vouches for the command
    except BaseException as error:  # noqa: BLE001 - whatever it is, it must not run on as a second of us
        code = error.errno if isinstance(error, OSError) and error.errno else 0
        os.write(complaints, f"{code} {error}".encode("utf-8", "replace"))
    os._exit(_NOT_STARTED)


def _status_of(child: int) -> int | None:
    """Return how the command has ended, if it has; whoever else has ended is seen off."""
    while True:
        ended, status = os.waitpid(-1, os.WNOHANG)
        if ended in (0, child):
            return status if ended else None


def _end_all_children() -> None:
    """Kill whatever is left, until nothing is: what loses its parent comes here.

    What has another owner by now is not ours to kill, and nobody waits for it.
    """
    while sum(map(_is_killed, _children())):
        os.waitpid(-1, 0)


def _is_killed(child: int) -> bool:
    try:
        os.kill(child, signal.SIGKILL)
    except PermissionError:
        return False
    return True


def _children() -> list[int]:
    return [int(name) for name in _names_in_proc() if name.isdecimal() and _is_child(name)]


def _names_in_proc() -> list[str]:
    return os.listdir("/proc")  # noqa: PTH208 - pathlib takes longer to load than this to run


def _is_child(name: str) -> bool:
    try:
        with open(f"/proc/{name}/stat", "rb") as listed:  # noqa: PTH123 - the same
            # The name of a program stands in parentheses, and may hold anything.
            _, parent, *_ = listed.read().rpartition(b")")[2].split()
    except OSError:
        return False
    return int(parent) == os.getpid()


def _leave(status: int | None) -> NoReturn:
    """End as the command did."""
    if status is not None and os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        if number not in (signal.SIGKILL, signal.SIGSTOP):
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _AWAITED)
        # The core of this program is of no use to anybody.
        ctypes.CDLL(None).prctl(_SET_DUMPABLE, 0, 0, 0, 0)
        os.kill(os.getpid(), number)
    os._exit(os.WEXITSTATUS(status) if status is not None and os.WIFEXITED(status) else 1)


if __name__ == "__main__":
    main()
