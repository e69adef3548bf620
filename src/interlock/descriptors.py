"""Files and folders by their descriptors, so that no link on the way is ever followed."""

from __future__ import annotations

import errno
import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
NEW_FILE: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


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
    with opened(path, os.O_RDONLY | os.O_CLOEXEC) as descriptor:
        os.fsync(descriptor)
