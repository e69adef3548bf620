"""Files, folders and links as they stand, looked at without ever following a link."""

from __future__ import annotations

import enum
import os
import stat
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import msgspec

from interlock.edits.places import workspace_root
from interlock.errors import EditError

_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_DEEPEST: Final = 200


class Kind(enum.Enum):
    """What stands at a path."""

    FILE = "file"
    FOLDER = "folder"
    LINK = "link"
    ABSENT = "absent"


class Item(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What stands at one path; names are bytes, because not every name is text."""

    path: bytes
    """Seen from the workspace."""
    kind: Kind
    mode: int = 0
    mtime_ns: int = 0
    offset: int = 0
    size: int = 0
    digest: str = ""
    leads_to: bytes = b""
    """Where a link points to."""

    @property
    def shown(self) -> str:
        """The path, for a person."""
        return shown(self.path)


def shown(path: bytes) -> str:
    """Return a path for a person."""
    return path.decode("utf-8", "backslashreplace")


def places_of(workspace: Path, paths: tuple[str, ...]) -> tuple[Path, list[bytes]]:
    """Return the root, and where each path leads to from there: its last name is not followed.

    A path inside of another one is left out. Raises EditError where one leads out of the
    workspace, or is the workspace itself.
    """
    root = workspace_root(workspace)
    if not paths:
        raise EditError("there is no path to be kept: name at least one")
    places = sorted({_place(root, path) for path in paths})
    return root, [place for place in places if not _is_inside_of_any(place, places)]


def _place(root: Path, path: str) -> bytes:
    cut = path.rstrip("/")
    folder, _, name = os.fsencode(cut).rpartition(b"/")
    if name in (b"", b".", b"..") or b"\0" in name:
        raise EditError(f"`{path}` is no file or folder inside of the workspace: name it itself")
    above = "/" if cut.startswith("/") and not folder else os.fsdecode(folder)
    real = Path(os.path.realpath(root / above))
    if not real.is_relative_to(root):
        raise EditError(f"`{path}` leads out of the workspace `{root}`: nothing of it is kept")
    return os.fsencode(real.relative_to(root) / os.fsdecode(name))


def _is_inside_of_any(place: bytes, places: list[bytes]) -> bool:
    return any(place.startswith(other + b"/") for other in places)


@contextmanager
def folder_of(root: Path, path: bytes) -> Generator[tuple[int, bytes]]:
    """Open the folder that a path is in, following no link on the way; raises OSError."""
    top = os.open(root, _FOLDER)
    try:
        with folder_below(top, path) as found:
            yield found
    finally:
        os.close(top)


@contextmanager
def folder_below(top: int, path: bytes) -> Generator[tuple[int, bytes]]:
    """Do the same from a folder that is open."""
    *folders, name = path.split(b"/")
    folder = os.dup(top)
    try:
        for part in folders:
            deeper = os.open(part, _FOLDER, dir_fd=folder)
            os.close(folder)
            folder = deeper
        yield folder, name
    finally:
        os.close(folder)


def items_below(root: Path, path: bytes) -> Iterator[tuple[Item, int, bytes]]:
    """Yield what stands at a path and below it, each with its open folder and its name there.

    A folder comes before what is in it. Raises EditError where something is neither a file nor
    a folder nor a link.
    """
    try:
        with folder_of(root, path) as (folder, name):
            yield from _items(folder, name, path)
    except (FileNotFoundError, NotADirectoryError):
        yield Item(path=path, kind=Kind.ABSENT), -1, b""


def names_in(folder: int) -> list[bytes]:
    """Return what is in an open folder, in order."""
    return sorted(map(os.fsencode, os.listdir(folder)))


def _items(folder: int, name: bytes, path: bytes) -> Iterator[tuple[Item, int, bytes]]:
    status = os.stat(name, dir_fd=folder, follow_symlinks=False)
    item = _item(folder, name, path, status)
    yield item, folder, name
    if item.kind is not Kind.FOLDER:
        return
    if path.count(b"/") > _DEEPEST:
        raise EditError(f"`{item.shown}` is more than {_DEEPEST} folders deep: it is not kept")
    inner = os.open(name, _FOLDER, dir_fd=folder)
    try:
        for each in names_in(inner):
            yield from _items(inner, each, path + b"/" + each)
    finally:
        os.close(inner)


def _item(folder: int, name: bytes, path: bytes, status: os.stat_result) -> Item:
    mode, mtime_ns = stat.S_IMODE(status.st_mode), status.st_mtime_ns
    if stat.S_ISREG(status.st_mode):
        size = status.st_size
        return Item(path=path, kind=Kind.FILE, mode=mode, mtime_ns=mtime_ns, size=size)
    if stat.S_ISDIR(status.st_mode):
        return Item(path=path, kind=Kind.FOLDER, mode=mode, mtime_ns=mtime_ns)
    if stat.S_ISLNK(status.st_mode):
        leads_to = os.readlink(name, dir_fd=folder)
        return Item(path=path, kind=Kind.LINK, leads_to=leads_to)
    raise EditError(f"`{shown(path)}` is neither a file, a folder nor a link: it cannot be copied")
