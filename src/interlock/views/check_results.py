"""What checking came to: whether the chains are whole, and whether answers come out the same."""

from __future__ import annotations

import msgspec


class AnswerDifference(msgspec.Struct, frozen=True, kw_only=True):
    """A field of a recorded answer that comes out differently today."""

    field: str
    recorded: str
    """As JSON."""
    now: str


class ReplayResult(msgspec.Struct, frozen=True, kw_only=True):
    """Every answer of a run, decided again."""

    run: str
    at: int
    """When that was done: microseconds since 1970, UTC."""
    records: int
    """How many records the run had then."""
    answers: int
    differences: dict[int, tuple[AnswerDifference, ...]]
    """By the record of the answer; empty where every answer is the same."""

    @property
    def same(self) -> int:
        """How many answers came out the same."""
        return self.answers - len(self.differences)


class VerifyResult(msgspec.Struct, frozen=True, kw_only=True):
    """All records, held against their chains."""

    at: int
    records: int
    runs: int
    faults: tuple[str, ...]

    @property
    def whole(self) -> bool:
        """Whether every chain is what was written."""
        return not self.faults
