"""Which protected path covers a path, or stands inside of a folder."""

from __future__ import annotations

from interlock.commands.programs.globs import GlobSet
from interlock.commands.programs.places import canonical_path
from interlock.policy.config.action_sections import ProtectedPath, ProtectedPaths


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
