"""What a store holds, and how it is forgotten: only where somebody asks for it.

    STORE/kept/ID/                  a set of edits that was applied
    STORE/snapshots/ID/             what was copied away
    STORE/.../.forgotten-TOKEN/     either of them, until it is deleted

Whatever is forgotten first loses its name in one step, and only then is deleted: whoever looks
finds it whole, or not at all. What a process that died has left behind goes the next time.
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, assert_never

import msgspec

from interlock.descriptors import sync
from interlock.edits.journal import FINISHED, JOURNAL, SetFolder, Store, is_id, read_document
from interlock.edits.snapshot import CONTENT, MANIFEST, SNAPSHOTS, Kind, Manifest, has_snapshot
from interlock.errors import EditError
from interlock.model.events import UndoKind

_HOMES: Final = {UndoKind.EDITS: FINISHED, UndoKind.SNAPSHOT: SNAPSHOTS}
_DOCUMENTS: Final = {UndoKind.EDITS: JOURNAL, UndoKind.SNAPSHOT: MANIFEST}
_OF_HALF_A_COPY: Final = frozenset({CONTENT, "manifest.part"})
# No id begins with a point: nobody finds it by its name any more.
_FORGOTTEN: Final = ".forgotten-"
_REMAINS: Final = re.compile(r"\.forgotten-[0-9a-f]{16}")

Advance = Callable[[int, int], None]
"""Is called with how many were deleted, of how many."""


class Held(msgspec.Struct, frozen=True, kw_only=True):
    """Something that a store holds."""

    id: str
    kind: UndoKind
    made_at: int
    """When it was stored, in microseconds since 1970, as in records."""
    size_bytes: int


class Damaged(msgspec.Struct, frozen=True, kw_only=True):
    """Something old that stays, because it is not what it should be."""

    path: str
    complaint: str


class Forgotten(msgspec.Struct, frozen=True, kw_only=True):
    """What was forgotten, or would be."""

    entries: tuple[Held, ...] = ()
    damaged: tuple[Damaged, ...] = ()
    remains_bytes: int = 0
    """What was forgotten before by a process that died meanwhile; it goes in any case."""

    @property
    def size_bytes(self) -> int:
        """How much room there is more for it."""
        return self.remains_bytes + sum(entry.size_bytes for entry in self.entries)


def all_held(store: Path) -> Iterator[Held]:
    """Yield everything that a store holds; what is no entry of it is passed over."""
    for kind, home in _HOMES.items():
        for name in filter(is_id, _folders_in(store / home)):
            # It may be forgotten by somebody else at this very moment.
            with suppress(FileNotFoundError):
                yield _held(store, kind, name)


def holds(store: Path, wanted: str) -> bool:
    """Whether something is stored under an id, finished or not."""
    if not is_id(wanted):
        return False
    sets = Store(store)
    return (
        sets.finished(wanted).exists or sets.pending(wanted).exists or has_snapshot(store, wanted)
    )


def would_forget(store: Path, *, before: int) -> Forgotten:
    """Return what there is to forget; nothing is changed."""
    entries: list[Held] = []
    damaged: list[Damaged] = []
    for held in all_held(store):
        if held.made_at >= before:
            continue
        complaint = _complaint(store, held)
        if complaint is None:
            entries.append(held)
        else:
            damaged.append(Damaged(path=str(_folder(store, held)), complaint=complaint))
    return Forgotten(
        entries=tuple(entries),
        damaged=tuple(damaged),
        remains_bytes=sum(map(_size_of, _remains(store))),
    )


def forget(
    store: Path,
    *,
    before: int,
    is_wanted: Callable[[Held], bool] = lambda _: False,
    advance: Advance = lambda _done, _of: None,
) -> Forgotten:
    """Forget what was stored before a moment, unless it is wanted still; return what that was.

    What is not finished is never touched, and what is damaged stays and is reported. Raises
    EditError where something could not be deleted: it is forgotten all the same.
    """
    if not store.is_dir():
        return Forgotten()
    with Store(store).locked():
        found = would_forget(store, before=before)
        going = tuple(held for held in found.entries if not is_wanted(held))
        _take_names(store, going)
    # Nobody looks at it any more, so that nobody has to wait until all of it is deleted.
    _delete_all(store, advance)
    return msgspec.structs.replace(found, entries=going)


def _folders_in(folder: Path) -> list[str]:
    """Return the names of the folders in a folder; a link is none."""
    try:
        with os.scandir(folder) as found:
            return sorted(each.name for each in found if each.is_dir(follow_symlinks=False))
    except (FileNotFoundError, NotADirectoryError):
        return []


def _remains(store: Path) -> list[Path]:
    """Return what was forgotten and is not deleted yet."""
    return [
        store / home / name
        for home in _HOMES.values()
        for name in _folders_in(store / home)
        if _REMAINS.fullmatch(name)
    ]


def _held(store: Path, kind: UndoKind, name: str) -> Held:
    folder = store / _HOMES[kind] / name
    document = folder / _DOCUMENTS[kind]
    try:
        status = document.lstat()
    except FileNotFoundError:
        status = folder.lstat()
    return Held(
        id=name, kind=kind, made_at=status.st_mtime_ns // 1_000, size_bytes=_size_of(folder)
    )


def _folder(store: Path, held: Held) -> Path:
    return store / _HOMES[held.kind] / held.id


def _size_of(folder: Path) -> int:
    """Return how many bytes the files below a folder have; no link is followed."""
    total = 0
    for above, _, names in os.walk(folder):
        for name in names:
            with suppress(FileNotFoundError):
                total += Path(above, name).lstat().st_size
    return total


def _complaint(store: Path, held: Held) -> str | None:
    """Return why an entry is not what it should be; the bytes that it holds are not read."""
    folder = _folder(store, held)
    try:
        match held.kind:
            case UndoKind.EDITS:
                return _complaint_on_set(folder)
            case UndoKind.SNAPSHOT:
                return _complaint_on_snapshot(folder)
            case _:
                assert_never(held.kind)
    except (EditError, OSError, msgspec.DecodeError, UnicodeDecodeError) as error:
        return f"it cannot be read: {error}"


def _complaint_on_set(folder: Path) -> str | None:
    kept = SetFolder(folder)
    journal = kept.journal()
    if journal is None:
        return f"it has no `{JOURNAL}`"
    if journal.id != folder.name:
        return f"its journal is that of `{journal.id}`"
    for number, entry in enumerate(journal.entries):
        if entry.before is not None and not kept.original(number).is_file():
            return f"what was kept of `{entry.path}` is not there"
    return None


def _complaint_on_snapshot(folder: Path) -> str | None:
    document = folder / MANIFEST
    if not document.exists():
        return _complaint_on_half_a_copy(folder)
    manifest = read_document(document, Manifest)
    if manifest is None:
        return f"it has no `{MANIFEST}`"
    if manifest.id != folder.name:
        return f"its manifest is that of `{manifest.id}`"
    expected = sum(item.size for item in manifest.items if item.kind is Kind.FILE)
    found = (folder / CONTENT).lstat().st_size
    if found != expected:
        return f"it holds {found:,} bytes of copies, expected {expected:,}"
    return None


def _complaint_on_half_a_copy(folder: Path) -> str | None:
    """Let half a copy go, whose maker died: nothing was ever stored under its id."""
    if _OF_HALF_A_COPY.issuperset(path.name for path in folder.iterdir()):
        return None
    return f"it has no `{MANIFEST}`, and holds what does not belong there"


def _take_names(store: Path, going: Sequence[Held]) -> None:
    """Let everything lose its name, each in one step, and wait until that is on the disk."""
    try:
        for held in going:
            aside = f"{_FORGOTTEN}{secrets.token_hex(8)}"
            _folder(store, held).rename(store / _HOMES[held.kind] / aside)
        # INVARIANT: nothing is deleted to which the disk could still give its name back.
        for home in {_HOMES[held.kind] for held in going}:
            sync(store / home)
    except OSError as error:
        raise EditError(
            f"not everything was forgotten: {error}: what is left is whole; mend that, then forget"
            " again"
        ) from error


def _delete_all(store: Path, advance: Advance) -> None:
    remains = _remains(store)
    complaints: list[str] = []
    for done, folder in enumerate(remains, start=1):
        try:
            _delete(folder)
        except OSError as error:
            complaints.append(f"`{folder}` was forgotten, but not deleted: {error}")
        advance(done, len(remains))
    if complaints:
        raise EditError("\n".join([*complaints, "mend that, then forget again"]))


def _delete(folder: Path) -> None:
    while folder.exists():
        # Somebody else who forgets may be quicker.
        with suppress(FileNotFoundError):
            shutil.rmtree(folder)
