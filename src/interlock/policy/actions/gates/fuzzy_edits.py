"""Does an edit replace text that was found only by likeness?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, cast

from interlock.model.edit import Layer
from interlock.model.verdict import Decision, Finding, Severity

EDIT_TOOL: Final = "interlock_edit"
"""The tool whose calls are plans: what it says of its edits, Interlock itself has found out."""
_OFF: Final = "off"


def fuzzy_edits_gate(tool: str, params: Mapping[str, object], answer: str) -> Iterator[Finding]:
    """Speak, once per file, where the text to be replaced is not there as it was asked for."""
    if tool != EDIT_TOOL or answer == _OFF:
        return
    for path in dict.fromkeys(_found_by_likeness(params.get("edits"))):
        yield Finding(
            gate="edits",
            rule="edits.fuzzy-match",
            decision=Decision(answer),
            severity=Severity.MEDIUM,
            message=f"`{path}` does not hold the text to be replaced, only lines that are like it",
            remediation="read the file again, and give the text exactly as it stands there",
        )


def _found_by_likeness(edits: object) -> Iterator[str]:
    if not isinstance(edits, list | tuple):
        return
    for edit in cast("Sequence[object]", edits):
        if isinstance(edit, Mapping):
            fields = cast("Mapping[str, object]", edit)
            if fields.get("layer") == Layer.FUZZY.value:
                yield str(fields.get("path", ""))
