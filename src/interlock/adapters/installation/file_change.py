"""A change of somebody's file: shown first, kept beside, written as a whole, and taken back."""

from __future__ import annotations

import difflib
import os
import re
import secrets
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

from interlock.errors import InputError

_BACKUP: Final = ".interlock-backup"
_MADE: Final = ".interlock-made"
_NEW: Final = 0o666


class FileChange(NamedTuple):
    """What a file holds, and what it is to hold; None where it is not, or is to go."""

    path: Path
    before: bytes | None
    after: bytes | None
    is_first: bool = False
    """Nothing of ours is in it yet: what it holds is kept beside it."""
    is_last: bool = False
    """Nothing of ours is left in it: what was kept goes."""

    @property
    def changes(self) -> bool:
        """Whether there is anything to do."""
        return self.before != self.after

    def difference(self) -> str:
        """Return the change as a person reads it: a unified diff."""
        old, new = (_lines(each) for each in (self.before, self.after))
        nowhere, here = "/dev/null", str(self.path)
        source = nowhere if self.before is None else here
        target = nowhere if self.after is None else here
        return "\n".join(difflib.unified_diff(old, new, source, target, lineterm=""))

    def make(self) -> None:
        """Make the change; InputError where the file is not what was shown any more."""
        if content_of(self.path) != self.before:
            raise InputError(f"`{self.path}` was changed meanwhile: nothing was done, try again")
        if self.is_first and self.before is not None:
            _write(_beside(self.path, _BACKUP), self.before, like=self.path)
        if self.after is None:
            self.path.unlink()
        elif self.changes:
            _make_folders(self.path)
            _write(Path(os.path.realpath(self.path)), self.after, like=self.path)
        if self.is_last:
            _forget(self.path)


def content_of(path: Path) -> bytes | None:
    """Return what a file holds; None where there is none; InputError where it is no file.

    A pipe in its place would have us wait for ever.
    """
    try:
        if path.exists() and not (path.is_file() or path.is_dir()):
            raise InputError(f"`{path}` is no file: look at what it is, then try again")
        return path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None


def text_of(content: bytes, path: Path) -> str:
    """Return a file's text; InputError where it is not UTF-8."""
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        before = content[: error.start].decode(errors="replace").split("\n")
        raise InputError(
            f"`{path}`:{len(before)}:{len(before[-1]) + 1}: not UTF-8; nothing was changed: mend"
            " the file, then try again"
        ) from None


def kept_beside(path: Path) -> bytes | None:
    """Return what a file held before anything of ours was put in; None where it was not there."""
    beside = _beside(path, _BACKUP)
    return None if beside.is_symlink() else content_of(beside)


def _beside(path: Path, suffix: str) -> Path:
    return path.with_name(path.name + suffix)


def _lines(content: bytes | None) -> list[str]:
    return [] if content is None else content.decode(errors="replace").splitlines()


def _make_folders(path: Path) -> None:
    """Make the folders on the way to a file, and note how many: they go with it."""
    missing = [each for each in path.parents if not each.exists()]
    if not missing:
        return
    path.parent.mkdir(parents=True)
    note = f"{len(missing)} folders were made for {path.name}; they go with it when it goes\n"
    _write(_beside(path, _MADE), note.encode())


def _forget(path: Path) -> None:
    note = content_of(_beside(path, _MADE)) or b""
    for suffix in (_BACKUP, _MADE):
        _beside(path, suffix).unlink(missing_ok=True)
    if path.exists():
        return
    made = re.match(rb"[0-9]{1,2}", note)
    with suppress(OSError):
        # One that holds anything else by now stays, and so do those above it.
        for folder in path.parents[: int(made[0]) if made else 0]:
            folder.rmdir()


def _write(target: Path, content: bytes, *, like: Path | None = None) -> None:
    """Write a file as a whole, in the place of what is there, with the rights that another has.

    A link in its place is not followed: it may lead anywhere.
    """
    unfinished = target.with_name(f".{target.name}.{secrets.token_hex(8)}")
    descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, _NEW)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            if like is not None and like.exists():
                had = like.stat()
                os.fchmod(descriptor, had.st_mode & 0o7777)
                if (had.st_uid, had.st_gid) != (os.getuid(), os.getgid()):
                    os.fchown(descriptor, had.st_uid, had.st_gid)
            stream.write(content)
            stream.flush()
            os.fsync(descriptor)
        unfinished.replace(target)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise
    folder = os.open(target.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
