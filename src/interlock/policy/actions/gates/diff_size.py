"""Is an edit too large to be looked over?"""

from __future__ import annotations

from collections.abc import Iterator

from interlock.model.verdict import Finding, Severity
from interlock.policy.config.action_sections import DiffSize


def diff_size_gate(path: str, changed: int, settings: DiffSize) -> Iterator[Finding]:
    """Speak when more lines change than the threshold; as many pass."""
    if settings.enabled and changed > settings.threshold:
        yield Finding(
            gate="diff-size",
            rule="diff-size.threshold",
            decision=settings.decision,
            severity=Severity.LOW,
            message=f"`{path}` changes {changed} lines, more than {settings.threshold}",
            remediation="split the change into steps that can each be tested and looked over",
        )
