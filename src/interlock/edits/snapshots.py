"""Files and folders, copied away before something happens to them.

STORE/snapshots/ID/content          every file's bytes, one after the other
STORE/snapshots/ID/manifest.json    what stood where; until it is there, nothing is kept
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO, Final

import msgspec

from interlock.edits.journal import Store, check_id, sync_folder, write_synced
from interlock.edits.trees import Item, Kind, items_below, places_of
from interlock.errors import EditError
from interlock.model.edit import Kept

_READING: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_PIECE: Final = 1 << 20
_MOST_ENTRIES: Final = 20_000
_CONTENT: Final = "content"
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


def keep(
    store: Path, keep_id: str, paths: Sequence[str], *, workspace: Path, limit_bytes: int
) -> Kept:
    """Copy files and folders, with all that is in them, and look whether the copies are right.

    A link is kept as a link. A path where nothing stands is kept as that. Raises EditError,
    with nothing kept, where a path leads out of the workspace, where more bytes would have to be
    copied than the limit, or something can not be copied.
    """
    root, places = places_of(workspace, tuple(paths))
    snapshots = Store(store)
    with snapshots.locked():
        return kept_from(keep_in(store, keep_id, root, places, limit_bytes=limit_bytes))


def keep_in(
    store: Path, keep_id: str, root: Path, places: Sequence[bytes], *, limit_bytes: int
) -> Manifest:
    """Do the same for places that are known, in a store that is locked."""
    check_id(keep_id)
    folder = _folder(store, keep_id)
    _check_is_outside(store, root, places)
    if (folder / _MANIFEST).exists():
        raise EditError(f"the snapshot `{keep_id}` was taken already: choose another id")
    shutil.rmtree(folder, ignore_errors=True)
    try:
        folder.mkdir(parents=True, mode=0o700)
        manifest = _copied(folder, keep_id, root, places, limit_bytes)
        check_content(folder / _CONTENT, manifest)
        write_synced(folder / _UNFINISHED, msgspec.json.encode(manifest))
        (folder / _UNFINISHED).rename(folder / _MANIFEST)
        sync_folder(folder)
        sync_folder(folder.parent)
    except BaseException as error:
        shutil.rmtree(folder, ignore_errors=True)
        if isinstance(error, OSError):
            raise EditError(f"the snapshot `{keep_id}` was not taken: {error}") from error
        raise
    return manifest


def is_kept(store: Path, keep_id: str) -> bool:
    """Whether there is a snapshot; what it holds is looked at when it is put back."""
    check_id(keep_id)
    return (_folder(store, keep_id) / _MANIFEST).is_file()


def manifest_of(store: Path, keep_id: str) -> tuple[Manifest, Path]:
    """Return what a snapshot holds, and where the bytes are, both as they were written."""
    check_id(keep_id)
    folder = _folder(store, keep_id)
    try:
        content = (folder / _MANIFEST).read_bytes()
    except (FileNotFoundError, NotADirectoryError) as error:
        raise EditError(f"there is no snapshot `{keep_id}`: look up its id") from error
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
    file = os.open(name, _READING, dir_fd=folder)
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


def kept_from(manifest: Manifest) -> Kept:
    """Return what to tell of a snapshot."""
    return Kept(
        id=manifest.id,
        workspace=manifest.workspace,
        paths=tuple(path.decode("utf-8", "backslashreplace") for path in manifest.places),
        entries=sum(item.kind is not Kind.ABSENT for item in manifest.items),
        size_bytes=sum(item.size for item in manifest.items),
    )


def _folder(store: Path, keep_id: str) -> Path:
    return store / "snapshots" / keep_id


def _check_is_outside(store: Path, root: Path, places: Sequence[bytes]) -> None:
    own = Path(os.path.realpath(store))
    for place in places:
        if own.is_relative_to(root / os.fsdecode(place)):
            raise EditError(
                f"`{os.fsdecode(place)}` holds the store `{store}` itself: it cannot be kept there"
            )


def _copied(
    folder: Path, keep_id: str, root: Path, places: Sequence[bytes], limit_bytes: int
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
        id=keep_id,
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
    file = os.open(name, _READING, dir_fd=folder)
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
