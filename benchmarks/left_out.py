"""Which threshold would have been chosen without a source, and how does it do on that source?

A threshold that was chosen on the very rows it is measured on looks better than it is. Here each
source is left out in turn: the threshold is chosen on all others as `interlock calibrate` chooses
it, and the figure is taken on the source that nobody looked at.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import msgspec

from interlock.backtest.calibrate.calibration import Case, Search, chosen_value
from rates import Rate

_NO_DEFAULT: Final = -1


class Figures(msgspec.Struct, frozen=True):
    """What a threshold comes to: good ones held, bad ones held."""

    false: Rate
    caught: Rate


class Chosen(msgspec.Struct, frozen=True):
    """A threshold that was chosen."""

    threshold: int
    keeps: bool
    """Whether it keeps the promise on what it was chosen on; where none does, it is the highest."""


def case_of(source: str, held: Iterable[tuple[int, bool]], *, is_good: bool) -> Case:
    """Return a row of a source by whether it is held at each threshold of a grid."""
    top = max((threshold for threshold, is_held in held if is_held), default=None)
    rises = () if top is None else ((top, 0),)
    return Case(id="", is_good=is_good, rises=rises, agent=source)


def figures(cases: Sequence[Case], threshold: int) -> Figures:
    """Return what one threshold comes to."""
    return Figures(
        Rate.of(each.top >= threshold for each in cases if each.is_good),
        Rate.of(each.top >= threshold for each in cases if not each.is_good),
    )


def chosen_without_each(cases: Sequence[Case], search: Search) -> Mapping[str, Chosen]:
    """Return the threshold that is chosen without each source; nothing where there is but one."""
    sources = sorted({each.agent for each in cases})
    if len(sources) < 2:
        return {}
    return {
        source: _chosen([each for each in cases if each.agent != source], search)
        for source in sources
    }


def _chosen(cases: Sequence[Case], search: Search) -> Chosen:
    # The default was found with every source at hand: it has no say here.
    value = chosen_value(cases, msgspec.structs.replace(search, current=_NO_DEFAULT))
    return Chosen(search.most if value is None else value, keeps=value is not None)
