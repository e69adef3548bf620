"""Files brought back to a checkpoint: what is there now is kept first, and that is on record."""

from __future__ import annotations

from typing import Final

from msgspec.structs import replace

from interlock.checkpoints.workspace_checkpoint import Restoration, restore_checkpoint
from interlock.ledger.abbreviations import named
from interlock.ledger.chain import decoded, records_of
from interlock.model.events import CheckpointTaken
from interlock.model.run import RunStatus
from interlock.model.step import Checkpoint
from interlock.ports import Rows
from interlock.service.governor import Governor
from interlock.service.questions.question import Entry
from interlock.service.records.context import new_id
from interlock.service.records.run_checkpoints import record_checkpoint
from interlock.settings import environment

_LIST: Final = "interlock checkpoint list RUN"


def restore_run(governor: Governor, run_id: str, checkpoint_id: str) -> Restoration:
    """Bring the files of a run back to one of its checkpoints."""
    found = _found(governor.ledger.rows, run_id, checkpoint_id)
    done = restore_checkpoint(found, run_id=run_id, safety_id=new_id(), environment=environment())
    record_safety(governor, run_id, done.safety)
    return done


def _found(rows: Rows, run_id: str, text: str) -> Checkpoint:
    taken = (
        decoded(row.body).event
        for row in records_of(rows, run_id)
        if row.kind == "checkpoint-taken"
    )
    known = [
        (each.checkpoint.id, each.checkpoint) for each in taken if isinstance(each, CheckpointTaken)
    ]
    return named("checkpoint", text, known, _LIST)


def record_safety(governor: Governor, run_id: str, safety: Checkpoint) -> bool:
    """Put what was kept first on record, if its run still runs; return whether it is there."""
    state = governor.state(run_id)
    if state.status is not RunStatus.RUNNING:
        return False
    # It holds the files of the present step, not of the one that was restored.
    present = replace(safety, step=state.control.steps)
    governor.answer(Entry(lambda asking: record_checkpoint(asking.of_run(run_id), present)))
    return True
