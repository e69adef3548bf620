"""Which packages does an edit add to a manifest?"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from typing import Final

import re2

from interlock.policy.actions.payload import Payload
from interlock.policy.evidence.manifests import elsewhere, javascript, python, rust
from interlock.policy.evidence.packages import normalised

_Reader = Callable[[str], Iterator[str]]

_MOST_NAMES: Final = 500
_MOST_TEXT: Final = 250_000
"""Of a longer text only the beginning is read; empty lines do not count."""
_NAME: Final = re2.compile(r"^[A-Za-z0-9@_][A-Za-z0-9@._/:+~-]{0,213}$")

_BY_NAME: Final[dict[str, _Reader]] = {
    "build.gradle": elsewhere.gradle,
    "build.gradle.kts": elsewhere.gradle,
    "cargo.toml": rust.cargo_toml,
    "composer.json": javascript.composer_json,
    "directory.packages.props": elsewhere.dotnet,
    "environment.yaml": python.environment_yml,
    "environment.yml": python.environment_yml,
    "gemfile": elsewhere.gemfile,
    "gems.rb": elsewhere.gemfile,
    "go.mod": elsewhere.go_mod,
    "mix.exs": elsewhere.mix_exs,
    "package.json": javascript.package_json,
    "packages.config": elsewhere.dotnet,
    "pipfile": python.pipfile,
    "pom.xml": elsewhere.pom_xml,
    "pubspec.yaml": elsewhere.pubspec_yaml,
    "pubspec.yml": elsewhere.pubspec_yaml,
    "pyproject.toml": python.pyproject_toml,
    "setup.cfg": python.setup_cfg,
    "setup.py": python.setup_py,
}
_BY_SUFFIX: Final[dict[str, _Reader]] = {
    ".csproj": elsewhere.dotnet,
    ".fsproj": elsewhere.dotnet,
    ".gemspec": elsewhere.gemfile,
    ".vbproj": elsewhere.dotnet,
}


def dependencies_in(edit: Payload) -> Iterator[str]:
    """Yield the packages that an edit adds to a manifest, such as `python:requests`.

    Text that cannot be read asks for nothing and never raises; what it replaces is not new. No
    more than 500 names are told, and a name is told once.
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
    told = ("requirements" in name, "constraints" in name, folder.endswith("requirements"))
    return python.requirements if any(told) else None


def _packages(read: _Reader, text: str) -> Iterator[str]:
    for package in read(_readable(text)):
        ecosystem, _, name = package.partition(":")
        name = name.strip()
        if _NAME.search(name):
            yield f"{ecosystem}:{normalised(ecosystem, name)}"


def _readable(text: str) -> str:
    lines = (line.rstrip() for line in text.removeprefix("\ufeff").splitlines())
    kept = "\n".join(filter(None, lines))[:_MOST_TEXT]
    # RE2 reads UTF-8, which cannot hold half a surrogate pair.
    return kept.encode("utf-8", "replace").decode()
