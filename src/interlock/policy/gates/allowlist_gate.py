"""May this tool be called at all?"""

from __future__ import annotations

from collections.abc import Iterator

from interlock.model.action import Action
from interlock.model.verdict import Decision, Finding, Severity
from interlock.policy.actions.calls.payload import listing
from interlock.policy.actions.compiled_policy import CompiledPolicy
from interlock.policy.actions.inspection import Call
from interlock.policy.gates.contract import Gate


def _of_call(call: Call, policy: CompiledPolicy) -> Iterator[Finding]:
    """Block a tool that is denied, or that the allow-list does not name."""
    tool, settings = call.name, policy.config.tool_allowlist
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


def _idle(_action: Action, policy: CompiledPolicy) -> str:
    settings = policy.config.tool_allowlist
    return "" if settings.enabled or settings.deny else "nothing listed"


def _finding(rule: str, message: str, remediation: str) -> Finding:
    return Finding(
        gate=GATE.name,
        rule=f"{GATE.name}.{rule}",
        decision=Decision.BLOCK,
        severity=Severity.HIGH,
        message=message,
        remediation=remediation,
    )


GATE = Gate(name="tool-allowlist", call=_of_call, idle=_idle)
