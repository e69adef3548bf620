"""What can be put back: found on the record, put back, and recorded."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final, NamedTuple, assert_never

from interlock.edits.edit_apply import applied_set, undo
from interlock.edits.journal import undo_id
from interlock.edits.retention import holds
from interlock.edits.snapshot import has_snapshot, restore
from interlock.errors import EditError, InputError
from interlock.ledger.abbreviations import ambiguous
from interlock.ledger.chain import decoded, records_of
from interlock.ledger.ledger import Work
from interlock.ledger.transaction import Transaction
from interlock.model.events import ActionJudged, EditsApplied, UndoKind, Undone
from interlock.model.facts import UndoSnapshot
from interlock.model.principal import Principal
from interlock.model.rows import RecordRow
from interlock.model.short_code import is_meant
from interlock.ports import ALL, Rows
from interlock.service.records.context import Context
from interlock.service.records.edit_sets import APPLIED, is_plan, owner_of
from interlock.service.records.known_sets import is_known, recover_unfinished

UNDONE: Final = "undone"
_JUDGED: Final = "action-judged"
_SNAPSHOT_ID: Final = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_REPLACED: Final = re.compile(r"(?:-replaced-[0-9]+)+$")
_MOST_RUNS: Final = 100


class Undoing(NamedTuple):
    """Something that can be put back, and whose it is."""

    id: str
    kind: UndoKind
    run_id: str
    at: int
    """When it happened."""
    workspace: str
    paths: tuple[str, ...]
    digest: str | None = None
    """What the manifest of a snapshot is known by; None where it is not on record."""


def everything_to_undo(rows: Rows, store: Path, run_id: str | None) -> Iterator[Undoing]:
    """Yield what can be put back of a run, or of those that were at work last; newest first."""
    runs = [run_id] if run_id is not None else [row.id for row in rows.runs(limit=_MOST_RUNS)]
    for each in runs:
        yield from undoable_among(records_of(rows, each), store)


def undoable_among(records: Iterable[RecordRow], store: Path) -> Iterator[Undoing]:
    """Yield what these records of a run tell of that can still be put back, newest first."""
    found = _of_run(records)
    return (undoing for undoing in reversed(found) if _is_there(store, undoing))


def found_undo(context: Context, text: str) -> str:
    """Return the id that a text is, begins or has as its code; else the text as it is."""
    store = context.undo_store
    if holds(store, text):
        return text
    found = [each.id for each in everything_to_undo(context.ledger.rows, store, None)]
    begun = [each for each in found if is_meant(each, text)]
    if len(begun) > 1:
        raise ambiguous("thing to put back", text, begun)
    return begun[0] if begun else text


def _set_on_record(rows: Rows, store: Path, wanted: str) -> Undoing | None:
    """Return a set of edits: its id says which record judged it."""
    judged = owner_of(wanted)
    row = None if judged is None else rows.record(judged.run_id, judged.seq)
    event = None if row is None else decoded(row.body).event
    if row is None or not isinstance(event, ActionJudged) or not is_plan(event.action):
        return None
    applied = applied_set(store, wanted)
    if applied is None:
        raise EditError(f"there is no set `{wanted}` to put back in `{store}`: look up its id")
    paths = tuple(file.path for file in applied.files)
    return Undoing(wanted, UndoKind.EDITS, row.run_id, row.at, applied.workspace, paths)


def _snapshot_on_record(rows: Rows, wanted: str) -> Undoing | None:
    """Look for a snapshot in the runs that had begun before it, the latest at work first."""
    taken = _REPLACED.sub("", wanted)
    if not _SNAPSHOT_ID.fullmatch(taken):
        return None
    for run in rows.runs(limit=ALL):
        if run.id > taken:
            continue
        for row in records_of(rows, run.id):
            if row.kind == _JUDGED and taken.encode() in row.body:
                kept = _kept(row)
                if kept is not None and kept.id == taken:
                    found = _snapshot(wanted, row, kept)
                    return found if wanted == taken else _replaced(rows, found)
    return None


def _replaced(rows: Rows, found: Undoing) -> Undoing:
    """Return the same with what is on record of what a snapshot replaced when it was put back."""
    for row in records_of(rows, found.run_id):
        event = decoded(row.body).event if row.kind == UNDONE else None
        if isinstance(event, Undone) and event.undo_id == found.id:
            return found._replace(digest=event.digest)
    return found._replace(digest=None)


def _of_run(records: Iterable[RecordRow]) -> list[Undoing]:
    """Return everything of a run that was not put back yet, in its order."""
    found: dict[str, Undoing] = {}
    for row in records:
        if row.kind == _JUDGED and b'"kept"' in row.body:
            kept = _kept(row)
            if kept is not None:
                found[kept.id] = _snapshot(kept.id, row, kept)
        elif row.kind in (APPLIED, UNDONE):
            _note(found, row)
    return list(found.values())


def _note(found: dict[str, Undoing], row: RecordRow) -> None:
    match decoded(row.body).event:
        case EditsApplied(applied=applied):
            paths = tuple(file.path for file in applied.files)
            found[applied.id] = Undoing(
                applied.id, UndoKind.EDITS, row.run_id, row.at, applied.workspace, paths
            )
        case Undone() as event:
            before = found.pop(event.id, None)
            workspace = "" if before is None else before.workspace
            if event.undo_id is not None:
                found[event.undo_id] = Undoing(
                    event.undo_id, event.kind, row.run_id, row.at, workspace, event.paths
                )
        case _:
            pass


def _kept(row: RecordRow) -> UndoSnapshot | None:
    event = decoded(row.body).event
    undo = event.facts.undo if isinstance(event, ActionJudged) else None
    return None if undo is None else undo.snapshot


def _snapshot(wanted: str, row: RecordRow, kept: UndoSnapshot) -> Undoing:
    return Undoing(
        wanted, UndoKind.SNAPSHOT, row.run_id, row.at, kept.workspace, kept.paths, kept.digest
    )


def _is_there(store: Path, undoing: Undoing) -> bool:
    """Whether what is on record is still kept here."""
    match undoing.kind:
        case UndoKind.EDITS:
            return applied_set(store, undoing.id) is not None
        case UndoKind.SNAPSHOT:
            return has_snapshot(store, undoing.id)
        case _:
            assert_never(undoing.kind)


def look_at_undo(context: Context, wanted: str) -> Undoing:
    """Return what an id would put back; raise InputError where nothing on record has it."""
    context.ledger.check_process()
    # What died half-way is finished or gone after this: before it, neither can be put back.
    recover_unfinished(context)
    rows = context.ledger.rows
    found = _set_on_record(rows, context.undo_store, wanted) or _snapshot_on_record(rows, wanted)
    if found is None:
        raise InputError(
            f"nothing on record can be put back as `{wanted}`: look at `interlock undo --list`"
        )
    return found


def put_back(context: Context, wanted: str, by: Principal) -> Work[Undone]:
    """Put files back to what they were; return the work of recording that.

    Raises EditError, with no file changed, where one has changed since.
    """
    found = look_at_undo(context, wanted)
    match found.kind:
        case UndoKind.EDITS:
            event = _edits_put_back(context, found)
        case UndoKind.SNAPSHOT:
            event = _snapshot_put_back(context, found)
        case _:
            assert_never(found.kind)
    return _recording(context, found.run_id, event, by)


def _edits_put_back(context: Context, found: Undoing) -> Undone:
    store = context.undo_store
    done = applied_set(store, undo_id(found.id))
    if done is None or _is_recorded(context.ledger.rows, found):
        done = undo(store, found.id, is_known=lambda applied: is_known(context, applied))
    elif not is_known(context, done):
        raise EditError(f"the set `{done.id}` is not on record: remove it from `{store}`")
    # Else whoever put it back did not live to tell.
    return Undone(
        id=found.id,
        kind=UndoKind.EDITS,
        paths=tuple(context.clean(file.path) for file in done.files),
        undo_id=done.id,
    )


def _snapshot_put_back(context: Context, found: Undoing) -> Undone:
    def is_on_record(kept: UndoSnapshot) -> bool:
        if found.digest is not None:
            return kept.digest == found.digest
        # Nobody lived to record it, or it is older than digests are: it stays where it belongs.
        paths = tuple(map(context.clean, kept.paths))
        return (kept.workspace, paths) == (found.workspace, found.paths)

    replaced = restore(context.undo_store, found.id, is_known=is_on_record)
    return Undone(
        id=found.id,
        kind=UndoKind.SNAPSHOT,
        paths=tuple(map(context.clean, replaced.paths)),
        undo_id=replaced.id,
        digest=replaced.digest,
    )


def _is_recorded(rows: Rows, found: Undoing) -> bool:
    events = (
        decoded(row.body).event for row in records_of(rows, found.run_id) if row.kind == UNDONE
    )
    return any(isinstance(event, Undone) and event.id == found.id for event in events)


def _recording(context: Context, run_id: str, event: Undone, by: Principal) -> Work[Undone]:
    """Return the work of recording it: in the chain of its run, finished or not."""

    def plan(transaction: Transaction) -> Undone:
        transaction.append(run_id, event, at=context.clock.now(), by=by)
        return event

    return Work(plan, locks=(f"run/{run_id}",))
