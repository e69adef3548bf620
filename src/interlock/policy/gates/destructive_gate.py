"""Would a command destroy, send or run what it should not?"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from typing import Final

from interlock.commands.run_time_programs import RUN_TIME
from interlock.commands.shell.command import Unresolved
from interlock.model.verdict import DESTRUCTIVE_OPS, Decision, Finding, Severity
from interlock.policy.actions.compiled_policy import CompiledPolicy
from interlock.policy.actions.inspection import CommandLine, InspectedEdit
from interlock.policy.actions.rulebook import Hit
from interlock.policy.config.key import ALLOW_WITH_UNDO, OBSERVE
from interlock.policy.gates.contract import Gate, while_off

_OFF: Final = "off"


def _of_command(command: CommandLine, policy: CompiledPolicy) -> Iterator[Finding]:
    """Yield one finding per rule that speaks, and one for what could not be resolved."""
    if command.is_oversize:
        yield _oversize(command.line, policy.config.limits.content_bytes)
    if command.failure is not None:
        raise command.failure
    settings = policy.config.destructive_ops
    if not settings.enabled:
        return
    lowered = command.lowered
    accepted = settings.accepted_commands
    is_accepted = bool(accepted) and acceptance_of(command) in accepted
    seen: set[str] = set()
    for hit in policy.rulebook.hits(lowered.commands, lowered.effects):
        if hit.silenced or hit.rule_id in seen:
            continue
        decision = decision_of(hit, settings.rules)
        if is_accepted and decision is Decision.REQUIRE_CONFIRMATION:
            decision = Decision.WARN
        if decision is Decision.BLOCK and RUN_TIME in hit.command.frame.via:
            # A guess is for a person to judge, and no reason to leave out what is certain.
            yield _finding(hit, Decision.REQUIRE_CONFIRMATION)
        elif decision is not None:
            seen.add(hit.rule_id)
            yield _finding(hit, decision)
    if lowered.unresolved:
        yield from _unresolved(lowered.unresolved, settings.unresolved)


def acceptance_of(command: CommandLine) -> str | None:
    """Return how a person accepts exactly this for good; None where it is not always the same.

    What a variable or a program says may change.
    """
    line = command.line
    is_fixed = "$" not in line and "`" not in line and not command.lowered.unresolved
    return accepted_text(line, command.cwd) if is_fixed else None


def accepted_text(line: str, cwd: str | None) -> str:
    """Return how the policy names exactly this command, in exactly this folder."""
    return line if cwd is None else f"cd {shlex.quote(cwd)} && {line}"


def _of_edit(edit: InspectedEdit, policy: CompiledPolicy) -> Iterator[Finding]:
    """Judge what a tool takes away like the command that does; a tool's own call is no news."""
    if edit.removal is not None:
        least = Decision.REQUIRE_CONFIRMATION.rank
        found = _of_command(edit.removal, policy)
        yield from (each for each in found if each.decision.rank >= least)


def decision_of(hit: Hit, overrides: Mapping[str, str]) -> Decision | None:
    """Return what the policy makes of a rule: its own decision, another, or none."""
    override = overrides.get(hit.rule_id)
    if override is None or override == OBSERVE:
        return hit.rule.decision
    if override == ALLOW_WITH_UNDO:
        # Whether it can be put back is found out later, from the files themselves.
        return Decision.REQUIRE_CONFIRMATION
    return None if override == _OFF else Decision(override)


def _finding(hit: Hit, decision: Decision) -> Finding:
    target = f": `{' '.join(hit.target.split())}`" if hit.target else ""
    reason, remediation = hit.words
    return Finding(
        gate=GATE.name,
        rule=hit.rule_id,
        decision=decision,
        severity=hit.rule.severity,
        message=f"{reason}{target}",
        remediation=remediation,
        excerpt=hit.command.text,
    )


def _unresolved(unresolved: tuple[Unresolved, ...], answer: str) -> Iterator[Finding]:
    excessive = next((each for each in unresolved if each.too_much), None)
    if excessive is not None:
        yield _excessive(excessive)
    hidden = next((each for each in unresolved if each.asks), None)
    if hidden is not None:
        yield _hidden(hidden)
    first = next((each for each in unresolved if not each.too_much and not each.asks), None)
    if first is None or answer == _OFF:
        return
    yield Finding(
        gate=GATE.name,
        rule="unresolved-command",
        decision=Decision(answer),
        severity=Severity.LOW,
        message=f"a part of this command cannot be judged: {first.reason}",
        remediation="write the command out in full, one program with its arguments at a time",
        excerpt=first.text,
    )


def _hidden(unresolved: Unresolved) -> Finding:
    return Finding(
        gate=GATE.name,
        rule="hidden-command",
        decision=Decision.REQUIRE_CONFIRMATION,
        severity=Severity.MEDIUM,
        message=f"a part of this command cannot be seen before it runs: {unresolved.reason}",
        remediation="write out what is to run, one program with its arguments at a time",
        excerpt=unresolved.text,
    )


def _excessive(unresolved: Unresolved) -> Finding:
    return Finding(
        gate=GATE.name,
        rule="oversize-command",
        decision=Decision.REQUIRE_CONFIRMATION,
        severity=Severity.MEDIUM,
        message=f"the command cannot be judged as a whole: {unresolved.reason}",
        remediation="split it into commands that are short and flat",
        excerpt=unresolved.text,
    )


def _oversize(command: str, limit: int) -> Finding:
    size = len(command.encode("utf-8", "replace"))
    return Finding(
        gate=GATE.name,
        rule="oversize-command",
        decision=Decision.REQUIRE_CONFIRMATION,
        severity=Severity.MEDIUM,
        message=f"the command is {size} bytes long, more than {limit}: too long to be judged",
        remediation="write long content with an edit, and run short commands",
    )


GATE = Gate(
    name=DESTRUCTIVE_OPS, command=_of_command, edit=_of_edit, idle=while_off("destructive_ops")
)
