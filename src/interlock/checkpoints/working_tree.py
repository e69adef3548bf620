"""Files below one folder, looked at and changed without ever following a link out of it."""

from __future__ import annotations

import errno
import os
import secrets
import stat
from collections.abc import Callable, Collection, Generator, Iterable
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Final

from interlock.errors import CheckpointError

_PIECE: Final = 1 << 20
_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_NEW_FILE: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class WorkingTree:
    """The files below a folder, for looking; each folder on the way is looked at once."""

    def __init__(self, top: Path) -> None:
        self._top = os.fsencode(top)
        self._folders: dict[bytes, bool] = {b"": True}
        self._seen: dict[bytes, os.stat_result | None] = {}

    def is_file(self, path: bytes) -> bool:
        """Whether a file or a link stands there; what is behind a link is not of this tree."""
        seen = self._status(path)
        return seen is not None and (stat.S_ISREG(seen.st_mode) or stat.S_ISLNK(seen.st_mode))

    def is_folder(self, path: bytes) -> bool:
        """Whether a real folder stands there."""
        path = path.removesuffix(b"/")
        if path not in self._folders:
            seen = self._status(path)
            self._folders[path] = seen is not None and stat.S_ISDIR(seen.st_mode)
        return self._folders[path]

    def size(self, path: bytes) -> int:
        """Return how many bytes a file has."""
        seen = self._status(path)
        return 0 if seen is None else seen.st_size

    def _status(self, path: bytes) -> os.stat_result | None:
        if path not in self._seen:
            self._seen[path] = None
            if self.is_folder(path.rpartition(b"/")[0]):
                with suppress(FileNotFoundError, NotADirectoryError):
                    self._seen[path] = os.lstat(b"/".join((self._top, path)))
        return self._seen[path]


def _entered(folder: int, part: bytes, path: bytes) -> int:
    """Open one more folder on the way; a link is none."""
    try:
        return os.open(part, _FOLDER, dir_fd=folder)
    except OSError as error:
        # Systems differ in what they call a link in the place of a folder.
        if error.errno == errno.ELOOP:
            raise NotADirectoryError(errno.ENOTDIR, "not a folder", path) from error
        raise


class SafeWriter:
    """Writes and removes files below a folder, one step of the path after the other.

    INVARIANT: no link is ever followed, and nothing is removed or replaced but what is `saved`.
    """

    def __init__(
        self, top: int, saved: Collection[bytes], lasting_folders: Collection[bytes]
    ) -> None:
        self._top = top
        self._saved = saved
        self._lasting_folders = lasting_folders

    def write_file(self, path: bytes, content: IO[bytes], size: int, *, executable: bool) -> None:
        """Put a file in its place in one go; the permissions of an earlier one are kept."""
        with self._folder_of(path) as (folder, name):
            before = self._cleared(folder, name, path)
            with _new_name(folder) as fresh:
                file = os.open(fresh, _NEW_FILE, 0o777 if executable else 0o666, dir_fd=folder)
                with os.fdopen(file, "wb") as writing:
                    _copy(content, writing, size)
                    if before is not None and stat.S_ISREG(before.st_mode):
                        os.fchmod(file, _permissions(before.st_mode, executable=executable))
                os.rename(fresh, name, src_dir_fd=folder, dst_dir_fd=folder)

    def write_link(self, path: bytes, target: bytes) -> None:
        """Put a link in its place; where it points to does not matter, nobody follows it."""
        with self._folder_of(path) as (folder, name):
            self._cleared(folder, name, path)
            with _new_name(folder) as fresh:
                os.symlink(target, fresh, dir_fd=folder)
                os.rename(fresh, name, src_dir_fd=folder, dst_dir_fd=folder)

    def remove(self, path: bytes) -> None:
        """Remove a file, and the folders that are empty without it."""
        self._check_saved(path)
        parents, _, name = path.rpartition(b"/")
        # A folder is there where something else came into the place of the file.
        with (
            suppress(FileNotFoundError, NotADirectoryError, IsADirectoryError),
            self._opened(parents) as folder,
        ):
            os.unlink(name, dir_fd=folder)
        self._remove_empty(parents)

    @contextmanager
    def _folder_of(self, path: bytes) -> Generator[tuple[int, bytes]]:
        """Open the folder that a path lies in; it is made, with all above it."""
        parents, _, name = path.rpartition(b"/")
        with self._opened(parents, self._made_and_entered) as folder:
            yield folder, name

    def _made_and_entered(self, folder: int, part: bytes, path: bytes) -> int:
        _check_part(part, path)
        status = _status(folder, part)
        if status is not None and not stat.S_ISDIR(status.st_mode):
            self._check_saved(path)
            os.unlink(part, dir_fd=folder)
            status = None
        if status is None:
            os.mkdir(part, dir_fd=folder)
        return os.open(part, _FOLDER, dir_fd=folder)

    def _cleared(self, folder: int, name: bytes, path: bytes) -> os.stat_result | None:
        """Make way for a file: return what stands there; a folder is emptied and removed."""
        _check_part(name, path)
        status = _status(folder, name)
        if status is not None:
            self._check_may_go(folder, name, path, status)
            if stat.S_ISDIR(status.st_mode):
                self._remove_all(folder, name)
        return status

    def check_may_go(self, path: bytes) -> None:
        """Refuse to make way for a file where something that is not saved would be lost."""
        parents, _, name = path.rpartition(b"/")
        with (
            suppress(FileNotFoundError, NotADirectoryError),
            self._opened(parents) as folder,
        ):
            status = _status(folder, name)
            if status is not None:
                self._check_may_go(folder, name, path, status)

    def _check_may_go(self, folder: int, name: bytes, path: bytes, status: os.stat_result) -> None:
        if not stat.S_ISDIR(status.st_mode):
            self._check_saved(path)
            return
        inner = os.open(name, _FOLDER, dir_fd=folder)
        try:
            for each in _names(inner):
                below = os.stat(each, dir_fd=inner, follow_symlinks=False)
                self._check_may_go(inner, each, path + b"/" + each, below)
        finally:
            os.close(inner)

    def _remove_all(self, folder: int, name: bytes) -> None:
        inner = os.open(name, _FOLDER, dir_fd=folder)
        try:
            for each in _names(inner):
                if stat.S_ISDIR(os.stat(each, dir_fd=inner, follow_symlinks=False).st_mode):
                    self._remove_all(inner, each)
                else:
                    os.unlink(each, dir_fd=inner)
        finally:
            os.close(inner)
        os.rmdir(name, dir_fd=folder)

    def _check_saved(self, path: bytes) -> None:
        if path not in self._saved:
            shown = path.decode("utf-8", "backslashreplace")
            raise CheckpointError(
                f"`{shown}` is in the way and was not saved, because it is ignored or belongs to a"
                " repository of its own: move it away, then restore again"
            )

    def _remove_empty(self, path: bytes) -> None:
        while path and path not in self._lasting_folders:
            parents, _, name = path.rpartition(b"/")
            try:
                with self._opened(parents) as folder:
                    os.rmdir(name, dir_fd=folder)
            except OSError:
                # Something is in it, or it is gone already.
                return
            path = parents

    @contextmanager
    def _opened(
        self, path: bytes, enter: Callable[[int, bytes, bytes], int] = _entered
    ) -> Generator[int]:
        """Open a folder step by step."""
        folder = os.dup(self._top)
        try:
            done = b""
            for part in path.split(b"/") if path else ():
                done = done + b"/" + part if done else part
                deeper = enter(folder, part, done)
                os.close(folder)
                folder = deeper
            yield folder
        finally:
            os.close(folder)


@contextmanager
def safe_writer(
    top: Path, *, saved: Collection[bytes], lasting_folders: Collection[bytes]
) -> Generator[SafeWriter]:
    """Open a folder for writing below it; some folders stay even when they become empty."""
    opened = os.open(top, _FOLDER)
    try:
        yield SafeWriter(opened, saved, lasting_folders)
    finally:
        os.close(opened)


def folders_above(paths: Iterable[bytes]) -> set[bytes]:
    """Return every folder on the way to some paths."""
    found: set[bytes] = set()
    for path in paths:
        folder = path.rpartition(b"/")[0]
        while folder and folder not in found:
            found.add(folder)
            folder = folder.rpartition(b"/")[0]
    return found


@contextmanager
def _new_name(folder: int) -> Generator[bytes]:
    """Give a name for a file in the making; it is gone if the file does not get its place."""
    name = f".interlock-{secrets.token_hex(8)}".encode()
    try:
        yield name
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(name, dir_fd=folder)
        raise


def _names(folder: int) -> list[bytes]:
    return [os.fsencode(name) for name in os.listdir(folder)]


def _status(folder: int, name: bytes) -> os.stat_result | None:
    try:
        return os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None


def _check_part(part: bytes, path: bytes) -> None:
    if part in (b"", b".", b"..") or part.lower() == b".git":
        shown = path.decode("utf-8", "backslashreplace")
        raise CheckpointError(
            f"`{shown}` is no path that a checkpoint can hold: nothing is written"
        )


def _permissions(before: int, *, executable: bool) -> int:
    """Return the permissions of a file; whoever may read it may run it, or nobody may."""
    plain = stat.S_IMODE(before) & 0o666
    return plain | (plain & 0o444) >> 2 if executable else plain


def _copy(content: IO[bytes], writing: IO[bytes], size: int) -> None:
    while size:
        piece = content.read(min(_PIECE, size))
        if not piece:
            raise CheckpointError("git gave less of a file than it had announced")
        writing.write(piece)
        size -= len(piece)
