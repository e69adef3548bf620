"""May this tool be called at all?"""

from __future__ import annotations

from collections.abc import Iterator

from interlock.model.verdict import Decision, Finding, Severity
from interlock.policy.actions.name_patterns import listing
from interlock.policy.config.action_sections import ToolAllowlist


def allowlist_gate(tool: str, settings: ToolAllowlist) -> Iterator[Finding]:
    """Block a tool that is denied, or that the allow-list does not name."""
    denied = listing(tool, settings.deny)
    if denied is not None:
        yield _finding("denied", f"tool `{tool}` is denied by `{denied}`", "use another tool")
    elif settings.enabled and listing(tool, settings.allow) is None:
        allowed = ", ".join(f"`{name}`" for name in settings.allow[:12])
        yield _finding(
            "not-listed",
            f"tool `{tool}` is not on the allow-list",
            f"use one of {allowed}",
        )


def _finding(rule: str, message: str, remediation: str) -> Finding:
    return Finding(
        gate="tool-allowlist",
        rule=f"tool-allowlist.{rule}",
        decision=Decision.BLOCK,
        severity=Severity.HIGH,
        message=message,
        remediation=remediation,
    )
