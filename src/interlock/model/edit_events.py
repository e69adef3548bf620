"""What happens to files through Interlock: applied, and put back."""

from __future__ import annotations

import enum

import msgspec

from interlock.model.edit import Applied, Kept, Layer
from interlock.model.happening import Happening


class Undoable(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Whether what an action will touch was copied away first, so that it can be put back."""

    kept: Kept | None = None
    refused: str | None = None
    """Why it was not."""


class EditsApplied(Happening, frozen=True, kw_only=True, tag="edits-applied"):
    """A set of edits was applied; its id puts it back."""

    of: int
    """The record that judged it."""
    applied: Applied
    layers: tuple[Layer, ...] = ()
    """How the texts to be replaced were found, from sure to likely."""


class UndoKind(enum.Enum):
    """What was put back."""

    EDITS = "edits"
    SNAPSHOT = "snapshot"


class Undone(Happening, frozen=True, kw_only=True, tag="undone"):
    """Files were put back to what they were."""

    id: str
    kind: UndoKind
    paths: tuple[str, ...]
    undo_id: str | None = None
    """What would put it back again, where that is kept."""
