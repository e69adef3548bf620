"""What whoever asks for a review, or gives a verdict, is told."""

from __future__ import annotations

import msgspec

from interlock.model.review import (
    GateAction,
    GateCoverage,
    PendingGateReview,
    ReviewDecision,
    ReviewGate,
    ReviewOutcome,
)


class ReviewOpening(msgspec.Struct, frozen=True, kw_only=True):
    """A review that work waits for from here on, on the record."""

    run_id: str
    seq: int
    """The record that holds it."""
    review: PendingGateReview
    gates: tuple[ReviewGate, ...]
    guidance: str
    """What whoever reviews has to know, and how to answer."""
    repeated: bool = False
    """It was pending already: nothing was opened again."""


class ReviewAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The answer to "was it good enough?", on the record."""

    run_id: str
    seq: int
    review_id: str
    decision: ReviewDecision
    coverage: tuple[GateCoverage, ...] = ()
    """What is known of each gate besides what was said."""
    footer: str = ""
    """The warnings of gates that only advise; empty where there are none."""
    approval_id: str | None = None
    """The question to a person whose choice moves the review."""
    repeated: bool = False
    """The same verdict had been answered before: nothing was run or counted again."""

    @property
    def outcome(self) -> ReviewOutcome:
        """What happens to the work."""
        return self.decision.outcome

    @property
    def advances(self) -> bool:
        """Whether the work goes on."""
        return self.decision.outcome is ReviewOutcome.ADVANCE

    @property
    def reason(self) -> str:
        """Why."""
        return self.decision.reason

    @property
    def guidance(self) -> str | None:
        """What is said to whoever tries again, or asked of a person."""
        return self.decision.guidance

    @property
    def choices(self) -> tuple[GateAction, ...]:
        """What a person may choose."""
        return self.decision.choices
