from __future__ import annotations

import pytest
from msgspec import json

from interlock.model.step import Checkpoint, CheckpointKind


def a_checkpoint(
    kind: CheckpointKind, *, commit: str | None = None, error: str | None = None
) -> Checkpoint:
    return Checkpoint(id="c", step=25, kind=kind, workspace="/w", commit=commit, error=error)


@pytest.mark.parametrize(
    ("checkpoint", "expected"),
    [
        (a_checkpoint(CheckpointKind.GIT, commit="c0ffee"), True),
        (a_checkpoint(CheckpointKind.GIT, error="no repository"), False),
        (a_checkpoint(CheckpointKind.GIT, commit="c0ffee", error="half"), False),
        (a_checkpoint(CheckpointKind.COMMAND), False),
        (a_checkpoint(CheckpointKind.NONE), False),
    ],
    ids=["git", "failed", "half", "command", "none"],
)
def test_only_what_git_really_kept_can_be_restored(checkpoint: Checkpoint, expected: bool) -> None:
    assert checkpoint.is_restorable is expected


def test_a_checkpoint_reads_as_it_was_written() -> None:
    checkpoint = a_checkpoint(CheckpointKind.GIT, commit="c0ffee")

    assert json.decode(json.encode(checkpoint), type=Checkpoint) == checkpoint
