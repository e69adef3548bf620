"""How many lines change between two texts."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence


def changed_lines(old: str, new: str) -> int:
    """Return how many lines are removed and added between two texts.

    The n-th of equal lines is held against the n-th on the other side. That takes little more
    than linear time, where an exact diff of large texts does not.
    """
    before, after = lines_of(old), lines_of(new)
    start = 0
    while start < min(len(before), len(after)) and before[start] == after[start]:
        start += 1
    end = 0
    while end < min(len(before), len(after)) - start and before[-1 - end] == after[-1 - end]:
        end += 1
    before, after = before[start : len(before) - end], after[start : len(after) - end]
    kept = _kept(before, after) if before and after else 0
    return len(before) + len(after) - 2 * kept


def lines_of(text: str) -> list[str]:
    """Return the lines of a text as a diff counts them: other breaks than CR and LF end none."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return lines if lines[-1] else lines[:-1]


def _kept(before: Sequence[str], after: Sequence[str]) -> int:
    """Return how many lines stay, in their order."""
    place = {line: index for index, line in enumerate(_numbered(after))}
    return _longest_rising([place[line] for line in _numbered(before) if line in place])


def _numbered(lines: Sequence[str]) -> list[tuple[str, int]]:
    """Tell equal lines apart by how many of them came before."""
    seen: dict[str, int] = {}
    numbered: list[tuple[str, int]] = []
    for line in lines:
        before = seen.get(line, 0)
        numbered.append((line, before))
        seen[line] = before + 1
    return numbered


def _longest_rising(numbers: Sequence[int]) -> int:
    ends: list[int] = []
    for number in numbers:
        position = bisect_left(ends, number)
        ends[position : position + 1] = [number]
    return len(ends)
