"""Which threshold keeps a promise? Cases with a known outcome → a curve → the chosen point.

A promise is a rate of false stops that must not be exceeded. It counts as kept where the exact
95 % interval (Clopper and Pearson) of what was seen ends at or below it. Thresholds are tested
from the most careful one on, until the first that fails: in such a fixed sequence each test may
err as often as one alone, 2.5 times in 100, however many there are. So the promise holds on fresh
cases of the same kind in more than 95 of 100 such choices.

INVARIANT: nothing here reads a clock, a file or chance: the same cases give the same answer.
"""

from __future__ import annotations

import enum
import hashlib
import math
import random
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from itertools import chain
from typing import Final

import msgspec

PROMISE: Final = 0.025
"""What is promised where nobody says another rate."""
TAIL: Final = 0.025
"""What lies above a 95 % interval, and below it."""
_LUCK: Final = 0.05
"""What happens as seldom by chance is taken for more than that."""
ALWAYS: Final = 1_000_000_000
"""The score of what is held whatever the threshold says."""
_CHOSEN_SHARE: Final = 0.7
"""The share of the cases that a choice is tried on; it is judged on the others."""
_DRAWS: Final = 200
_SEED: Final = 15
_LONGEST_SEARCH: Final = 10_000_000


class Case(msgspec.Struct, frozen=True, kw_only=True):
    """One run, or one end of a turn, with what became of it and how it scored."""

    id: str
    is_good: bool
    """Whether to hold it would have been wrong."""
    rises: tuple[tuple[int, int], ...] = ()
    """Each time it scored higher than ever before: the score, and what it used afterwards."""
    cost: int = 0
    """What it used in all."""
    group: str = ""
    agent: str = ""
    model: str = ""
    at: int | None = None

    @property
    def top(self) -> int:
        """The highest threshold that holds it; below every threshold where nothing does."""
        return self.rises[-1][0] if self.rises else -1

    @property
    def family(self) -> str:
        """What is drawn and split together with it."""
        return self.group or self.id

    def saved(self, threshold: int) -> int:
        """Return what it used after it was held."""
        return next((after for score, after in self.rises if score >= threshold), 0)


class Search(msgspec.Struct, frozen=True, kw_only=True):
    """What is searched: a key of the policy, and how far."""

    least: int
    most: int
    """The most careful value: the search begins there."""
    current: int
    promise: float


class Point(msgspec.Struct, frozen=True, kw_only=True):
    """What a threshold comes to."""

    threshold: int
    good: int
    false_stops: int
    bad: int
    caught: int
    bound: float
    """Where the 95 % interval of the false-stop rate ends."""
    cost: int = 0
    """What the bad cases used in all."""
    saved: int = 0
    """What they used after they were held."""

    @property
    def false_rate(self) -> float:
        """The share of the good ones that is held."""
        return self.false_stops / self.good if self.good else 0.0

    @property
    def caught_rate(self) -> float:
        """The share of the bad ones that is held."""
        return self.caught / self.bad if self.bad else 0.0


class Conclusion(enum.StrEnum):
    """What a search came to."""

    CHANGED = "changed"
    """Another value is better."""
    KEPT = "kept"
    """The current value keeps the promise, and no other one catches more beyond chance."""
    TOO_FEW = "too-few"
    """The most careful value may keep it, but there are too few good cases to tell."""
    BROKEN = "broken"
    """Even the most careful value holds too many."""


class Interval(msgspec.Struct, frozen=True, kw_only=True):
    """Where a figure lies in 95 of 100 draws of the cases."""

    low: float
    high: float


class Drawn(msgspec.Struct, frozen=True, kw_only=True):
    """How a choice and its rates vary when groups are drawn anew, with replacement."""

    threshold: Interval
    """What is chosen, in those draws in which anything is."""
    false_rate: Interval
    caught_rate: Interval
    unchosen: int
    """In how many of 100 draws nothing keeps the promise."""


class Slice(msgspec.Struct, frozen=True, kw_only=True):
    """The cases of one agent, or of one model, on their own."""

    kind: str
    name: str
    good: int
    needed: int
    conclusion: Conclusion
    point: Point | None = None


class Calibration(msgspec.Struct, frozen=True, kw_only=True):
    """What a search came to, and what it rests on."""

    search: Search
    conclusion: Conclusion
    now: Point
    """The current value."""
    chosen: Point | None
    needed: int
    """How many good cases it takes to keep the promise, given how many the most careful holds."""
    held_always: int
    """How many good cases the most careful value holds."""
    curve: tuple[Point, ...]
    split: str
    """How the cases were split: `time` or `group`."""
    tried: Point | None = None
    """What is chosen on the first part of the split, seen there."""
    seen: Point | None = None
    """The same threshold on the second part, which it had not seen."""
    drawn: Drawn | None = None
    """How all that varies, where something is chosen."""
    slices: tuple[Slice, ...] = ()

    @property
    def is_conclusive(self) -> bool:
        """Whether there is a value that keeps the promise."""
        return self.chosen is not None


def upper_bound(hits: int, total: int) -> float:
    """Return the highest rate that is still compatible with what was seen."""
    if hits >= total:
        return 1.0
    low, high = hits / total, 1.0
    while high - low > 1e-9:
        middle = (low + high) / 2
        low, high = (middle, high) if _at_most(hits, total, middle) > TAIL else (low, middle)
    return high


def _at_most(hits: int, total: int, rate: float) -> float:
    """Return how likely so few hits are at a rate."""
    log, rest = math.log(rate), math.log1p(-rate)
    return math.fsum(
        math.exp(_log_ways(each, total) + each * log + (total - each) * rest)
        for each in range(hits + 1)
    )


def _log_ways(hits: int, total: int) -> float:
    return math.lgamma(total + 1) - math.lgamma(hits + 1) - math.lgamma(total - hits + 1)


@cache
def most_allowed(total: int, promise: float) -> int:
    """Return how many of so many may be held and the promise is still kept; -1 for not even 0."""
    allowed = -1
    likely = 0.0
    log, rest = math.log(promise), math.log1p(-promise)
    while allowed + 1 < total:
        hits = allowed + 1
        likely += math.exp(_log_ways(hits, total) + hits * log + (total - hits) * rest)
        if likely > TAIL:
            break
        allowed = hits
    return allowed


def needed(promise: float, hits: int = 0) -> int:
    """Return how many good cases it takes to keep a promise with so many of them held."""
    low, high = hits, max(1, hits)
    while most_allowed(high, promise) < hits and high < _LONGEST_SEARCH:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if most_allowed(middle, promise) >= hits else (middle, high)
    return high


def is_beyond_chance(more: int, fewer: int = 0, *, tries: int = 1) -> bool:
    """Whether so many newly caught against so many lost are more than luck (sign test, 5 %)."""
    total = more + fewer
    luck = sum(math.comb(total, each) for each in range(more, total + 1)) / 2**total
    return more > fewer and luck <= _LUCK / tries


_Tops = tuple[Sequence[int], Sequence[int]]
"""The highest scores of bad and of good cases."""


def _tops(cases: Iterable[Case]) -> _Tops:
    tops: tuple[list[int], list[int]] = ([], [])
    for each in cases:
        tops[each.is_good].append(each.top)
    return tops


class _Tally:
    """Counts how many cases are held at a threshold, fast."""

    def __init__(self, *groups: _Tops) -> None:
        self._bad = sorted(chain.from_iterable(bad for bad, _ in groups))
        self._good = sorted(chain.from_iterable(good for _, good in groups))

    @property
    def good(self) -> int:
        return len(self._good)

    @property
    def bad(self) -> int:
        return len(self._bad)

    def false_stops(self, threshold: int) -> int:
        return len(self._good) - bisect_left(self._good, threshold)

    def caught(self, threshold: int) -> int:
        return len(self._bad) - bisect_left(self._bad, threshold)

    def chosen(self, search: Search) -> int | None:
        """Return the value that is chosen; None where not even the most careful one is kept."""
        allowed = most_allowed(self.good, search.promise)
        if self.false_stops(search.most) > allowed:
            return None
        best = lowest = search.most
        for threshold in self._steps(search):
            if self.false_stops(threshold) > allowed:
                break
            lowest = threshold
            # Of values that catch the same, the most careful one.
            best = threshold if self.caught(threshold) > self.caught(best) else best
        if not self.caught(best):
            # Nothing speaks for being more careful than the promise asks for.
            best = lowest
        current = search.current
        if search.least <= current <= search.most and self.false_stops(current) <= allowed:
            more = self.caught(best) - self.caught(current)
            best = best if is_beyond_chance(more) else current
        return best

    def _steps(self, search: Search) -> Sequence[int]:
        """Return the values at which anything changes, the most careful first."""
        inside = {each for each in (*self._bad, *self._good) if search.least <= each < search.most}
        return sorted(inside, reverse=True)


def point_at(cases: Sequence[Case], threshold: int) -> Point:
    """Return what a threshold comes to."""
    tally = _Tally(_tops(cases))
    bad = [each for each in cases if not each.is_good]
    false_stops = tally.false_stops(threshold)
    return Point(
        threshold=threshold,
        good=tally.good,
        false_stops=false_stops,
        bad=tally.bad,
        caught=tally.caught(threshold),
        bound=round(upper_bound(false_stops, tally.good), 6),
        cost=sum(each.cost for each in bad),
        saved=sum(each.saved(threshold) for each in bad),
    )


def chosen_value(cases: Iterable[Case], search: Search) -> int | None:
    """Return the value that is chosen; None where not even the most careful one is kept."""
    return _Tally(_tops(cases)).chosen(search)


def calibrated(cases: Sequence[Case], search: Search, drawn: Iterable[int] = ()) -> Calibration:
    """Choose a threshold; the curve has the values in `drawn` and those that matter."""
    tally = _Tally(_tops(cases))
    value = tally.chosen(search)
    hits = tally.false_stops(search.most)
    conclusion = _conclusion(value, tally, search)
    split, first, second = split_cases(cases)
    tried = chosen_value(first, search)
    chosen = None if value is None else point_at(cases, value)
    drawn = {*drawn, search.least, search.current, *([] if value is None else [value])}
    return Calibration(
        search=search,
        conclusion=conclusion,
        now=point_at(cases, search.current),
        chosen=chosen,
        needed=needed(search.promise, hits),
        held_always=hits,
        curve=tuple(point_at(cases, each) for each in sorted(drawn)),
        split=split,
        tried=None if tried is None else point_at(first, tried),
        seen=None if tried is None else point_at(second, tried),
        slices=tuple(_slices(cases, search)),
        drawn=None if value is None else _drawn(cases, search, value),
    )


def _conclusion(value: int | None, tally: _Tally, search: Search) -> Conclusion:
    if value is not None:
        return Conclusion.KEPT if value == search.current else Conclusion.CHANGED
    rate = tally.false_stops(search.most) / tally.good if tally.good else 0.0
    return Conclusion.BROKEN if rate > search.promise else Conclusion.TOO_FEW


def split_cases(cases: Sequence[Case]) -> tuple[str, list[Case], list[Case]]:
    """Return how cases are split, the part to choose on, and the part to judge on.

    Earlier groups come before later ones where every time is known; else the order follows from
    the names of the groups and nothing else. A group is never split.
    """
    groups = _groups(cases)
    times = {
        name: min((each.at for each in own if each.at is not None), default=None)
        for name, own in groups.items()
    }
    is_timed = bool(cases) and all(each.at is not None for each in cases)
    ordered = sorted(groups, key=lambda name: ((times[name] or 0) if is_timed else 0, _mixed(name)))
    first: list[Case] = []
    second: list[Case] = []
    for name in ordered:
        (first if len(first) < _CHOSEN_SHARE * len(cases) else second).extend(groups[name])
    return "time" if is_timed else "group", first, second


def _groups(cases: Iterable[Case]) -> Mapping[str, list[Case]]:
    groups: defaultdict[str, list[Case]] = defaultdict(list)
    for each in cases:
        groups[each.family].append(each)
    return groups


def _mixed(name: str) -> bytes:
    return hashlib.sha256(name.encode("utf-8", "surrogatepass")).digest()


def _drawn(cases: Sequence[Case], search: Search, value: int) -> Drawn:
    groups = [_tops(each) for each in _groups(cases).values()]
    dice = random.Random(_SEED)  # noqa: S311 - no secret: the same draws every time
    thresholds: list[float] = []
    false_rates: list[float] = []
    caught_rates: list[float] = []
    for _ in range(_DRAWS):
        tally = _Tally(*dice.choices(groups, k=len(groups)))
        chosen = tally.chosen(search)
        if chosen is not None:
            thresholds.append(chosen)
        false_rates.append(tally.false_stops(value) / max(1, tally.good))
        caught_rates.append(tally.caught(value) / max(1, tally.bad))
    return Drawn(
        threshold=_interval(thresholds or [value]),
        false_rate=_interval(false_rates),
        caught_rate=_interval(caught_rates),
        unchosen=round(100 * (_DRAWS - len(thresholds)) / _DRAWS),
    )


def _interval(figures: Sequence[float]) -> Interval:
    ordered, last = sorted(figures), len(figures) - 1
    low, high = math.floor(TAIL * last), math.ceil((1 - TAIL) * last)
    return Interval(low=round(ordered[low], 6), high=round(ordered[high], 6))


def _slices(cases: Sequence[Case], search: Search) -> Iterable[Slice]:
    """Yield each agent and each model by itself, where there are several."""
    kinds: tuple[tuple[str, Callable[[Case], str]], ...] = (
        ("agent", lambda case: case.agent),
        ("model", lambda case: case.model),
    )
    for kind, name_of in kinds:
        found: defaultdict[str, list[Case]] = defaultdict(list)
        for each in cases:
            found[name_of(each)].append(each)
        if len(found) < 2:
            continue
        for name in sorted(found, key=lambda name: (-len(found[name]), name)):
            own = found[name]
            tally = _Tally(_tops(own))
            value = tally.chosen(search)
            yield Slice(
                kind=kind,
                name=name,
                good=tally.good,
                needed=needed(search.promise, tally.false_stops(search.most)),
                conclusion=_conclusion(value, tally, search),
                point=None if value is None else point_at(own, value),
            )
