"""A disk below SQLite on which a process dies at a chosen write, or loses what it never synced.

Everything goes through to real files. `kill` ends the process just before a write; `cut` first
takes back what was written since the last sync of each file, all of it or by the toss of a coin,
as a power cut would.
"""

from __future__ import annotations

import os
import random
import signal
import threading
from collections import defaultdict
from typing import NamedTuple, NoReturn

from crash.apsw_files import VFS, URIFilename, VFSFile

_BELOW = "unix"


class _Write(NamedTuple):
    """A change of a file that may not have reached the disk yet; without data, its truncation."""

    offset: int
    before: bytes
    size_before: int
    data: bytes | None


class _Disk:
    """What one process has written so far."""

    def __init__(self, *, dies_at: int | None, file: str, cut: int | None) -> None:
        self.writes = 0
        self._dies_at = dies_at
        self._file = file
        self._cut = cut
        self._turn = threading.Lock()
        self._unsynced: defaultdict[str, list[_Write]] = defaultdict(list)

    def about_to_write(self, path: str, change: _Write) -> None:
        with self._turn:
            if path.endswith(self._file):
                self.writes += 1
                if self.writes == self._dies_at:
                    self._die()
            if self._cut is not None:
                self._unsynced[path].append(change)

    def synced(self, path: str) -> None:
        with self._turn:
            self._unsynced.pop(path, None)

    @property
    def remembers(self) -> bool:
        return self._cut is not None

    def _die(self) -> NoReturn:
        coin = random.Random(self._cut)
        for path, changes in self._unsynced.items():
            _lose(path, changes, coin if self._cut else None)
        os.kill(os.getpid(), signal.SIGKILL)
        raise AssertionError("survived a SIGKILL")


def _lose(path: str, changes: list[_Write], coin: random.Random | None) -> None:
    """Take back every change since the last sync; with a coin, some of them reach the disk."""
    if not os.path.exists(path):  # noqa: PTH110 - SQLite's own text
        return
    descriptor = os.open(path, os.O_RDWR)
    for change in reversed(changes):
        os.pwrite(descriptor, change.before, change.offset)
        os.ftruncate(descriptor, change.size_before)
    for change in changes:
        if coin is not None and coin.random() < 0.5:
            if change.data is None:
                os.ftruncate(descriptor, change.offset)
            else:
                os.pwrite(descriptor, change.data, change.offset)


_installed: list[_Disk] = []


def install(*, dies_at: int | None = None, file: str = "", cut: int | None = None) -> None:
    """Put the disk below SQLite; die at the given write to a file whose name ends so.

    With `cut`, unsynced writes are lost: all of them at 0, or some, as this seed tells.
    """
    disk = _Disk(dies_at=dies_at, file=file, cut=cut)
    _installed.append(disk)
    _kept.append(_FailingVfs(disk))


def writes() -> int:
    """Return how many writes were counted."""
    return _installed[-1].writes if _installed else 0


class _FailingVfs(VFS):
    def __init__(self, disk: _Disk) -> None:
        self._disk = disk
        super().__init__("failing", _BELOW, makedefault=True)

    def xOpen(self, name: str | URIFilename | None, flags: list[int]) -> _FailingFile:  # noqa: N802 - SQLite's name
        return _FailingFile(name, flags, self._disk)


class _FailingFile(VFSFile):
    def __init__(self, name: str | URIFilename | None, flags: list[int], disk: _Disk) -> None:
        self._path = name.filename() if isinstance(name, URIFilename) else name or ""
        self._disk = disk
        super().__init__(_BELOW, name, flags)

    def xWrite(self, data: bytes, offset: int) -> None:  # noqa: N802 - SQLite's name
        self._disk.about_to_write(self._path, self._change(offset, len(data), bytes(data)))
        super().xWrite(data, offset)

    def xTruncate(self, newsize: int) -> None:  # noqa: N802 - SQLite's name
        size = super().xFileSize()
        self._disk.about_to_write(self._path, self._change(newsize, size - newsize, None))
        super().xTruncate(newsize)

    def xSync(self, flags: int) -> None:  # noqa: N802 - SQLite's name
        super().xSync(flags)
        self._disk.synced(self._path)

    def _change(self, offset: int, length: int, data: bytes | None) -> _Write:
        size = super().xFileSize()
        there = max(0, min(length, size - offset))
        before = super().xRead(there, offset) if there and self._disk.remembers else b""
        return _Write(offset, before, size, data)


_kept: list[_FailingVfs] = []
"""SQLite calls it as long as the process lives."""
