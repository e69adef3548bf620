"""Who waits for the ledger, and how are they woken, in whatever process of this machine?

A listener is a unix datagram socket in a private folder; ringing sends an empty message to
every socket there. Nothing is stored and nobody has to be running: a dead listener leaves a
socket that nobody reads, and the next ring removes it.

The folder lies below the temporary folder and belongs to one user: processes with another
user or another `TMPDIR` do not hear each other. A waiter that must hear of everything waits
with a timeout and looks again.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import io
import os
import secrets
import socket
import stat
import tempfile
import time
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self

from interlock.errors import UnavailableError

_HAS_DATAGRAM_SOCKETS = hasattr(socket, "AF_UNIX") and hasattr(os, "getuid")
_SUFFIX = ".bell"
# A name that is not listening yet; a ring does not see it.
_UNFINISHED = ".new"
_UNFINISHED_FOR_S = 60.0
# The shorter of the limits of Linux (108) and macOS (104), less the closing zero.
_LONGEST_PATH = 103
_LOOK_AGAIN_S = 0.25
_DRAINED_AT_ONCE = 1024
_RECEIVER_IS_FULL = frozenset({errno.EAGAIN, errno.EWOULDBLOCK, errno.ENOBUFS})
_RECEIVER_IS_DEAD = frozenset({errno.ECONNREFUSED})


class Listener(Protocol):
    """Hears every ring from the moment it exists.

    Who first listens, then looks, then waits cannot miss anything: a ring after the look is
    kept for the wait. For one thread at a time.
    """

    def wait(self, timeout_s: float | None) -> bool:
        """Return True when it is time to look, False when `timeout_s` passed in silence.

        Any number of rings since the last wait count as one; None waits without end.
        """
        ...

    def fileno(self) -> int:
        """Return what to watch for reading; then call `wait(0)`, which takes the rings away."""
        ...

    def close(self) -> None:
        """Stop listening."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...


class Notifier:
    """Wakes those who wait for changes of one ledger.

    May be used by any number of processes and threads, and across a fork.
    """

    def __init__(self, folder: Path) -> None:
        """Name the bell after the ledger's folder; nothing is made before somebody listens."""
        self._home, self._sockets = _places(folder)

    def ring(self) -> None:
        """Wake every listener; never raise and never block.

        A listener that has not taken earlier rings yet is not sent another.
        """
        try:
            names = os.listdir(self._sockets)  # noqa: PTH208 - a third of the cost of Path.iterdir
        except OSError:
            return
        if names:
            with contextlib.suppress(OSError):
                self._send_to([name for name in names if name.endswith(_SUFFIX)])

    def listen(self) -> Listener:
        """Return a new listener; close it after use."""
        if not _HAS_DATAGRAM_SOCKETS:
            return PollingListener()
        try:
            return self._bind()
        except OSError as error:
            raise UnavailableError(
                f"cannot listen in `{self._sockets}`: {error.strerror or error}; "
                "set TMPDIR to a short path of a folder that can be written"
            ) from error

    def _send_to(self, names: list[str]) -> None:
        # INVARIANT: nothing is removed from a folder that somebody else can fill.
        if not names or not _is_private(self._home):
            return
        with contextlib.ExitStack() as stack:
            sender = stack.enter_context(_sender())
            for name in names:
                path = f"{self._sockets}/{name}"
                problem = _send(sender, path)
                if problem in _RECEIVER_IS_FULL:
                    # Either this listener has rings to take, or the messages that others have
                    # not taken yet fill what one sender may have under way: a new one tells.
                    sender = stack.enter_context(_sender())
                    problem = _send(sender, path)
                if problem in _RECEIVER_IS_DEAD:
                    with contextlib.suppress(OSError):
                        os.unlink(path)  # noqa: PTH108 - a text already, on the way of each commit

    def _bind(self) -> Listener:
        while True:
            _make_private(self._home)
            with contextlib.suppress(FileExistsError):
                self._sockets.mkdir(mode=0o700)
            try:
                _remove_unfinished(self._sockets)
                return SocketListener(self._sockets / f"{secrets.token_hex(8)}{_SUFFIX}")
            except FileNotFoundError:
                # The last of the other listeners has just removed the folder behind itself.
                continue


class SocketListener:
    """Listens on a socket of its own."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._process = os.getpid()
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        unfinished = path.with_suffix(_UNFINISHED)
        try:
            # While it is being bound, a socket looks like a dead one: it gets the name that
            # rings look for when it can be sent to.
            self._socket.bind(str(unfinished))
            unfinished.rename(path)
        except OSError:
            self._socket.close()
            raise

    def wait(self, timeout_s: float | None) -> bool:
        """Return True when it is time to look, False when `timeout_s` passed in silence."""
        # A deadline that has passed already is no reason to fail.
        self._socket.settimeout(None if timeout_s is None else max(timeout_s, 0.0))
        try:
            self._socket.recv(1)
        except (BlockingIOError, TimeoutError):
            return False
        self._drain()
        return True

    def fileno(self) -> int:
        """Return what to watch for reading."""
        return self._socket.fileno()

    def close(self) -> None:
        """Stop listening, and remove the folder behind the last one."""
        self._socket.close()
        # After a fork both processes hold the listener; only its maker takes its name away.
        if os.getpid() == self._process:
            self._path.unlink(missing_ok=True)
            with contextlib.suppress(OSError):
                self._path.parent.rmdir()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _drain(self) -> None:
        # Bounded, so that those who ring without pause cannot keep us from looking.
        self._socket.setblocking(False)  # noqa: FBT003 - the standard library's signature
        with contextlib.suppress(BlockingIOError):
            for _ in range(_DRAINED_AT_ONCE):
                self._socket.recv(1)


class PollingListener:
    """Stands in where there are no sockets to listen on: it is soon time to look again."""

    def wait(self, timeout_s: float | None) -> bool:
        """Return True after a moment, or False when `timeout_s` is shorter than that."""
        if timeout_s is not None and timeout_s <= _LOOK_AGAIN_S:
            time.sleep(max(timeout_s, 0.0))
            return False
        time.sleep(_LOOK_AGAIN_S)
        return True

    def fileno(self) -> int:
        """Refuse: there is nothing to watch."""
        raise io.UnsupportedOperation("this system has no sockets to watch; call wait instead")

    def close(self) -> None:
        """Do nothing: nothing is held."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def _places(ledger: Path) -> tuple[Path, Path]:
    """The user's folder for all bells, and the one for this ledger's listeners.

    The same for every process of a user: named by a digest, since the path of a socket has
    to be short, and in `/tmp` where the temporary folder's own path is too long.
    """
    user = os.getuid() if _HAS_DATAGRAM_SOCKETS else 0
    digest = hashlib.sha256(os.fsencode(ledger.resolve())).hexdigest()[:16]
    for temporary in (tempfile.gettempdir(), "/tmp"):  # noqa: S108 - only a 0700 folder is used
        home = Path(temporary) / f"interlock-{user}"
        sockets = home / digest
        if len(os.fsencode(sockets)) + 1 + 16 + len(_SUFFIX) <= _LONGEST_PATH:
            break
    return home, sockets


def _make_private(home: Path) -> None:
    """Make the user's folder; refuse one that others own or can reach into."""
    with contextlib.suppress(FileExistsError):
        home.mkdir(mode=0o700, parents=True)
    if not _is_private(home):
        raise UnavailableError(
            f"`{home}` belongs to somebody else or is open to others, so nothing is put there; "
            "remove it, `chmod 700` it, or set TMPDIR to a folder of your own"
        )


def _is_private(home: Path) -> bool:
    """Whether it is a folder, not a link to one, that only this user can use."""
    found = os.lstat(home)
    return (
        stat.S_ISDIR(found.st_mode)
        and found.st_uid == os.getuid()
        and stat.S_IMODE(found.st_mode) & 0o077 == 0
    )


def _sender() -> socket.socket:
    sender = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    sender.setblocking(False)  # noqa: FBT003 - the standard library's signature
    return sender


def _send(sender: socket.socket, path: str) -> int | None:
    """Send one ring; return the number of the error, None when there was none."""
    try:
        sender.sendto(b"!", path)
    except OSError as error:
        return error.errno
    return None


def _remove_unfinished(sockets: Path) -> None:
    """Remove what processes left that died while they began to listen."""
    for leftover in sockets.glob(f"*{_UNFINISHED}"):
        with contextlib.suppress(OSError):
            if time.time() - leftover.stat().st_mtime > _UNFINISHED_FOR_S:
                leftover.unlink()
