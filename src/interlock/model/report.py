"""How a run went: what the evaluators say at its end."""

from __future__ import annotations

import msgspec


class Evaluation(msgspec.Struct, frozen=True, kw_only=True):
    """One evaluator's judgement."""

    evaluator: str
    passed: bool
    score: int
    """From 0 to 1000."""
    evidence: tuple[str, ...] = ()


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """Every evaluator's judgement on one run."""

    evaluations: tuple[Evaluation, ...]

    @property
    def passed(self) -> bool:
        """Whether nobody objects."""
        return all(each.passed for each in self.evaluations)


class TestCounts(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a test runner counted."""

    __test__ = False
    """Pytest must not take it for a test."""

    passed: int = 0
    failed: int = 0
    skipped: int = 0

    @property
    def executed(self) -> int:
        """How many tests really ran."""
        return self.passed + self.failed
