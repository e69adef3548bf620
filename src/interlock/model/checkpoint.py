"""A checkpoint: what a run's workspace looked like before a step, so that it can come back."""

from __future__ import annotations

import enum

import msgspec


class CheckpointKind(enum.Enum):
    """How a checkpoint was taken."""

    GIT = "git"
    """As a commit on a hidden ref: Interlock can restore it."""
    COMMAND = "command"
    """By a command of the user's own, who knows how to restore it."""
    NONE = "none"
    """Not at all: only the step is on record."""


class Checkpoint(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One checkpoint, or the attempt at one."""

    id: str
    step: int
    kind: CheckpointKind
    workspace: str
    commit: str | None = None
    ref: str | None = None
    tree: str | None = None
    exit_code: int | None = None
    """What the user's own command ended with; None where it did not run to its end."""
    error: str | None = None
    """Why there is nothing to come back to; None where there is."""
    output: str = ""
    """The end of what the user's own command printed."""

    @property
    def is_restorable(self) -> bool:
        """Whether Interlock itself can bring the workspace back to it."""
        return self.kind is CheckpointKind.GIT and self.commit is not None and self.error is None
