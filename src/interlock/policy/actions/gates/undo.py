"""Was everything copied away that an action will touch, so that it can be put back?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from interlock.model.edit import UndoSnapshot
from interlock.model.events import Undoable
from interlock.model.verdict import Decision, Finding, Severity

GATE: Final = "undo"


def undo_gate(known: Undoable | None) -> Iterator[Finding]:
    """Tell how to put an action back, or why that is not possible; None is no answer to that."""
    if known is None:
        return
    if known.snapshot is not None:
        yield Finding(
            gate=GATE,
            rule=f"{GATE}.kept",
            decision=Decision.WARN,
            severity=Severity.LOW,
            message=(
                f"it goes ahead, because `interlock undo {known.snapshot.id}` puts it back:"
                f" {_told(known.snapshot)}"
            ),
            remediation="look at what it did; if that was wrong, have it put back",
        )
    if known.refused is not None:
        yield Finding(
            gate=GATE,
            rule=f"{GATE}.not-possible",
            decision=Decision.REQUIRE_CONFIRMATION,
            severity=Severity.MEDIUM,
            message=f"it could not be put back, so a person is asked: {known.refused}",
            remediation=(
                "wait for the answer; or name each file by its path inside of the workspace, in a"
                " command that does nothing else"
            ),
        )


def _told(kept: UndoSnapshot) -> str:
    if not kept.entries:
        return "nothing stands there yet"
    what = "file, folder or link" if kept.entries == 1 else "files, folders and links"
    size = "1 byte" if kept.size_bytes == 1 else f"{kept.size_bytes:,} bytes"
    were = "was" if kept.entries == 1 else "were"
    return f"{kept.entries:,} {what} with {size} {were} copied first"
