"""Files and folders, copied away before something happens to them, and put back.

Nothing is lost by putting them back: what stands there now is copied to a snapshot of its own
first. Each place is built anew beside itself and then takes its place; whoever dies meanwhile
restores once more.

STORE/snapshots/ID/content          every file's bytes, one after the other
STORE/snapshots/ID/manifest.json    what stood where; until it is there, there is no snapshot
"""

from __future__ import annotations

import enum
import hashlib
import os
import secrets
import shutil
import stat
from collections.abc import Callable, Collection, Generator, Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import BinaryIO, Final

import msgspec
from msgspec.structs import replace

from interlock.descriptors import (
    FOLDER,
    NEW_FILE,
    check_is_regular,
    folder_below,
    names_in,
    opened,
    status_at,
)
from interlock.edits.journal import Store, check_id, read_document, write_all, write_document
from interlock.edits.workspace_files import (
    READING,
    folder_of,
    make_folders,
    missing_folders,
    workspace_root,
)
from interlock.errors import EditError
from interlock.model.facts import UndoSnapshot

_PIECE: Final = 1 << 20
_MOST_ENTRIES: Final = 20_000
_LARGEST: Final = 1 << 40
"""Copies have a limit of their own; this one only says that there is an end."""
_DEEPEST: Final = 200
_MANY: Final = 64
SNAPSHOTS: Final = "snapshots"
"""The folder of a store in which snapshots are."""
MANIFEST: Final = "manifest.json"
CONTENT: Final = "content"


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
    root = workspace_root(workspace)
    if not paths:
        raise EditError("there is no path to be kept: name at least one")
    wanted = Manifest(
        id=snapshot_id,
        workspace=str(root),
        places=tuple(_outermost({_place(root, path) for path in paths})),
        items=(),
        limit_bytes=limit_bytes,
    )
    with Store(store).locked():
        return _snapshot_from(_taken(store, wanted))


def _taken(store: Path, wanted: Manifest) -> Manifest:
    """Copy what stands at some places, in a store that is locked; return that with the items."""
    check_id(wanted.id)
    folder = _folder(store, wanted.id)
    _check_is_outside(store, wanted)
    if (folder / MANIFEST).exists():
        raise EditError(f"the snapshot `{wanted.id}` was taken already: choose another id")
    shutil.rmtree(folder, ignore_errors=True)
    try:
        folder.mkdir(parents=True, mode=0o700)
        manifest = replace(wanted, items=tuple(_copied(folder / CONTENT, wanted)))
        _check_content(folder / CONTENT, manifest)
        write_document(folder / MANIFEST, manifest)
    except BaseException as error:
        shutil.rmtree(folder, ignore_errors=True)
        if isinstance(error, OSError):
            raise EditError(f"the snapshot `{wanted.id}` was not taken: {error}") from error
        raise
    return manifest


def has_snapshot(store: Path, snapshot_id: str) -> bool:
    """Whether there is a snapshot; what it holds is looked at when it is put back."""
    check_id(snapshot_id)
    return (_folder(store, snapshot_id) / MANIFEST).is_file()


def restore(
    store: Path, snapshot_id: str, *, is_known: Callable[[UndoSnapshot], bool] | None = None
) -> UndoSnapshot:
    """Put everything back that a snapshot holds; return what now holds what stood there.

    Raises EditError, with nothing changed, where the copies are damaged, where they are none
    that `is_known` takes for what was copied, or where what stands there now cannot be copied
    within the limit of the snapshot.
    """
    with Store(store).locked():
        manifest, content = manifest_of(store, snapshot_id)
        if is_known is not None and not is_known(_snapshot_from(manifest)):
            raise EditError(
                f"the snapshot `{snapshot_id}` is not what is on record: somebody has changed"
                f" `{_folder(store, snapshot_id)}`; nothing was put back"
            )
        root = workspace_root(Path(manifest.workspace))
        free_id = _free_id(store, snapshot_id)
        replaced = _taken(store, replace(manifest, id=free_id, workspace=str(root), items=()))
        try:
            with _reading(content) as copies:
                for place in manifest.places:
                    _put_back(root, place, manifest, copies)
        except OSError as error:
            raise EditError(
                f"the snapshot `{snapshot_id}` was not put back as a whole: {error}: restore it"
                f" again when that is mended; `{replaced.id}` holds what stood there"
            ) from error
        _check_is_restored(root, manifest)
    return _snapshot_from(replaced)


def _free_id(store: Path, snapshot_id: str) -> str:
    """Return an id for what is replaced, which nothing else has."""
    names = (f"{snapshot_id}-replaced-{number}" for number in count(1))
    return next(name for name in names if not _folder(store, name).exists())


def _put_back(root: Path, place: bytes, manifest: Manifest, copies: BinaryIO) -> None:
    """Build what stood at a place beside it, then let it take its place."""
    items = [
        item for item in manifest.items if item.path == place or item.path.startswith(place + b"/")
    ]
    if items[0].kind is not Kind.ABSENT:
        make_folders(root, missing_folders(root, os.fsdecode(place)))
    try:
        with folder_of(root, place) as (folder, name):
            draft = f".interlock-{secrets.token_hex(6)}".encode()
            try:
                _build(items, folder, draft, copies)
                if _are_many(items):
                    os.sync()
                _take_place(folder, name, draft, items[0])
            finally:
                _remove(folder, draft)
            os.fsync(folder)
    except FileNotFoundError:
        if items[0].kind is not Kind.ABSENT:
            raise


def _build(items: Sequence[Item], top: int, draft: bytes, copies: BinaryIO) -> None:
    """Make everything under another name; what is inside of a folder comes before its mode."""
    place = items[0].path
    for item in items:
        with folder_below(top, draft + item.path[len(place) :]) as (folder, name):
            _make(item, folder, name, copies, syncs=not _are_many(items))
    for item in reversed(items):
        if item.kind is Kind.FOLDER:
            with (
                folder_below(top, draft + item.path[len(place) :]) as (folder, name),
                opened(name, FOLDER, folder=folder) as made,
            ):
                _set_mode_and_time(made, item)


def _are_many(items: Sequence[Item]) -> bool:
    """Whether the disk is waited for once for all, not once for each."""
    return len(items) > _MANY


def _make(item: Item, folder: int, name: bytes, copies: BinaryIO, *, syncs: bool) -> None:
    match item.kind:
        case Kind.FILE:
            _make_file(item, folder, name, copies, syncs=syncs)
        case Kind.FOLDER:
            os.mkdir(name, 0o700, dir_fd=folder)
        case Kind.LINK:
            os.symlink(item.leads_to, name, dir_fd=folder)
        case Kind.ABSENT:
            pass


def _make_file(item: Item, folder: int, name: bytes, copies: BinaryIO, *, syncs: bool) -> None:
    with opened(name, NEW_FILE, folder=folder) as file:
        for piece in _pieces_of(copies, item):
            write_all(file, piece)
        _set_mode_and_time(file, item)
        if syncs:
            os.fsync(file)


def _set_mode_and_time(file: int, item: Item) -> None:
    os.fchmod(file, item.mode)
    os.utime(file, ns=(item.mtime_ns, item.mtime_ns))


def _take_place(folder: int, name: bytes, draft: bytes, item: Item) -> None:
    """Put a draft in its place: at once where a file replaces a file, else with a short gap."""
    now = status_at(folder, name)
    stands_in_the_way = now is not None and (
        item.kind in (Kind.FOLDER, Kind.ABSENT) or stat.S_ISDIR(now.st_mode)
    )
    aside = draft + b"-old"
    if stands_in_the_way:
        os.rename(name, aside, src_dir_fd=folder, dst_dir_fd=folder)
    if item.kind is not Kind.ABSENT:
        try:
            os.rename(draft, name, src_dir_fd=folder, dst_dir_fd=folder)
        except OSError:
            if stands_in_the_way:
                os.rename(aside, name, src_dir_fd=folder, dst_dir_fd=folder)
            raise
    _remove(folder, aside)


def _remove(folder: int, name: bytes) -> None:
    """Remove a file or a folder with all that is in it, if it is there; no link is followed."""
    status = status_at(folder, name)
    if status is None:
        return
    if not stat.S_ISDIR(status.st_mode):
        os.unlink(name, dir_fd=folder)
        return
    with opened(name, FOLDER, folder=folder) as inner:
        # Nothing can be removed from a folder that is read-only.
        os.fchmod(inner, 0o700)
        for each in names_in(inner):
            _remove(inner, each)
    os.rmdir(name, dir_fd=folder)


def _check_is_restored(root: Path, manifest: Manifest) -> None:
    """Look at everything once more, and hold it against the snapshot."""
    expected = [_without_times(item) for item in manifest.items]
    found = [
        _without_times(replace(item, digest=_digest_at(folder, name)))
        if item.kind is Kind.FILE
        else _without_times(item)
        for place in manifest.places
        for item, folder, name in _items_below(root, place)
    ]
    if found != expected:
        differing = {
            item.shown for item in (*found, *expected) if (item in found) != (item in expected)
        }
        raise EditError(
            f"`{min(differing)}` is not as the snapshot `{manifest.id}` has it, though it was put"
            " back: somebody else writes there, or the disk fails; restore it again"
        )


def _without_times(item: Item) -> Item:
    return replace(item, offset=0, mtime_ns=0)


def manifest_of(store: Path, snapshot_id: str) -> tuple[Manifest, Path]:
    """Return what a snapshot holds, and where the bytes are, both as they were written."""
    folder = _folder(store, snapshot_id)
    manifest = None
    if has_snapshot(store, snapshot_id):
        manifest = read_document(folder / MANIFEST, Manifest)
    if manifest is None:
        raise EditError(f"there is no snapshot `{snapshot_id}`: look up its id")
    _check_content(folder / CONTENT, manifest)
    return manifest, folder / CONTENT


def _check_content(content: Path, manifest: Manifest) -> None:
    """Refuse copies that are not what was copied."""
    with _reading(content) as copies:
        for item in manifest.items:
            if item.kind is Kind.FILE and _digest(_pieces_of(copies, item)) != item.digest:
                raise EditError(
                    f"the copy of `{item.shown}` in the snapshot `{manifest.id}` is damaged"
                )


@contextmanager
def _reading(content: Path) -> Generator[BinaryIO]:
    """Open the copies of a snapshot; refuse what is no file."""
    try:
        file = os.open(content, READING)
    except OSError as error:
        raise EditError(f"`{content}` cannot be read: {error.strerror or error}") from error
    try:
        _check_is_regular(file, str(content))
        with os.fdopen(file, "rb", closefd=False) as copies:
            yield copies
    finally:
        os.close(file)


def _check_is_regular(file: int, shown: str) -> None:
    """Refuse what has come into the place of a file: a pipe would never end."""
    try:
        check_is_regular(file, most=_LARGEST)
    except OSError as error:
        raise EditError(f"`{shown}` cannot be read: {error.strerror}") from error


def _digest_at(folder: int, name: bytes) -> str:
    """Return what the bytes of a file in an open folder are known by."""
    with opened(name, READING, folder=folder) as file:
        _check_is_regular(file, os.fsdecode(name))
        return _digest(iter(lambda: os.read(file, _PIECE), b""))


def _pieces_of(copies: BinaryIO, item: Item) -> Iterator[bytes]:
    """Yield the bytes of a file, a piece at a time."""
    copies.seek(item.offset)
    left = item.size
    while left and (piece := copies.read(min(_PIECE, left))):
        left -= len(piece)
        yield piece


def _snapshot_from(manifest: Manifest) -> UndoSnapshot:
    """Return what is said of a snapshot."""
    return UndoSnapshot(
        id=manifest.id,
        workspace=manifest.workspace,
        paths=tuple(map(_shown, manifest.places)),
        entries=sum(item.kind is not Kind.ABSENT for item in manifest.items),
        size_bytes=sum(item.size for item in manifest.items),
        digest=_digest(iter([msgspec.json.encode(manifest)])),
    )


def _folder(store: Path, snapshot_id: str) -> Path:
    return store / SNAPSHOTS / snapshot_id


def _check_is_outside(store: Path, wanted: Manifest) -> None:
    own = Path(os.path.realpath(store))
    for place in wanted.places:
        if own.is_relative_to(Path(wanted.workspace, os.fsdecode(place))):
            raise EditError(
                f"`{os.fsdecode(place)}` holds the store `{store}` itself: it cannot be kept there"
            )


def _copied(content: Path, wanted: Manifest) -> list[Item]:
    items: list[Item] = []
    with content.open("xb") as copies:
        for place in wanted.places:
            for item, parent, name in _items_below(Path(wanted.workspace), place):
                _check_limits(item, copies.tell(), len(items), wanted.limit_bytes)
                is_file = item.kind is Kind.FILE
                items.append(_with_copy(item, parent, name, copies) if is_file else item)
        copies.flush()
        os.fsync(copies.fileno())
    return items


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
    with opened(name, READING, folder=folder) as file:
        _check_is_regular(file, item.shown)
        before = os.fstat(file)
        offset, hashed, size = copies.tell(), hashlib.sha256(), 0
        # One that grows meanwhile is refused below: a piece too much is enough to tell.
        while size <= item.size and (piece := os.read(file, _PIECE)):
            hashed.update(piece)
            size += copies.write(piece)
        after = os.fstat(file)
    marks = (before.st_mtime_ns, before.st_ctime_ns, before.st_size)
    if marks != (after.st_mtime_ns, after.st_ctime_ns, after.st_size) or size != item.size:
        raise EditError(f"`{item.shown}` changes while it is copied: nothing is kept; try again")
    return replace(item, offset=offset, digest=hashed.hexdigest())


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
        return _shown(self.path)


def _shown(path: bytes) -> str:
    """Return a path for a person."""
    return path.decode("utf-8", "backslashreplace")


def _outermost(places: Collection[bytes]) -> list[bytes]:
    """Return places in order, without those that are inside of another one."""
    return [
        place
        for place in sorted(places)
        if not any(place.startswith(other + b"/") for other in places)
    ]


def _place(root: Path, path: str) -> bytes:
    """Return where a path leads to from the root: its last name is not followed.

    Raises EditError where it leads out of the workspace, or is the workspace itself.
    """
    cut = path.rstrip("/")
    folder, _, name = os.fsencode(cut).rpartition(b"/")
    if name in (b"", b".", b"..") or b"\0" in name:
        raise EditError(f"`{path}` is no file or folder inside of the workspace: name it itself")
    above = "/" if cut.startswith("/") and not folder else os.fsdecode(folder)
    real = Path(os.path.realpath(root / above))
    if not real.is_relative_to(root):
        raise EditError(f"`{path}` leads out of the workspace `{root}`: nothing of it is kept")
    return os.fsencode(real.relative_to(root) / os.fsdecode(name))


def _items_below(root: Path, path: bytes) -> Iterator[tuple[Item, int, bytes]]:
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
    with opened(name, FOLDER, folder=folder) as inner:
        for each in names_in(inner):
            yield from _items(inner, each, path + b"/" + each)


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
    raise EditError(f"`{_shown(path)}` is neither a file, a folder nor a link: it cannot be copied")
