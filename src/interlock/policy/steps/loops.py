"""Does it go round in circles? Calls that come back with the same results, in any rhythm.

A round is a stretch of up to ten calls that repeats itself at the end of what happened, wherever
it began: `ABABA` and `XABABA` alike. Two calls are the same only if their results are, so that
whoever looks again and sees something else is in no loop. Whoever looks again at something that
is not ready yet has patience, not a loop.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from interlock.model.progress import Called, Meter
from interlock.policy.steps.evidence import PAUSES, STOPS, Evidence, graded, told_steps
from interlock.policy.steps.progress_settings import ProgressSettings

LONGEST_ROUND: Final = 10

_SECOND: Final = 0.7
"""The same call with the same telling result a second time."""
_SECOND_FAILED: Final = 0.5
"""Trying again what failed is sensible, once."""
_COUNTING: Final = ((4, 0.7), (5, PAUSES), (10, STOPS))
_BRIEF_GRACE: Final = 5
"""So many more times a word may be the answer: to check one by one is work as well."""


class Round(msgspec.Struct, frozen=True):
    """A stretch of calls that repeats itself."""

    period: int
    calls: int
    """How many calls it went on for."""

    @property
    def repeats(self) -> float:
        """How often it went round."""
        return self.calls / self.period


def last_round(traces: Sequence[str]) -> Round | None:
    """Return the round that the traces end with and that went round most often, if any does."""
    if not traces or traces[-1] not in traces[-1 - LONGEST_ROUND : -1]:
        return None
    best: Round | None = None
    for period in range(1, min(LONGEST_ROUND, len(traces) - 1) + 1):
        if best is not None and len(traces) / period <= best.repeats:
            # No longer round can have gone round more often.
            break
        if traces[-1] != traces[-1 - period]:
            continue
        calls = period + _agreeing(traces, period)
        if best is None or calls / period > best.repeats:
            best = Round(period, calls)
    return best


def _agreeing(traces: Sequence[str], period: int) -> int:
    """Return how many traces at the end equal those one period before them."""
    last = len(traces) - 1
    place = last
    while place >= period and traces[place] == traces[place - period]:
        place -= 1
    return last - place


def live_calls(meter: Meter) -> list[Called]:
    """Return the calls that count as repeats of each other: those since something changed."""
    return [each for each in meter.calls if each.step > meter.since]


def loop_evidence(live: Sequence[Called], settings: ProgressSettings) -> Evidence | None:
    """Return that it goes round in circles, if it does."""
    if not live or live[-1].new or live[-1].waiting:
        return None
    counted = [each for each in live if not each.waiting]
    found = last_round([each.trace for each in counted])
    if found is None or found.repeats < 2:
        return None
    grades = _grades(live[-1], settings)
    steps = tuple(each.step for each in counted[-found.calls :])
    what = "the same call" if found.period == 1 else f"the same {found.period} calls"
    pauses = min(least for least, points in grades if points >= PAUSES)
    return Evidence(
        name="loop",
        points=graded(found.repeats, grades),
        message=(
            f"{what} with the same results went round {found.repeats:.3g} times"
            f" ({told_steps(steps)}); {pauses} times pause a run, {grades[-1][0]} stop it"
        ),
        remediation="change the arguments, take another way, or say what blocks the work",
        steps=steps,
    )


def _grades(last: Called, settings: ProgressSettings) -> Sequence[tuple[int, float]]:
    """Return how much each number of rounds speaks for a loop, by what the last call came to."""
    pause, stop = settings.pause_repeats, settings.stop_repeats
    if last.silent or not last.outcome:
        # Nobody can tell from what came back whether it did something: once more is given.
        return ((2, _SECOND_FAILED), (pause, 0.8), (pause + 1, PAUSES), (stop + 1, STOPS))
    if last.error:
        return ((2, _SECOND_FAILED), (pause, PAUSES), (stop, STOPS))
    return ((2, _SECOND), (pause, PAUSES), (stop, STOPS))


def counting_evidence(meter: Meter) -> Evidence | None:
    """Return that it counts and every number comes to the same, if so."""
    calls, brief = meter.counting.calls, meter.counting.brief
    points = graded(calls - _BRIEF_GRACE if brief else calls, _COUNTING)
    if not points:
        return None
    steps = tuple(each.step for each in meter.calls[-calls:])
    return Evidence(
        name="counting",
        points=points,
        message=(
            f"{calls} calls in a row differ only in a number that goes on counting, and all came"
            f" to the same ({told_steps(steps)}); {5 + _BRIEF_GRACE * brief} pause a run"
        ),
        remediation="stop counting: the result does not depend on that number",
        steps=steps,
    )


def waiting_evidence(live: Sequence[Called], settings: ProgressSettings) -> Evidence | None:
    """Return that it has looked too often at something that does not change, if so."""
    if not live or not live[-1].waiting:
        return None
    looks = [each.step for each in live if each.waiting and each.trace == live[-1].trace]
    if len(looks) < settings.patience:
        return None
    return Evidence(
        name="waiting",
        points=PAUSES,
        message=(
            f"it has looked {len(looks)} times at something that does not change"
            f" ({told_steps(looks)}), {settings.patience} times are the limit"
        ),
        remediation="wait with a timer instead of with turns, or find out why it is not ready",
        steps=tuple(looks),
    )
