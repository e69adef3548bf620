"""One thing that speaks for a run being stuck, and how strongly."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

PAUSES: Final = 1.0
"""What is this clear is enough to ask a person."""
STOPS: Final = 2.0
"""What is this clear needs nobody's answer."""
_MOST_STEPS: Final = 8
_LONGEST_QUOTE: Final = 60


class Evidence(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that speaks for a run being stuck."""

    name: str
    points: float
    """1.0 is enough to pause a run, 2.0 to stop it."""
    message: str
    remediation: str
    steps: tuple[int, ...]
    """The steps it comes from."""


def graded(count: float, grades: Sequence[tuple[float, float]]) -> float:
    """Return the points for a count: those of the highest grade that it reaches."""
    return max((points for least, points in grades if count >= least), default=0.0)


def told_steps(steps: Iterable[int]) -> str:
    """Return steps in words; of many only the latest."""
    every = list(steps)
    latest = ", ".join(str(step) for step in every[-_MOST_STEPS:])
    name = "step" if len(every) == 1 else "steps"
    return f"{name} {'..., ' if len(every) > _MOST_STEPS else ''}{latest}"


def quoted(text: str) -> str:
    """Return the beginning of a text in backticks."""
    line = " ".join(text.split()).replace("`", "'")
    return f"`{line[:_LONGEST_QUOTE]}{'...' if len(line) > _LONGEST_QUOTE else ''}`"
