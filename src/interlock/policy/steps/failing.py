"""Does it run against the same wall? Errors that come back, whatever the arguments."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile
from typing import Final

from interlock.model.progress import Called, Meter
from interlock.policy.steps.evidence import PAUSES, STOPS, Evidence, graded, quoted, told_steps

_SAME: Final = ((3, 0.6), (4, 0.8), (5, PAUSES), (10, STOPS))
"""The same error since something changed, with other calls in between."""
_SAME_IN_A_ROW: Final = ((3, 0.7), (4, PAUSES), (8, STOPS))
_IN_A_ROW: Final = ((4, 0.6), (5, 0.8), (6, PAUSES), (12, STOPS))
"""Calls that failed in a row, each in whatever way."""
_PASSING_TROUBLE: Final = 2
"""So many more times a trouble may be met that passes by itself."""


def same_error_evidence(live: Sequence[Called]) -> Evidence | None:
    """Return that the same error comes again and again, if it does."""
    if not live or not live[-1].error:
        return None
    last = live[-1]
    same = [each.step for each in live if each.error == last.error]
    in_a_row = len([*takewhile(lambda each: each.error == last.error, reversed(live))])
    given = _PASSING_TROUBLE if last.silent else 0
    points = max(graded(len(same) - given, _SAME), graded(in_a_row - given, _SAME_IN_A_ROW))
    if not points:
        return None
    return Evidence(
        name="same-error",
        points=points,
        message=(
            f"the error {quoted(last.error)} came {len(same)} times, {in_a_row} of them in a row"
            f" ({told_steps(same)}); {4 + given} in a row or {5 + given} in all pause a run"
        ),
        remediation="read the error and change what it is about, or say what blocks the work",
        steps=tuple(same),
    )


def failures_evidence(meter: Meter) -> Evidence | None:
    """Return that one call after the other fails, if so."""
    points = graded(meter.failures, _IN_A_ROW)
    if not points:
        return None
    steps = tuple(each.step for each in meter.calls[-meter.failures :])
    return Evidence(
        name="failures",
        points=points,
        message=f"{meter.failures} calls in a row failed ({told_steps(steps)}); 6 pause a run",
        remediation="go back to what last worked, or say what blocks the work",
        steps=steps,
    )
