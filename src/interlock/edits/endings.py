"""Which line ending does each new line get? That of the place it goes to."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import zip_longest
from typing import Final

from interlock.edits.reading import FileText, with_plain_endings

_ENDING: Final = re.compile("\r\n|\r|\n")


def fitted(new: str, text: FileText, start: int, end: int) -> str:
    """Return a text with the line endings of the span of the plain text that it replaces.

    Lines that stay at the beginning and at the end keep their own ending. The lines between
    them take those of the lines they replace, in order, and the last of these when there are
    more. A lone CR of the new text stays: nobody sends one by accident.
    """
    if text.has_one_ending and "\r" not in new:
        return new
    endings = _given(_lines(new), text, start, end)
    pieces = _ENDING.split(new)
    own = _ENDING.findall(new)
    chosen = [mine if mine == "\r" else theirs for mine, theirs in zip(own, endings, strict=True)]
    return "".join(part for pair in zip_longest(pieces, chosen, fillvalue="") for part in pair)


def _given(new_lines: Sequence[str], text: FileText, start: int, end: int) -> list[str]:
    """Return an ending for each line of a text that ends."""
    old_lines = _lines(text.plain[start:end])
    endings = _endings(text, start, end)
    head = _same(old_lines, new_lines)
    tail = _same(old_lines[head:][::-1], new_lines[head:][::-1])
    before, between, after = _cut(endings, head, len(endings) - tail)
    wanted = len(new_lines) - head - tail
    fill = between[-1:] or before[-1:] or after[:1] or [_nearest(text, start, end)]
    return before + between[:wanted] + fill * (wanted - len(between)) + after


def _cut(endings: list[str], first: int, last: int) -> tuple[list[str], list[str], list[str]]:
    return endings[:first], endings[first:last], endings[last:]


def _lines(text: str) -> list[str]:
    """Return the lines that end; what is behind the last ending is left out."""
    return with_plain_endings(text).split("\n")[:-1]


def _endings(text: FileText, start: int, end: int) -> list[str]:
    return [
        text.ending_at(start + found.start()) for found in re.finditer("\n", text.plain[start:end])
    ]


def _same(some: Sequence[str], others: Sequence[str]) -> int:
    """Return how many lines are the same from the beginning."""
    count = 0
    while count < min(len(some), len(others)) and some[count] == others[count]:
        count += 1
    return count


def _nearest(text: FileText, start: int, end: int) -> str:
    """Return how the line of a span ends, or the one before it; LF in a file of one line."""
    following = text.plain.find("\n", end)
    if following >= 0:
        return text.ending_at(following)
    preceding = text.plain.rfind("\n", 0, start)
    return text.ending_at(preceding) if preceding >= 0 else "\n"
