"""The manifests of Python projects."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Final

import re2

from interlock.policy.evidence.toml_text import Line, lines, parsed, strings, table, texts

_REQUIREMENT: Final = re2.compile(
    r"^\s*([A-Za-z0-9][A-Za-z0-9._-]*)\s*(?:\[[^\]]*\]?\s*)?(?:[<>=!~;@(,\\].*|\s--.*)?$"
)
_EGG: Final = re2.compile(r"[#&]egg=([A-Za-z0-9._-]+)")
_ARCHIVE: Final = re2.compile(r"([A-Za-z0-9][A-Za-z0-9._]*(?:-[A-Za-z][A-Za-z0-9._]*)*)-v?\d[^/]*$")
_REPOSITORY: Final = re2.compile(r"/([A-Za-z0-9._-]+?)(?:\.git)?(?:@[^/]*)?/?$")
_CONDA: Final = re2.compile(r"^(?:[\w./-]+::)?([A-Za-z0-9_][A-Za-z0-9._-]*)(?:[\s<>=!~\[].*)?$")

_LONGEST: Final = 1000
"""No requirement is longer, but for its hashes."""

_LISTS: Final = ("dependencies", "requires", "require", "install_requires", "setup_requires")
_GROUPS: Final = ("optional-dependencies", "dependency-groups", "dev-dependencies")
_TOP: Final = frozenset(("build-system", "dependency-groups", "project", "tool"))
_NO_CATEGORIES: Final = frozenset(("source", "requires", "scripts", "pipenv"))
_NOT_PACKAGES: Final = frozenset(
    "addopts authors classifiers description dynamic email exclude extend-select extras fail_under"
    " file filterwarnings homepage ignore include keywords license license-files line-length"
    " maintainers markers name omit packages path per-file-ignores python pythonpath"
    " python_version python_full_version readme repository requires-python select source"
    " target-version testpaths url verify_ssl version".split()
)
_MARKERS: Final = frozenset(
    "python:extra python:implementation_name python:os_name python:platform_machine"
    " python:platform_system python:python_full_version python:python_version"
    " python:sys_platform".split()
)
_VERSION: Final = re2.compile(r"""^(?:["'][\^~<>=!*\d]|["']["']|\{)""")
_ONLY_STRINGS: Final = re2.compile(
    r"""^[\s\[\](){},]*(?:(?:"[^"]*"|'[^']*')[\s\[\](){},]*)+(?:#.*)?$"""
)
_HEAD: Final = re2.compile(r"\b(?:\w*_requires?|requires?|dependencies)\b\s*(?:=|:|\+=)")
_ONLY_NAME: Final = re2.compile(r"^[\w.-]*$")
_STRING_AND_NEXT: Final = re2.compile(r"""(?:"([^"]*)"|'([^']*)')\s*(:?)""")


def requirements(text: str) -> Iterator[str]:
    """Yield the packages of a requirements or constraints file."""
    for line in text.splitlines():
        wanted = line.strip()
        if wanted.startswith(("-e", "--editable")):
            wanted = wanted.removeprefix("--editable").removeprefix("-e").lstrip(" =")
        if not wanted.startswith(("-", "#")):
            yield from _named(_without_comment(wanted))


def _without_comment(wanted: str) -> str:
    return wanted.partition(" #")[0].strip()


def _named(*wanted: str) -> Iterator[str]:
    """Yield the name in each requirement: `name>=1`, `name @ address`, or a mere address."""
    for each in wanted:
        name = _name_in(each[:_LONGEST])
        if name is not None:
            yield f"python:{name}"


@lru_cache(maxsize=2048)
def _name_in(wanted: str) -> str | None:
    match = _REQUIREMENT.search(wanted) or _EGG.search(wanted)
    if match is None and "/" in wanted:
        address = wanted.partition("#")[0]
        match = _ARCHIVE.search(address.rpartition("/")[2]) or _REPOSITORY.search(address)
    return None if match is None else match.group(1)


def pyproject_toml(text: str) -> Iterator[str]:
    """Yield the packages of a pyproject.toml: the standard's, Poetry's and other tools'."""
    document = parsed(text)
    if document is None or not _TOP.issuperset(document):
        yield from (name for line in lines(text) for name in _pyproject_line(line))
        return
    yield from _named(*texts(table(document.get("build-system")).get("requires")))
    pending = [document]
    while pending:
        for key, value in pending.pop().items():
            if key.endswith("dependencies") or key in _GROUPS:
                yield from _section(key, value)
            elif key != "dynamic":
                pending.append(table(value))


def _section(key: str, value: object) -> Iterator[str]:
    """Yield what a list of requirements asks for, lists by group, or a table by name."""
    yield from _named(*texts(value))
    for name, wanted in table(value).items():
        yield from _named(*texts(wanted))
        if key.endswith("dependencies") and _is_a_version(name, wanted):
            yield f"python:{name}"


def _is_a_version(name: str, wanted: object) -> bool:
    """Whether this is a package and its version, as in Poetry, and not a group."""
    return name != "python" and wanted != [] and not texts(wanted)


def _pyproject_line(line: Line) -> Iterator[str]:
    header = line.header
    if header is None:
        yield from _line_of_a_fragment(line)
    elif header.startswith("tool.poetry.") and header.endswith("dependencies"):
        yield from _name_of_pair(line)
    elif (line.key or "").endswith(_LISTS) or header.endswith(_GROUPS):
        yield from _named(*strings(line.value))


def _name_of_pair(line: Line) -> Iterator[str]:
    if line.starts and line.key != "python":
        yield f"python:{line.key}"


def _line_of_a_fragment(line: Line) -> Iterator[str]:
    """Judge a line by its own look where the text does not tell what it belongs to."""
    key = line.key or ""
    if key in _NOT_PACKAGES:
        return
    if line.starts and _VERSION.search(line.value):
        yield f"python:{key}"
    elif line.value.startswith("[") or (not line.starts and _ONLY_STRINGS.search(line.value)):
        yield from _named(*strings(line.value))


def pipfile(text: str) -> Iterator[str]:
    """Yield the packages of a Pipfile: every table but a few is a category of packages."""
    document = parsed(text)
    if document is not None and all(isinstance(each, dict | list) for each in document.values()):
        for category, packages in document.items():
            if category not in _NO_CATEGORIES:
                yield from (f"python:{name}" for name in table(packages))
        return
    for line in lines(text):
        if line.header is None:
            yield from _line_of_a_fragment(line)
        elif line.header not in _NO_CATEGORIES:
            yield from _name_of_pair(line)


def setup_py(text: str) -> Iterator[str]:
    """Yield the packages that a setup.py seems to ask for, judged by the look of its lines."""
    for line in text.splitlines():
        if line.lstrip().startswith("#"):
            continue
        listed = _HEAD.search(line) is not None or _ONLY_STRINGS.search(line) is not None
        for match in _STRING_AND_NEXT.finditer(line):
            wanted = match.group(1) or match.group(2) or ""
            # The name of an extra stands before a colon.
            if not match.group(3) and (listed or not _ONLY_NAME.search(wanted)):
                named = _REQUIREMENT.search(wanted)
                yield from () if named is None else (f"python:{named.group(1)}",)


def setup_cfg(text: str) -> Iterator[str]:
    """Yield the packages of a setup.cfg."""
    header: str | None = None
    key: str | None = None
    for line in text.splitlines():
        value = line.strip()
        if value.startswith(("#", ";")):
            continue
        if line.startswith("["):
            header, key = value.strip("[]"), None
            continue
        if line[:1].strip():
            key, _, value = line.partition("=")
        if _is_required(header, key):
            # A list on one line is parted by semicolons, which elsewhere begin a condition.
            parts = value.split(";")
            yield from (name for part in parts for name in _named(part) if name not in _MARKERS)


def _is_required(header: str | None, key: str | None) -> bool:
    if header == "options.extras_require":
        return True
    return header in (None, "options") and (
        key is None or key.strip().endswith(("_require", "_requires"))
    )


def environment_yml(text: str) -> Iterator[str]:
    """Yield the packages of a conda environment, and those that pip is to fetch."""
    section: str | None = None
    pip_from: int | None = None
    for line in text.splitlines():
        content = _without_comment(line)
        indent = len(line) - len(line.lstrip())
        if content and not content.startswith("-") and indent == 0:
            section, pip_from = content.partition(":")[0], None
        if not content.startswith("-") or section not in (None, "dependencies"):
            continue
        wanted = content[1:].strip().strip("\"'")
        if wanted == "pip:":
            pip_from = indent
            continue
        if pip_from is not None and indent <= pip_from:
            pip_from = None
        yield from _item(wanted, pip=pip_from is not None, sure=section is not None)


def _item(wanted: str, *, pip: bool, sure: bool) -> Iterator[str]:
    """Yield an item's name; a fragment does not tell whether conda or pip is meant."""
    if pip or not sure:
        yield from _named(wanted)
    match = _CONDA.search(wanted)
    if match is not None and not pip:
        yield f"conda:{match.group(1)}"
