"""A person chooses how a review goes on whose attempts are used up: retry, skip or abort."""

from __future__ import annotations

from typing import Final

from interlock.errors import InputError
from interlock.ledger.ledger import Work
from interlock.ledger.transaction import Transaction
from interlock.model.answers import ReviewAnswer
from interlock.model.approval import Approval, ApprovalState, Subject
from interlock.model.events import Actor, ApprovalDecided, ReviewChosen
from interlock.model.review import GateAction, ReviewDecision, ReviewOutcome
from interlock.model.review_state import OpenReview
from interlock.model.run import RunState
from interlock.policy.reviews.gate_faults import coverage_of
from interlock.policy.reviews.review_gate import choose
from interlock.service.approving import check_is_open, expire, the_approval
from interlock.service.context import Context
from interlock.service.holding import running
from interlock.service.policies import adopt_in_run
from interlock.service.reviews.pending import to_be_chosen_for
from interlock.service.runs import close_run

ABORTED: Final = "aborted"
"""How a run ends whose review a person aborts."""


def choose_by_approval(
    context: Context,
    approval_id: str,
    action: GateAction,
    *,
    instructions: str | None,
    by: Actor,
) -> Work[ReviewAnswer]:
    """Return the work of answering a question about a review."""
    approval = the_approval(context.ledger.rows, approval_id)
    if approval.subject is not Subject.REVIEW:
        raise InputError(
            f"approval `{approval_id}` is about {approval.subject.value}, not about a review:"
            f" `interlock approve {approval_id}` or `deny`"
        )
    said = None if instructions is None else context.clean(instructions)

    def plan(transaction: Transaction) -> ReviewAnswer:
        current = transaction.approval(approval_id) or approval
        check_is_open(current, context.clock.now())
        run = running(transaction, current.run_id)
        return _chosen(context, transaction, run, _asked_by(run, current), action, said, by=by)

    return Work(plan, locks=(f"run/{approval.run_id}",))


def choose_by_review(
    context: Context,
    run_id: str,
    review_id: str | None,
    action: GateAction,
    *,
    instructions: str | None,
    by: Actor,
) -> Work[ReviewAnswer]:
    """Return the work of choosing for a review by its name; refused while attempts remain."""
    said = None if instructions is None else context.clean(instructions)

    def plan(transaction: Transaction) -> ReviewAnswer:
        run = running(transaction, run_id)
        return _chosen(
            context, transaction, run, to_be_chosen_for(run, review_id), action, said, by=by
        )

    return Work(plan, locks=(f"run/{run_id}",))


def _asked_by(run: RunState, approval: Approval) -> OpenReview:
    for found in run.reviews.pending.values():
        if found.approval == approval.id:
            return found
    raise InputError(f"no review of run `{run.id}` waits for approval `{approval.id}` any more")


def _chosen(  # noqa: PLR0917 - what a choice is made of
    context: Context,
    transaction: Transaction,
    run: RunState,
    found: OpenReview,
    action: GateAction,
    instructions: str | None,
    *,
    by: Actor,
) -> ReviewAnswer:
    now = context.clock.now()
    decision = choose(
        found.review,
        action,
        instructions=instructions,
        gates=found.gates,
        checks=found.checks,
        settings=context.gates.reviews,
    )
    if decision.outcome is ReviewOutcome.REFUSED:
        raise InputError(decision.reason)
    adopt_in_run(transaction, run, context, now)
    approval = _answer_question(transaction, found, action, instructions, by=by, now=now)
    event = ReviewChosen(
        review=found.review.id,
        action=action,
        instructions=instructions,
        decision=decision,
        approval=approval,
    )
    record = transaction.append(run.id, event, at=now, by=by)
    if decision.outcome is ReviewOutcome.STOPPED:
        close_run(context, transaction, run.id, outcome=ABORTED, by=by)
    return _told(run.id, record.seq, found, decision)


def _answer_question(
    transaction: Transaction,
    found: OpenReview,
    action: GateAction,
    instructions: str | None,
    *,
    by: Actor,
    now: int,
) -> str | None:
    """Close the question in the inbox, if it is still open there; return its id."""
    asked = None if found.approval is None else transaction.approval(found.approval)
    if asked is not None:
        expire(transaction, asked, now)
    if asked is not None and asked.is_open_at(now):
        lets_on = action is not GateAction.ABORT
        event = ApprovalDecided(
            id=asked.id,
            state=ApprovalState.GRANTED if lets_on else ApprovalState.DENIED,
            note=f"{action.value}: {instructions}" if instructions else action.value,
        )
        transaction.append(asked.run_id, event, at=now, by=by)
    return found.approval


def _told(run_id: str, seq: int, found: OpenReview, decision: ReviewDecision) -> ReviewAnswer:
    return ReviewAnswer(
        run_id=run_id,
        seq=seq,
        review_id=found.review.id,
        decision=decision,
        coverage=coverage_of(found.gates, found.checks),
    )
