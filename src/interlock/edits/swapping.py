"""One file for another: the new one is written beside the old one, then takes its place at once."""

from __future__ import annotations

import enum
import os
from contextlib import suppress
from pathlib import Path
from typing import Final

from interlock.edits.journal import Entry, State, write_all
from interlock.edits.places import Opened, opened, read_at
from interlock.edits.planning import digest_of
from interlock.errors import EditError

_NEW_FILE: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_NEW_MODE: Final = 0o666
_FOLDER_MODE: Final = 0o777


class Side(enum.Enum):
    """Which of its two states a file is in."""

    OLD = "old"
    NEW = "new"
    OTHER = "other"
    """Somebody else has changed it."""


def side_of(root: Path, entry: Entry) -> Side:
    """Return which state a file is in, by its bytes."""
    try:
        with opened(root, entry.target) as place:
            digest = digest_of(read_at(place).content)
    except FileNotFoundError:
        digest = None
    except (OSError, EditError):
        return Side.OTHER
    if digest == _digest(entry.before):
        return Side.OLD
    return Side.NEW if digest == _digest(entry.after) else Side.OTHER


def make_folders(root: Path, entry: Entry) -> None:
    """Make the folders that are missing on the way to a file."""
    for folder in entry.made:
        with opened(root, folder) as place, suppress(FileExistsError):
            os.mkdir(place.name, _FOLDER_MODE, dir_fd=place.folder)
            os.fsync(place.folder)


def write_draft(root: Path, entry: Entry, content: bytes, state: State) -> None:
    """Write a file beside its target, with its permissions, owner and attributes; sync it."""
    with opened(root, entry.target) as place:
        file = os.open(entry.draft, _NEW_FILE, _NEW_MODE, dir_fd=place.folder)
        try:
            write_all(file, content)
            _take_over(file, place)
            if state.mode is not None:
                os.fchmod(file, state.mode)
            os.fsync(file)
        finally:
            os.close(file)


def has_draft(root: Path, entry: Entry) -> bool:
    """Whether the whole new file lies ready."""
    try:
        with opened(root, entry.target) as place:
            draft = read_at(Opened(place.folder, entry.draft))
    except (OSError, EditError):
        return False
    return digest_of(draft.content) == _digest(entry.after)


def swap(root: Path, entry: Entry, state: State | None) -> None:
    """Put the draft in the place of its target, or remove the target; sync the folder."""
    with opened(root, entry.target) as place:
        if state is None:
            os.unlink(place.name, dir_fd=place.folder)
        else:
            os.rename(entry.draft, place.name, src_dir_fd=place.folder, dst_dir_fd=place.folder)
        os.fsync(place.folder)


def remove_draft(root: Path, entry: Entry) -> None:
    """Remove a draft that did not get its place."""
    with suppress(FileNotFoundError, NotADirectoryError), opened(root, entry.target) as place:
        os.unlink(entry.draft, dir_fd=place.folder)


def remove_folders(root: Path, folders: tuple[str, ...]) -> None:
    """Remove folders, the innermost first, as far as nothing is in them."""
    for folder in reversed(folders):
        # Whoever has put something there since keeps it.
        with suppress(OSError), opened(root, folder) as place:
            os.rmdir(place.name, dir_fd=place.folder)


def _digest(state: State | None) -> str | None:
    return None if state is None else state.digest


def _take_over(file: int, place: Opened) -> None:
    """Give a new file the owner and the attributes of the one it replaces, if allowed."""
    try:
        old = os.open(place.name, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=place.folder)
    except FileNotFoundError:
        return
    try:
        before, after = os.fstat(old), os.fstat(file)
        if (before.st_uid, before.st_gid) != (after.st_uid, after.st_gid):
            with suppress(PermissionError):
                os.fchown(file, before.st_uid, before.st_gid)
        # Not every system and not every disk has attributes, and some are for the system only.
        with suppress(OSError, AttributeError):
            for name in os.listxattr(old):
                os.setxattr(file, name, os.getxattr(old, name))
    finally:
        os.close(old)
