"""Does an action write where an agent must not write?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from interlock.commands.shell.command import Effect, EffectKind
from interlock.commands.shell.scope import normal_path
from interlock.model.verdict import Finding, Severity
from interlock.policy.actions.compiled_policy import CompiledPolicy
from interlock.policy.actions.inspection import CommandLine, FileEdit
from interlock.policy.config.action_sections import ProtectedPath
from interlock.policy.gates.contract import Gate, while_off

_WRITES: Final = frozenset(
    (EffectKind.DELETE, EffectKind.OVERWRITE, EffectKind.APPEND, EffectKind.MOVE, EffectKind.PERMIT)
)
_REMEDIATION: Final = "leave this path alone; a person who owns it can change it"


def _of_edit(edit: FileEdit, policy: CompiledPolicy) -> Iterator[Finding]:
    """Speak when an edit writes to a protected path."""
    entry = policy.guard.entry_for(normal_path(edit.path.replace("\\", "/"), edit.cwd))
    if entry is not None:
        yield _finding(entry, "writes to", edit.path)


def _of_command(command: CommandLine, policy: CompiledPolicy) -> Iterator[Finding]:
    """Speak when a command writes to a protected path, once per path."""
    guard = policy.guard
    seen: set[str] = set()
    for effect in command.lowered.effects:
        if effect.kind not in _WRITES or not effect.target or effect.target in seen:
            continue
        path = normal_path(effect.target, effect.command.cwd)
        entry = guard.entry_for(path)
        if entry is None and effect.kind is not EffectKind.PERMIT and _takes_all(effect):
            entry = guard.entry_within(path)
        if entry is not None:
            seen.add(effect.target)
            yield _finding(entry, _VERBS[effect.kind], effect.target)


def _takes_all(effect: Effect) -> bool:
    """Whether a folder goes with everything in it."""
    return effect.recursive or effect.forced


_VERBS: Final = {
    EffectKind.DELETE: "deletes",
    EffectKind.OVERWRITE: "writes to",
    EffectKind.APPEND: "writes to",
    EffectKind.MOVE: "moves",
    EffectKind.PERMIT: "changes the permissions of",
}


def _finding(entry: ProtectedPath, verb: str, target: str) -> Finding:
    return Finding(
        gate=GATE.name,
        rule=f"{GATE.name}.{entry.path}",
        decision=entry.decision,
        severity=Severity.HIGH,
        message=f"{verb} the protected path `{target}`: {entry.reason}",
        remediation=_REMEDIATION,
        excerpt=target,
    )


GATE = Gate(
    name="protected-paths", command=_of_command, edit=_of_edit, idle=while_off("protected_paths")
)
