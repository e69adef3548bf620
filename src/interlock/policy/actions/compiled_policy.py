"""A policy made ready to judge: what the file says, and everything that is built from it once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property

import msgspec
from msgspec.structs import replace

from interlock.commands.programs.globs import GlobSet
from interlock.commands.programs.places import Places, canonical_path
from interlock.commands.programs.program_tables import Programs
from interlock.model.glance import Glance, Glanced, counted
from interlock.model.own_places import OwnPlaces
from interlock.model.review import ReviewGate
from interlock.policy.actions.calls.tool_vocabulary import Vocabulary
from interlock.policy.actions.conditions import Condition
from interlock.policy.actions.parameters import ToolSchema
from interlock.policy.actions.rulebook import Rulebook
from interlock.policy.config.action_sections import Carrier, ProtectedPath, ProtectedPaths, UserRule
from interlock.policy.config.document import MergedPolicy, Policy
from interlock.policy.own.own_guard import OwnGuard, own_guard
from interlock.secrets.scanner import SecretScanner


class CompiledPolicy(Glanced, msgspec.Struct, frozen=True, kw_only=True):
    """A policy made ready to judge."""

    config: Policy
    hash: str
    merged: MergedPolicy
    programs: Programs
    places: Places
    rulebook: Rulebook
    scanner: SecretScanner
    guard: PathGuard
    own: OwnGuard
    """Interlock's own places on the machine where it judges."""
    vocabulary: Callable[[], Vocabulary]
    """What names of tools and parameters say; only tool calls need it."""
    carriers_of: Callable[[str], Sequence[Carrier]]
    """Which parameters of a tool carry a command or an edit."""
    schemas: Mapping[str, ToolSchema]
    user_rules: tuple[tuple[UserRule, Condition], ...]
    review_gates: Mapping[str, ReviewGate]
    """By their ids."""
    observed_rules: frozenset[str] = frozenset()
    """The rules that are only observed: they tell what they would have done."""

    def placed(self, places: OwnPlaces) -> CompiledPolicy:
        """Return the policy as it judges where Interlock's own files are in these places."""
        return replace(self, own=own_guard(places))

    def _glance(self) -> Glance:
        return Glance(
            f"{self.hash[:12]}: {counted(len(self.rulebook.rules), 'built-in rule')},"
            f" {counted(len(self.user_rules), 'rule')} of its own",
            (("hash", self.hash), *((each.id, each.message) for each, _ in self.user_rules)),
        )


class PathGuard:
    """The protected paths, ready to be asked."""

    def __init__(self, settings: ProtectedPaths) -> None:
        entries = settings.entries if settings.enabled else ()
        self._covering = _Entries([(entry, [_anywhere(entry)]) for entry in entries])
        self._inside = _Entries([(entry, _holders(entry)) for entry in entries])

    def entry_for(self, path: str) -> ProtectedPath | None:
        """Return the strictest entry that covers a normalised path."""
        return self._covering.strictest(path)

    def entry_within(self, folder: str) -> ProtectedPath | None:
        """Return the strictest entry that goes along when a folder is moved or deleted."""
        return self._inside.strictest(folder)


class _Entries:
    """Entries by their globs, which are asked one by one only where any of them matches."""

    def __init__(self, globs: Sequence[tuple[ProtectedPath, Sequence[str]]]) -> None:
        self._globs = globs
        self._any = GlobSet([glob for _, own in globs for glob in own])

    @cached_property
    def _each(self) -> list[tuple[ProtectedPath, GlobSet]]:
        return [(entry, GlobSet(own)) for entry, own in self._globs]

    def strictest(self, path: str) -> ProtectedPath | None:
        path = canonical_path(path).lower()
        if not self._any.matches(path):
            return None
        matching = [entry for entry, globs in self._each if globs.matches(path)]
        return max(matching, key=lambda entry: entry.decision.rank)


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
