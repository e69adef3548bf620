"""Sets that died half-way, brought to one state before anybody looks at the files."""

from __future__ import annotations

import contextlib
from pathlib import Path

from interlock.edits.journal import has_unfinished
from interlock.errors import EditError


def recover_unfinished(store: Path) -> None:
    """Bring every set that was not finished to one state; raises EditError where that fails."""
    if has_unfinished(store):
        from interlock.edits.edit_apply import recover  # noqa: PLC0415 - only where something died

        recover(store)


def recover_if_possible(store: Path) -> None:
    """Do the same; what fails is told to whoever next edits something or puts it back."""
    with contextlib.suppress(EditError):
        recover_unfinished(store)
