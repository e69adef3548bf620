"""How unsure is the agent of what it builds on?

A belief starts even: as if it had been seen once to hold and once not to. Each piece of evidence
adds its weight to one side, and the supporting share of all is the confidence, which therefore
never reaches 0 or 1. Many beliefs are as good as the geometric mean of their confidences, in
which one that is very doubtful weighs more than one that is nearly sure.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import Final

from interlock.model.belief import Belief

_PRIOR: Final = 1.0
"""What each side weighs before anything was seen."""

_DIGITS: Final = 6
"""Logarithms differ in the last digits from machine to machine; these do not."""


def confidence(belief: Belief) -> float:
    """Return how sure a belief is, more than 0 and less than 1; without evidence 0.5."""
    supporting = belief.supporting + _PRIOR
    opposing = belief.opposing + _PRIOR
    return supporting / (supporting + opposing)


def uncertainty(beliefs: Collection[Belief]) -> float | None:
    """Return 1 less the geometric mean of the confidences; without beliefs it is not known."""
    if not beliefs:
        return None
    # An exact sum: the order in which beliefs were reported must not count.
    logarithms = math.fsum(math.log(confidence(belief)) for belief in beliefs)
    return round(1 - math.exp(logarithms / len(beliefs)), _DIGITS)
