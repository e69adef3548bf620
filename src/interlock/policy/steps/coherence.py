"""Does the run still hold together? One score, and the bands that the score falls into.

The continue gate stops a run in the lowest band; the gates on actions take privileges away in
the bands above it. Both read the same table, so that privileges shrink before the run stops.
"""

from __future__ import annotations

import enum
from typing import Final

from interlock.policy.steps.settings import StepSettings

WINDOW: Final = 20
"""How many of the latest actions the score is about."""

FEWEST: Final = 5
"""With fewer actions the score is not known: two bad ones in a row may be chance."""

_VIOLATIONS: Final = 4
_REWORK: Final = 3
_PROGRESS: Final = 3
_TENTHS: Final = _VIOLATIONS + _REWORK + _PROGRESS


class Band(enum.Enum):
    """What a run may still do, from everything to nothing."""

    FULL = "full"
    RESTRICTED = "restricted"
    """Destructive actions and the network need a person's word."""
    READ_ONLY = "read-only"
    STOP = "stop"


def band_of(coherence: float | None, settings: StepSettings) -> Band:
    """Return the band of a score; nothing is taken from a run whose score is not known."""
    if coherence is None or coherence >= settings.full_coherence:
        return Band.FULL
    if coherence >= settings.restricted_coherence:
        return Band.RESTRICTED
    if coherence >= settings.min_coherence:
        return Band.READ_ONLY
    return Band.STOP


def coherence(*, actions: int, violations: int, rework: int, progress: int | None) -> float | None:
    """Return 0.4 without violations + 0.3 without rework + 0.3 with progress; None if unknown.

    All are counts of actions within the window: all of them, those that broke a rule, those that
    did work over again, and those that made progress. Where nobody can tell whether there was
    progress, it counts as made: what is not known takes nothing away.
    """
    if actions < FEWEST:
        return None
    clean = actions - min(violations, actions)
    fresh = actions - min(rework, actions)
    onward = actions if progress is None else min(progress, actions)
    # Whole numbers and one division: the score of the boundary is the boundary.
    score = _VIOLATIONS * clean + _REWORK * fresh + _PROGRESS * onward
    return score / (_TENTHS * actions)
