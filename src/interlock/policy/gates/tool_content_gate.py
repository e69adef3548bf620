"""Can it be seen what a tool call would do?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from interlock.model.action import Action, ToolAction
from interlock.model.verdict import Decision, Finding, Severity
from interlock.policy.actions.calls.payload import listing
from interlock.policy.actions.compiled_policy import CompiledPolicy
from interlock.policy.actions.inspection import Call
from interlock.policy.gates.contract import Gate

_OFF: Final = "off"


def _of_call(call: Call, policy: CompiledPolicy) -> Iterator[Finding]:
    """Speak of what could not be looked into, and of tools that do not show what they do."""
    found, settings = call.found, policy.config.tool_names
    if found.failure is not None:
        raise found.failure
    if found.twice is not None:
        yield _finding(
            "duplicate-key",
            Decision.BLOCK,
            f"JSON in the parameters names `{found.twice[:64]}` twice in one object, so that"
            " it is unclear which one counts",
            "name each key once",
        )
    if found.is_excessive:
        yield _finding(
            "too-complex",
            Decision.REQUIRE_CONFIRMATION,
            "the parameters are too complex: they hold more than is looked through",
            "split the call into smaller ones",
        )
    if found.deleting is not None:
        yield _finding(
            "graphql-delete",
            Decision.REQUIRE_CONFIRMATION,
            f"a GraphQL mutation deletes: `{found.deleting[:64]}`",
            "ask for what is there first, and let a person agree to what goes",
        )
    trusted = listing(call.name, settings.trusted) is not None
    if found.wiped and not trusted:
        yield _finding(
            "delete-all",
            Decision.REQUIRE_CONFIRMATION,
            f"`{call.name}` would delete {found.wiped}",
            "name the one thing that is to go; a person can name the tool under"
            " `tool-names.trusted`",
        )
    elif found.is_opaque and settings.opaque != _OFF and not trusted:
        yield _finding(
            "opaque",
            Decision(settings.opaque),
            f"`{call.name}` can run or write by its name, and what it would do does not show",
            "give the command, code or path as text, under a name that says so, such as `command`,"
            " `code` or `path`; a person can name the tool under `tool-names.trusted`",
        )


def _finding(rule: str, decision: Decision, message: str, remediation: str) -> Finding:
    return Finding(
        gate=GATE.name,
        rule=f"{GATE.name}.{rule}",
        decision=decision,
        severity=Severity.MEDIUM,
        message=message,
        remediation=remediation,
    )


def _idle(action: Action, _policy: CompiledPolicy) -> str | None:
    return "" if isinstance(action, ToolAction) else None


GATE = Gate(name="tool-content", call=_of_call, idle=_idle)
