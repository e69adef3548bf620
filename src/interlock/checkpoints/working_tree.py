"""Files below one folder, looked at and changed without ever following a link out of it."""

from __future__ import annotations

import os
import secrets
import shutil
import stat
from collections.abc import Collection, Generator, Iterable
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Final

from interlock.descriptors import FOLDER, NEW_FILE, folder_below, names_in, opened, status_at
from interlock.errors import CheckpointError

_PIECE: Final = 1 << 20


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
                file = os.open(fresh, NEW_FILE, 0o777 if executable else 0o666, dir_fd=folder)
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
        # A folder is there where something else came into the place of the file.
        with (
            suppress(FileNotFoundError, NotADirectoryError, IsADirectoryError),
            folder_below(self._top, path) as (folder, name),
        ):
            os.unlink(name, dir_fd=folder)
        self._remove_empty(path.rpartition(b"/")[0])

    @contextmanager
    def _folder_of(self, path: bytes) -> Generator[tuple[int, bytes]]:
        """Open the folder that a path lies in; it is made, with all above it."""
        for above in sorted(folders_above([path])):
            with folder_below(self._top, above) as (folder, name):
                self._make_folder(folder, name, above)
        with folder_below(self._top, path) as found:
            yield found

    def _make_folder(self, folder: int, name: bytes, path: bytes) -> None:
        _check_part(name, path)
        status = status_at(folder, name)
        if status is not None and not stat.S_ISDIR(status.st_mode):
            self._check_saved(path)
            os.unlink(name, dir_fd=folder)
            status = None
        if status is None:
            os.mkdir(name, dir_fd=folder)

    def _cleared(self, folder: int, name: bytes, path: bytes) -> os.stat_result | None:
        """Make way for a file: return what stands there; a folder is emptied and removed."""
        _check_part(name, path)
        status = status_at(folder, name)
        if status is not None:
            self._check_may_go(folder, name, path, status)
            if stat.S_ISDIR(status.st_mode):
                shutil.rmtree(name, dir_fd=folder)
        return status

    def check_may_go(self, path: bytes) -> None:
        """Refuse to make way for a file where something that is not saved would be lost."""
        with (
            suppress(FileNotFoundError, NotADirectoryError),
            folder_below(self._top, path) as (folder, name),
        ):
            status = status_at(folder, name)
            if status is not None:
                self._check_may_go(folder, name, path, status)

    def _check_may_go(self, folder: int, name: bytes, path: bytes, status: os.stat_result) -> None:
        if not stat.S_ISDIR(status.st_mode):
            self._check_saved(path)
            return
        with opened(name, FOLDER, folder=folder) as inner:
            for each in names_in(inner):
                below = os.stat(each, dir_fd=inner, follow_symlinks=False)
                self._check_may_go(inner, each, path + b"/" + each, below)

    def _check_saved(self, path: bytes) -> None:
        if path not in self._saved:
            shown = path.decode("utf-8", "backslashreplace")
            raise CheckpointError(
                f"`{shown}` is in the way and was not saved, because it is ignored or belongs to a"
                " repository of its own: move it away, then restore again"
            )

    def _remove_empty(self, path: bytes) -> None:
        while path and path not in self._lasting_folders:
            try:
                with folder_below(self._top, path) as (folder, name):
                    os.rmdir(name, dir_fd=folder)
            except OSError:
                # Something is in it, or it is gone already.
                return
            path = path.rpartition(b"/")[0]


@contextmanager
def safe_writer(
    top: Path, *, saved: Collection[bytes], lasting_folders: Collection[bytes]
) -> Generator[SafeWriter]:
    """Open a folder for writing below it; some folders stay even when they become empty."""
    with opened(top, FOLDER) as folder:
        yield SafeWriter(folder, saved, lasting_folders)


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
