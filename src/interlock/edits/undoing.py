"""An applied set, put back: every file as it was before, or nothing changed at all."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from interlock.edits.applying import Wanted, carry_out
from interlock.edits.journal import Entry, Journal, SetFolder, Store, check_id
from interlock.edits.places import workspace_root
from interlock.edits.planning import digest_of
from interlock.edits.swapping import Side, side_of
from interlock.errors import EditError
from interlock.model.edit import Applied


def undo(store: Path, set_id: str) -> Applied:
    """Put back every file of a set that was applied, in one step.

    It is kept as a set of its own, `ID-undo`, which can be put back again. Raises EditError
    where a file has changed since, or what was kept of it is damaged: then nothing is changed.
    """
    journals = Store(store)
    with journals.locked():
        kept = journals.kept(set_id)
        journal = _journal(journals, kept, set_id)
        if journals.kept(undo_id(set_id)).exists:
            raise EditError(
                f"the set `{set_id}` was put back already: put back `{undo_id(set_id)}` to have it"
                " again"
            )
        root = workspace_root(Path(journal.workspace))
        changed = [entry for entry in journal.entries if side_of(root, entry) is not Side.NEW]
        if changed:
            raise EditError("\n".join(_complaints(set_id, changed)))
        wanted = [_wanted(kept, number, entry) for number, entry in enumerate(journal.entries)]
        return carry_out(journals, root, wanted, set_id=undo_id(set_id), undoes=set_id)


def undo_id(set_id: str) -> str:
    """Return the id of the set that puts another one back."""
    return f"{set_id}-undo"


def _journal(store: Store, kept: SetFolder, set_id: str) -> Journal:
    check_id(set_id)
    journal = kept.journal()
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


def _wanted(kept: SetFolder, number: int, entry: Entry) -> Wanted:
    """Return what has to become of a file for it to be as it was."""
    now = None if entry.after is None else entry.after.digest
    if entry.before is None:
        return Wanted(entry.path, entry.target, now, None, None, emptied=entry.made)
    content = kept.original(number)
    if digest_of(content) != entry.before.digest:
        raise EditError(
            f"what was kept of `{entry.path}` in `{kept.folder}` is not what it was: nothing was"
            " put back"
        )
    return Wanted(entry.path, entry.target, now, content, entry.before)
