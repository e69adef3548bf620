"""Checkpoints that really happen: by git, by a command of the user's own, or not at all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import msgspec
from msgspec.structs import replace

from interlock.checkpoints import git_checkpoint
from interlock.checkpoints.bounded_command import Deadline, Ended, run_bounded
from interlock.errors import CheckpointError
from interlock.model.step import Checkpoint, CheckpointKind

BY_GIT: Final = "git"
NOT_AT_ALL: Final = "none"
_MOST_OUTPUT: Final = 8192
_PASSED_ON: Final = ("PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TZ", "TMPDIR")
_PASSED_ON_PREFIX: Final = "LC_"


class CheckpointOrder(msgspec.Struct, frozen=True, kw_only=True):
    """Which checkpoint is to be taken, of what, and how."""

    id: str
    run_id: str
    step: int
    workspace: Path
    command: str | Sequence[str]
    """`git`, `none`, or a command of the user's own with its arguments."""
    timeout_s: float = git_checkpoint.TIMEOUT_S


class Restoration(msgspec.Struct, frozen=True, kw_only=True):
    """What bringing a workspace back did."""

    checkpoint: Checkpoint
    safety: Checkpoint
    """What it looked like before: restore this to undo."""
    written: tuple[str, ...]
    removed: tuple[str, ...]
    left: tuple[str, ...]
    """What was left although the checkpoint says otherwise."""


def take_checkpoint(order: CheckpointOrder, environment: Mapping[str, str]) -> Checkpoint:
    """Take a checkpoint; what goes wrong is its `error`, and never raised."""
    kind = _kind(order.command)
    try:
        match kind:
            case CheckpointKind.GIT:
                return _by_git(order, environment)
            case CheckpointKind.COMMAND:
                return _by_command(order, environment)
            case CheckpointKind.NONE:
                return _blank(order, kind)
    except CheckpointError as error:
        return replace(_blank(order, kind), error=str(error))


def restore_checkpoint(
    checkpoint: Checkpoint,
    *,
    run_id: str,
    safety_id: str,
    environment: Mapping[str, str],
) -> Restoration:
    """Bring a workspace back to a checkpoint, after the present state was saved as `safety_id`."""
    if checkpoint.commit is None or not checkpoint.is_restorable:
        raise CheckpointError(_why_not(checkpoint))
    restored = git_checkpoint.restore(
        Path(checkpoint.workspace),
        checkpoint.commit,
        safety=f"{run_id}/{safety_id}",
        environment=environment,
    )
    return Restoration(
        checkpoint=checkpoint,
        safety=_holding(replace(checkpoint, id=safety_id), restored.safety),
        written=restored.written,
        removed=restored.removed,
        left=restored.left,
    )


def _kind(command: str | Sequence[str]) -> CheckpointKind:
    if command == BY_GIT:
        return CheckpointKind.GIT
    return CheckpointKind.NONE if command == NOT_AT_ALL else CheckpointKind.COMMAND


def _by_git(order: CheckpointOrder, environment: Mapping[str, str]) -> Checkpoint:
    snapshot = git_checkpoint.take(
        order.workspace,
        f"{order.run_id}/{order.id}",
        f"interlock checkpoint {order.id}\n\nrun {order.run_id}, step {order.step}\n",
        environment=environment,
        timeout_s=order.timeout_s,
    )
    return _holding(_blank(order, CheckpointKind.GIT), snapshot)


def _holding(checkpoint: Checkpoint, snapshot: git_checkpoint.Snapshot) -> Checkpoint:
    return replace(checkpoint, commit=snapshot.commit, ref=snapshot.ref, tree=snapshot.tree)


def _by_command(order: CheckpointOrder, environment: Mapping[str, str]) -> Checkpoint:
    argv = _words(order.command)
    try:
        ended = run_bounded(
            argv,
            folder=order.workspace,
            environment=_passed_on(environment, order),
            deadline=Deadline(order.timeout_s),
            most_said=_MOST_OUTPUT,
        )
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise CheckpointError(
            f"cannot run `{argv[0]}` in `{order.workspace}`: {why}:"
            " correct `steps.checkpoint-command`"
        ) from error
    return replace(
        _blank(order, CheckpointKind.COMMAND),
        exit_code=ended.exit_code,
        error=_complaint(order, argv[0], ended),
        output=ended.said.decode("utf-8", "backslashreplace"),
    )


def _words(command: str | Sequence[str]) -> Sequence[str]:
    if isinstance(command, str) or not command:
        raise CheckpointError(
            f"`steps.checkpoint-command` is `{command}`, expected"
            ' "git", "none" or a command as a list of its words'
        )
    return command


def _complaint(order: CheckpointOrder, program: str, ended: Ended) -> str | None:
    if ended.exit_code == 0:
        return None
    if ended.exit_code is None:
        return f"`{program}` was killed: it took longer than {order.timeout_s:g} s"
    return f"`{program}` ended with {ended.exit_code}, expected 0"


def _passed_on(environment: Mapping[str, str], order: CheckpointOrder) -> dict[str, str]:
    """Return what a command may know: of our environment little, for it holds credentials."""
    passed = {
        name: value
        for name, value in environment.items()
        if name in _PASSED_ON or name.startswith(_PASSED_ON_PREFIX)
    }
    return passed | {
        "INTERLOCK_RUN": order.run_id,
        "INTERLOCK_STEP": str(order.step),
        "INTERLOCK_CHECKPOINT": order.id,
    }


def _blank(order: CheckpointOrder, kind: CheckpointKind) -> Checkpoint:
    workspace = str(order.workspace.absolute()).encode("utf-8", "backslashreplace").decode()
    return Checkpoint(id=order.id, step=order.step, kind=kind, workspace=workspace)


def _why_not(checkpoint: Checkpoint) -> str:
    match checkpoint.kind:
        case CheckpointKind.GIT:
            return f"checkpoint `{checkpoint.id}` was not taken: {checkpoint.error}"
        case CheckpointKind.COMMAND:
            return (
                f"checkpoint `{checkpoint.id}` was taken by a command of your own: restore it with"
                " what belongs to that command"
            )
        case CheckpointKind.NONE:
            return (
                f'checkpoint `{checkpoint.id}` kept nothing: `steps.checkpoint-command` was "none"'
            )
