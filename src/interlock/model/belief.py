"""What an agent takes to be true, and the evidence that was reported for and against it."""

from __future__ import annotations

from typing import Final

import msgspec

from interlock.errors import InputError

_MOST_WEIGHT: Final = 1000
_MOST_TOGETHER: Final = 10**12
"""More than anybody reports, and little enough that every share of it is a number."""


class Evidence(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One thing that was seen, which speaks for a belief or against it."""

    supports: bool
    weight: float = 1.0
    """How much it says: 1 is an ordinary observation."""

    def __post_init__(self) -> None:
        """Refuse a weight that is no positive number."""
        # No comparison with NaN holds, so that it is refused here as well.
        if type(self.weight) not in (float, int) or not 0 < self.weight <= _MOST_WEIGHT:
            raise InputError(
                f"`weight` is `{self.weight}`, expected more than 0 and at most {_MOST_WEIGHT}:"
                " evidence that says nothing is left out"
            )


class Belief(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One belief with the weights of all its evidence, added up."""

    name: str
    supporting: float = 0.0
    opposing: float = 0.0

    def __post_init__(self) -> None:
        """Refuse weights that are no sums of evidence."""
        for side in ("supporting", "opposing"):
            weight = getattr(self, side)
            if not 0 <= weight <= _MOST_TOGETHER:
                raise InputError(
                    f"belief `{self.name}`: `{side}` is `{weight}`, expected 0 to"
                    f" {_MOST_TOGETHER}: add up the weights of its evidence"
                )

    def with_evidence(self, evidence: Evidence) -> Belief:
        """Return the belief after one more thing was seen."""
        if evidence.supports:
            return msgspec.structs.replace(self, supporting=self.supporting + evidence.weight)
        return msgspec.structs.replace(self, opposing=self.opposing + evidence.weight)
