"""package.json, and composer.json, which is built like it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, cast

import msgspec
import re2

from interlock.policy.evidence.manifests.toml_text import Table, table, texts

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
