"""May it finish? The policy's completion checks, run whenever a run says that it is done."""

from __future__ import annotations

from typing import NamedTuple

from interlock.ledger.transaction import Transaction
from interlock.model.events import CheckRan, ReviewJudged, ReviewOpened
from interlock.model.review import ReviewDecision, ReviewGate, ReviewMode, ReviewPurpose
from interlock.model.review_state import Completion, OpenReview
from interlock.model.run import RunState
from interlock.policy.reviews.completion import COMPLETION, claim
from interlock.policy.reviews.gate_faults import coverage_of
from interlock.policy.reviews.review_gate import asked_again, judge, opened
from interlock.service.context import SYSTEM, Context
from interlock.service.doing_first import DoFirstError
from interlock.service.holding import agent_of
from interlock.service.policies import adopt_in_run
from interlock.service.reviews.checks import record_checks, run_checks
from interlock.service.reviews.judging import question_of
from interlock.service.reviews.opening import kept_gate


class Completed(NamedTuple):
    """What the completion checks come to."""

    decision: ReviewDecision
    approval: str | None
    """The question to a person that the run waits for."""


class CompletionQuestion:
    """A run that says it is done, on its way to an answer."""

    def __init__(self, context: Context, outcome: str | None = None) -> None:
        """Ask at the end of a turn or, with an outcome, at the end of the run."""
        self._context = context
        self._outcome = outcome
        self._ran: tuple[CheckRan, ...] | None = None

    def answer(self, transaction: Transaction, run: RunState) -> Completed | None:
        """Return what the checks say, on the record; None where nothing is to be checked.

        Raises DoFirstError until the checks were run.
        """
        if run.reviews.completion is not Completion.OPEN:
            return None
        found = run.reviews.pending.get(COMPLETION)
        if found is not None and found.review.awaiting_choice:
            return self._ask_again(transaction, run, found)
        gates = self._gates() if found is None else found.gates
        if not gates:
            return None
        ran = self._checked(run, gates)
        adopt_in_run(transaction, run, self._context, self._context.clock.now())
        return self._judged(transaction, run, gates, ran)

    def _gates(self) -> tuple[ReviewGate, ...]:
        gates = self._context.gates
        return tuple(
            kept_gate(self._context, gates.review_gates[name]) for name in gates.completion
        )

    def _checked(self, run: RunState, gates: tuple[ReviewGate, ...]) -> tuple[CheckRan, ...]:
        """Return what the checks showed; have them run outside of the ledger first, once."""
        if self._ran is not None:
            return self._ran

        def run_them() -> None:
            self._ran = run_checks(self._context, run, COMPLETION, gates)

        raise DoFirstError(run_them)

    def _judged(
        self,
        transaction: Transaction,
        run: RunState,
        gates: tuple[ReviewGate, ...],
        ran: tuple[CheckRan, ...],
    ) -> Completed:
        context, settings = self._context, self._context.gates.reviews
        if COMPLETION not in run.reviews.pending:
            review = opened(COMPLETION, gates, settings)
            event = ReviewOpened(review=review, gates=gates, purpose=ReviewPurpose.COMPLETION)
            transaction.append(run.id, event, at=context.clock.now(), by=SYSTEM)
        record_checks(context, transaction, run.id, ran)
        found = transaction.state(run.id).reviews.pending[COMPLETION]
        said = claim(self._outcome)
        decision = judge(
            found.review, said, gates=found.gates, checks=found.checks, settings=settings
        )
        approval = question_of(context, transaction, run, found, decision)
        judged = ReviewJudged(
            review=COMPLETION,
            verdict=said,
            decision=decision,
            coverage=coverage_of(found.gates, found.checks),
            approval=approval,
        )
        transaction.append(run.id, judged, at=context.clock.now(), by=agent_of(run))
        return Completed(decision, approval)

    def _ask_again(self, transaction: Transaction, run: RunState, found: OpenReview) -> Completed:
        """Have a person asked once more, where the last question ran out."""
        context = self._context
        decision = asked_again(found.review, context.gates.reviews)
        approval = question_of(context, transaction, run, found, decision)
        if approval != found.approval:
            judged = ReviewJudged(
                review=COMPLETION,
                verdict=claim(self._outcome),
                decision=decision,
                coverage=coverage_of(found.gates, found.checks),
                approval=approval,
            )
            transaction.append(run.id, judged, at=context.clock.now(), by=agent_of(run))
        return Completed(decision, approval)


def blocking_reviews(run: RunState) -> tuple[str, ...]:
    """Return the reviews that keep a run from finishing, besides its completion checks."""
    return tuple(
        name
        for name, found in run.reviews.pending.items()
        if found.purpose is ReviewPurpose.WORK and found.review.mode is ReviewMode.BLOCKING
    )
