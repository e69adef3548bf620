"""Which lines stay between two texts? The one diff that edits, gates and figures all count by."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from typing import NamedTuple


def changed_lines(old: str, new: str) -> int:
    """Return how many lines are removed and added between two texts."""
    before, after = lines_of(old), lines_of(new)
    return len(before) + len(after) - 2 * len(unchanged_pairs(before, after))


def lines_of(text: str) -> list[str]:
    """Return the lines of a text as a diff counts them: other breaks than CR and LF end none."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return lines if lines[-1] else lines[:-1]


def unchanged_pairs(old: Sequence[str], new: Sequence[str]) -> list[tuple[int, int]]:
    """Return the indices of the lines that stay, in their order.

    Beyond what is the same at both ends, the n-th of equal lines is held against the n-th on
    the other side, which takes little more than linear time.
    """
    most = min(len(old), len(new))
    head = next((index for index in range(most) if old[index] != new[index]), most)
    most -= head
    tail = next((index for index in range(most) if old[-1 - index] != new[-1 - index]), most)
    places = {line: head + index for index, line in _numbered(new[head : len(new) - tail])}
    numbered = _numbered(old[head : len(old) - tail])
    pairs = [(head + index, places[line]) for index, line in numbered if line in places]
    return [
        *((index, index) for index in range(head)),
        *_longest_rising(pairs),
        *((len(old) - index, len(new) - index) for index in range(tail, 0, -1)),
    ]


def _numbered(lines: Sequence[str]) -> list[tuple[int, tuple[str, int]]]:
    """Tell equal lines apart by how many of them came before."""
    seen: dict[str, int] = {}
    numbered: list[tuple[int, tuple[str, int]]] = []
    for index, line in enumerate(lines):
        seen[line] = seen.get(line, 0) + 1
        numbered.append((index, (line, seen[line])))
    return numbered


def _longest_rising(pairs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the longest choice of pairs whose second numbers rise."""
    ends: list[int] = []
    chains: list[_Chain] = []
    for pair in pairs:
        position = bisect_left(ends, pair[1])
        chain = _Chain(pair, chains[position - 1] if position else None)
        ends[position : position + 1] = [pair[1]]
        chains[position : position + 1] = [chain]
    chosen: list[tuple[int, int]] = []
    link = chains[-1] if chains else None
    while link is not None:
        chosen.append(link.pair)
        link = link.before
    return chosen[::-1]


class _Chain(NamedTuple):
    pair: tuple[int, int]
    before: _Chain | None
