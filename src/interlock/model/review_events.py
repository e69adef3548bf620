"""What happens to reviews: opened, checked, judged, and decided by a person."""

from __future__ import annotations

from interlock.model.happening import Happening
from interlock.model.progress import Observation
from interlock.model.review import (
    CheckResult,
    GateAction,
    GateCoverage,
    PendingGateReview,
    ReviewDecision,
    ReviewGate,
    ReviewPurpose,
    ReviewVerdict,
)
from interlock.model.verdict import Finding


class ReviewOpened(Happening, frozen=True, kw_only=True, tag="review-opened"):
    """Work waits for a review from here on."""

    review: PendingGateReview
    gates: tuple[ReviewGate, ...]
    """As they were then: another policy does not change what was asked."""
    purpose: ReviewPurpose = ReviewPurpose.WORK
    subject: str = ""
    """What is reviewed, in words and without secrets."""


class CheckRan(Happening, frozen=True, kw_only=True, tag="check-ran"):
    """A gate's check was run, or could not be."""

    review: str
    result: CheckResult
    command: str
    """What was run; a check with a secret in it is refused before."""
    findings: tuple[Finding, ...] = ()
    """Why the policy did not let it run."""
    duration_ms: int = 0
    measured: Observation | None = None
    """What the progress meter is told."""
    progressed: bool = False
    """Whether fewer tests fail than ever before in this run."""


class ReviewJudged(Happening, frozen=True, kw_only=True, tag="review-judged"):
    """Was it good enough? was asked and answered."""

    review: str
    key: str | None = None
    """The client's name for this verdict: sent again, it gets the same answer."""
    digest: str = ""
    verdict: ReviewVerdict | None = None
    """What was said, without secrets; None where it could not be read."""
    unreadable: str | None = None
    """Why it could not be read."""
    decision: ReviewDecision
    coverage: tuple[GateCoverage, ...] = ()
    """What was known of each gate besides what was said."""
    approval: str | None = None
    """The question to a person whose choice moves the review."""


class ReviewChosen(Happening, frozen=True, kw_only=True, tag="review-chosen"):
    """A person chose how a review goes on whose attempts are used up."""

    review: str
    action: GateAction
    instructions: str | None = None
    decision: ReviewDecision
    approval: str | None = None
    """The question that was answered."""
