"""Does an edit replace text that was found only by likeness?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, cast

from interlock.model.action import Action, ToolAction
from interlock.model.facts import Layer
from interlock.model.verdict import Decision, Finding, Severity
from interlock.policy.actions.calls.json_text import Unreadable
from interlock.policy.actions.compiled_policy import CompiledPolicy
from interlock.policy.actions.inspection import Call
from interlock.policy.gates.contract import OFF, Gate

EDIT_TOOL: Final = "interlock_edit"
"""The tool whose calls are plans: what it says of its edits, Interlock itself has found out."""
_OFF: Final = "off"


def _of_call(call: Call, policy: CompiledPolicy) -> Iterator[Finding]:
    """Speak, once per file, where the text to be replaced is not there as it was asked for."""
    answer, params = policy.config.edits.fuzzy_matches, call.params
    if call.name != EDIT_TOOL or answer == _OFF or isinstance(params, Unreadable):
        return
    for path in dict.fromkeys(_found_by_likeness(params.get("edits"))):
        yield Finding(
            gate=GATE.name,
            rule=f"{GATE.name}.fuzzy-match",
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


def _idle(action: Action, policy: CompiledPolicy) -> str | None:
    if not isinstance(action, ToolAction) or action.name != EDIT_TOOL:
        return None
    return OFF if policy.config.edits.fuzzy_matches == _OFF else ""


GATE = Gate(name="edits", call=_of_call, idle=_idle)
