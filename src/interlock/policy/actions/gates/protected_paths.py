"""Does an action write where an agent must not write?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from interlock.commands.programs.globs import GlobSet
from interlock.commands.programs.places import canonical_path
from interlock.commands.shell.command import Effect, EffectKind
from interlock.commands.shell.scope import normal_path
from interlock.model.verdict import Finding, Severity
from interlock.policy.config.document import ProtectedPath, ProtectedPaths

_WRITES: Final = frozenset(
    (EffectKind.DELETE, EffectKind.OVERWRITE, EffectKind.APPEND, EffectKind.MOVE, EffectKind.PERMIT)
)
_REMEDIATION: Final = "leave this path alone; a person who owns it can change it"


class PathGuard:
    """The protected paths, ready to be asked."""

    __slots__ = ("_any", "_any_holder", "_entries", "_holders", "_settings")

    def __init__(self, settings: ProtectedPaths) -> None:
        self._settings = settings
        self._entries = [(entry, GlobSet([_anywhere(entry)])) for entry in settings.entries]
        self._any = GlobSet([_anywhere(entry) for entry in settings.entries])
        self._holders = [(entry, GlobSet(_holders(entry))) for entry in settings.entries]
        self._any_holder = GlobSet([glob for entry in settings.entries for glob in _holders(entry)])

    def entry_for(self, path: str) -> ProtectedPath | None:
        """Return the strictest entry that covers a normalised path."""
        path = canonical_path(path).lower()
        if not self._settings.enabled or not self._any.matches(path):
            return None
        covering = [entry for entry, globs in self._entries if globs.matches(path)]
        return max(covering, key=lambda entry: entry.decision.rank)

    def entry_within(self, folder: str) -> ProtectedPath | None:
        """Return the strictest entry that goes along when a folder is moved or deleted."""
        folder = canonical_path(folder).lower()
        if not self._settings.enabled or not self._any_holder.matches(folder):
            return None
        inside = [entry for entry, globs in self._holders if globs.matches(folder)]
        return max(inside, key=lambda entry: entry.decision.rank)


def protected_edit(path: str, guard: PathGuard, *, cwd: str | None) -> Iterator[Finding]:
    """Speak when an edit writes to a protected path; `cwd` is where the path begins, if known."""
    entry = guard.entry_for(normal_path(path.replace("\\", "/"), cwd))
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
        gate="protected-paths",
        rule=f"protected-paths.{entry.path}",
        decision=entry.decision,
        severity=Severity.HIGH,
        message=f"{verb} the protected path `{target}`: {entry.reason}",
        remediation=_REMEDIATION,
        excerpt=target,
    )


def _anywhere(entry: ProtectedPath) -> str:
    """Return the entry's glob; one that is not anchored counts wherever it stands.

    Some file systems do not tell `.Claude` from `.claude`, so neither does the guard.
    """
    path = entry.path.lower()
    return path if path.startswith(("/", "~", "**/")) else f"**/{path}"


def _holders(entry: ProtectedPath) -> list[str]:
    """Return the folders on the way to an entry whose name says that they are about it."""
    glob = _anywhere(entry)
    folders: list[str] = []
    folder = glob.rpartition("/")[0]
    while folder and folder not in {"**", "~"}:
        name = folder.rpartition("/")[2]
        if "*" not in name and ("/." in folder or folder.startswith(("/", "~"))):
            folders.append(folder)
        folder = folder.rpartition("/")[0]
    return folders
