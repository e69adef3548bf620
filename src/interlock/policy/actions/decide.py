"""May it do this? The gates from end to end.

`judge` is a pure function of an action and the gates, which are a policy made ready. Every
gate runs and every finding is returned; a gate that breaks denies, and says so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final, assert_never

import msgspec

from interlock.model.action import Action, CommandAction, EditAction, ToolAction
from interlock.model.verdict import Decision, Finding, Severity, Verdict, aggregate
from interlock.policy.actions.conditions import Condition
from interlock.policy.actions.facts import command_facts, edit_facts, tool_facts
from interlock.policy.actions.gates.allowlist import allowlist_gate
from interlock.policy.actions.gates.destructive import destructive_gate, oversize
from interlock.policy.actions.gates.diff_size import changed_lines, diff_size_gate
from interlock.policy.actions.gates.protected_paths import (
    PathGuard,
    protected_edit,
    protected_effects,
)
from interlock.policy.actions.gates.schema import ToolSchema, params_from_text, schema_gate
from interlock.policy.actions.gates.secrets import secrets_gate, strings_in
from interlock.policy.actions.gates.user_rules import user_rules_gate
from interlock.policy.actions.lookthrough import Carried, carried_by
from interlock.policy.actions.matching import Rulebook
from interlock.policy.actions.programs import Programs
from interlock.policy.actions.redactor import Redactor
from interlock.policy.actions.secrets.scanner import SecretScanner
from interlock.policy.actions.shell.lower import Lowered, lower
from interlock.policy.actions.shell.places import Places
from interlock.policy.document import Policy, UserRule
from interlock.policy.layering import MergedPolicy

_NOTHING: Final = Lowered(commands=(), effects=(), unresolved=())


class Gates(msgspec.Struct, frozen=True, kw_only=True):
    """A policy made ready to judge."""

    policy: Policy
    policy_hash: str
    merged: MergedPolicy
    programs: Programs
    places: Places
    rulebook: Rulebook
    scanner: SecretScanner
    guard: PathGuard
    schemas: Mapping[str, ToolSchema]
    user_rules: tuple[tuple[UserRule, Condition], ...]


def judge(action: Action, gates: Gates) -> Verdict:
    """Answer whether the action may happen, with every reason."""
    match action:
        case CommandAction(command=command, cwd=cwd):
            command = _plain(command)
            findings = _on_command(command, cwd, gates, place="the command")
            texts = [command]
        case ToolAction():
            findings, texts = _on_tool(action, gates)
        case EditAction():
            findings = _on_edit(_carried(action), gates, place=f"`{action.path}`")
            texts = [action.content]
        case _:
            assert_never(action)
    findings = _redacted(findings, texts, gates)
    return Verdict(
        decision=aggregate(findings), findings=tuple(findings), policy_hash=gates.policy_hash
    )


def lowered(command: str, cwd: str | None, gates: Gates) -> Lowered:
    """Return what a command line would run."""
    return lower(
        command,
        cwd=cwd,
        programs=gates.programs,
        places=gates.places,
        nesting=gates.policy.limits.nesting,
        longest=gates.policy.limits.command_bytes,
    )


def _on_command(command: str, cwd: str | None, gates: Gates, *, place: str) -> list[Finding]:
    policy = gates.policy
    findings: list[Finding] = []
    found = _NOTHING
    try:
        if len(command) > policy.limits.content_bytes:
            findings.append(oversize(command, policy.limits.content_bytes))
        else:
            found = lowered(command, cwd, gates)
        findings.extend(destructive_gate(found, gates.rulebook, policy.destructive_ops))
    except Exception as error:  # noqa: BLE001 - a gate that breaks must not let anything through
        findings.append(_broken("destructive-ops", error))
    if found.effects:
        findings += _asked("protected-paths", lambda: protected_effects(found.effects, gates.guard))
    findings += _asked("secrets", lambda: _secrets(command, place, gates))
    if gates.user_rules:
        findings += _asked(
            "rules", lambda: user_rules_gate(command_facts(command, cwd, found), gates.user_rules)
        )
    return findings


def _on_tool(action: ToolAction, gates: Gates) -> tuple[list[Finding], list[str]]:
    policy = gates.policy
    findings = _asked("tool-allowlist", lambda: allowlist_gate(action.name, policy.tool_allowlist))
    params = params_from_text(action.params) if isinstance(action.params, str) else action.params
    if isinstance(params, Finding):
        raw = str(action.params)
        findings.append(params)
        findings += _asked("secrets", lambda: _secrets(raw, "the parameters", gates))
        return findings, [raw]
    strings = list(strings_in(params))
    findings += _asked("schema", lambda: schema_gate(params, gates.schemas.get(action.name)))
    for place, text in strings:
        findings += _asked("secrets", lambda text=text, place=place: _secrets(text, place, gates))
    for carried in carried_by(action.name, params, policy.tools.carriers):
        findings += _on_carried(carried, gates)
    if gates.user_rules:
        findings += _asked(
            "rules", lambda: user_rules_gate(tool_facts(action.name, params), gates.user_rules)
        )
    return findings, [text for _, text in strings]


def _on_carried(carried: Carried, gates: Gates) -> Iterator[Finding]:
    """Judge what a tool call carries; its secrets were looked for with the parameters."""
    inner = (
        _on_command(_plain(carried.command), carried.cwd, gates, place="the command")
        if carried.command is not None
        else _on_edit(carried, gates, place=f"`{carried.path}`")
    )
    return (finding for finding in inner if finding.gate != "secrets")


def _on_edit(carried: Carried, gates: Gates, *, place: str) -> list[Finding]:
    policy = gates.policy
    path = carried.path or ""
    findings = _asked("diff-size", lambda: diff_size_gate(path, carried.changed, policy.diff_size))
    findings += _asked("protected-paths", lambda: protected_edit(path, gates.guard))
    findings += _asked("secrets", lambda: _secrets(carried.content, place, gates))
    if gates.user_rules:
        findings += _asked(
            "rules",
            lambda: user_rules_gate(
                edit_facts(path, carried.content, carried.changed), gates.user_rules
            ),
        )
    return findings


def _carried(action: EditAction) -> Carried:
    """Return the edit with its size: computed where both texts are known."""
    if action.old is not None:
        changed = changed_lines(action.old, action.content)
    elif action.diff_lines is not None:
        changed = action.diff_lines
    else:
        changed = len(action.content.splitlines())
    return Carried(path=_plain(action.path), content=action.content, changed=changed)


def _plain(text: str) -> str:
    """Replace lone surrogates, which no encoder takes."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def _secrets(text: str, place: str, gates: Gates) -> Iterator[Finding]:
    limit = gates.policy.limits.content_bytes
    if len(text) > limit:
        yield _too_large(place, len(text), limit)
    yield from secrets_gate(
        text[:limit], place=place, scanner=gates.scanner, settings=gates.policy.secrets
    )


def _asked(gate: str, ask: Callable[[], Iterable[Finding]]) -> list[Finding]:
    """Run one gate; if it breaks, deny."""
    try:
        return list(ask())
    except Exception as error:  # noqa: BLE001 - a gate that breaks must not let anything through
        return [_broken(gate, error)]


def _broken(gate: str, error: Exception) -> Finding:
    return Finding(
        gate=gate,
        rule=f"{gate}.broken",
        decision=Decision.BLOCK,
        severity=Severity.HIGH,
        message=f"the gate could not judge this ({type(error).__name__}), so it is not allowed",
        remediation="report this with the input that caused it; try a simpler action meanwhile",
    )


def _too_large(place: str, size: int, limit: int) -> Finding:
    return Finding(
        gate="secrets",
        rule="secrets.oversize-content",
        decision=Decision.REQUIRE_CONFIRMATION,
        severity=Severity.MEDIUM,
        message=f"{place} is longer than {limit} characters ({size}): only its start was judged",
        remediation="split the content into smaller parts",
    )


def _redacted(findings: list[Finding], texts: list[str], gates: Gates) -> list[Finding]:
    """Take every credential out of what is said; secrets' own findings are clean already."""
    if not findings:
        return findings
    limit = gates.policy.limits.content_bytes
    redactor = Redactor(gates.scanner, [text[:limit] for text in texts])
    return [
        finding if finding.gate == "secrets" else redactor.finding(finding) for finding in findings
    ]
