"""Which packages does an edit add to a manifest, and does a policy forbid any of them?

There is a reader for each kind: text in, names such as `npm:react` out. Where a whole file can be
parsed it is; a fragment, such as the replaced part of a file, and the formats without a parser at
hand are read line by line. No reader raises, and all take linear time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fnmatch import fnmatchcase
from itertools import islice
from typing import Final

import re2

from interlock.policy.actions.calls.payload import Payload
from interlock.policy.evidence import other_manifests, python_manifests

_Reader = Callable[[str], Iterator[str]]

_MOST_NAMES: Final = 500
_MOST_TEXT: Final = 250_000
"""Of a longer text only the beginning is read; empty lines do not count."""
_NAME: Final = re2.compile(r"^[A-Za-z0-9@_][A-Za-z0-9@._/:+~-]{0,213}$")

_BY_NAME: Final[dict[str, _Reader]] = {
    "build.gradle": other_manifests.gradle,
    "build.gradle.kts": other_manifests.gradle,
    "cargo.toml": other_manifests.cargo_toml,
    "composer.json": other_manifests.composer_json,
    "directory.packages.props": other_manifests.dotnet,
    "environment.yaml": python_manifests.environment_yml,
    "environment.yml": python_manifests.environment_yml,
    "gemfile": other_manifests.gemfile,
    "gems.rb": other_manifests.gemfile,
    "go.mod": other_manifests.go_mod,
    "mix.exs": other_manifests.mix_exs,
    "package.json": other_manifests.package_json,
    "packages.config": other_manifests.dotnet,
    "pipfile": python_manifests.pipfile,
    "pom.xml": other_manifests.pom_xml,
    "pubspec.yaml": other_manifests.pubspec_yaml,
    "pubspec.yml": other_manifests.pubspec_yaml,
    "pyproject.toml": python_manifests.pyproject_toml,
    "setup.cfg": python_manifests.setup_cfg,
    "setup.py": python_manifests.setup_py,
}
_BY_SUFFIX: Final[dict[str, _Reader]] = {
    ".csproj": other_manifests.dotnet,
    ".fsproj": other_manifests.dotnet,
    ".gemspec": other_manifests.gemfile,
    ".vbproj": other_manifests.dotnet,
}


def dependencies_in(edit: Payload) -> Iterator[str]:
    """Yield the packages that an edit adds to a manifest, such as `python:requests`.

    Text that cannot be read asks for nothing and never raises; what it replaces is not new. No
    more than 500 names are returned, and each once.
    """
    read = _reader(edit.path or "")
    if read is not None:
        before = frozenset(_packages(read, edit.old or ""))
        yield from islice(_unseen(_packages(read, edit.content), before), _MOST_NAMES)


def _unseen(names: Iterator[str], before: frozenset[str]) -> Iterator[str]:
    seen = set(before)
    for name in names:
        if name not in seen:
            seen.add(name)
            yield name


def _reader(path: str) -> _Reader | None:
    folder, _, name = path.replace("\\", "/").lower().rpartition("/")
    reader = _BY_NAME.get(name) or _BY_SUFFIX.get("." + name.rpartition(".")[2])
    if reader is not None or not name.endswith((".txt", ".in")):
        return reader
    signs = ("requirements" in name, "constraints" in name, folder.endswith("requirements"))
    return python_manifests.requirements if any(signs) else None


def _packages(read: _Reader, text: str) -> Iterator[str]:
    for package in read(_readable(text)):
        ecosystem, _, name = package.partition(":")
        name = name.strip()
        if _NAME.search(name):
            yield f"{ecosystem}:{normalised(ecosystem, name)}"


def _readable(text: str) -> str:
    lines = (line.rstrip() for line in text.removeprefix("\ufeff").splitlines())
    shortened = "\n".join(filter(None, lines))[:_MOST_TEXT]
    # RE2 reads UTF-8, which cannot hold half a surrogate pair.
    return shortened.encode("utf-8", "replace").decode()


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
