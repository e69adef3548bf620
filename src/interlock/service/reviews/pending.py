"""Reviews that are pending: how they are found, and how a person is asked about one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from interlock.errors import InputError
from interlock.ledger.transaction import Transaction
from interlock.model.approval import Subject
from interlock.model.review import ReviewDecision
from interlock.model.review_state import OpenReview
from interlock.model.run import RunState
from interlock.model.verdict import Decision, Finding, Severity
from interlock.policy.reviews.completion import COMPLETION
from interlock.policy.reviews.gate_faults import fault_in_words
from interlock.service.approving import open_approval
from interlock.service.context import SYSTEM, Context

_LONGEST_SUMMARY: Final = 300


def to_be_judged(run: RunState, review_id: str | None) -> OpenReview:
    """Return a review that a verdict is about: the named one, or the only one."""
    if review_id == COMPLETION:
        raise InputError(
            f"review `{COMPLETION}` is decided by its checks: end the turn or finish the run, and"
            " they are run again"
        )
    judged = {name: each for name, each in run.reviews.pending.items() if name != COMPLETION}
    return _the_one(run, judged, review_id)


def to_be_chosen_for(run: RunState, review_id: str | None) -> OpenReview:
    """Return a review that a person decides about: the named one, or the only one that waits."""
    pending = run.reviews.pending
    waiting = {name: each for name, each in pending.items() if each.review.awaiting_choice}
    return _the_one(run, pending if review_id is not None or not waiting else waiting, review_id)


def _the_one(run: RunState, pending: Mapping[str, OpenReview], review_id: str | None) -> OpenReview:
    names = ", ".join(f"`{name}`" for name in pending)
    if not pending:
        raise InputError(f"no review is pending in run `{run.id}`: open one first")
    if review_id is None:
        if len(pending) > 1:
            raise InputError(f"several reviews are pending in run `{run.id}`, name one: {names}")
        return next(iter(pending.values()))
    if review_id not in pending:
        raise InputError(f"no review `{review_id[:80]}` is pending in run `{run.id}`, but {names}")
    return pending[review_id]


def ask_for_choice(
    context: Context,
    transaction: Transaction,
    run: RunState,
    found: OpenReview,
    decision: ReviewDecision,
) -> str:
    """Ask a person how a review goes on, unless one is asked already; return the question's id."""
    now = context.clock.now()
    earlier = None if found.approval is None else transaction.approval(found.approval)
    if earlier is not None and earlier.is_open_at(now):
        return earlier.id
    review_id = found.review.id
    what = found.subject or f"failed {', '.join(decision.exhausted_gate_ids)}"
    return open_approval(
        transaction,
        context,
        subject=Subject.REVIEW,
        run_id=run.id,
        digest=context.digest("review", run.id, review_id, str(transaction.state(run.id).seq)),
        summary=f"review `{review_id}`: {what}"[:_LONGEST_SUMMARY],
        findings=_findings(found, decision),
        now=now,
        by=SYSTEM,
        superseded=earlier,
    )


def _findings(found: OpenReview, decision: ReviewDecision) -> tuple[Finding, ...]:
    """Return why a person is asked: what is wrong with each gate, or what was said last."""
    remediation = "choose " + ", ".join(f"`{each.value}`" for each in decision.choices)
    told = [(fault.gate, fault_in_words(fault)) for fault in decision.faults]
    last = found.review.feedback or decision.reason
    return tuple(
        Finding(
            gate="review",
            rule=f"review.{gate}",
            decision=Decision.REQUIRE_CONFIRMATION,
            severity=Severity.MEDIUM,
            message=message,
            remediation=remediation,
        )
        for gate, message in told or [(found.review.id, last)]
    )
