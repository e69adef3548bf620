"""The manifests that are read by the look of their lines: Go, Ruby, Java, .NET, Elixir, Dart."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import re2

_GO: Final = re2.compile(r"^\s*(?:require\s+\(?\s*)?([^\s()\"]+\.[^\s()\"]+)\s+v\d")
_GO_REPLACED: Final = re2.compile(r"=>\s*([^\s()\"]+\.[^\s()\"]+)\s+v\d")
_GO_BLOCK: Final = re2.compile(r"^\s*(?:(exclude|retract)\b|\))")
_GEM: Final = re2.compile(
    r"""(?:^|[\s;.(])(?:gem|add_(?:runtime_|development_)?dependency)[\s(]+["']([^"'\s]+)["']"""
)
_XML: Final = re2.compile(
    r"<!--|-->|</?(?:dependency|plugin|extension|parent|exclusion|project)\b"
    r"|<(groupId|artifactId)>\s*([^<\s]+)\s*<"
)
_COORDINATES: Final = re2.compile(r"""["']([\w.-]+:[\w.-]+)(?:[:@][^"']*)?["']""")
_GROUP_AND_NAME: Final = re2.compile(
    r"""\bgroup\s*[:=]\s*["']([\w.-]+)["']\s*,\s*name\s*[:=]\s*["']([\w.-]+)["']"""
)
_DOTNET: Final = re2.compile(
    r"(?i)<(?:PackageReference|PackageVersion|package)\s[^<>]*?\b(?:Include|Update|id)\s*="
    r"""\s*["']([^"'\s]+)"""
)
_MIX: Final = re2.compile(r"""\{\s*:([a-z_][a-z0-9_]*)\s*,\s*(?:"[\s~<>=!\d]|\[?\s*[a-z_]+:\s)""")
_PUB_PAIR: Final = re2.compile(r"""^["']?([a-z_][a-z0-9_]*)["']?\s*:\s*(.*)$""")
_PUB_VERSION: Final = re2.compile(r"""^["']?(?:[\^<>=]*\s*\d|any\b)""")
_PUB_SECTIONS: Final = ("dependencies", "dev_dependencies", "dependency_overrides")
_PUB_NOT_PACKAGES: Final = frozenset(("version", "sdk", "flutter", "ref", "url", "path"))


def go_mod(text: str) -> Iterator[str]:
    """Yield the modules that a go.mod requires, or puts in the place of others."""
    excluded = False
    for line in text.splitlines():
        block = _GO_BLOCK.search(line)
        if block is not None:
            excluded = block.group(1) is not None and "(" in line
            continue
        match = _GO_REPLACED.search(line) or _GO.search(line)
        if match is not None and not excluded:
            yield f"go:{match.group(1)}"


def gemfile(text: str) -> Iterator[str]:
    """Yield the gems of a Gemfile or a gemspec."""
    for line in text.splitlines():
        if not line.lstrip().startswith("#"):
            yield from (f"gem:{match.group(1)}" for match in _GEM.finditer(line))


def pom_xml(text: str) -> Iterator[str]:
    """Yield what a pom.xml depends on, plug-ins and parents included."""
    # A project has a name of its own; a fragment without its frame may be all about one dependency.
    wanted = "<project" not in text
    held: dict[str, str] = {}
    for frame, tag, value in _tags(text):
        if frame or tag in held:
            yield from _artifact(held if wanted else {})
            held = {}
        if tag:
            held[tag] = value
        else:
            wanted = not frame.startswith(("</", "<exclusion", "<project"))
    yield from _artifact(held if wanted else {})


def _tags(text: str) -> Iterator[tuple[str, str, str]]:
    """Yield what frames a dependency, or else one of its parts; what is commented out is gone."""
    commented = False
    for match in _XML.finditer(text):
        found = match.group() or ""
        if found in ("<!--", "-->"):
            commented = found == "<!--"
        elif not commented:
            tag = match.group(1) or ""
            yield "" if tag else found, tag, match.group(2) or ""


def _artifact(held: dict[str, str]) -> Iterator[str]:
    if "artifactId" in held:
        yield ":".join(filter(None, ("maven", held.get("groupId"), held["artifactId"])))


def gradle(text: str) -> Iterator[str]:
    """Yield the coordinates that stand in a Gradle script."""
    for line in text.splitlines():
        if line.lstrip().startswith(("//", "*", "/*")):
            continue
        yield from (f"maven:{match.group(1)}" for match in _COORDINATES.finditer(line))
        for match in _GROUP_AND_NAME.finditer(line):
            yield f"maven:{match.group(1)}:{match.group(2)}"


def dotnet(text: str) -> Iterator[str]:
    """Yield the packages of a .NET project file, or of the files that it may share."""
    yield from (f"nuget:{match.group(1)}" for match in _DOTNET.finditer(text))


def mix_exs(text: str) -> Iterator[str]:
    """Yield the packages of a mix.exs."""
    for line in text.splitlines():
        if not line.lstrip().startswith("#"):
            yield from (f"hex:{match.group(1)}" for match in _MIX.finditer(line))


def pubspec_yaml(text: str) -> Iterator[str]:
    """Yield the packages of a pubspec.yaml."""
    section: str | None = None
    depth: int | None = None
    for line in text.splitlines():
        indent = len(line) - len(line.lstrip())
        pair = _PUB_PAIR.search(line.strip())
        if pair is None:
            continue
        name, value = pair.group(1) or "", pair.group(2) or ""
        if indent == 0 and (section is not None or not _PUB_VERSION.search(value)):
            section, depth = name, None
        elif section is None:
            if name not in _PUB_NOT_PACKAGES and _PUB_VERSION.search(value):
                yield f"pub:{name}"
        elif section in _PUB_SECTIONS:
            depth = indent if depth is None else depth
            if indent == depth:
                yield f"pub:{name}"
