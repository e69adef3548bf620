"""Does an action write where an agent must not write?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import re2

from interlock.model.verdict import Finding, Severity
from interlock.policy.actions.shell.commands import Effect, EffectKind
from interlock.policy.actions.shell.places import canonical_path, glob_to_re2
from interlock.policy.actions.shell.scope import normal_path
from interlock.policy.document import ProtectedPath, ProtectedPaths

_WRITES: Final = frozenset((EffectKind.DELETE, EffectKind.OVERWRITE, EffectKind.APPEND, EffectKind.MOVE, EffectKind.PERMIT))
_REMEDIATION: Final = "leave this path alone; a person who owns it can change it"


class PathGuard:
    """The protected paths, ready to be asked."""

    __slots__ = ("_any", "_entries", "_settings")

    def __init__(self, settings: ProtectedPaths) -> None:
        self._settings = settings
        self._entries = [(entry, _pattern([entry])) for entry in settings.entries]
        self._any = _pattern(settings.entries) if settings.entries else None

    def entry_for(self, path: str) -> ProtectedPath | None:
        """Return the strictest entry that covers a normalised path."""
        if not self._settings.enabled or self._any is None:
            return None
        path = canonical_path(path)
        if not self._any.search(path):
            return None
        covering = [entry for entry, pattern in self._entries if pattern.search(path)]
        return max(covering, key=lambda entry: entry.decision.rank)


def protected_edit(path: str, guard: PathGuard) -> Iterator[Finding]:
    """Speak when an edit writes to a protected path."""
    entry = guard.entry_for(normal_path(path, None))
    if entry is not None:
        yield _finding(entry, "writes to", path)


def protected_effects(effects: Sequence[Effect], guard: PathGuard) -> Iterator[Finding]:
    """Speak when a command writes to a protected path, once per path."""
    seen: set[str] = set()
    for effect in effects:
        if effect.kind not in _WRITES or not effect.target or effect.target in seen:
            continue
        path = normal_path(effect.target, effect.command.cwd)
        entry = guard.entry_for(path)
        if entry is not None:
            seen.add(effect.target)
            yield _finding(entry, _VERBS[effect.kind], effect.target)


_VERBS: Final = {
    EffectKind.DELETE: "deletes",
    EffectKind.OVERWRITE: "writes to",
    EffectKind.APPEND: "writes to",
    EffectKind.MOVE: "moves",
    EffectKind.PERMIT: "changes the permissions of",
}


def _finding(entry: ProtectedPath, verb: str, target: str) -> Finding:
    return Finding(
        gate="protected-paths",
        rule=f"protected-paths.{entry.path}",
        decision=entry.decision,
        severity=Severity.HIGH,
        message=f"{verb} the protected path `{target}`: {entry.reason}",
        remediation=_REMEDIATION,
        excerpt=target,
    )


def _pattern(entries: Sequence[ProtectedPath]) -> re2.Regexp[str]:
    """Compile entries; a path that is not anchored counts wherever it stands."""
    globs = [entry.path if entry.path.startswith(("/", "~", "**/")) else f"**/{entry.path}" for entry in entries]
    return re2.compile("(?i)^(?:" + "|".join([glob_to_re2(glob) for glob in globs]) + ")$")
