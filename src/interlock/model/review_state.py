"""The reviews of a run: what is pending, what was seen for it, and how the others ended.

Part of a run's state, folded forward with it; nothing here grows with the length of a run.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

import msgspec
from msgspec.structs import replace

from interlock.model.review import (
    CheckResult,
    EntryKind,
    PendingGateReview,
    ReviewDecision,
    ReviewGate,
    ReviewPurpose,
)

if TYPE_CHECKING:
    from interlock.model.events import CheckRan, ReviewChosen, ReviewJudged, ReviewOpened

_LONGEST_TAIL: Final = 3_000
"""So much of what a check printed is remembered; the record has the rest."""
_MOST_CLOSED: Final = 50
_MOST_WARNINGS: Final = 20


class OpenReview(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A review that work waits for, with everything it is judged by."""

    review: PendingGateReview
    gates: tuple[ReviewGate, ...]
    purpose: ReviewPurpose = ReviewPurpose.WORK
    subject: str = ""
    checks: tuple[CheckResult, ...] = ()
    """The latest result of each gate's check."""
    approval: str | None = None
    """The question to a person whose choice moves it."""


class ClosedReview(msgspec.Struct, frozen=True, kw_only=True):
    """How a review ended."""

    id: str
    kind: EntryKind
    reason: str


class Completion(enum.Enum):
    """How the checks stand that must pass before a run may finish."""

    OPEN = "open"
    PASSED = "passed"
    """Until something else is done."""
    SKIPPED = "skipped"
    """A person lets the run finish without them."""


class Reviews(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The reviews of a run."""

    pending: Mapping[str, OpenReview] = {}
    closed: tuple[ClosedReview, ...] = ()
    """The latest ones, oldest first."""
    warnings: tuple[str, ...] = ()
    """The warnings of gates that only advise, the latest last."""
    completion: Completion = Completion.OPEN


def after_opening(reviews: Reviews, event: ReviewOpened) -> Reviews:
    """Return the reviews with one more that is pending."""
    new = OpenReview(
        review=event.review, gates=event.gates, purpose=event.purpose, subject=event.subject
    )
    return replace(reviews, pending={**reviews.pending, new.review.id: new})


def with_check(reviews: Reviews, event: CheckRan) -> Reviews:
    """Return the reviews with what a check showed in the place of what it showed before."""
    found = reviews.pending.get(event.review)
    if found is None:
        return reviews
    result = replace(event.result, tail=event.result.tail[-_LONGEST_TAIL:])
    others = [each for each in found.checks if each.gate != result.gate]
    return _with(reviews, replace(found, checks=(*others, result)))


def after_verdict(reviews: Reviews, event: ReviewJudged) -> Reviews:
    """Return the reviews after a verdict on one of them."""
    return _moved(reviews, event.review, event.decision, event.approval)


def after_choice(reviews: Reviews, event: ReviewChosen) -> Reviews:
    """Return the reviews after a person has chosen how one of them goes on."""
    return _moved(reviews, event.review, event.decision, None)


def after_more_work(reviews: Reviews) -> Reviews:
    """Return the reviews after something was done: what passed before says nothing of it."""
    if reviews.completion is not Completion.PASSED:
        return reviews
    return replace(reviews, completion=Completion.OPEN)


def _moved(
    reviews: Reviews, review_id: str, decision: ReviewDecision, approval: str | None
) -> Reviews:
    found = reviews.pending.get(review_id)
    if found is None:
        return reviews
    reviews = replace(reviews, warnings=(*reviews.warnings, *decision.warnings)[-_MOST_WARNINGS:])
    if decision.review is not None:
        return _with(reviews, replace(found, review=decision.review, approval=approval))
    return _closed(reviews, found, decision)


def _with(reviews: Reviews, moved: OpenReview) -> Reviews:
    return replace(reviews, pending={**reviews.pending, moved.review.id: moved})


def _closed(reviews: Reviews, found: OpenReview, decision: ReviewDecision) -> Reviews:
    review_id = found.review.id
    kind = EntryKind.PASSED if decision.entry is None else decision.entry.kind
    end = ClosedReview(id=review_id, kind=kind, reason=decision.reason)
    completion = reviews.completion
    if found.purpose is ReviewPurpose.COMPLETION:
        skipped = kind is EntryKind.SKIPPED
        completion = Completion.SKIPPED if skipped else Completion.PASSED
    return replace(
        reviews,
        pending={name: each for name, each in reviews.pending.items() if name != review_id},
        closed=(*reviews.closed, end)[-_MOST_CLOSED:],
        completion=completion,
    )
