"""Which lines of a file are most like some others?

Lines are held against lines: the n-th of what was asked for against the n-th of a window of as
many lines. The similarity of a window is the share of characters that stay when each of its
lines is turned into its counterpart. A change that does not respect the lines can only be found
less alike than it is, never more.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import Final, NamedTuple

from rapidfuzz.distance import Indel
from rapidfuzz.process import extract, extract_iter

_MOST_WORK: Final = 500_000_000
"""Steps of comparing, each about a nanosecond."""
_WORK_PER_LINE: Final = 100
_WORD: Final = 64
_PERCENT: Final = 100
_FEW: Final = 3
_HARDLY_ALIKE: Final = 0.5


class TooMuchToCompareError(Exception):
    """The search was given up, because it would have taken too long."""


class Window(NamedTuple):
    """As many lines of a file as were asked for."""

    first: int
    """The index of its first line."""
    similarity: float


class _Budget:
    """How much may still be compared."""

    def __init__(self) -> None:
        self._left = _MOST_WORK

    def spend(self, line: str, others: Mapping[int, str]) -> None:
        steps = (len(line) // _WORD + 1) * sum(map(len, others.values()))
        self._left -= steps + _WORK_PER_LINE * len(others)
        if self._left < 0:
            raise TooMuchToCompareError


def most_alike(asked: Sequence[str], lines: Sequence[str], *, least_percent: int) -> list[Window]:
    """Return the window that is most like it, or several where they are equally alike.

    None is returned that is less alike than the least. The heaviest lines are compared first,
    everywhere, and a window is dropped as soon as it cannot be alike enough any more.
    """
    weights = _weights(asked, lines)
    allowed = [weight * (_PERCENT - least_percent) // _PERCENT for weight in weights]
    distances = dict.fromkeys(range(len(weights)), 0)
    budget = _Budget()
    for index in sorted(range(len(asked)), key=lambda index: -len(asked[index])):
        if not distances:
            return []
        counterparts = {first: lines[first + index] for first in distances}
        budget.spend(asked[index], counterparts)
        distances = _with_line(asked[index], counterparts, distances, allowed)
    found = [Window(first, _similarity(far, weights[first])) for first, far in distances.items()]
    best = max((window.similarity for window in found), default=0)
    return [window for window in found if window.similarity == best]


def nearest(asked: Sequence[str], lines: Sequence[str]) -> list[Window]:
    """Return a few windows that are somewhat alike, the most alike first.

    They are looked for where a line is like the heaviest of those asked for, and nowhere else.
    """
    index = max(range(len(asked)), key=lambda index: len(asked[index]))
    try:
        _Budget().spend(asked[index], dict(enumerate(lines)))
    except TooMuchToCompareError:
        return []
    alike = extract(
        asked[index],
        lines,
        scorer=Indel.normalized_similarity,
        limit=_FEW,
        score_cutoff=_HARDLY_ALIKE,
    )
    firsts = {max(0, found - index) for _, _, found in alike}
    windows = [Window(first, _similarity_at(asked, lines, first)) for first in firsts]
    return sorted(
        (window for window in windows if window.similarity >= _HARDLY_ALIKE),
        key=lambda window: (-window.similarity, window.first),
    )


def _weights(asked: Sequence[str], lines: Sequence[str]) -> list[int]:
    """Return how many characters are compared for each window."""
    own = sum(map(len, asked))
    ends = list(accumulate(map(len, lines), initial=0))
    return [
        own + ends[first + len(asked)] - ends[first] for first in range(len(lines) - len(asked) + 1)
    ]


def _with_line(
    line: str, counterparts: Mapping[int, str], distances: Mapping[int, int], allowed: Sequence[int]
) -> dict[int, int]:
    """Return the windows that are left, with what they differ in after one more line."""
    left = max(allowed[first] - far for first, far in distances.items())
    compared = extract_iter(line, counterparts, scorer=Indel.distance, score_cutoff=left)
    return {
        first: far
        for _, more, first in compared
        if (far := distances[first] + int(more)) <= allowed[first]
    }


def _similarity_at(asked: Sequence[str], lines: Sequence[str], first: int) -> float:
    window = lines[first : first + len(asked)]
    shared = sum(Indel.distance(ask, line) for ask, line in zip(asked, window, strict=False)) + sum(
        map(len, asked[len(window) :])
    )
    return _similarity(shared, sum(map(len, asked)) + sum(map(len, window)))


def _similarity(distance: int, weight: int) -> float:
    return 1 - distance / weight if weight else 0.0
