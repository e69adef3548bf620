"""Is the run stuck? Everything that speaks for it, weighed together.

Each kind of evidence has points: 1.0 is enough to pause a run. Kinds that see the same thing from
different sides (a loop of failing calls is also the same error again) count once, by the clearest
of them; kinds that see different things add up. A long run needs a little less evidence.

A round is a stretch of up to ten calls that repeats itself at the end of what happened, wherever
it began: `ABABA` and `XABABA` alike. Two calls are the same only if their results are, so that
whoever looks again and sees something else is in no loop. Whoever looks again at something that
is not ready yet has patience, not a loop.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import takewhile
from typing import Final, NamedTuple

import msgspec

from interlock.model.progress_meter import Meter, PastCall
from interlock.model.step import COHERENCE_ACTIONS, Sign, StepDecision
from interlock.policy.config.run_sections import Loops
from interlock.policy.steps.own_words import done_again, refrain, setbacks
from interlock.policy.steps.run_memory import again, patched, returned, unmoved
from interlock.policy.steps.stuck_evidence import (
    PAUSES,
    STOPS,
    Evidence,
    attempts,
    graded,
    steps_in_words,
    unsettled,
)

_WARNS: Final = 0.5
_LENGTH: Final = 0.2
"""What the length of a run adds at most."""
_LONG: Final = 8
"""After so many steps it adds half of that."""
_CALLS: Final = frozenset(
    ("loop", "counting", "same-error", "failures", "waiting", "unmoved", "patched", "returned")
)
"""The kinds that look at the latest calls, and often see the same thing."""
_WORDS: Final = frozenset(("echo", "setbacks", "refrain", "done-again"))
"""The kinds that look at the latest words: the same."""


def signs_of(meter: Meter, settings: Loops) -> tuple[Sign, ...]:
    """Return what the detectors conclude from the run so far."""
    return signs_and_score(meter, settings)[0]


def stuck_score(meter: Meter, settings: Loops) -> float:
    """Return how much speaks for the run being stuck: from 1.0 on it is paused."""
    return signs_and_score(meter, settings)[1]


def signs_and_score(meter: Meter, settings: Loops) -> tuple[tuple[Sign, ...], float]:
    """Return both, from one look at the run."""
    found = tuple(evidence_of(meter, settings))
    score = _score(found, meter)
    if not found:
        return (), score
    signs = [_sign(each, settings) for each in found if each.points >= _WARNS]
    clear = any(sign.decision is not StepDecision.CONTINUE for sign in signs)
    if score >= settings.pause_score and not clear:
        signs.append(_stuck(found, score, settings))
    return tuple(signs), score


def evidence_of(meter: Meter, settings: Loops) -> Iterator[Evidence]:
    """Return everything that speaks for the run being stuck."""
    live = _live(meter)
    found = _round(live)
    kinds = (
        None if found is None else _loop(found, settings),
        _counting(meter),
        _same_error(live),
        _failures(meter),
        _waiting(live, settings),
        returned(live),
        unmoved(meter),
        patched(meter),
        _standstill(live),
        _echo(meter),
        setbacks(meter),
        refrain(meter),
        done_again(meter),
        again(meter, 0 if found is None else int(found.round.repeats) - 1),
    )
    return filter(None, kinds)


def _live(meter: Meter) -> list[PastCall]:
    """Return the calls that count as repeats of each other: those since something changed.

    The change itself is the first of them where it told something: to make it again is a repeat. An
    acknowledgement may well be wanted twice.
    """
    live = [each for each in meter.calls if each.step > meter.since]
    earlier = len(meter.calls) - len(live)
    if meter.since > meter.cleared and earlier:
        change = meter.calls[earlier - 1]
        if change.outcome and not change.silent:
            live.insert(0, change)
    return live


def _score(found: tuple[Evidence, ...], meter: Meter) -> float:
    length = _LENGTH * meter.steps / (meter.steps + _LONG)
    if not found:
        return length
    calls = words = others = 0.0
    for each in found:
        if each.name in _CALLS:
            calls = max(calls, each.points)
        elif each.name in _WORDS:
            words = max(words, each.points)
        else:
            others += each.points
    return calls + words + others + length


def _sign(evidence: Evidence, settings: Loops) -> Sign:
    decision = StepDecision.CONTINUE
    if evidence.points >= settings.pause_score:
        decision = StepDecision.STOP if evidence.points >= STOPS else StepDecision.PAUSE
    return Sign(
        name=evidence.name,
        decision=decision,
        message=evidence.message,
        remediation=evidence.remediation,
        value=evidence.points,
    )


def _stuck(found: tuple[Evidence, ...], score: float, settings: Loops) -> Sign:
    parts = "; ".join(each.message for each in found)
    return Sign(
        name="stuck",
        decision=StepDecision.PAUSE,
        message=(
            f"the run seems stuck: score {score:.2f}, the limit is"
            f" {settings.pause_score:.2f}: {parts}"
        ),
        remediation="ask a person to look at what it tries to do and resume the run with a hint",
        value=score,
    )


def _without_doubles(calls: Sequence[PastCall]) -> list[PastCall]:
    """Return calls, of the same ones that were made side by side only one."""
    return list({(each.attempt, each.trace): each for each in calls}.values())


_LONGEST_QUOTE: Final = 60


def _quoted(text: str) -> str:
    """Return the beginning of a text in backticks."""
    line = " ".join(text.split()).replace("`", "'")
    return f"`{line[:_LONGEST_QUOTE]}{'...' if len(line) > _LONGEST_QUOTE else ''}`"


_LONGEST_ROUND: Final = 10

_SECOND: Final = 0.7
"""The same call with the same telling result a second time."""
_SECOND_FAILED: Final = 0.65
"""Trying again what failed is sensible, once, and so is what says nothing."""
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
    if not traces or traces[-1] not in traces[-1 - _LONGEST_ROUND : -1]:
        return None
    best: Round | None = None
    for period in range(1, min(_LONGEST_ROUND, len(traces) - 1) + 1):
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


class _Rounds(NamedTuple):
    """The round that a run ends with."""

    round: Round
    calls: Sequence[PastCall]


def _round(live: Sequence[PastCall]) -> _Rounds | None:
    """Return the round that the calls end with, if it went round at least twice."""
    if not live or live[-1].new or live[-1].waiting:
        return None
    counted = _without_doubles([each for each in live if not each.waiting])
    found = last_round([each.trace for each in counted])
    if found is None or found.repeats < 2:
        return None
    return _Rounds(found, counted[-found.calls :])


def _loop(rounds: _Rounds, settings: Loops) -> Evidence:
    found, own = rounds
    grades = _grades(own[-1], settings)
    what = "the same call" if found.period == 1 else f"the same {found.period} calls"
    pauses = min(least for least, points in grades if points >= PAUSES)
    return Evidence(
        name="loop",
        points=graded(found.repeats, grades),
        message=(
            f"{what} with the same results went round {found.repeats:.3g} times"
            f" ({steps_in_words(own)}); {pauses} times pause a run, {grades[-1][0]} stop it"
        ),
        remediation="change the arguments, take another way, or say what blocks the work",
        steps=tuple(each.step for each in own),
    )


def _grades(last: PastCall, settings: Loops) -> Sequence[tuple[int, float]]:
    """Return how much each number of rounds speaks for a loop, by what the last call came to."""
    pause, stop = settings.pause_repeats, settings.stop_repeats
    if last.silent or not last.outcome:
        # Nobody can tell from what came back whether it did something: once more is given.
        return ((2, _SECOND_FAILED), (pause, 0.85), (pause + 1, PAUSES), (stop + 1, STOPS))
    if last.error:
        return ((2, _SECOND_FAILED), (pause, PAUSES), (stop, STOPS))
    return ((2, _SECOND), (pause, PAUSES), (stop, STOPS))


def _counting(meter: Meter) -> Evidence | None:
    """Return that it counts and every number comes to the same, if so."""
    calls, brief = meter.counting.calls, meter.counting.brief
    points = graded(calls - _BRIEF_GRACE if brief else calls, _COUNTING)
    if not points:
        return None
    own = meter.calls[-calls:]
    return Evidence(
        name="counting",
        points=points,
        message=(
            f"{calls} calls in a row differ only in a number that goes on counting, and all came"
            f" to the same ({steps_in_words(own)}); {5 + _BRIEF_GRACE * brief} pause a run"
        ),
        remediation="stop counting: the result does not depend on that number",
        steps=tuple(each.step for each in own),
    )


def _waiting(live: Sequence[PastCall], settings: Loops) -> Evidence | None:
    """Return that it has looked too often at something that does not change, if so."""
    if not live or not live[-1].waiting:
        return None
    same = [each for each in live if each.waiting and each.trace == live[-1].trace]
    looks = _without_doubles(same)
    if len(looks) < settings.patience:
        return None
    return Evidence(
        name="waiting",
        points=PAUSES,
        message=(
            f"it has looked {len(looks)} times at something that does not change"
            f" ({steps_in_words(looks)}), {settings.patience} times are the limit"
        ),
        remediation="wait with a timer instead of with turns, or find out why it is not ready",
        steps=tuple(each.step for each in looks),
    )


_SAME: Final = ((3, 0.6), (4, 0.8), (5, PAUSES), (10, STOPS))
"""The same error since something changed, with other calls in between."""
_SAME_IN_A_ROW: Final = ((3, 0.7), (4, PAUSES), (8, STOPS))
_IN_A_ROW: Final = ((4, 0.6), (5, 0.8), (6, PAUSES), (12, STOPS))
"""Calls that failed in a row, each in whatever way."""
_LEAST_SHARE: Final = 0.3
"""So many of the attempts since it first came have to meet an error again."""
_PASSING_TROUBLE: Final = 2
"""So many more times a trouble may be met that passes by itself."""


def _same_error(live: Sequence[PastCall]) -> Evidence | None:
    if not live or not live[-1].error:
        return None
    last = live[-1]
    same = [each for each in unsettled(live) if each.error == last.error]
    steps = {each.step for each in same}
    met = [any(each.step in steps for each in own) for own in attempts(live)]
    times, in_a_row = sum(met), len([*takewhile(bool, reversed(met))])
    since_first = len(met) - met.index(True)
    if times < since_first * _LEAST_SHARE:
        # Here and there among much that went well it stands in nobody's way.
        times = in_a_row
    given = _PASSING_TROUBLE if last.silent else 0
    points = max(graded(times - given, _SAME), graded(in_a_row - given, _SAME_IN_A_ROW))
    if not points:
        return None
    row = f", {in_a_row} of them in a row" if in_a_row > 1 else ""
    return Evidence(
        name="same-error",
        points=points,
        message=(
            f"the error {_quoted(last.error)} came {times} times{row}"
            f" ({steps_in_words(same)}); {4 + given} in a row or {5 + given} in all pause a run"
        ),
        remediation="read the error and change what it is about, or say what blocks the work",
        steps=tuple(each.step for each in same),
    )


def _failures(meter: Meter) -> Evidence | None:
    points = graded(meter.failures, _IN_A_ROW)
    if not points:
        return None
    own = [call for calls in attempts(meter.calls)[-meter.failures :] for call in calls]
    return Evidence(
        name="failures",
        points=points,
        message=f"{meter.failures} calls in a row failed ({steps_in_words(own)}); 6 pause a run",
        remediation="go back to what last worked, or say what blocks the work",
        steps=tuple(each.step for each in own),
    )


_STANDSTILL: Final = ((6, 0.3), (8, 0.5), (10, PAUSES))
_ECHOES: Final = ((1, 0.25), (2, PAUSES), (6, 2.0))


class Figure(msgspec.Struct, frozen=True, kw_only=True):
    """A figure that explains itself."""

    name: str
    value: float
    because: tuple[str, ...]
    """What it comes from, in words."""


class Progress(msgspec.Struct, frozen=True, kw_only=True):
    """How the latest actions went."""

    actions: int
    rework: int
    """How many did work over again."""
    progress: int
    """How many brought something new."""

    @property
    def rework_ratio(self) -> float | None:
        """The share that did work over again; None before the first action."""
        return self.rework / self.actions if self.actions else None


def progress_of(meter: Meter) -> Progress:
    """Return how the latest actions went."""
    latest = meter.calls[-COHERENCE_ACTIONS:]
    return Progress(
        actions=len(latest),
        rework=len([each for each in latest if each.rework]),
        # Whoever waits for something outside need not get anywhere meanwhile.
        progress=len([each for each in latest if each.new or each.waiting]),
    )


def figures_of(meter: Meter) -> tuple[Figure, ...]:
    """Return the figures over the latest actions, with the steps that they come from."""
    latest = meter.calls[-COHERENCE_ACTIONS:]
    if not latest:
        return ()
    return (
        _share("rework", "did work over again", [each for each in latest if each.rework], latest),
        _share("progress", "brought something new", [each for each in latest if each.new], latest),
        _share("failed", "failed", [each for each in latest if each.error], latest),
    )


def _share(name: str, did: str, those: list[PastCall], latest: tuple[PastCall, ...]) -> Figure:
    because = [f"{len(those)} of the latest {len(latest)} actions {did}"]
    if those:
        because.append(steps_in_words(those))
    return Figure(name=name, value=len(those) / len(latest), because=tuple(because))


def _standstill(live: Sequence[PastCall]) -> Evidence | None:
    calls = [each for each in live[-COHERENCE_ACTIONS:] if not each.waiting]
    if len([each for each in calls if not each.new]) < _STANDSTILL[0][0]:
        # Mostly so, and then nothing need be put together.
        return None
    latest = attempts(calls)
    stale = [own[0] for own in latest if not any(each.new for each in own)]
    points = graded(len(stale), _STANDSTILL)
    if not points:
        return None
    return Evidence(
        name="standstill",
        points=points,
        message=(
            f"{len(stale)} of the latest {len(latest)} calls brought nothing that had not been"
            f" seen ({steps_in_words(stale)}); 10 pause a run"
        ),
        remediation="use what is known already, or say what is missing",
        steps=tuple(each.step for each in stale),
    )


def _echo(meter: Meter) -> Evidence | None:
    points = graded(meter.echoes, _ECHOES)
    if not points:
        return None
    own = [each for each in meter.said if each.echoes and each.step > meter.since]
    return Evidence(
        name="echo",
        points=points,
        message=(
            f"{meter.echoes} {'message' if meter.echoes == 1 else 'messages'} said nearly what had"
            f" been said before ({steps_in_words(own)}) and nothing came of it; 2 pause a run"
        ),
        remediation="do what was announced, or say what blocks it",
        steps=tuple(each.step for each in own),
    )
