"""Files and folders by their descriptors, so that no link on the way is ever followed."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
NEW_FILE: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC

READING: Final = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC
"""Opens what may be no file: nobody at its other end is waited for."""
_PIECE: Final = 1 << 20
_KINDS: Final = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFLNK: "a link",
}


@contextmanager
def opened(
    path: str | bytes | Path, flags: int, mode: int = 0o600, *, folder: int | None = None
) -> Generator[int]:
    """Open a file or a folder, in an open folder or by its path, and close it again."""
    descriptor = os.open(path, flags, mode, dir_fd=folder)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


@contextmanager
def folder_below(top: int, path: str | bytes) -> Generator[tuple[int, bytes]]:
    """Open the folder that a path lies in, and yield it with the name there; raises OSError.

    The path begins in a folder that is open.
    """
    *folders, name = os.fsencode(path).split(b"/")
    folder = os.dup(top)
    try:
        for part in folders:
            deeper = _entered(folder, part)
            os.close(folder)
            folder = deeper
        yield folder, name
    finally:
        os.close(folder)


def _entered(folder: int, part: bytes) -> int:
    try:
        return os.open(part, FOLDER, dir_fd=folder)
    except OSError as error:
        # Systems differ in what they call a link in the place of a folder.
        if error.errno == errno.ELOOP:
            raise NotADirectoryError(errno.ENOTDIR, "not a folder", part) from error
        raise


def names_in(folder: int) -> list[bytes]:
    """Return what is in an open folder, in order."""
    return sorted(map(os.fsencode, os.listdir(folder)))


def status_at(folder: int, name: bytes) -> os.stat_result | None:
    """Return what stands under a name in an open folder, if anything does."""
    try:
        return os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None


def sync(path: Path) -> None:
    """Wait until a file, or the names in a folder, are on the disk."""
    with opened(path, READING) as descriptor:
        os.fsync(descriptor)


def content_of(path: str | bytes | Path, *, most: int, follows_links: bool = True) -> bytes:
    """Return what a regular file holds; raises OSError for anything else, or where it is too much.

    Nothing is waited for: a pipe that nobody writes to is refused like a device, and a file that
    grows while it is read is over its limit no later than any other.
    """
    flags = READING if follows_links else READING | os.O_NOFOLLOW
    with opened(path, flags) as file:
        return content_of_open(file, most=most)


def content_of_open(file: int, *, most: int) -> bytes:
    """Return what a file holds that is open; raises OSError as for one that is not."""
    size = check_is_regular(file, most=most)
    content = bytearray()
    # What is said of its size may be wrong by now: what counts is what comes.
    while len(content) <= most and (piece := os.read(file, _PIECE)):
        content += piece
    if len(content) > most:
        raise _too_large(max(size, len(content)), most)
    return bytes(content)


def check_is_regular(file: int, *, most: int) -> int:
    """Return the size of an open file; raises OSError where it is no regular one, or too large."""
    status = os.fstat(file)
    if not stat.S_ISREG(status.st_mode):
        kind = _KINDS.get(stat.S_IFMT(status.st_mode), "something else")
        raise OSError(errno.EINVAL, f"it is {kind}, and only regular files are read")
    if status.st_size > most:
        raise _too_large(status.st_size, most)
    return status.st_size


def _too_large(size: int, most: int) -> OSError:
    return OSError(errno.EFBIG, f"it has {size:,} bytes, and at most {most:,} are read")
