"""Is an edit too large to be looked over?"""

from __future__ import annotations

from collections.abc import Iterator

from interlock.model.verdict import Finding, Severity
from interlock.policy.actions.compiled_policy import CompiledPolicy
from interlock.policy.actions.inspection import InspectedEdit
from interlock.policy.gates.contract import Gate, while_off


def _of_edit(edit: InspectedEdit, policy: CompiledPolicy) -> Iterator[Finding]:
    """Speak when more lines change than the threshold; as many pass."""
    settings = policy.config.diff_size
    if settings.enabled and edit.changed > settings.threshold:
        yield Finding(
            gate=GATE.name,
            rule=f"{GATE.name}.threshold",
            decision=settings.decision,
            severity=Severity.LOW,
            message=f"`{edit.path}` changes {edit.changed} lines, more than {settings.threshold}",
            remediation="split the change into steps that can each be tested and looked over",
        )


GATE = Gate(name="diff-size", edit=_of_edit, idle=while_off("diff_size"))
