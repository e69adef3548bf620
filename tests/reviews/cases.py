"""Reviews to decide about: only what a test is about is named."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from interlock.model.control_state import OpenReview
from interlock.model.review import (
    Check,
    CheckResult,
    GateAction,
    GateVerdict,
    Overall,
    PendingGateReview,
    ReviewDecision,
    ReviewGate,
    ReviewMode,
    ReviewVerdict,
    Unreadable,
)
from interlock.policy.config.run_sections import Reviews
from interlock.policy.reviews.review_gate import choose, judge, opened

SETTINGS = Reviews()


def a_gate(
    gate_id: str = "tests", mode: ReviewMode | None = ReviewMode.BLOCKING, **known: Any
) -> ReviewGate:
    usual: dict[str, Any] = {"criteria": (f"{gate_id} hold",)}
    return ReviewGate(id=gate_id, mode=mode, **{**usual, **known})


def a_checked_gate(
    gate_id: str = "tests", mode: ReviewMode | None = ReviewMode.BLOCKING, **known: Any
) -> ReviewGate:
    return a_gate(gate_id, mode, check=Check(argv=("pytest", "-q")), **known)


def advisory(gate_id: str = "style") -> ReviewGate:
    return a_gate(gate_id, ReviewMode.ADVISORY)


def informational(gate_id: str = "notes") -> ReviewGate:
    return a_gate(gate_id, ReviewMode.INFORMATIONAL)


def a_pass(*per_gate: GateVerdict, why: str = "all is well") -> ReviewVerdict:
    return ReviewVerdict(overall=Overall.PASS, rationale=why, per_gate=per_gate)


def a_fail(*per_gate: GateVerdict, why: str = "two cases are missing") -> ReviewVerdict:
    return ReviewVerdict(overall=Overall.FAIL, rationale=why, per_gate=per_gate)


def passes(gate: str, why: str = "it holds") -> GateVerdict:
    return GateVerdict(gate=gate, passed=True, rationale=why)


def fails(gate: str, why: str = "it does not hold") -> GateVerdict:
    return GateVerdict(gate=gate, passed=False, rationale=why)


def ended(gate: str = "tests", exit_code: int | None = 1, **known: Any) -> CheckResult:
    return CheckResult(gate=gate, exit_code=exit_code, **known)


def an_open_review(
    *gates: ReviewGate, review: PendingGateReview | None = None, **known: Any
) -> OpenReview:
    return OpenReview(review=review or opened("r1", gates, SETTINGS), gates=gates, **known)


class Reviewing:
    """A review that is told verdicts and choices one after the other, as the service would."""

    def __init__(
        self, *gates: ReviewGate, settings: Reviews = SETTINGS, review_id: str = "r1"
    ) -> None:
        self.gates = gates
        self.settings = settings
        self.review: PendingGateReview | None = opened(review_id, gates, settings)

    @property
    def is_over(self) -> bool:
        return self.review is None

    def hears(
        self, verdict: ReviewVerdict | Unreadable, checks: Sequence[CheckResult] = ()
    ) -> ReviewDecision:
        assert self.review is not None
        found = an_open_review(*self.gates, review=self.review, checks=tuple(checks))
        decision = judge(found, verdict, self.settings)
        self.review = decision.review
        return decision

    def is_told(self, action: GateAction, instructions: str | None = None) -> ReviewDecision:
        assert self.review is not None
        found = an_open_review(*self.gates, review=self.review)
        decision = choose(found, action, self.settings, instructions=instructions)
        self.review = decision.review
        return decision
