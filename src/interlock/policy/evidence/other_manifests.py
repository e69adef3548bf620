"""Manifests of other ecosystems: Go, Ruby, Java, .NET, Elixir, Dart, JavaScript, PHP, Rust."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final, cast

import msgspec
import re2

from interlock.policy.evidence.toml_text import (
    Line,
    Table,
    lines,
    parsed,
    strings,
    table,
    texts,
)

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


def _by_line(
    ecosystem: str, *patterns: re2.Regexp[str], comments: tuple[str, ...]
) -> Callable[[str], Iterator[str]]:
    """Return a reader of what patterns find on the lines that are not commented out."""

    def names(text: str) -> Iterator[str]:
        for line in text.splitlines():
            if not line.lstrip().startswith(comments):
                for pattern in patterns:
                    for match in pattern.finditer(line):
                        yield ":".join((ecosystem, *map(str, match.groups())))

    return names


gemfile: Final = _by_line("gem", _GEM, comments=("#",))
"""Yields the gems of a Gemfile or a gemspec."""
gradle: Final = _by_line("maven", _COORDINATES, _GROUP_AND_NAME, comments=("//", "*", "/*"))
"""Yields the coordinates that stand in a Gradle script."""
mix_exs: Final = _by_line("hex", _MIX, comments=("#",))
"""Yields the packages of a mix.exs."""


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


def dotnet(text: str) -> Iterator[str]:
    """Yield the packages of a .NET project file, or of the files that it may share."""
    yield from (f"nuget:{match.group(1)}" for match in _DOTNET.finditer(text))


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


_SECTIONS: Final = tuple(
    "dependencies devDependencies peerDependencies optionalDependencies overrides resolutions"
    " catalog".split()
)
_BUNDLED: Final = ("bundleDependencies", "bundledDependencies")
_WHOLE: Final = frozenset(
    "name version private description scripts main module exports type license workspaces engines"
    " require require-dev config autoload repositories extra".split()
).union(_SECTIONS)

_PAIR: Final = re2.compile(r'"([^"\s]+)"\s*:\s*"([^"]*)"')
_RANGE: Final = re2.compile(
    r"^(?:[\^~<>=v]*\s*\d|\*$|x$|$|latest$|next$|dev-|(?:npm|workspace|file|link|git|github|https?)[:+]"
    r"|[\w.-]+/[\w.-]+(?:#.*)?$|catalog:)"
)
_NOT_PACKAGES: Final = frozenset(
    "author bin browser bugs description directory email engine homepage icon jsnext:main license"
    " main module name node npm packageManager php pnpm private publisher repository type types"
    " typings unpkg url version vscode yarn".split()
)


def package_json(text: str) -> Iterator[str]:
    """Yield the packages of a package.json."""
    document = _parsed(text)
    if document is None:
        yield from (f"npm:{_package(key, wanted)}" for key, wanted in _pairs_in(text))
        return
    for place in (document, table(document.get("pnpm"))):
        for section in _SECTIONS:
            yield from (f"npm:{name}" for name in _packages(table(place.get(section))))
    for section in _BUNDLED:
        yield from (f"npm:{name}" for name in texts(document.get(section)))


def composer_json(text: str) -> Iterator[str]:
    """Yield the packages of a composer.json; what has no vendor is a part of PHP."""
    document = _parsed(text)
    if document is None:
        names = [key for key, _ in _pairs_in(text)]
    else:
        sections = ("require", "require-dev")
        names = [name for section in sections for name in table(document.get(section))]
    yield from (f"composer:{name}" for name in names if "/" in name)


def _parsed(text: str) -> Table | None:
    """Return a whole file; None for anything else, such as the inside of one of its sections."""
    try:
        document = table(msgspec.json.decode(text.encode("utf-8", "replace")))
    except (msgspec.DecodeError, RecursionError):
        return None
    return None if _WHOLE.isdisjoint(document) else document


def _packages(section: Table) -> Iterator[str]:
    pending = [section]
    while pending:
        for key, wanted in pending.pop().items():
            if isinstance(wanted, dict):
                pending.append(cast("Table", wanted))
            yield _package(key, wanted if isinstance(wanted, str) else "")


def _pairs_in(text: str) -> Iterator[tuple[str, str]]:
    for match in _PAIR.finditer(text):
        key, wanted = match.group(1) or "", match.group(2) or ""
        if key not in _NOT_PACKAGES and _RANGE.search(wanted):
            yield key, wanted


def _package(key: str, wanted: str) -> str:
    """Return what is really installed.

    An alias names it in its version (`npm:left-pad@1`), an override may say below what it stands
    and which version is meant (`parent>@scope/child@2`, `**/child`).
    """
    name = wanted.removeprefix("npm:") if wanted.startswith("npm:") else key.rpartition(">")[2]
    parts = name.split("/")
    name = "/".join(parts[-2:]) if len(parts) > 1 and parts[-2].startswith("@") else parts[-1]
    return name[:1] + name[1:].partition("@")[0]


_CARGO_SECTIONS: Final = ("dependencies", "dev-dependencies", "build-dependencies")
_TOP: Final = frozenset(
    "badges bench bin build-dependencies cargo-features dependencies dev-dependencies example"
    " features lib lints package patch profile project replace target test workspace".split()
)
_NOT_CRATES: Final = frozenset(
    "authors autobenches autobins autoexamples autotests build bench categories codegen-units debug"
    " default default-run description doc documentation edition exclude features harness homepage"
    " include incremental keywords license license-file links lto name opt-level overflow-checks"
    " panic path proc-macro publish readme repository resolver rpath rust-version strip test"
    " version".split()
)


def cargo_toml(text: str) -> Iterator[str]:
    """Yield the crates of a Cargo.toml."""
    document = parsed(text)
    if document is not None and _TOP.issuperset(document):
        yield from (f"cargo:{name}" for name in _crates(document))
    else:
        yield from (f"cargo:{name}" for line in lines(text) for name in _crates_in(line))


def _crates(document: Table) -> Iterator[str]:
    places = [document, table(document.get("workspace")), *_tables_in(document.get("target"))]
    sections = [table(place.get(section)) for place in places for section in _CARGO_SECTIONS]
    for section in (*sections, *_tables_in(document.get("patch"))):
        for name, wanted in section.items():
            renamed = table(wanted).get("package")
            yield renamed if isinstance(renamed, str) else name
    # The old way to patch names the version as well: `"foo:0.1.0" = { ... }`.
    yield from (name.partition(":")[0] for name in table(document.get("replace")))


def _tables_in(value: object) -> list[Table]:
    return [table(each) for each in table(value).values()]


def _crates_in(line: Line) -> Iterator[str]:
    parts = (line.header or "").split(".")
    if len(parts) > 1 and parts[-2] in _CARGO_SECTIONS:
        yield parts[-1].strip("\"'")
        if line.starts and line.key == "package":
            yield from strings(line.value)
    elif line.starts and (
        parts[-1] in _CARGO_SECTIONS or parts[0] == "patch" or _may_be_a_crate(line)
    ):
        yield from _crate_of(line)


def _may_be_a_crate(line: Line) -> bool:
    name = (line.key or "").partition(".")[0]
    return line.header is None and name not in _NOT_CRATES and not line.value.startswith("[")


def _crate_of(line: Line) -> Iterator[str]:
    _, renamed, rest = line.value.partition("package")
    real = next(strings(rest), "") if renamed and line.value.startswith("{") else ""
    yield real or (line.key or "").partition(".")[0]
