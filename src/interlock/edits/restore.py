"""What was changed, put back: a snapshot of files and folders, or an applied set of edits.

Nothing is lost by it: what stands there now is copied to a snapshot of its own first. Each place
of a snapshot is built anew beside itself and then takes its place; whoever dies meanwhile restores
once more. Of an applied set, every file is as it was before, or nothing is changed at all.
"""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Iterator, Sequence
from itertools import count
from pathlib import Path
from typing import BinaryIO, Final

from msgspec.structs import replace

from interlock.edits.edit_apply import Side, Wanted, carry_out, side_of
from interlock.edits.edit_plan import digest_of
from interlock.edits.journal import NEW_FILE, Entry, Journal, SetFolder, Store, check_id, write_all
from interlock.edits.snapshot import (
    Item,
    Kind,
    Manifest,
    digest_at,
    items_below,
    manifest_of,
    pieces_of,
    snapshot_from,
    take_snapshot_in,
)
from interlock.edits.workspace_files import (
    FOLDER,
    folder_below,
    folder_of,
    names_in,
    workspace_root,
)
from interlock.errors import EditError
from interlock.model.edit import Applied
from interlock.model.facts import UndoSnapshot

_MANY: Final = 64


def restore(store: Path, snapshot_id: str) -> UndoSnapshot:
    """Put everything back that a snapshot holds; return what now holds what stood there.

    Raises EditError, with nothing changed, where the copies are damaged, or where what stands
    there now cannot be copied within the limit of the snapshot.
    """
    snapshots = Store(store)
    with snapshots.locked():
        manifest, content = manifest_of(store, snapshot_id)
        root = workspace_root(Path(manifest.workspace))
        replaced = take_snapshot_in(
            store,
            _free_id(store, snapshot_id),
            root,
            manifest.places,
            limit_bytes=manifest.limit_bytes,
        )
        try:
            with content.open("rb") as copies:
                for place in manifest.places:
                    _put_back(root, place, manifest, copies)
        except OSError as error:
            raise EditError(
                f"the snapshot `{snapshot_id}` was not put back as a whole: {error}: restore it"
                f" again when that is mended; `{replaced.id}` holds what stood there"
            ) from error
        _check_is_restored(root, manifest)
    return snapshot_from(replaced)


def _free_id(store: Path, snapshot_id: str) -> str:
    """Return an id for what is replaced, which nothing else has."""
    names = (f"{snapshot_id}-replaced-{number}" for number in count(1))
    return next(name for name in names if not (store / "snapshots" / name).exists())


def _put_back(root: Path, place: bytes, manifest: Manifest, copies: BinaryIO) -> None:
    """Build what stood at a place beside it, then let it take its place."""
    items = [
        item for item in manifest.items if item.path == place or item.path.startswith(place + b"/")
    ]
    if items[0].kind is not Kind.ABSENT:
        _make_folders_above(root, place)
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


def _make_folders_above(root: Path, place: bytes) -> None:
    parts = place.split(b"/")
    for depth in range(1, len(parts)):
        with folder_of(root, b"/".join(parts[:depth])) as (folder, name):
            if _status(folder, name) is None:
                os.mkdir(name, dir_fd=folder)


def _build(items: Sequence[Item], top: int, draft: bytes, copies: BinaryIO) -> None:
    """Make everything under another name; what is inside of a folder comes before its mode."""
    place = items[0].path
    for item in items:
        with folder_below(top, draft + item.path[len(place) :]) as (folder, name):
            _make(item, folder, name, copies, syncs=not _are_many(items))
    for item in reversed(items):
        if item.kind is Kind.FOLDER:
            with folder_below(top, draft + item.path[len(place) :]) as (folder, name):
                _finish_folder(item, folder, name)


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
    file = os.open(name, NEW_FILE, 0o600, dir_fd=folder)
    try:
        for piece in pieces_of(copies, item):
            write_all(file, piece)
        os.fchmod(file, item.mode)
        os.utime(file, ns=(item.mtime_ns, item.mtime_ns))
        if syncs:
            os.fsync(file)
    finally:
        os.close(file)


def _finish_folder(item: Item, folder: int, name: bytes) -> None:
    opened = os.open(name, FOLDER, dir_fd=folder)
    try:
        os.fchmod(opened, item.mode)
        os.utime(opened, ns=(item.mtime_ns, item.mtime_ns))
    finally:
        os.close(opened)


def _take_place(folder: int, name: bytes, draft: bytes, item: Item) -> None:
    """Put a draft in its place: at once where a file replaces a file, else with a short gap."""
    now = _status(folder, name)
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
    status = _status(folder, name)
    if status is None:
        return
    if not stat.S_ISDIR(status.st_mode):
        os.unlink(name, dir_fd=folder)
        return
    inner = os.open(name, FOLDER, dir_fd=folder)
    try:
        # Nothing can be removed from a folder that is read-only.
        os.fchmod(inner, 0o700)
        for each in names_in(inner):
            _remove(inner, each)
    finally:
        os.close(inner)
    os.rmdir(name, dir_fd=folder)


def _status(folder: int, name: bytes) -> os.stat_result | None:
    try:
        return os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None


def _check_is_restored(root: Path, manifest: Manifest) -> None:
    """Look at everything once more, and hold it against the snapshot."""
    expected = [_without_times(item) for item in manifest.items]
    found = [
        _without_times(replace(item, digest=digest_at(folder, name)))
        if item.kind is Kind.FILE
        else _without_times(item)
        for place in manifest.places
        for item, folder, name in items_below(root, place)
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


def undo(store: Path, set_id: str) -> Applied:
    """Put back every file of a set that was applied, in one step.

    It is stored as a set of its own, `ID-undo`, which can be put back again. Raises EditError
    where a file has changed since, or what was kept of it is damaged: then nothing is changed.
    """
    journals = Store(store)
    with journals.locked():
        done = journals.finished(set_id)
        journal = _journal(journals, done, set_id)
        if journals.finished(undo_id(set_id)).exists:
            raise EditError(
                f"the set `{set_id}` was put back already: put back `{undo_id(set_id)}` to have it"
                " again"
            )
        root = workspace_root(Path(journal.workspace))
        changed = [entry for entry in journal.entries if side_of(root, entry) is not Side.NEW]
        if changed:
            raise EditError("\n".join(_complaints(set_id, changed)))
        wanted = [_wanted(done, number, entry) for number, entry in enumerate(journal.entries)]
        return carry_out(journals, root, wanted, set_id=undo_id(set_id), undoes=set_id)


def undo_id(set_id: str) -> str:
    """Return the id of the set that puts another one back."""
    return f"{set_id}-undo"


def _journal(store: Store, done: SetFolder, set_id: str) -> Journal:
    check_id(set_id)
    journal = done.journal()
    if journal is not None:
        return journal
    if store.pending(set_id).exists:
        raise EditError(f"the set `{set_id}` was not finished: recover the store first")
    raise EditError(f"there is no set `{set_id}` to put back: look up its id")


def _complaints(set_id: str, changed: list[Entry]) -> Iterator[str]:
    for entry in changed:
        yield (
            f"`{entry.path}` has changed since `{set_id}` was applied: nothing was put back;"
            " undo the later change first, or edit the file by hand"
        )


def _wanted(done: SetFolder, number: int, entry: Entry) -> Wanted:
    """Return what has to become of a file for it to be as it was."""
    now = None if entry.after is None else entry.after.digest
    if entry.before is None:
        return Wanted(entry.path, entry.target, now, None, None, emptied=entry.made)
    content = done.original(number)
    if digest_of(content) != entry.before.digest:
        raise EditError(
            f"what was kept of `{entry.path}` in `{done.folder}` is not what it was: nothing was"
            " put back"
        )
    return Wanted(entry.path, entry.target, now, content, entry.before)
