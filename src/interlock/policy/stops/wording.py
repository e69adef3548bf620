"""Somebody else's words within ours: one line, cut, without what would break the sentence."""

from __future__ import annotations

from typing import Final

_MOST: Final = 160


def one_line(text: str, most: int = _MOST) -> str:
    """Return a text as one line of at most so many characters, without backticks."""
    line = " ".join(text.replace("`", "'").split())
    return line if len(line) <= most else line[: most - 1].rstrip() + "\u2026"
