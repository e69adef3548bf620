"""What a command reads and prints: passed on unchanged, and looked at on the way.

Where we are at a terminal the command gets one of its own, so that it behaves as it would without
us. Elsewhere it reads what we would read, and prints into pipes.
"""

from __future__ import annotations

import fcntl
import os
import pty
import select
import termios
import threading
import time
import tty
from collections.abc import Callable
from contextlib import suppress
from typing import Final, Self

from interlock.adapters.supervision.process_tree import Ends

_PIECE: Final = 65_536
_MOST_KEPT: Final = 65_536
_MOST_TAIL: Final = 8_192
_SIZE: Final = 8
"""The bytes of what a terminal says about its size."""
_IN, _OUT, _ERR = 0, 1, 2


class Printed:
    """The latest that a command printed, since somebody took it; and the very end of it."""

    def __init__(self, told: Callable[[], None], *, enough: int) -> None:
        self._told = told
        self._enough = enough
        self._lock = threading.Lock()
        self._kept = bytearray()
        self.tail = bytearray()
        """The end of all that was printed."""
        self.size = 0
        """How many bytes came since somebody took them."""
        self.last_at = 0.0
        """When the last of them came."""

    def add(self, piece: bytes) -> None:
        """Note what was printed; whoever waits is told of the first of it, and of enough."""
        with self._lock:
            before, self.size = self.size, self.size + len(piece)
            self.last_at = time.monotonic()
            self._kept += piece
            self.tail += piece
            del self._kept[:-_MOST_KEPT], self.tail[:-_MOST_TAIL]
        if not before or before < self._enough <= self.size:
            self._told()

    def take(self) -> bytes:
        """Return what was printed since the last time, or the end of that."""
        with self._lock:
            taken = bytes(self._kept)
            self._kept.clear()
            self.size = 0
        return taken


class CommandStreams:
    """The streams of one command: made before it starts, passed on while it runs."""

    def __init__(self, printed: Printed) -> None:
        self._printed = printed
        self._threads: list[threading.Thread] = []
        self._over, self._ended = os.pipe()
        self._theirs: list[int] = []
        self._ours: dict[int, int] = {}
        """Where we read what they print, and where it goes."""
        self._master: int | None = None
        self._before = termios.tcgetattr(_IN) if os.isatty(_IN) else None
        self.ends = self._terminal_ends() if self._before is not None else self._piped_ends()
        """What the command gets."""

    def _terminal_ends(self) -> Ends:
        self._master, slave = pty.openpty()
        self._theirs.append(slave)
        termios.tcsetattr(slave, termios.TCSANOW, termios.tcgetattr(_IN))
        self.resize()
        self._ours[self._master] = _OUT if os.isatty(_OUT) else _ERR if os.isatty(_ERR) else _IN
        out, err = (slave if os.isatty(each) else self._pipe_to(each) for each in (_OUT, _ERR))
        return Ends(slave, out, err, has_terminal=True)

    def _piped_ends(self) -> Ends:
        out = self._pipe_to(_OUT)
        # What goes to the same place stays in its order.
        is_same = os.path.samestat(os.fstat(_OUT), os.fstat(_ERR))
        return Ends(_IN, out, out if is_same else self._pipe_to(_ERR), has_terminal=False)

    def _pipe_to(self, end: int) -> int:
        reads, writes = os.pipe()
        self._ours[reads] = end
        self._theirs.append(writes)
        return writes

    def begin(self) -> None:
        """Pass on from now: the command has its ends."""
        self._let_go()
        self.be_raw()
        for source, target in self._ours.items():
            self._start(self._pass_on, source, target)
        if self._master is not None:
            # Whoever never types anything more is not waited for.
            self._start(self._pass_typed, self._master, is_waited_for=False)

    def _start(self, work: Callable[..., None], *ends: int, is_waited_for: bool = True) -> None:
        thread = threading.Thread(target=work, args=ends, daemon=True)
        if is_waited_for:
            self._threads.append(thread)
        thread.start()

    def _let_go(self) -> None:
        while self._theirs:
            os.close(self._theirs.pop())

    def _pass_on(self, source: int, target: int) -> None:
        """Pass on what they print, until none of them is left; then what is left of it."""
        is_wanted = True
        while is_wanted and source in select.select([source, self._over], [], [])[0]:
            try:
                piece = os.read(source, _PIECE)
            except OSError:
                # A terminal whose other end is closed.
                piece = b""
            if piece:
                self._printed.add(piece)
            is_wanted = bool(piece) and _is_written(target, piece)
        if source != self._master:
            # Whom nobody reads is told so, as without us.
            os.close(source)

    def _pass_typed(self, master: int) -> None:
        with suppress(OSError):
            while typed := os.read(_IN, _PIECE):
                os.write(master, typed)

    def be_raw(self) -> None:
        """Leave keys and lines to the command's terminal."""
        if self._before is not None:
            tty.setraw(_IN, termios.TCSADRAIN)

    def be_plain(self) -> None:
        """Make our terminal what it was."""
        if self._before is not None:
            termios.tcsetattr(_IN, termios.TCSADRAIN, self._before)

    def resize(self) -> None:
        """Make the command's terminal as large as ours."""
        if self._master is not None:
            size = fcntl.ioctl(_IN, termios.TIOCGWINSZ, bytes(_SIZE))
            fcntl.ioctl(self._master, termios.TIOCSWINSZ, size)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _kind: object, _error: object, _trace: object) -> None:
        """Pass on what is left once the command has ended, and close everything."""
        os.write(self._ended, b".")
        for thread in self._threads:
            thread.join()
        self.be_plain()
        self._let_go()
        if not self._threads:
            for source in self._ours.keys() - {self._master}:
                os.close(source)
        for end in (self._over, self._ended, self._master):
            if end is not None:
                os.close(end)


def _is_written(target: int, piece: bytes) -> bool:
    """Write all of it; return False where nobody reads it any more."""
    try:
        while piece:
            piece = piece[os.write(target, piece) :]
    except OSError:
        return False
    return True
