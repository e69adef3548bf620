"""TOML as far as manifests need it: parsed where it is whole, else line by line."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from typing import Final, cast

import msgspec
import re2

Table = Mapping[str, object]

# The standard parser takes quadratic time on keys of very many parts and on many keys below them.
_MOST_TEXT: Final = 100_000
_MOST_DOTS: Final = 40

_HEADER: Final = re2.compile(r"^\s*\[\[?\s*([^\]]*?)\s*\]")
_PAIR: Final = re2.compile(r"""^\s*["']?([A-Za-z0-9][A-Za-z0-9._-]*)["']?\s*=\s*(.*)$""")
_STRING: Final = re2.compile(r""""([^"]*)"|'([^']*)'""")


class Line(msgspec.Struct, frozen=True, kw_only=True):
    """One line of a document: a pair, or more of the list that a pair began."""

    header: str | None
    """The table it stands in; None where the text does not tell."""
    key: str | None
    """The key of the pair; None where the text does not tell."""
    value: str
    starts: bool
    """Whether the pair begins here."""


def parsed(text: str) -> Table | None:
    """Return the document; None where it is none, or one that would take long to read."""
    if len(text) > _MOST_TEXT or any(line.count(".") > _MOST_DOTS for line in text.splitlines()):
        return None
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError):
        return None


def lines(text: str) -> Iterator[Line]:
    """Yield the lines of a text; a header as an empty line of the table that it opens."""
    header: str | None = None
    key: str | None = None
    for line in text.splitlines():
        if line.lstrip().startswith("#"):
            continue
        pair = _PAIR.search(line)
        if pair is not None:
            key = pair.group(1)
            yield Line(header=header, key=key, value=pair.group(2) or "", starts=True)
            continue
        found = _HEADER.search(line)
        # A list within a list looks like a header, but for the quotes.
        if found is not None and not line.lstrip().startswith(('["', "['")):
            header, key = found.group(1) or "", None
            yield Line(header=header, key=key, value="", starts=False)
        else:
            yield Line(header=header, key=key, value=line, starts=False)


def strings(value: str) -> Iterator[str]:
    """Yield what stands in quotes."""
    for match in _STRING.finditer(value):
        yield match.group(1) or match.group(2) or ""


def table(value: object) -> Table:
    """Return a table; an empty one where the value is something else."""
    return cast("Table", value) if isinstance(value, dict) else {}


def texts(value: object) -> list[str]:
    """Return the texts in a list; none where the value is something else."""
    items = cast("list[object]", value) if isinstance(value, list) else []
    return [item for item in items if isinstance(item, str)]
