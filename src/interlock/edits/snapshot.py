"""Files and folders, copied away before something happens to them.

STORE/snapshots/ID/content          every file's bytes, one after the other
STORE/snapshots/ID/manifest.json    what stood where; until it is there, there is no snapshot
"""

from __future__ import annotations

import enum
import hashlib
import os
import shutil
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO, Final

import msgspec

from interlock.edits.journal import Store, check_id, sync_folder, write_synced
from interlock.edits.workspace_files import FOLDER, READING, folder_of, names_in, workspace_root
from interlock.errors import EditError
from interlock.model.facts import UndoSnapshot

_PIECE: Final = 1 << 20
_MOST_ENTRIES: Final = 20_000
_CONTENT: Final = "content"
_DEEPEST: Final = 200
_MANIFEST: Final = "manifest.json"
_UNFINISHED: Final = "manifest.part"


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """What stood where."""

    id: str
    workspace: str
    places: tuple[bytes, ...]
    """What was asked for; everything else is below one of these."""
    items: tuple[Item, ...]
    limit_bytes: int


def take_snapshot(
    store: Path, snapshot_id: str, paths: Sequence[str], *, workspace: Path, limit_bytes: int
) -> UndoSnapshot:
    """Copy files and folders, with all that is in them, and look whether the copies are right.

    A link is copied as a link. A path where nothing stands is noted as that. Raises EditError,
    with nothing stored, where a path leads out of the workspace, where more bytes would have to be
    copied than the limit, or something can not be copied.
    """
    root, places = places_of(workspace, tuple(paths))
    snapshots = Store(store)
    with snapshots.locked():
        return snapshot_from(
            take_snapshot_in(store, snapshot_id, root, places, limit_bytes=limit_bytes)
        )


def take_snapshot_in(
    store: Path, snapshot_id: str, root: Path, places: Sequence[bytes], *, limit_bytes: int
) -> Manifest:
    """Do the same for places that are known, in a store that is locked."""
    check_id(snapshot_id)
    folder = _folder(store, snapshot_id)
    _check_is_outside(store, root, places)
    if (folder / _MANIFEST).exists():
        raise EditError(f"the snapshot `{snapshot_id}` was taken already: choose another id")
    shutil.rmtree(folder, ignore_errors=True)
    try:
        folder.mkdir(parents=True, mode=0o700)
        manifest = _copied(folder, snapshot_id, root, places, limit_bytes)
        check_content(folder / _CONTENT, manifest)
        write_synced(folder / _UNFINISHED, msgspec.json.encode(manifest))
        (folder / _UNFINISHED).rename(folder / _MANIFEST)
        sync_folder(folder)
        sync_folder(folder.parent)
    except BaseException as error:
        shutil.rmtree(folder, ignore_errors=True)
        if isinstance(error, OSError):
            raise EditError(f"the snapshot `{snapshot_id}` was not taken: {error}") from error
        raise
    return manifest


def has_snapshot(store: Path, snapshot_id: str) -> bool:
    """Whether there is a snapshot; what it holds is looked at when it is put back."""
    check_id(snapshot_id)
    return (_folder(store, snapshot_id) / _MANIFEST).is_file()


def manifest_of(store: Path, snapshot_id: str) -> tuple[Manifest, Path]:
    """Return what a snapshot holds, and where the bytes are, both as they were written."""
    check_id(snapshot_id)
    folder = _folder(store, snapshot_id)
    try:
        content = (folder / _MANIFEST).read_bytes()
    except (FileNotFoundError, NotADirectoryError) as error:
        raise EditError(f"there is no snapshot `{snapshot_id}`: look up its id") from error
    try:
        manifest = msgspec.json.decode(content, type=Manifest)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise EditError(f"`{folder / _MANIFEST}` is damaged: {error}") from error
    check_content(folder / _CONTENT, manifest)
    return manifest, folder / _CONTENT


def check_content(content: Path, manifest: Manifest) -> None:
    """Refuse copies that are not what was copied."""
    with content.open("rb") as copies:
        for item in manifest.items:
            if item.kind is Kind.FILE and _digest(pieces_of(copies, item)) != item.digest:
                raise EditError(
                    f"the copy of `{item.shown}` in the snapshot `{manifest.id}` is damaged"
                )


def digest_at(folder: int, name: bytes) -> str:
    """Return what the bytes of a file in an open folder are known by."""
    file = os.open(name, READING, dir_fd=folder)
    try:
        return _digest(iter(lambda: os.read(file, _PIECE), b""))
    finally:
        os.close(file)


def pieces_of(copies: BinaryIO, item: Item) -> Iterator[bytes]:
    """Yield the bytes of a file, a piece at a time."""
    copies.seek(item.offset)
    left = item.size
    while left and (piece := copies.read(min(_PIECE, left))):
        left -= len(piece)
        yield piece


def snapshot_from(manifest: Manifest) -> UndoSnapshot:
    """Return what is said of a snapshot."""
    return UndoSnapshot(
        id=manifest.id,
        workspace=manifest.workspace,
        paths=tuple(path.decode("utf-8", "backslashreplace") for path in manifest.places),
        entries=sum(item.kind is not Kind.ABSENT for item in manifest.items),
        size_bytes=sum(item.size for item in manifest.items),
    )


def _folder(store: Path, snapshot_id: str) -> Path:
    return store / "snapshots" / snapshot_id


def _check_is_outside(store: Path, root: Path, places: Sequence[bytes]) -> None:
    own = Path(os.path.realpath(store))
    for place in places:
        if own.is_relative_to(root / os.fsdecode(place)):
            raise EditError(
                f"`{os.fsdecode(place)}` holds the store `{store}` itself: it cannot be kept there"
            )


def _copied(
    folder: Path, snapshot_id: str, root: Path, places: Sequence[bytes], limit_bytes: int
) -> Manifest:
    items: list[Item] = []
    with (folder / _CONTENT).open("xb") as copies:
        for place in places:
            for item, parent, name in items_below(root, place):
                _check_limits(item, copies.tell(), len(items), limit_bytes)
                is_file = item.kind is Kind.FILE
                items.append(_with_copy(item, parent, name, copies) if is_file else item)
        copies.flush()
        os.fsync(copies.fileno())
    return Manifest(
        id=snapshot_id,
        workspace=str(root),
        places=tuple(places),
        items=tuple(items),
        limit_bytes=limit_bytes,
    )


def _check_limits(item: Item, copied: int, entries: int, limit_bytes: int) -> None:
    if copied + item.size > limit_bytes:
        raise EditError(
            f"`{item.shown}` brings the copies to {copied + item.size:,} bytes, the limit is"
            f" {limit_bytes:,}: nothing is kept"
        )
    if entries == _MOST_ENTRIES:
        raise EditError(
            f"with `{item.shown}` there are more than {_MOST_ENTRIES:,} files and folders:"
            " nothing is kept"
        )


def _with_copy(item: Item, folder: int, name: bytes, copies: BinaryIO) -> Item:
    """Copy a file, and say what was copied; refuse one that changes meanwhile."""
    file = os.open(name, READING, dir_fd=folder)
    try:
        before = os.fstat(file)
        offset, hashed, size = copies.tell(), hashlib.sha256(), 0
        while piece := os.read(file, _PIECE):
            hashed.update(piece)
            size += copies.write(piece)
        after = os.fstat(file)
    finally:
        os.close(file)
    marks = (before.st_mtime_ns, before.st_ctime_ns, before.st_size)
    if marks != (after.st_mtime_ns, after.st_ctime_ns, after.st_size) or size != item.size:
        raise EditError(f"`{item.shown}` changes while it is copied: nothing is kept; try again")
    return msgspec.structs.replace(item, offset=offset, digest=hashed.hexdigest())


def _digest(pieces: Iterator[bytes]) -> str:
    hashed = hashlib.sha256()
    for piece in pieces:
        hashed.update(piece)
    return hashed.hexdigest()


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


def _items(folder: int, name: bytes, path: bytes) -> Iterator[tuple[Item, int, bytes]]:
    status = os.stat(name, dir_fd=folder, follow_symlinks=False)
    item = _item(folder, name, path, status)
    yield item, folder, name
    if item.kind is not Kind.FOLDER:
        return
    if path.count(b"/") > _DEEPEST:
        raise EditError(f"`{item.shown}` is more than {_DEEPEST} folders deep: it is not kept")
    inner = os.open(name, FOLDER, dir_fd=folder)
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
