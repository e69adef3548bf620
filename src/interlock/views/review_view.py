"""Where the reviews of a run stand: one value for every page that tells of them."""

from __future__ import annotations

import enum
from collections.abc import Iterator

import msgspec

from interlock.ledger.ledger import Ledger
from interlock.model.approval import Approval
from interlock.model.control_state import ClosedReview, Completion, OpenReview, Reviews
from interlock.model.review import GateAction, GateCoverage, ReviewEntry, ReviewMode, ReviewPurpose
from interlock.model.run import RunState
from interlock.model.short_code import code_of
from interlock.policy.reviews.gate_faults import coverage_of
from interlock.policy.reviews.review_guidance import choices_of
from interlock.service.policies.policy_book import stored_policy


class WaitsFor(enum.Enum):
    """What moves a review on."""

    VERDICT = "verdict"
    END_OF_TURN = "end-of-turn"
    """The checks of the policy are run again whenever the agent says that it is done."""
    CHOICE = "choice"
    """The attempts are used up: a person chooses."""


class PendingReview(msgspec.Struct, frozen=True, kw_only=True):
    """A review that is pending, with everything that whoever moves it has to know."""

    id: str
    purpose: ReviewPurpose
    subject: str
    mode: ReviewMode
    attempts_used: int
    max_attempts: int
    resets: int
    waits_for: WaitsFor
    choices: tuple[GateAction, ...]
    """What a person may choose, where it waits for one."""
    approval: str | None
    """The question to a person, where one may still be answered."""
    commands: tuple[str, ...]
    """What a person types to choose, one for each choice."""
    gates: tuple[GateCoverage, ...]
    feedback: str | None
    instructions: str | None
    history: tuple[ReviewEntry, ...]


class RunReviews(msgspec.Struct, frozen=True, kw_only=True):
    """The reviews of one run."""

    run: str
    task: str
    completion: Completion
    pending: tuple[PendingReview, ...]
    closed: tuple[ClosedReview, ...]
    warnings: tuple[str, ...]

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to tell."""
        return not self.pending and not self.closed


def run_reviews(ledger: Ledger, state: RunState, now: int) -> RunReviews:
    """Return where the reviews of a run stand."""
    reviews = state.reviews
    return RunReviews(
        run=state.id,
        task=state.task,
        completion=reviews.completion,
        pending=tuple(_pending(ledger, state, now)),
        closed=reviews.closed,
        warnings=reviews.warnings,
    )


def pending_in_words(reviews: Reviews) -> Iterator[str]:
    """Yield each review that is pending, with how many of its attempts are used."""
    for found in reviews.pending.values():
        review = found.review
        used = f"{review.attempt_count} of {review.max_attempts} attempts used"
        yield f"`{review.id}` is pending, {used}"


def asked_about(ledger: Ledger, approval: Approval, now: int) -> PendingReview | None:
    """Return the review that a question is about, if it still waits for the answer."""
    state = ledger.state(approval.run_id)
    found = () if state is None else _pending(ledger, state, now)
    return next((each for each in found if each.approval == approval.id), None)


def _pending(ledger: Ledger, state: RunState, now: int) -> Iterator[PendingReview]:
    for found in state.reviews.pending.values():
        review = found.review
        choices = _choices(ledger, state, found)
        approval = open_question(ledger, found.approval, now)
        yield PendingReview(
            id=review.id,
            purpose=found.purpose,
            subject=found.subject,
            mode=review.mode,
            attempts_used=review.attempt_count,
            max_attempts=review.max_attempts,
            resets=review.resets,
            waits_for=_waits_for(found),
            choices=choices,
            approval=approval,
            commands=tuple(_command(state.id, review.id, approval, each) for each in choices),
            gates=coverage_of(found),
            feedback=review.feedback,
            instructions=review.instructions,
            history=review.history,
        )


def _waits_for(found: OpenReview) -> WaitsFor:
    if found.review.awaiting_choice:
        return WaitsFor.CHOICE
    is_completion = found.purpose is ReviewPurpose.COMPLETION
    return WaitsFor.END_OF_TURN if is_completion else WaitsFor.VERDICT


def _choices(ledger: Ledger, state: RunState, found: OpenReview) -> tuple[GateAction, ...]:
    if not found.review.awaiting_choice:
        return ()
    policy = stored_policy(ledger.rows, state.policy_hash)
    return choices_of(found.review, policy.reviews)


def open_question(ledger: Ledger, approval: str | None, now: int) -> str | None:
    """Return the id of a question to a person, if there is one that may still be answered."""
    asked = None if approval is None else ledger.rows.approval(approval)
    return asked.id if asked is not None and asked.is_open_at(now) else None


def _command(run_id: str, review_id: str, approval: str | None, action: GateAction) -> str:
    if approval is not None:
        return f"interlock review resolve {code_of(approval)} {action.value}"
    # A question that ran out is no obstacle: a person may choose by the name of the review.
    return f"interlock review resolve --run {code_of(run_id)} --review {review_id} {action.value}"
