"""Does a condition hold that the user wrote in the policy?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from interlock.commands.shell.command import Command, Effect
from interlock.model.action import Action
from interlock.model.verdict import USER_RULES, Finding
from interlock.policy.actions.calls.json_text import Unreadable
from interlock.policy.actions.compiled_policy import CompiledPolicy
from interlock.policy.actions.conditions import NO_FACTS, plain_facts
from interlock.policy.actions.inspection import Call, CommandLine, InspectedEdit
from interlock.policy.gates.contract import Gate

FAILED: Final = " (the condition failed: "
"""What a message says before the error of a condition that could not be evaluated."""


def _of_command(command: CommandLine, policy: CompiledPolicy) -> Iterator[Finding]:
    if policy.user_rules:
        yield from _findings(policy, **_command_facts(command))


def _of_edit(edit: InspectedEdit, policy: CompiledPolicy) -> Iterator[Finding]:
    if policy.user_rules:
        facts = {"path": edit.path, "content": edit.content, "diff_lines": edit.changed}
        yield from _findings(policy, kind="edit", **facts)


def _of_call(call: Call, policy: CompiledPolicy) -> Iterator[Finding]:
    if policy.user_rules and not isinstance(call.params, Unreadable):
        yield from _findings(policy, kind="tool", tool=call.name, params=call.params)


def _findings(policy: CompiledPolicy, **given: object) -> Iterator[Finding]:
    """Yield a finding per rule whose condition holds, or cannot be evaluated."""
    facts = {name: plain_facts(value) for name, value in {**NO_FACTS, **given}.items()}
    for rule, condition in policy.user_rules:
        answer = condition.ask(facts)
        if answer.holds:
            because = f"{FAILED}{answer.error})" if answer.error else ""
            yield Finding(
                gate=GATE.name,
                rule=rule.id,
                decision=rule.decision,
                severity=rule.severity,
                message=f"{rule.message}{because}",
                remediation=rule.remediation
                or "do it another way, or ask the person who wrote this rule",
            )


def _command_facts(command: CommandLine) -> dict[str, object]:
    return {
        "kind": "command",
        "command": command.line,
        "cwd": command.cwd or "",
        "commands": [_command(each) for each in command.lowered.commands],
        "effects": [_effect(each) for each in command.lowered.effects],
    }


def _command(command: Command) -> dict[str, object]:
    operands = [word.text for word in command.invocation.operands]
    return {
        "program": command.program,
        "subcommand": operands[0] if operands else "",
        "args": [word.text for word in command.argv[1:]],
        "flags": sorted(command.invocation.flags),
        "operands": operands,
        "line": command.line,
        "cwd": command.cwd or "",
        "via": list(command.frame.via),
    }


def _effect(effect: Effect) -> dict[str, object]:
    return {"kind": effect.kind.value, "target": effect.target, "recursive": effect.recursive}


def _idle(_action: Action, policy: CompiledPolicy) -> str:
    return "" if policy.user_rules else "none written"


GATE = Gate(
    name=USER_RULES, command=_of_command, edit=_of_edit, call_as_a_whole=_of_call, idle=_idle
)
