"""Which entry of a list names something: exactly, unless a pattern is written."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase


def listing(name: str, patterns: Sequence[str]) -> str | None:
    """Return the entry that names it: exactly, or by a `*` that is written."""
    for pattern in patterns:
        if pattern == name or ("*" in pattern and fnmatchcase(name, pattern)):
            return pattern
    return None
