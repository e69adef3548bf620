"""A rate never comes alone: how many of how many, and the 95 % interval around it."""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

_Z: Final = 1.96
_DRAWS: Final = 1000
_SEED: Final = "scoreboard"


class Rate(msgspec.Struct, frozen=True):
    """How often something happened, of how many times it could have."""

    hits: int
    total: int

    @classmethod
    def of(cls, outcomes: Iterable[bool]) -> Rate:
        """Count outcomes."""
        listed = list(outcomes)
        return cls(sum(listed), len(listed))

    @property
    def share(self) -> float:
        """The share of hits; 0 where nothing was counted."""
        return self.hits / self.total if self.total else 0.0

    @property
    def interval(self) -> tuple[float, float]:
        """The Wilson score interval at 95 %."""
        if not self.total:
            return 0.0, 1.0
        square = _Z * _Z
        centre = self.share + square / (2 * self.total)
        inside = self.share * (1 - self.share) / self.total + square / (4 * self.total**2)
        spread, scale = _Z * math.sqrt(inside), 1 + square / self.total
        return max(0.0, (centre - spread) / scale), min(1.0, (centre + spread) / scale)


class Share(msgspec.Struct, frozen=True):
    """A share of a sum over runs, with an interval that was drawn anew from groups of them."""

    share: float
    interval: tuple[float, float]
    runs: int


def rate(name: str, outcomes: Sequence[bool], goal: str = "") -> str:
    """Return a rate with its interval, as a line of a report."""
    counted = Rate.of(outcomes)
    low, high = counted.interval
    wanted = f"  goal {goal}" if goal else ""
    return (
        f"{name:44} {counted.hits:5}/{counted.total:<5} {counted.share:7.2%}"
        f"  [{low:.2%}, {high:.2%}]{wanted}"
    )


def drawn(parts: Sequence[tuple[str, float, float]]) -> Share | None:
    """Return the share of the parts in their wholes, each with the group that it belongs to.

    The groups are drawn again and again with replacement: runs of one task are alike, so that
    they count as one. The same parts give the same interval every time.
    """
    groups: dict[str, tuple[float, float]] = {}
    for group, part, whole in parts:
        before = groups.get(group, (0.0, 0.0))
        groups[group] = (before[0] + part, before[1] + whole)
    told = list(groups.values())
    total = sum(whole for _, whole in told)
    if not total:
        return None
    chance = random.Random(_SEED)
    shares = sorted(_share(chance.choices(told, k=len(told))) for _ in range(_DRAWS))
    edge = round(_DRAWS * 0.025)
    share = sum(part for part, _ in told) / total
    return Share(share, (shares[edge], shares[-1 - edge]), len(parts))


def _share(told: Sequence[tuple[float, float]]) -> float:
    part, whole = map(sum, zip(*told, strict=True))
    return part / whole if whole else 0.0
