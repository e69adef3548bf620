"""Was everything copied away that an action will touch, so that it can be put back?"""

from __future__ import annotations

from collections.abc import Iterator

from interlock.model.facts import Facts, UndoSnapshot
from interlock.model.verdict import Decision, Finding, Severity
from interlock.policy.actions.compiled_policy import CompiledPolicy
from interlock.policy.gates.contract import Gate


def _of_facts(facts: Facts, _policy: CompiledPolicy) -> Iterator[Finding]:
    """Say how to put an action back, or why that is not possible."""
    known = facts.undo
    if known is None:
        return
    if known.snapshot is not None:
        yield Finding(
            gate=GATE.name,
            rule=f"{GATE.name}.kept",
            decision=Decision.WARN,
            severity=Severity.LOW,
            message=(
                f"it goes ahead, because `interlock undo {known.snapshot.id}` puts it back:"
                f" {_copied(known.snapshot)}"
            ),
            remediation="look at what it did; if that was wrong, undo it",
        )
    if known.refused is not None:
        yield Finding(
            gate=GATE.name,
            rule=f"{GATE.name}.not-possible",
            decision=Decision.REQUIRE_CONFIRMATION,
            severity=Severity.MEDIUM,
            message=f"it could not be undone, so a person is asked: {known.refused}",
            remediation=(
                "wait for the answer; or name each file by its path inside of the workspace, in a"
                " command that does nothing else"
            ),
        )


def _copied(kept: UndoSnapshot) -> str:
    if not kept.entries:
        return "nothing stands there yet"
    what = "file, folder or link" if kept.entries == 1 else "files, folders and links"
    size = "1 byte" if kept.size_bytes == 1 else f"{kept.size_bytes:,} bytes"
    were = "was" if kept.entries == 1 else "were"
    return f"{kept.entries:,} {what} with {size} {were} copied first"


GATE = Gate(name="undo", facts=_of_facts)
