"""A plan, carried out as one and put back as one: all files of the set are new, or as they were.

The way: write down what was there and what will be; lay every new file beside its target;
commit; let each take its place in one step; look whether everything is as planned. What fails
before the end is put back at once, and what dies is brought to one state by `recover`.
"""

from __future__ import annotations

import enum
import os
import secrets
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

from interlock.descriptors import NEW_FILE, opened, status_at
from interlock.edits.edit_plan import Planned, digest_of
from interlock.edits.journal import (
    Entry,
    Journal,
    Phase,
    SetFolder,
    State,
    Store,
    check_id,
    undo_id,
    write_all,
)
from interlock.edits.workspace_files import (
    READING,
    FoundFile,
    folder_of,
    found_file,
    make_folders,
    missing_folders,
    target_of,
    workspace_root,
)
from interlock.errors import EditError
from interlock.model.edit import Applied, AppliedFile, Outcome, Recovered

_NEW_MODE: Final = 0o666


class _Wanted(NamedTuple):
    """What a file has to be, and what it must be now for that; None for no file."""

    path: str
    target: str
    now: str | None
    """The digest that it must have."""
    content: bytes | None
    state: State | None
    """What is known of the content."""
    emptied: tuple[str, ...] = ()


class _Prepared(NamedTuple):
    """A change that is written down, with what is needed to make it."""

    entry: Entry
    content: bytes | None
    before: FoundFile | None


def apply_once(planned: Planned, *, store: Path, set_id: str) -> tuple[Applied, bool]:
    """Make every change of a plan, or none; return the set, and whether it was applied before.

    What was there is stored under the id. Raises EditError where a file is not any more what it
    was when it was planned, or something fails: then every file is as it was.
    """
    journals = Store(store)
    with journals.locked():
        earlier = _finished(journals, set_id)
        if earlier is not None:
            return earlier, True
        root, wanted = _wanted(planned)
        return _carry_out(journals, root, wanted, set_id=set_id, undoes=None), False


def applied_set(store: Path, set_id: str) -> Applied | None:
    """Return a set that was applied, as it is stored to be put back; None where there is none."""
    return _finished(Store(store), set_id)


def _finished(store: Store, set_id: str) -> Applied | None:
    check_id(set_id)
    journal = store.finished(set_id).journal()
    return None if journal is None else _applied(journal)


def _wanted(planned: Planned) -> tuple[Path, list[_Wanted]]:
    wanted = [
        _Wanted(
            file.path,
            file.target,
            file.before,
            planned.contents[file.target],
            State(digest=file.after, mode=file.mode),
        )
        for file in planned.plan.files
    ]
    root = Path(planned.plan.workspace)
    for each in wanted:
        if target_of(root, each.path) != each.target:
            raise EditError(
                f"`{each.path}` leads to another file than when it was planned: plan again"
            )
    return root, wanted


def _carry_out(
    store: Store, root: Path, wanted: Sequence[_Wanted], *, set_id: str, undoes: str | None
) -> Applied:
    """Make every change, or none, in a store that is locked."""
    store.check_is_free(set_id)
    prepared = _prepared(root, wanted)
    journal = Journal(
        id=set_id,
        workspace=str(root),
        entries=tuple(each.entry for each in prepared),
        undoes=undoes,
    )
    pending = store.pending(set_id)
    try:
        originals = {
            number: each.before.content for number, each in enumerate(prepared) if each.before
        }
        pending.begin(journal, originals)
        _lay_drafts(root, prepared)
        pending.commit()
        _swap_all(root, prepared)
        _finish(store, pending, journal)
    except BaseException as error:
        left_alone = _give_up(pending, error)
        if isinstance(error, (OSError, EditError)):
            raise EditError(
                f"the set `{set_id}` was not applied: {error}; {_aftermath(left_alone)}"
            ) from error
        raise
    return _applied(journal)


def recover(
    store: Path, *, is_known: Callable[[Applied], bool] | None = None
) -> tuple[Recovered, ...]:
    """Bring every set that was not finished to one state; nothing is left half done.

    A set is completed where all of its new files lay ready and nobody has touched the old ones;
    any other is put back. What is none of those that `is_known` knows is left as it is.
    """
    journals = Store(store)
    with journals.locked():
        recovered: list[Recovered] = []
        complaints: list[str] = []
        for pending in list(journals.all_pending()):
            try:
                recovered += _recovered(journals, pending, is_known)
            except (EditError, OSError) as error:
                complaints.append(f"the set `{pending.folder.name}` is still half done: {error}")
    if complaints:
        raise EditError("\n".join([*complaints, "mend that, then recover the store again"]))
    return tuple(recovered)


def _prepared(root: Path, wanted: Sequence[_Wanted]) -> list[_Prepared]:
    """Look at every file once more, and decide how each is changed."""
    token = secrets.token_hex(6)
    prepared: list[_Prepared] = []
    for number, each in enumerate(wanted):
        try:
            before = found_file(root, each.target)
        except EditError as error:
            raise EditError(f"`{each.path}`: {error}") from error
        state = before and State(digest=digest_of(before.content), mode=before.mode)
        if _digest(state) != each.now:
            raise EditError(f"`{each.path}` {_how_changed(before, each.now)}")
        entry = Entry(
            path=each.path,
            target=each.target,
            before=state,
            after=each.state,
            draft=f".interlock-{token}-{number}",
            made=() if each.content is None else missing_folders(root, each.target),
            emptied=each.emptied,
        )
        prepared.append(_Prepared(entry, each.content, before))
    return prepared


def _how_changed(before: FoundFile | None, expected: str | None) -> str:
    if before is None:
        return "is gone since: nothing was changed; bring it back, or plan again"
    if expected is None:
        return "exists since: nothing was changed; move it away, or plan again"
    return "has changed since: nothing was changed; read it again, then plan again"


def _lay_drafts(root: Path, prepared: Sequence[_Prepared]) -> None:
    for entry, content, _ in prepared:
        if entry.after is not None and content is not None:
            make_folders(root, entry.made)
            write_draft(root, entry, content, entry.after)


def _swap_all(root: Path, prepared: Sequence[_Prepared]) -> None:
    for entry, _, before in prepared:
        _check_is_untouched(root, entry, before)
        _swap(root, entry, entry.after)


def _check_is_untouched(root: Path, entry: Entry, before: FoundFile | None) -> None:
    """Look right before a file is replaced: its marks are enough to tell that nobody wrote it."""
    status = None
    with suppress(FileNotFoundError), folder_of(root, entry.target) as (folder, name):
        status = status_at(folder, name)
    if _marks(status) != _marks(None if before is None else before.status):
        raise EditError(
            f"`{entry.path}` was changed by somebody else meanwhile: read it again, then plan again"
        )


def _marks(status: os.stat_result | None) -> tuple[int, ...] | None:
    if status is None:
        return None
    times = status.st_mtime_ns, status.st_ctime_ns
    return status.st_dev, status.st_ino, status.st_mode, status.st_size, *times


def _finish(store: Store, pending: SetFolder, journal: Journal) -> None:
    """Look whether everything is as planned, and take the set for finished."""
    root = Path(journal.workspace)
    for entry in journal.entries:
        if _side_of(root, entry) is not _Side.NEW:
            raise EditError(f"`{entry.path}` does not hold what was written to it")
    for entry in journal.entries:
        _remove_folders(root, entry.emptied)
    store.finish(pending)


def _give_up(pending: SetFolder, error: BaseException) -> tuple[str, ...]:
    """Put everything back after a failure; return what somebody else has changed since.

    What cannot be put back now is left to `recover`.
    """
    left_alone: tuple[str, ...] = ()
    try:
        journal = pending.journal()
        if journal is not None:
            left_alone = _put_back(pending, journal)
        if pending.exists:
            pending.discard()
    except (OSError, EditError) as further:
        raise EditError(
            f"the set `{pending.folder.name}` failed ({error}), and could not be put back"
            f" ({further}): recover the store `{pending.folder.parent.parent}` when that is mended"
        ) from error
    return left_alone


def _aftermath(left_alone: Sequence[str]) -> str:
    if not left_alone:
        return "every file is as it was"
    named = ", ".join(f"`{path}`" for path in left_alone)
    return f"every file is as it was but for {named}, which somebody else has written meanwhile"


def _recovered(
    store: Store, pending: SetFolder, is_known: Callable[[Applied], bool] | None
) -> Iterator[Recovered]:
    journal = pending.journal()
    if journal is None:
        pending.discard()
    elif is_known is not None and not is_known(_applied(journal)):
        return
    elif pending.phase() is Phase.COMMITTED and _completed(store, pending, journal):
        yield Recovered(id=journal.id, outcome=Outcome.COMPLETED)
    else:
        left_alone = _put_back(pending, journal)
        pending.discard()
        yield Recovered(id=journal.id, outcome=Outcome.PUT_BACK, left_alone=left_alone)


def _completed(store: Store, pending: SetFolder, journal: Journal) -> bool:
    """Complete a set; return False, with nothing changed, where that is not possible any more."""
    root = Path(journal.workspace)
    sides = {entry: _side_of(root, entry) for entry in journal.entries}
    for entry, side in sides.items():
        is_ready = entry.after is None or _has_draft(root, entry)
        if side is _Side.OTHER or (side is _Side.OLD and not is_ready):
            return False
    for entry, side in sides.items():
        if side is _Side.OLD:
            _swap(root, entry, entry.after)
    _finish(store, pending, journal)
    return True


def _put_back(pending: SetFolder, journal: Journal) -> tuple[str, ...]:
    """Bring every file to what it was; return those that somebody else has changed since."""
    pending.revoke()
    root = Path(journal.workspace)
    was_committed = pending.phase() is Phase.REVOKED
    left_alone: list[str] = []
    for number, entry in enumerate(journal.entries):
        _remove_draft(root, entry)
        side = _side_of(root, entry)
        if side is _Side.NEW and was_committed:
            _restore(root, entry, pending, number)
        elif side is _Side.OTHER:
            left_alone.append(entry.path)
    for entry in journal.entries:
        _remove_folders(root, entry.made)
    return tuple(left_alone)


def _restore(root: Path, entry: Entry, pending: SetFolder, number: int) -> None:
    if entry.before is not None:
        content = pending.original_content(number)
        if digest_of(content) != entry.before.digest:
            raise EditError(f"what was kept of `{entry.path}` is damaged: `{pending.folder}`")
        make_folders(root, entry.emptied)
        write_draft(root, entry, content, entry.before)
    _swap(root, entry, entry.before)
    if _side_of(root, entry) is not _Side.OLD:
        raise EditError(f"`{entry.path}` does not hold what was put back")


def _applied(journal: Journal) -> Applied:
    return Applied(
        id=journal.id,
        workspace=journal.workspace,
        undoes=journal.undoes,
        files=tuple(
            AppliedFile(
                path=entry.path,
                target=entry.target,
                before=_digest(entry.before),
                after=_digest(entry.after),
            )
            for entry in journal.entries
        ),
    )


def undo(store: Path, set_id: str, *, is_known: Callable[[Applied], bool] | None = None) -> Applied:
    """Put back every file of a set that was applied, in one step.

    It is stored as a set of its own, `ID-undo`, which can be put back again. Raises EditError
    where a file has changed since, or what was kept of it is damaged, or where the journal is none
    that `is_known` takes for what was done: then nothing is changed.
    """
    journals = Store(store)
    with journals.locked():
        journals.check_is_free(set_id)
        done = journals.finished(set_id)
        journal = done.journal()
        if journal is None:
            raise EditError(f"there is no set `{set_id}` to put back: look up its id")
        if is_known is not None and not is_known(_applied(journal)):
            raise EditError(
                f"the set in `{done.folder}` is not on record as `{set_id}`: nothing was put back"
            )
        if journals.finished(undo_id(set_id)).exists:
            raise EditError(
                f"the set `{set_id}` was put back already: put back `{undo_id(set_id)}` to have it"
                " again"
            )
        root = workspace_root(Path(journal.workspace))
        changed = [entry for entry in journal.entries if _side_of(root, entry) is not _Side.NEW]
        if changed:
            raise EditError(
                "\n".join(
                    f"`{entry.path}` has changed since `{set_id}` was applied: nothing was put"
                    " back; undo the later change first, or edit the file by hand"
                    for entry in changed
                )
            )
        wanted = [_wanted_back(done, number, entry) for number, entry in enumerate(journal.entries)]
        return _carry_out(journals, root, wanted, set_id=undo_id(set_id), undoes=set_id)


def _wanted_back(done: SetFolder, number: int, entry: Entry) -> _Wanted:
    """Return what has to become of a file for it to be as it was."""
    now = _digest(entry.after)
    if entry.before is None:
        return _Wanted(entry.path, entry.target, now, None, None, emptied=entry.made)
    content = done.original_content(number)
    if digest_of(content) != entry.before.digest:
        raise EditError(
            f"what was kept of `{entry.path}` in `{done.folder}` is not what it was: nothing was"
            " put back"
        )
    return _Wanted(entry.path, entry.target, now, content, entry.before)


class _Side(enum.Enum):
    """Which of its two states a file is in."""

    OLD = "old"
    NEW = "new"
    OTHER = "other"
    """Somebody else has changed it."""


def _side_of(root: Path, entry: Entry) -> _Side:
    try:
        digest = _found_digest(root, entry.target)
    except EditError:
        return _Side.OTHER
    if digest == _digest(entry.before):
        return _Side.OLD
    return _Side.NEW if digest == _digest(entry.after) else _Side.OTHER


def write_draft(root: Path, entry: Entry, content: bytes, state: State) -> None:
    """Write a file beside its target, with its permissions, owner and attributes; sync it."""
    with (
        folder_of(root, entry.target) as (folder, name),
        opened(entry.draft, NEW_FILE, _NEW_MODE, folder=folder) as file,
    ):
        write_all(file, content)
        _take_over(file, folder, name)
        if state.mode is not None:
            os.fchmod(file, state.mode)
        os.fsync(file)


def _has_draft(root: Path, entry: Entry) -> bool:
    """Whether the whole new file lies ready."""
    draft = str(Path(entry.target).with_name(entry.draft))
    try:
        return _found_digest(root, draft) == _digest(entry.after)
    except EditError:
        return False


def _found_digest(root: Path, target: str) -> str | None:
    found = found_file(root, target)
    return None if found is None else digest_of(found.content)


def _swap(root: Path, entry: Entry, state: State | None) -> None:
    """Put the draft in the place of its target, or remove the target; sync the folder."""
    with folder_of(root, entry.target) as (folder, name):
        if state is None:
            os.unlink(name, dir_fd=folder)
        else:
            os.rename(entry.draft, name, src_dir_fd=folder, dst_dir_fd=folder)
        os.fsync(folder)


def _remove_draft(root: Path, entry: Entry) -> None:
    with (
        suppress(FileNotFoundError, NotADirectoryError),
        folder_of(root, entry.target) as (folder, _),
    ):
        os.unlink(entry.draft, dir_fd=folder)


def _remove_folders(root: Path, folders: Sequence[str]) -> None:
    """Remove folders, the innermost first, as far as nothing is in them."""
    for path in reversed(folders):
        # Whoever has put something there since keeps it.
        with suppress(OSError), folder_of(root, path) as (folder, name):
            os.rmdir(name, dir_fd=folder)


def _digest(state: State | None) -> str | None:
    return None if state is None else state.digest


def _take_over(file: int, folder: int, name: bytes) -> None:
    """Give a new file the owner and the attributes of the one it replaces, if allowed."""
    with suppress(FileNotFoundError), opened(name, READING, folder=folder) as old:
        before, after = os.fstat(old), os.fstat(file)
        if (before.st_uid, before.st_gid) != (after.st_uid, after.st_gid):
            with suppress(PermissionError):
                os.fchown(file, before.st_uid, before.st_gid)
        # Not every system and not every disk has attributes, and some are for the system only.
        with suppress(OSError, AttributeError):
            for attribute in os.listxattr(old):
                os.setxattr(file, attribute, os.getxattr(old, attribute))
