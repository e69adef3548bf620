"""Ends of turns, by the signals that speak at them: what other points would have made of them.

The stop gate adds up the points of its signals, so an end of a turn is scored again under any
points from the signals alone. Those are searched one after the other on one part of the ends; a
find counts only if, on the other part, it catches more beyond chance and keeps the promise.
"""

from __future__ import annotations

import enum
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import msgspec
from msgspec.structs import replace

from interlock.backtest.calibrate.calibration import (
    ALWAYS,
    Calibration,
    Case,
    Search,
    calibrated,
    is_beyond_chance,
    most_allowed,
    split_cases,
)
from interlock.errors import InputError
from interlock.model.stop import EvidenceKind, StopContext, StopSignal
from interlock.policy.config.stop_section import Stops
from interlock.policy.stops.stop_gate import decide
from interlock.policy.stops.stop_row import context_from_row

_MOST: Final = 1_000
_GRID: Final = range(0, 101, 5)
_MOST_ROUNDS: Final = 5
_DRAWN: Final = (20, 30, 40, 50, 55, 60, 65, 70, 75, 80, 90, 100, 120)
_BY_SIGNAL: Final = {
    (StopSignal.FINISH_REASON.value, 1): "points_no_finish_reason",
    (StopSignal.FINISH_REASON.value, 2): "points_tool_calls",
    (StopSignal.LAST_EVENT.value, 1): "points_last_event",
    (StopSignal.CONTENT_INTENT.value, 1): "points_vague_intent",
    (StopSignal.CONTENT_INTENT.value, 2): "points_intent",
    (StopSignal.CONTENT_INTENT.value, 3): "points_open_end",
    (StopSignal.CONTENT_INTENT.value, 4): "points_silence",
    (StopSignal.CONTENT_INTENT.value, 5): "points_shared_intent",
    (StopSignal.NO_SUMMARY.value, 1): "points_no_summary",
    (StopSignal.TOOL_RATIO.value, 1): "points_tool_ratio",
    **{(each.value, 1): f"points_{each.value.replace('-', '_')}" for each in EvidenceKind},
}
"""The key of every signal, told apart by points of our own."""
_FORM: Final = StopSignal.FORM.value
POINTS: Final = tuple(dict.fromkeys(_BY_SIGNAL.values()))
_TELLING: Final = {key: points for (_, points), key in _BY_SIGNAL.items()}


class Sent(enum.StrEnum):
    """What decides whether an agent is sent on."""

    NEVER = "never"
    """It asked, refused, or is held: no score sends it on."""
    BY_SCORE = "by-score"
    ALWAYS = "always"
    """It was cut off, or announced calls and gave none."""


class TurnEnd(msgspec.Struct, frozen=True, kw_only=True):
    """The end of a turn, without its words."""

    sent: Sent
    signals: tuple[str, ...]
    """The keys whose points add up."""
    form: int = 0
    """What is added for its form, whatever they are."""

    def score(self, points: Mapping[str, int]) -> int:
        """Return the score under some points; -1 for one that is never sent on."""
        if self.sent is Sent.NEVER:
            return -1
        if self.sent is Sent.ALWAYS:
            return ALWAYS
        return self.form + sum(points[each] for each in self.signals)


class Labelled(msgspec.Struct, frozen=True, kw_only=True):
    """An end of a turn of which is known whether the work was done."""

    id: str
    is_done: bool
    end: TurnEnd
    group: str = ""
    agent: str = ""
    model: str = ""
    at: int | None = None

    def case(self, points: Mapping[str, int]) -> Case:
        """Return it as it is scored under some points; to send on what is done is wrong."""
        return Case(
            id=self.id,
            is_good=self.is_done,
            rises=((score, 0),) if (score := self.end.score(points)) >= 0 else (),
            group=self.group,
            agent=self.agent,
            model=self.model,
            at=self.at,
        )


class StopCalibration(msgspec.Struct, frozen=True, kw_only=True):
    """What became of the threshold and the points of the stop gate."""

    threshold: Calibration
    points: Mapping[str, int] = {}
    """The points that change, by their keys in the file."""
    searched: int = 0
    """How many sets of points were tried."""


def turn_end(context: StopContext, settings: Stops) -> TurnEnd:
    """Return which signals speak at the end of a turn."""
    own = replace(settings, mode="enforce", auto_continue=True, models={}, **_TELLING)
    told = decide(context, replace(own, continue_at=0, warn_at=0))
    if not told.goes_on or context.tool_calls:
        return TurnEnd(sent=Sent.NEVER, signals=())
    is_forced = decide(context, replace(own, continue_at=_MOST)).goes_on
    spoken = [each for each in told.signals if each.points]
    return TurnEnd(
        sent=Sent.ALWAYS if is_forced else Sent.BY_SCORE,
        signals=tuple(
            [_BY_SIGNAL[each.signal, each.points] for each in spoken if each.signal != _FORM]
        ),
        form=sum([each.points for each in spoken if each.signal == _FORM]),
    )


_FED: Final = (
    "text", "last_event", "finish_reason", "tool_ratio", "n_prev_turns", "model", "tool_calls",
    "retries", "hard", "evidence",
)  # fmt: skip
_LABELS: Final = {"finish": True, "continue": False}
_DOUBTFUL: Final = frozenset(("weak", "ambiguous"))


def labelled_row(row: Mapping[str, object], settings: Stops, place: str) -> Labelled | None:
    """Return a row of a log with its label; None for a label that nobody should learn from.

    A row without a name is known by its place.

    Raises InputError for what is no row.
    """
    label = row.get("label")
    if not isinstance(label, str) or label not in _LABELS:
        raise InputError(f"`label` is {label!r}, expected `finish` or `continue`")
    if row.get("strength") in _DOUBTFUL:
        return None
    # What a person said next is where the label comes from: no decision is told.
    context = context_from_row({name: row.get(name) for name in _FED})
    run = _plain(row.get("run_id"))
    return Labelled(
        id=_plain(row.get("id")) or f"{run}#{place}",
        is_done=_LABELS[label],
        end=turn_end(context, settings),
        group=_plain(row.get("group")) or run,
        agent=_plain(row.get("source")),
        model=context.model or "",
    )


def _plain(value: object) -> str:
    return value if isinstance(value, str) else ""


def calibrated_stops(
    ends: Sequence[Labelled], settings: Stops, *, promise: float
) -> StopCalibration:
    """Choose the points and the threshold of the stop gate."""
    points = {name: int(getattr(settings, name)) for name in POINTS}
    search = stops_search(settings, promise=promise)
    found = _Points(ends, search)
    better = found.searched(points)
    if better is None:
        cases = [each.case(points) for each in ends]
        return StopCalibration(threshold=calibrated(cases, search, _DRAWN), searched=found.tries)
    # The first part was used up by the search: only the second one can tell what is promised.
    held = [each.case(better) for each in found.second]
    changed = {
        name.replace("_", "-"): better[name] for name in POINTS if better[name] != points[name]
    }
    return StopCalibration(
        threshold=calibrated(held, search, _DRAWN), points=changed, searched=found.tries
    )


def stops_search(settings: Stops, *, promise: float) -> Search:
    """Return where the threshold of the stop gate is searched."""
    return Search(least=settings.warn_at, most=_MOST, current=settings.continue_at, promise=promise)


class _Points:
    """Searches points on the first part of the ends, and proves them on the second."""

    def __init__(self, ends: Sequence[Labelled], search: Search) -> None:
        by_id = {each.id: each for each in ends}
        nothing = dict.fromkeys(POINTS, 0)
        _, first, second = split_cases([each.case(nothing) for each in by_id.values()])
        self._first = [by_id[each.id] for each in first]
        self.second = [by_id[each.id] for each in second]
        self._search = search
        self.tries = 0

    def searched(self, points: dict[str, int]) -> dict[str, int] | None:
        """Return better points; None where none are, beyond chance."""
        kinds = _kinds(self._first)
        best, most = points, self._caught(kinds, points)
        for _ in range(_MOST_ROUNDS):
            tried = [
                {**best, name: value}
                for name in _spoken(kinds)
                for value in _GRID
                if value != best[name]
            ]
            ranked = [(self._caught(kinds, each), _touch(kinds, best, each)) for each in tried]
            top = max(ranked, default=(0, (0, 0)))
            if top[0] <= most:
                break
            best, most = tried[ranked.index(top)], top[0]
        if best is points or not self._is_proven(points, best):
            return None
        return best

    def _caught(self, kinds: Counter[tuple[bool, TurnEnd]], points: Mapping[str, int]) -> int:
        """Return how many of the first part are caught where the promise is kept."""
        self.tries += 1
        scores = _scores(kinds, points)
        return _count(scores, _threshold(scores, self._search), is_done=False)

    def _is_proven(self, points: Mapping[str, int], best: Mapping[str, int]) -> bool:
        """Whether they catch more on the part that they were not searched on."""
        kinds = _kinds(self.second)
        before, after = (_threshold(_scores(kinds, each), self._search) for each in (points, best))
        more = fewer = 0
        for (is_done, end), count in kinds.items():
            was, now = end.score(points) >= before, end.score(best) >= after
            more += 0 if is_done or was or not now else count
            fewer += 0 if is_done or now or not was else count
        return is_beyond_chance(more, fewer)


def _kinds(ends: Sequence[Labelled]) -> Counter[tuple[bool, TurnEnd]]:
    """Count ends at which the same signals speak: there are few kinds of them."""
    return Counter((each.is_done, each.end) for each in ends)


def _spoken(kinds: Counter[tuple[bool, TurnEnd]]) -> Iterator[str]:
    """Yield the keys that could change anything."""
    spoken = {name for _, end in kinds for name in end.signals}
    return (name for name in POINTS if name in spoken)


def _touch(
    kinds: Counter[tuple[bool, TurnEnd]], before: Mapping[str, int], after: Mapping[str, int]
) -> tuple[int, int]:
    """Return how little a change touches: ends that are done, then points; more is better."""
    done = sum(
        count
        for (is_done, end), count in kinds.items()
        if is_done and end.score(before) != end.score(after)
    )
    return -done, -sum(abs(after[name] - before[name]) for name in before)


def _scores(
    kinds: Counter[tuple[bool, TurnEnd]], points: Mapping[str, int]
) -> Counter[tuple[bool, int]]:
    """Count ends of turns by whether the work is done and by score."""
    scores = Counter[tuple[bool, int]]()
    for (is_done, end), count in kinds.items():
        scores[is_done, end.score(points)] += count
    return scores


def _threshold(scores: Counter[tuple[bool, int]], search: Search) -> int:
    """Return the lowest threshold that keeps the promise; one above all where none does."""
    done = sum(count for (is_done, _), count in scores.items() if is_done)
    allowed = most_allowed(done, search.promise)
    steps = {score for _, score in scores if search.least <= score < _MOST}
    lowest = _MOST
    for threshold in sorted(steps, reverse=True):
        if _count(scores, threshold, is_done=True) > allowed:
            break
        lowest = threshold
    return lowest


def _count(scores: Counter[tuple[bool, int]], least: int, *, is_done: bool) -> int:
    return sum(
        count for (done, score), count in scores.items() if done is is_done and score >= least
    )
