"""Where a file is: inside of the workspace, or nowhere.

A path is followed to the end once, when an edit is planned; what is stored is the way without
links. Later every folder on that way is entered one after the other, and a link that has come
into its place since is not followed.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, NamedTuple

from interlock import descriptors
from interlock.descriptors import FOLDER, content_of_open, folder_below, opened
from interlock.errors import EditError

# Opening what is no file must not wait for somebody at its other end.
READING: Final = descriptors.READING | os.O_NOFOLLOW
MOST_BYTES: Final = 64 * 1024 * 1024
"""What a file may hold that is edited: a few times as much memory is needed for it."""


class FoundFile(NamedTuple):
    """A file as it was found."""

    content: bytes
    status: os.stat_result

    @property
    def mode(self) -> int:
        """Its permissions."""
        return stat.S_IMODE(self.status.st_mode)


def workspace_root(workspace: Path) -> Path:
    """Return the folder that edits stay in, without links on the way."""
    try:
        root = workspace.resolve(strict=True)
    except (OSError, RuntimeError) as error:
        raise EditError(f"the workspace `{workspace}` cannot be used: {_why(error)}") from error
    if not root.is_dir():
        raise EditError(f"the workspace `{workspace}` is not a folder: name the work's folder")
    try:
        os.fsencode(root).decode()
    except UnicodeDecodeError as error:
        raise EditError("the name of the workspace is not UTF-8: rename its folder") from error
    return root


def target_of(root: Path, path: str) -> str:
    """Return the way from the root to the file that a path leads to, which need not exist.

    Raises EditError, without the path, where it leads out of the workspace or to nothing that
    could be a file.
    """
    if not path or "\0" in path or path.endswith("/"):
        raise EditError("is no path of a file: give one that is relative to the workspace")
    try:
        os.fsencode(path).decode()
    except UnicodeError as error:
        raise EditError("is no path that can be written down: rename the file first") from error
    joined = root / path
    try:
        # A path that leads in a circle is refused, one that leads nowhere is not.
        with suppress(FileNotFoundError):
            joined.stat()
        real = Path(os.path.realpath(joined))
    except OSError as error:
        raise EditError(f"cannot be reached: {_why(error)}") from error
    if real != root and not real.is_relative_to(root):
        raise EditError(f"leads out of the workspace `{root}`: name a file inside of it")
    if real == root:
        raise EditError("is the workspace itself: name a file inside of it")
    try:
        return os.fsencode(real.relative_to(root)).decode()
    except UnicodeDecodeError as error:
        raise EditError("leads to a file whose name is not UTF-8: rename it first") from error


def check_is_writable(root: Path, target: str) -> None:
    """Refuse a file that may not be written, or whose folder may not; folders may be missing."""
    place = root / target
    if place.exists() and not os.access(place, os.W_OK, effective_ids=True):
        raise EditError("is read-only: change its permissions first, if it may be edited")
    folder = place.parent
    while not folder.exists():
        folder = folder.parent
    if not os.access(folder, os.W_OK | os.X_OK, effective_ids=True):
        raise EditError(
            f"cannot be written: the folder `{folder}` is read-only: change its permissions first,"
            " if files in it may be edited"
        )


@contextmanager
def folder_of(root: Path, path: str | bytes) -> Generator[tuple[int, bytes]]:
    """Open the folder that a path lies in, and yield it with the name there; raises OSError.

    No link on the way is followed.
    """
    with opened(root, FOLDER) as top, folder_below(top, path) as found:
        yield found


def found_file(root: Path, target: str) -> FoundFile | None:
    """Return the file that is there, or None; refuse what is no file."""
    try:
        with (
            folder_of(root, target) as (folder, name),
            opened(name, READING, folder=folder) as file,
        ):
            status = os.fstat(file)
            _check_is_file(status)
            return FoundFile(content_of_open(file, most=MOST_BYTES), status)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise EditError(f"cannot be read: {_why(error)}") from error


def missing_folders(root: Path, target: str) -> tuple[str, ...]:
    """Return the folders on the way to a file that do not exist, the outermost first."""
    above = [parent for parent in Path(target).parents if parent != Path()]
    return tuple(str(parent) for parent in reversed(above) if not (root / parent).is_dir())


def make_folders(root: Path, folders: Sequence[str]) -> None:
    """Make folders, the outermost first, unless they are there; raises OSError."""
    for path in folders:
        with folder_of(root, path) as (folder, name), suppress(FileExistsError):
            os.mkdir(name, dir_fd=folder)
            os.fsync(folder)


def _check_is_file(status: os.stat_result) -> None:
    if stat.S_ISDIR(status.st_mode):
        raise EditError("is a folder: name a file")
    if not stat.S_ISREG(status.st_mode):
        raise EditError("is neither a file nor a folder: only files can be edited")
    if status.st_size > MOST_BYTES:
        raise EditError(
            f"has {status.st_size:,} bytes, at most {MOST_BYTES:,} can be edited: change it with"
            " a program of its own"
        )


def _why(error: Exception) -> str:
    if not isinstance(error, OSError):
        return str(error)
    if error.errno == errno.ELOOP:
        return "links lead in a circle: mend the link, or name the file itself"
    if error.errno == errno.ENOTDIR:
        return "a folder on the way is a file: correct the path"
    return (error.strerror or str(error)).lower()
