"""The journal of a set of changes: what was there, what will be, and how far it has come.

    STORE/lock              held by whoever changes something
    STORE/pending/ID/       a set that is not finished
        journal.json        the intent; until it is there, no file of the workspace was touched
        before/N            the N-th file as it was
        committed           every new file lies ready: from here on the set is completed
        revoked             in its place: something failed, and the set is put back
    STORE/kept/ID/          the same, of a set that is finished: it can be put back

Whatever has to be on the disk before the next step is synced before it.
"""

from __future__ import annotations

import enum
import fcntl
import os
import re
import shutil
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, TypeVar

import msgspec

from interlock.descriptors import NEW_FILE, content_of, opened, sync
from interlock.errors import EditError

_ID: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,119}")
_LOCK: Final = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
PENDING: Final = "pending"
"""The folder of a store in which sets are that are not finished."""
FINISHED: Final = "kept"
"""The folder of those that are."""
JOURNAL: Final = "journal.json"
_BEFORE: Final = "before"
_OUTSIDE: Final = frozenset(("", ".", ".."))
"""What no way from a workspace to something in it has among its parts."""
_DRAFT: Final = re.compile(r"\.interlock-[0-9a-f]{12}-[0-9]{1,6}")
_MOST_BYTES: Final = 64 * 1024 * 1024
"""What a file of the store may hold: as much as a file that is edited."""

D = TypeVar("D", bound=msgspec.Struct)


class State(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A file as it is or will be."""

    digest: str
    mode: int | None = None
    """Its permissions; None for those that every new file gets."""


class Entry(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What happens to one file; without a state there is no file."""

    path: str
    target: str
    before: State | None
    after: State | None
    draft: str
    """The name of the new file, beside its target, until it gets its place."""
    made: tuple[str, ...] = ()
    """Folders that are made for it, the outermost first."""
    emptied: tuple[str, ...] = ()
    """Folders that go with it where nothing else is in them, the outermost first."""


class Journal(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What happens in a set."""

    id: str
    workspace: str
    entries: tuple[Entry, ...]
    undoes: str | None = None


class Phase(enum.Enum):
    """How far a set has come."""

    PREPARING = "preparing"
    COMMITTED = "committed"
    REVOKED = "revoked"


class Store:
    """Where journals are; only one process at a time changes anything there."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @contextmanager
    def locked(self) -> Generator[None]:
        """Wait until nobody else changes anything, and keep it so; raises EditError."""
        try:
            for name in (PENDING, FINISHED):
                (self._folder / name).mkdir(parents=True, exist_ok=True, mode=0o700)
            lock = os.open(self._folder / "lock", _LOCK, 0o600)
        except OSError as error:
            raise EditError(f"the store `{self._folder}` cannot be used: {error}") from error
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield
        finally:
            os.close(lock)

    def check_is_free(self, set_id: str) -> None:
        """Refuse an id that is no name of a folder, or that a set has which is not finished."""
        check_id(set_id)
        if self.pending(set_id).exists:
            raise EditError(f"the set `{set_id}` was not finished: recover the store first")

    def pending(self, set_id: str) -> SetFolder:
        """Return the folder of a set that is not finished; it need not exist."""
        return SetFolder(self._folder / PENDING / set_id)

    def finished(self, set_id: str) -> SetFolder:
        """Return the folder of a set that is finished; it need not exist."""
        return SetFolder(self._folder / FINISHED / set_id)

    def all_pending(self) -> Iterator[SetFolder]:
        """Yield every set that is not finished."""
        for folder in sorted((self._folder / PENDING).iterdir()):
            yield SetFolder(folder)

    def finish(self, pending: SetFolder) -> None:
        """Take a set for finished, in one step.

        Nothing is synced: should the disk forget this step, the set is completed once more.
        """
        pending.folder.rename(self._folder / FINISHED / pending.folder.name)


class SetFolder:
    """The folder of one set."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @property
    def exists(self) -> bool:
        """Whether there is such a set."""
        return self.folder.is_dir()

    def begin(self, journal: Journal, originals: dict[int, bytes]) -> None:
        """Write down what was there and what will be."""
        (self.folder / _BEFORE).mkdir(parents=True, mode=0o700)
        for number, content in originals.items():
            _write_synced(self.original(number), content)
        sync(self.folder / _BEFORE)
        write_document(self.folder / JOURNAL, journal)

    def journal(self) -> Journal | None:
        """Return what was written down; None where that never came to its end."""
        journal = read_document(self.folder / JOURNAL, Journal)
        if journal is not None:
            _check_stays_inside(journal, self.folder)
        return journal

    def original(self, number: int) -> Path:
        """Return where a file is as it was."""
        return self.folder / _BEFORE / str(number)

    def original_content(self, number: int) -> bytes:
        """Return a file as it was; raises EditError where that cannot be read."""
        path = self.original(number)
        try:
            return content_of(path, most=_MOST_BYTES, follows_links=False)
        except OSError as error:
            raise EditError(f"`{path}` cannot be read: {error.strerror or error}") from error

    def phase(self) -> Phase:
        """Return how far the set has come."""
        for phase in (Phase.REVOKED, Phase.COMMITTED):
            if (self.folder / phase.value).exists():
                return phase
        return Phase.PREPARING

    def commit(self) -> None:
        """Say that the set is to be completed, whatever happens."""
        _write_synced(self.folder / Phase.COMMITTED.value, b"")
        sync(self.folder)

    def revoke(self) -> None:
        """Say that the set is to be put back, where it was to be completed."""
        if self.phase() is Phase.COMMITTED:
            committed = self.folder / Phase.COMMITTED.value
            committed.rename(self.folder / Phase.REVOKED.value)
            sync(self.folder)

    def discard(self) -> None:
        """Forget a set that was put back, or never began."""
        # INVARIANT: without its journal, a set has changed nothing.
        (self.folder / JOURNAL).unlink(missing_ok=True)
        sync(self.folder)
        shutil.rmtree(self.folder)


def _check_stays_inside(journal: Journal, folder: Path) -> None:
    """Refuse a journal that names anything outside of its workspace: we never write one."""
    for entry in journal.entries:
        names = (entry.target, *entry.made, *entry.emptied)
        if _OUTSIDE.isdisjoint(part for name in names for part in name.split("/")) and (
            _DRAFT.fullmatch(entry.draft) is not None
        ):
            continue
        raise EditError(
            f"the journal in `{folder}` is damaged: `{entry.path}` leads out of its workspace"
        )


def undo_id(set_id: str) -> str:
    """Return the id of the set that puts another one back."""
    return f"{set_id}-undo"


def is_id(name: str) -> bool:
    """Whether a name can be the id of a set or a snapshot, and the name of its folder."""
    return _ID.fullmatch(name) is not None


def check_id(given: str) -> None:
    """Refuse an id that could not be the name of a folder."""
    if not is_id(given):
        raise EditError(f"`{given}` is no id: use letters, digits, `-`, `_` and `.`, 120 at most")


def write_document(path: Path, document: msgspec.Struct) -> None:
    """Write a document into a new folder: it is there as a whole, or not at all."""
    unfinished = path.with_suffix(".part")
    _write_synced(unfinished, msgspec.json.encode(document))
    unfinished.rename(path)
    sync(path.parent)
    sync(path.parent.parent)


def read_document(path: Path, kind: type[D]) -> D | None:
    """Return what was written; None where that never came to its end."""
    try:
        content = content_of(path, most=_MOST_BYTES, follows_links=False)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise EditError(f"`{path}` cannot be read: {error.strerror or error}") from error
    try:
        return msgspec.json.decode(content, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise EditError(f"`{path}` is damaged: {error}") from error


def _write_synced(path: Path, content: bytes) -> None:
    """Write a new file and wait until it is on the disk."""
    with opened(path, NEW_FILE) as file:
        write_all(file, content)
        os.fsync(file)


def write_all(file: int, content: bytes) -> None:
    """Write everything, in as many pieces as the system wants."""
    left = memoryview(content)
    while left:
        left = left[os.write(file, left) :]


def has_unfinished(store: Path) -> bool:
    """Whether there is a set that is not finished, or that somebody works on.

    Asked whenever a ledger is opened: what this module imports, everybody loads.
    """
    try:
        return any((store / PENDING).iterdir())
    except FileNotFoundError:
        return False
    except OSError as error:
        raise EditError(f"the store `{store}` cannot be used: {error}") from error
