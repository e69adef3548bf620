"""A checkpoint when one is due: taken outside of the ledger, then put on the record."""

from __future__ import annotations

import shlex
from pathlib import Path

from msgspec.structs import replace

from interlock.checkpoints import workspace_checkpoint
from interlock.checkpoints.workspace_checkpoint import BY_GIT, NOT_AT_ALL, CheckpointOrder
from interlock.ledger.ledger import Work
from interlock.ledger.transaction import Transaction
from interlock.model.answers import StepAnswer
from interlock.model.checkpoint import Checkpoint, CheckpointKind
from interlock.model.events import CheckpointTaken
from interlock.model.principal import SYSTEM
from interlock.service.records.context import Asked, Context, new_id
from interlock.service.records.holds import running
from interlock.settings import environment


def take_checkpoint(asked: Asked, answer: StepAnswer) -> Checkpoint:
    """Save the work of a run the way its policy says; what goes wrong is told in the result.

    It is returned as it may be kept and told: without secrets.
    """
    return _without_secrets(asked.context, _taken(asked, answer))


def _taken(asked: Asked, answer: StepAnswer) -> Checkpoint:
    run, checkpoint_id = asked.run, new_id()
    if run.workspace is None:
        return Checkpoint(
            id=checkpoint_id, step=answer.step, kind=CheckpointKind.NONE, workspace=""
        )
    workspace = Path(run.workspace)
    try:
        command = _command(asked.context.policy.config.steps.checkpoint_command, workspace)
    except (OSError, ValueError) as error:
        return Checkpoint(
            id=checkpoint_id,
            step=answer.step,
            kind=CheckpointKind.NONE,
            workspace=run.workspace,
            error=f"it is not known how to save the workspace: {error}",
        )
    order = CheckpointOrder(
        id=checkpoint_id,
        run_id=run.id,
        step=answer.step,
        workspace=workspace,
        command=command,
    )
    return workspace_checkpoint.take_checkpoint(order, environment())


def record_checkpoint(asked: Asked, checkpoint: Checkpoint) -> Work[Checkpoint]:
    """Return the work of recording that the work was saved, or could not be."""
    context, state, _ = asked
    saved = _without_secrets(context, checkpoint)

    def plan(transaction: Transaction) -> Checkpoint:
        run = running(transaction, state.id)
        event = CheckpointTaken(checkpoint=saved)
        transaction.append(run.id, event, at=context.clock.now(), by=SYSTEM)
        return saved

    return Work(plan, locks=(f"run/{state.id}",))


def _without_secrets(context: Context, checkpoint: Checkpoint) -> Checkpoint:
    return replace(
        checkpoint,
        workspace=context.clean(checkpoint.workspace),
        output=context.clean(checkpoint.output),
        error=None if checkpoint.error is None else context.clean(checkpoint.error),
    )


def _command(told: str, workspace: Path) -> str | list[str]:
    """Return what is to be run; where there is no repository, the step alone is recorded."""
    if told == BY_GIT:
        return BY_GIT if _is_in_repository(workspace) else NOT_AT_ALL
    return NOT_AT_ALL if told == NOT_AT_ALL else shlex.split(told)


def _is_in_repository(workspace: Path) -> bool:
    found = workspace.absolute()
    return any((folder / ".git").exists() for folder in (found, *found.parents))
