"""A checkpoint when one is due: taken outside of the ledger, then put on the record."""

from __future__ import annotations

import shlex
from pathlib import Path

from msgspec.structs import replace

from interlock.checkpoints import workspace_checkpoint
from interlock.checkpoints.workspace_checkpoint import BY_GIT, NOT_AT_ALL, CheckpointOrder
from interlock.ledger.ledger import Work
from interlock.model.events import CheckpointTaken
from interlock.model.principal import SYSTEM
from interlock.model.step import Checkpoint, CheckpointKind
from interlock.service.records.context import Asked, new_id
from interlock.settings import environment


def keep_work(asked: Asked, step: int) -> Work[CheckpointTaken]:
    """Save the work of a run now; return the work of recording that."""
    return record_checkpoint(asked, take_checkpoint(asked, step))


def take_checkpoint(asked: Asked, step: int) -> Checkpoint:
    """Save the work of a run the way its policy says; what goes wrong is in the result."""
    run, checkpoint_id = asked.run, new_id()
    if run.workspace is None:
        return Checkpoint(id=checkpoint_id, step=step, kind=CheckpointKind.NONE, workspace="")
    workspace = Path(run.workspace)
    try:
        command = _command(asked.context.policy.config.steps.checkpoint_command, workspace)
    except (OSError, ValueError) as error:
        return Checkpoint(
            id=checkpoint_id,
            step=step,
            kind=CheckpointKind.NONE,
            workspace=run.workspace,
            error=f"it is not known how to save the workspace: {error}",
        )
    order = CheckpointOrder(
        id=checkpoint_id,
        run_id=run.id,
        step=step,
        workspace=workspace,
        command=command,
    )
    return workspace_checkpoint.take_checkpoint(order, environment())


def record_checkpoint(asked: Asked, checkpoint: Checkpoint) -> Work[CheckpointTaken]:
    """Return the work of recording that the work was saved, or could not be; without secrets."""
    clean, error = asked.context.clean, checkpoint.error
    saved = replace(
        checkpoint,
        workspace=clean(checkpoint.workspace),
        output=clean(checkpoint.output),
        error=None if error is None else clean(error),
    )
    return asked.entry(CheckpointTaken(checkpoint=saved), SYSTEM)


def _command(setting: str, workspace: Path) -> str | list[str]:
    """Return what is to be run; where there is no repository, the step alone is recorded."""
    if setting == BY_GIT:
        return BY_GIT if _is_in_repository(workspace) else NOT_AT_ALL
    return NOT_AT_ALL if setting == NOT_AT_ALL else shlex.split(setting)


def _is_in_repository(workspace: Path) -> bool:
    found = workspace.absolute()
    return any((folder / ".git").exists() for folder in (found, *found.parents))
