"""How packages are called, and whether a list names one."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import Final

ECOSYSTEMS: Final = frozenset("cargo composer conda gem go hex maven npm nuget pub python".split())
"""Where packages come from: what stands before the colon in `python:requests`."""

_ALSO_CALLED: Final = {
    "crates": "cargo",
    "gradle": "maven",
    "packagist": "composer",
    "pip": "python",
    "pypi": "python",
    "rubygems": "gem",
    "rust": "cargo",
}


class Forbidden:
    """The packages that a policy forbids: exact names, or globs where a `*` is written.

    An entry may name its ecosystem, as in `npm:left-pad`; otherwise it counts for all of them.
    Names are compared as their registry compares them.
    """

    __slots__ = ("_by_ecosystem", "_entries")

    def __init__(self, entries: Sequence[str]) -> None:
        self._entries = tuple((_split(entry), entry) for entry in entries)
        self._by_ecosystem: dict[str, dict[str, str]] = {}

    def entry_for(self, package: str) -> str | None:
        """Return the entry that forbids a package such as `python:requests`."""
        ecosystem, _, name = package.partition(":")
        name = normalised(ecosystem, name)
        patterns = self._patterns(ecosystem)
        if name in patterns:
            return patterns[name]
        # A glob without an ecosystem may have been meant for the whole name, as in `*:left-pad`.
        whole = f"{ecosystem}:{name}"
        for pattern, entry in patterns.items():
            if "*" in pattern and (fnmatchcase(name, pattern) or fnmatchcase(whole, pattern)):
                return entry
        return None

    def _patterns(self, ecosystem: str) -> dict[str, str]:
        known = self._by_ecosystem.get(ecosystem)
        if known is None:
            known = {
                normalised(ecosystem, name): entry
                for (named, name), entry in self._entries
                if named in (None, ecosystem)
            }
            self._by_ecosystem[ecosystem] = known
        return known


def normalised(ecosystem: str, name: str) -> str:
    """Return the one spelling under which a registry knows a name."""
    name = name.lower()
    if ecosystem == "cargo":
        return name.replace("_", "-")
    if ecosystem != "python":
        return name
    name = name.replace("_", "-").replace(".", "-")
    while "--" in name:
        name = name.replace("--", "-")
    return name


def _split(entry: str) -> tuple[str | None, str]:
    """Part an entry into its ecosystem and the name; Maven's names hold colons themselves."""
    before, colon, behind = entry.partition(":")
    ecosystem = _ALSO_CALLED.get(before.lower(), before.lower())
    return (ecosystem, behind) if colon and ecosystem in ECOSYSTEMS else (None, entry)
