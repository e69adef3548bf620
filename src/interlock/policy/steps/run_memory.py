"""What a run has not got past: repeats that changes in between do not wipe out.

A change for good begins a new count of repeats, but not every change moves anything: the same
thing may be wrong after each of them, and one place may be changed again and again while something
fails after every change. What is done over again here and there is half a sign, and adds to
others. Only a person, or a check that finds less wrong than before, wipes all of it out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from interlock.model.progress_meter import SOMEWHERE, Meter, PastCall
from interlock.model.step import COHERENCE_ACTIONS
from interlock.policy.steps.stuck_evidence import (
    PAUSES,
    STOPS,
    Evidence,
    attempts,
    graded,
    steps_in_words,
    unsettled,
)

_UNMOVED: Final = ((3, 0.3), (4, 0.5), (6, PAUSES), (12, STOPS))
"""The same complaint, word for word, with changes in between."""
_PATCHED: Final = ((4, 0.3), (6, 0.5), (8, PAUSES), (16, STOPS))
"""Changes of one place, with something that failed after each."""
_RETURNED: Final = ((3, 0.7), (4, PAUSES), (7, STOPS))
"""The same call with the same telling result, and other calls in between that changed nothing."""
_AGAIN: Final = ((1, 0.15), (2, 0.3), (4, 0.45))
"""Calls among the latest that did work over again: never enough by themselves."""


def unmoved(meter: Meter) -> Evidence | None:
    """Return that the same thing is still wrong whatever was changed in between, if so."""
    last = meter.calls[-1] if meter.calls else None
    if last is None or not last.complaint:
        return None
    own = _same_complaints(meter, last)
    times = len(attempts(own))
    points = graded(times, _UNMOVED)
    if not points or own[0].step > meter.since:
        # Without a change in between it is the same error again, and no more.
        return None
    return Evidence(
        name="unmoved",
        points=points,
        message=(
            f"the same was wrong {times} times, word for word ({steps_in_words(own)}), whatever"
            " was changed in between; 6 times pause a run"
        ),
        remediation="find out what the failure depends on before you change anything else",
        steps=tuple(each.step for each in own),
    )


def _same_complaints(meter: Meter, last: PastCall) -> Sequence[PastCall]:
    """Return the calls with the complaint of the last one, since it last went without."""
    own: list[PastCall] = []
    for each in reversed(unsettled(meter.calls)):
        if each.step <= meter.cleared or (not each.error and each.call == last.call):
            break
        if each.complaint == last.complaint:
            own.append(each)
    return own[::-1]


def patched(meter: Meter) -> Evidence | None:
    """Return that one place was changed again and again and something failed each time, if so."""
    last = meter.calls[-1] if meter.calls else None
    if last is None or not last.place or last.place == SOMEWHERE:
        return None
    own = _failed_changes(meter, last.place)
    points = graded(len(own), _PATCHED)
    if not points:
        return None
    return Evidence(
        name="patched",
        points=points,
        message=(
            f"the same place was changed {len(own)} times, and something failed after each but the"
            f" last ({steps_in_words(own)}); 8 times pause a run"
        ),
        remediation="stop patching: say what the failures have in common, or take another way",
        steps=tuple(each.step for each in own),
    )


def _failed_changes(meter: Meter, place: str) -> Sequence[PastCall]:
    """Return the changes of a place that something failed after, and the latest one.

    What works after a change, a check that finds nothing wrong or what had failed before, settles
    the changes up to there.
    """
    own: list[PastCall] = []
    failed = True
    failing_calls: set[str] = set()
    for each in meter.calls:
        if each.step <= meter.cleared:
            continue
        if each.failing == 0 or (not each.error and each.call in failing_calls):
            own.clear()
            failing_calls.clear()
            failed = True
        if each.place == place and failed:
            own.append(each)
            failed = False
        if each.error:
            failed = True
            failing_calls.add(each.call)
    return own


def returned(live: Sequence[PastCall]) -> Evidence | None:
    """Return that it came back to the same call again and again, whatever it did between, if so."""
    last = live[-1] if live else None
    if last is None or last.new or last.waiting or last.place or last.error:
        return None
    own = [each for each in live if each.trace == last.trace]
    # Nobody can tell from what says nothing whether it did something: once more is given.
    points = graded(len(attempts(own)) - (last.silent or not last.outcome), _RETURNED)
    if not points or last.step - own[0].step < len(own):
        # Without anything in between it is a round of one call, and no more.
        return None
    return Evidence(
        name="returned",
        points=points,
        message=(
            f"it made the same call {len(own)} times with the same result, and others in between"
            f" ({steps_in_words(own)}); {4 + last.silent} times pause a run"
        ),
        remediation="use what the call has told, or say what is missing",
        steps=tuple(each.step for each in own),
    )


def again(meter: Meter, rounds: int) -> Evidence | None:
    """Return that more was done over again than the rounds that it ends with, if so."""
    # Going round once more does not push out what was done over again before.
    latest = meter.calls[-COHERENCE_ACTIONS - rounds :]
    own = [each for each in latest if each.rework and not each.place and each.step > meter.cleared]
    points = graded(len(attempts(own)) - rounds, _AGAIN)
    if not points:
        return None
    return Evidence(
        name="again",
        points=points,
        message=(
            f"{len(own)} {'call' if len(own) == 1 else 'calls'} did over again what had been done"
            f" ({steps_in_words(own)})"
        ),
        remediation="use what is known already",
        steps=tuple(each.step for each in own),
    )
