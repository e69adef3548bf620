"""Sets of path globs that answer in well under a microsecond for most paths.

Most globs are one of a few simple shapes (a name anywhere, an ending, everything below a
folder), which string look-ups decide; only the rest is left to RE2.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Final

import re2

_SHAPE: Final = re.compile(
    r"(?P<exact>[^*?[]*)|\*\*/(?:(?P<name>[^*?[/]*)|\*(?P<ending>[^*?[/]*)|(?P<beginning>[^*?[/]*)\*)"
    r"|(?P<folder>[^*?[]*/)\*\*"
)
_CACHED: Final = 4096
_WILD: Final = re.compile(r"\[.[^\]]{0,64}\]|[*?]")
_MOST_CLASSES: Final = 32
"""So many classes of letters nobody writes, and to read more of them takes its time."""
_TELLING: Final = 2
_TELLING_ALONE: Final = 4
"""How many letters of a name have to be written out for it to say anything: in a folder, alone."""
_WILDCARDS: Final = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}


class GlobSet:
    """Whether one of many globs matches a path as a whole; `/` only by `**`."""

    def __init__(self, globs: Sequence[str]) -> None:
        shapes: dict[str | None, list[str]] = {name: [] for name in _SHAPE.groupindex}
        rest: list[str] = []
        for glob in globs:
            found = _SHAPE.fullmatch(glob)
            if found is None:
                rest.append(glob)
            else:
                shapes[found.lastgroup].append(found[found.lastgroup or ""])
        self._exact = frozenset(shapes["exact"])
        self._names = frozenset(shapes["name"])
        self._endings = tuple(shapes["ending"])
        self._beginnings = tuple(shapes["beginning"])
        self._folders = tuple(shapes["folder"])
        self._rest = _Later(rest, glob_to_re2) if rest else None
        # The answer depends on the path alone, and agents name the same few paths all the time.
        self.matches = lru_cache(maxsize=_CACHED)(self._matches)

    def _matches(self, path: str) -> bool:
        if path in self._exact or path.startswith(self._folders):
            return True
        name = path.rpartition("/")[2]
        if name in self._names or name.endswith(self._endings) or name.startswith(self._beginnings):
            return True
        return self._rest is not None and self._rest.matches(path)


def glob_to_re2(glob: str) -> str:
    """Translate a path glob: `**/` is any folders or none, `*` stays within one."""
    return re.sub(r"(?s)\*\*/|\*\*|\[.*?\]|.", _piece, glob)


def _piece(found: re.Match[str]) -> str:
    piece = found[0]
    if len(piece) > 1 and piece[0] == "[":
        return f"[{re2.escape(piece[1:-1])}]"
    return _WILDCARDS.get(piece) or re2.escape(piece)


def may_name(pattern: str, globs: Sequence[str]) -> str | None:
    """Return the first path that a pattern as a shell reads it may stand for, by one of the globs.

    A name that says nothing but its ending stands for too much to be taken for anything.
    """
    *folders, name = pattern.split("/")
    letters = len(_plain(name.partition(".")[0] or name))
    if letters < _TELLING:
        return None
    tells = letters >= _TELLING_ALONE or name[:1] == "."
    for glob in globs:
        *others, last = glob.removeprefix("**/").split("/")
        above = folders[max(len(folders) - len(others), 0) :] if glob[:2] == "**" else folders
        if len(above) != len(others) or not (tells or others):
            continue
        if _fits(last, name) and all(map(_fits, others, above)):
            return "/".join([*folders[: len(folders) - len(others)], *map(_plain, (*others, last))])
    return None


def _fits(glob: str, pattern: str) -> bool:
    # What begins with a wildcard never stands for a hidden name.
    hidden = glob[:1] == "." and pattern[:1] != "."
    return glob == pattern or (not hidden and may_fit(_plain(glob), pattern))


def may_fit(name: str, pattern: str) -> bool:
    """Tell whether a pattern as a shell reads it may stand for a name; too long a one may."""
    return pattern.count("[") > _MOST_CLASSES or fnmatchcase(name, pattern)


def _plain(glob: str) -> str:
    return _WILD.sub("", glob)


class WordSet:
    """Whether one of many globs matches a word as a whole: `*` is anything, `?` one character."""

    __slots__ = (
        "_anchored",
        "_beginnings",
        "_endings",
        "_exact",
        "_heads",
        "_inside",
        "_rest",
        "_wide",
    )

    def __init__(self, globs: Sequence[str]) -> None:
        self._exact: set[str] = set()
        self._inside: list[str] = []
        self._anchored: list[list[str]] = []
        self._wide: list[list[str]] = []
        beginnings: list[str] = []
        endings: list[str] = []
        rest: list[str] = []
        for glob in globs:
            parts = glob.split("*")
            if "?" in glob:
                rest.append(glob)
            elif len(parts) == 1:
                self._exact.add(glob)
            elif len(parts) == 2 and not all(parts):
                (beginnings if parts[0] else endings).append(parts[0] or parts[1])
            elif len(parts) == 3 and not parts[0] and not parts[2]:
                self._inside.append(parts[1])
            else:
                (self._anchored if parts[0] else self._wide).append(parts)
        self._heads = tuple(parts[0] for parts in self._anchored)
        self._beginnings = tuple(beginnings)
        self._endings = tuple(endings)
        self._rest = _Later(rest, _word_re2) if rest else None

    def matches(self, word: str) -> bool:
        """Whether one of the globs matches the whole word."""
        if word in self._exact or word.startswith(self._beginnings) or word.endswith(self._endings):
            return True
        for part in self._inside:
            if part in word:
                return True
        # Most words begin in none of the ways that globs do.
        likely = self._wide + self._anchored if word.startswith(self._heads) else self._wide
        for parts in likely:
            if _holds_in_order(word, parts):
                return True
        return self._rest is not None and self._rest.matches(word)


def _holds_in_order(word: str, parts: list[str]) -> bool:
    """Whether the parts of a glob stand in the word one behind the other, ends included."""
    first, last = parts[0], parts[-1]
    end = len(word) - len(last)
    position = len(first)
    if end < position or not word.startswith(first) or not word.endswith(last):
        return False
    for part in parts[1:-1]:
        found = word.find(part, position, end)
        if found < 0:
            return False
        position = found + len(part)
    return True


class _Later:
    """Globs that are translated and compiled when they are first needed."""

    def __init__(self, globs: Sequence[str], translated: Callable[[str], str]) -> None:
        self._globs = globs
        self._translated = translated
        self._compiled: re2.Regexp[str] | None = None

    def matches(self, word: str) -> bool:
        if self._compiled is None:
            self._compiled = re2.compile(
                "(?s)^(?:" + "|".join(map(self._translated, self._globs)) + ")$"
            )
        return self._compiled.search(word) is not None


def _word_re2(glob: str) -> str:
    return "".join([{"*": ".*", "?": "."}.get(char) or re2.escape(char) for char in glob])
