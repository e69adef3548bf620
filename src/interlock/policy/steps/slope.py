"""Does each step cost more than the one before?

A straight line is laid through the tokens that each of the latest steps used, and its rise per
step is divided by their average: `0.02` says that every step costs 2 % of the average more than
the step before. Constant spending gives exactly 0, whatever it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

WINDOW: Final = 10
"""How many of the latest steps are looked at."""

FEWEST: Final = 4
"""How many steps say something about growth; with fewer it is not known."""

_LEAST_MEAN: Final = 1
"""Tokens per step below which there is nothing to grow from."""


def budget_slope(steps_tokens: Sequence[int]) -> float | None:
    """Return how much the tokens per step grow, as a share of their average; None if unknown."""
    latest = steps_tokens[-WINDOW:]
    steps, total = len(latest), sum(latest)
    if steps < FEWEST or total < _LEAST_MEAN * steps:
        return None
    # Least squares over the steps 0, 1, 2... divided by the mean comes down to whole numbers:
    # 6 * sum((2i - (n - 1)) * tokens) / ((n * n - 1) * sum(tokens)). They are exact, and the one
    # division is rounded to the nearest float, as a limit such as 0.02 is when it is read: growth
    # that equals the limit compares as equal, on every machine.
    rise = sum(
        offset * tokens for offset, tokens in zip(range(1 - steps, steps, 2), latest, strict=True)
    )
    return 6 * rise / ((steps * steps - 1) * total)


def tokens_per_step(steps_tokens: Sequence[int]) -> float | None:
    """Return the average of the latest steps; None if there is none."""
    latest = steps_tokens[-WINDOW:]
    return sum(latest) / len(latest) if latest else None
