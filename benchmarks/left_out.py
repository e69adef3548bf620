"""Which threshold would have been chosen without a source, and how does it do on that source?

A threshold that was chosen on the very rows it is measured on looks better than it is. Here each
source is left out in turn: the threshold is chosen on all others, for a promised rate of false
ones, and the figure is taken on the source that nobody looked at.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from rates import Rate

PROMISE: Final = 0.01
"""At most this share of what should be left alone is held or sent on."""


class Trial(msgspec.Struct, frozen=True):
    """One row, and whether it is held at each threshold of a grid, from low to high."""

    source: str
    is_good: bool
    """Whether it should be left alone."""
    held: tuple[bool, ...]


class Figures(msgspec.Struct, frozen=True):
    """What a threshold comes to: good ones held, bad ones held."""

    false: Rate
    caught: Rate


class Chosen(msgspec.Struct, frozen=True):
    """A threshold, by its place in the grid."""

    place: int
    keeps: bool
    """Whether it keeps the promise on what it was chosen on; where none does, it is the last."""


def figures(trials: Sequence[Trial], place: int) -> Figures:
    """Return what one threshold comes to."""
    return Figures(
        Rate.of(each.held[place] for each in trials if each.is_good),
        Rate.of(each.held[place] for each in trials if not each.is_good),
    )


def chosen(trials: Sequence[Trial], promise: float = PROMISE) -> Chosen:
    """Return the threshold that catches most of those that keep the promise.

    Of equal ones the highest is taken: it interferes least.
    """
    places = range(len(trials[0].held))
    told = [figures(trials, place) for place in places]
    kept = [place for place in places if told[place].false.share <= promise]
    if not kept:
        return Chosen(places[-1], keeps=False)
    return Chosen(max(kept, key=lambda place: (told[place].caught.hits, place)), keeps=True)


def chosen_without_each(trials: Sequence[Trial]) -> Mapping[str, Chosen]:
    """Return the threshold that is chosen without each source; nothing where there is but one."""
    sources = sorted({each.source for each in trials})
    if len(sources) < 2:
        return {}
    return {
        source: chosen([each for each in trials if each.source != source]) for source in sources
    }
