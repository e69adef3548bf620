"""Files, put back: a set of edits, or what was copied away before a command."""

from __future__ import annotations

from typing import assert_never

from interlock.edits.edit_apply import kept_set
from interlock.edits.restore import restore, undo, undo_id
from interlock.ledger.codec import decoded
from interlock.ledger.ledger import Work
from interlock.ledger.rows import Rows
from interlock.ledger.transaction import Transaction
from interlock.model.events import UndoKind, Undone
from interlock.service.context import SYSTEM, Context
from interlock.service.editing.recording import records_of
from interlock.service.editing.recovering import recover_unfinished
from interlock.service.editing.undo_records import UNDONE, Undoing, found_undo
from interlock.service.governor import Governor


def look_at_undo(governor: Governor, wanted: str) -> Undoing:
    """Return what an id would put back; raise InputError where nothing on record has it."""
    context = governor.context
    context.ledger.check_process()
    # What died half-way is finished or gone after this: before it, neither can be put back.
    recover_unfinished(context.undo_store)
    return found_undo(context.ledger.rows, context.undo_store, wanted)


def put_back(governor: Governor, wanted: str) -> Undone:
    """Put files back to what they were, and record that.

    Raises EditError, with no file changed, where one has changed since.
    """
    context, found = governor.context, look_at_undo(governor, wanted)
    match found.kind:
        case UndoKind.EDITS:
            event = _edits_put_back(context, found)
        case UndoKind.SNAPSHOT:
            event = _snapshot_put_back(context, found)
        case _:
            assert_never(found.kind)
    return governor.done(_recording(context, found.run_id, event))


def _edits_put_back(context: Context, found: Undoing) -> Undone:
    store = context.undo_store
    done = kept_set(store, undo_id(found.id))
    if done is None or _is_recorded(context.ledger.rows, found):
        done = undo(store, found.id)
    # Else whoever put it back did not live to tell.
    return Undone(
        id=found.id,
        kind=UndoKind.EDITS,
        paths=tuple(context.clean(file.path) for file in done.files),
        undo_id=done.id,
    )


def _snapshot_put_back(context: Context, found: Undoing) -> Undone:
    replaced = restore(context.undo_store, found.id)
    return Undone(
        id=found.id,
        kind=UndoKind.SNAPSHOT,
        paths=tuple(map(context.clean, replaced.paths)),
        undo_id=replaced.id,
    )


def _is_recorded(rows: Rows, found: Undoing) -> bool:
    events = (
        decoded(row.body).event for row in records_of(rows, found.run_id) if row.kind == UNDONE
    )
    return any(isinstance(event, Undone) and event.id == found.id for event in events)


def _recording(context: Context, run_id: str, event: Undone) -> Work[Undone]:
    """Return the work of recording it: in the chain of its run, finished or not."""

    def plan(transaction: Transaction) -> Undone:
        transaction.append(run_id, event, at=context.clock.now(), by=SYSTEM)
        return event

    return Work(plan, locks=(f"run/{run_id}",))
