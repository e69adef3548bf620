"""One thing that speaks for a run being stuck: how much, in which words, and from which steps."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Final

import msgspec

from interlock.model.progress_meter import PastCall, PastMessage

PAUSES: Final = 1.0
"""What is this clear is enough to ask a person."""
STOPS: Final = 2.0
"""What is this clear needs nobody's answer."""
_MOST_STEPS: Final = 8


class Evidence(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that speaks for a run being stuck."""

    name: str
    points: float
    """1.0 is enough to pause a run, 2.0 to stop it."""
    message: str
    remediation: str
    steps: tuple[int, ...]
    """The calls and messages that it comes from, by the meter's own count."""


def graded(count: float, grades: Sequence[tuple[float, float]]) -> float:
    """Return the points for a count: those of the highest grade that it reaches."""
    reached = 0.0
    for least, points in grades:
        if count >= least and points > reached:
            reached = points
    return reached


def steps_in_words(past: Iterable[PastCall | PastMessage]) -> str:
    """Return the steps of the run that something was part of, in words; of many the latest."""
    every = list(dict.fromkeys(each.turn for each in past))
    latest = ", ".join(str(step) for step in every[-_MOST_STEPS:])
    name = "step" if len(every) == 1 else "steps"
    return f"{name} {'..., ' if len(every) > _MOST_STEPS else ''}{latest}"


def attempts(calls: Sequence[PastCall]) -> list[list[PastCall]]:
    """Return calls by attempt: those that were made side by side together."""
    return [list(own) for _, own in groupby(calls, key=lambda each: each.attempt)]


def unsettled(calls: Sequence[PastCall]) -> list[PastCall]:
    """Return the calls without those that failed and came to something when made again."""
    settled: set[str] = set()
    kept: list[PastCall] = []
    for each in reversed(calls):
        if not each.error:
            settled.add(each.call)
        if not each.error or each.call not in settled:
            kept.append(each)
    return kept[::-1]
