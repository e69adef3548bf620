"""May it finish? The completion checks of the policy, run whenever a run says that it is done."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from interlock.errors import InputError, UnfinishedError
from interlock.ledger.ledger import Work
from interlock.ledger.transaction import Transaction
from interlock.model.events import CheckRan, ReviewJudged, ReviewOpened
from interlock.model.principal import SYSTEM
from interlock.model.report import Report
from interlock.model.review import (
    ReviewDecision,
    ReviewGate,
    ReviewMode,
    ReviewOutcome,
    ReviewPurpose,
)
from interlock.model.review_state import Completion, OpenReview
from interlock.model.run import LEDGER_RUN, RunState, RunStatus
from interlock.policy.reviews.gate_faults import coverage_of
from interlock.policy.reviews.review_gate import (
    COMPLETION,
    asked_again,
    claim,
    claims_success,
    judge,
    opened,
)
from interlock.ports import Evaluator
from interlock.service.questions.question import Asking, Decided, Preparation
from interlock.service.records.adoption import adopt_in_run
from interlock.service.records.context import Asked, checked_name
from interlock.service.records.review_checks import record_checks, run_checks
from interlock.service.records.reviews import kept_gate, question_of
from interlock.service.records.runs import close_run


class Completed(NamedTuple):
    """What the completion checks come to."""

    decision: ReviewDecision
    approval: str | None
    """The question to a person that the run waits for."""


class CompletionCheck:
    """A part of two questions: a run says that it is done, and the checks say whether it is."""

    def __init__(self, asked: Asked, outcome: str | None = None) -> None:
        """Check at the end of a turn or, with an outcome, at the end of the run."""
        self._context = asked.context
        self._by = asked.principal
        self._outcome = outcome
        self._ran: tuple[CheckRan, ...] | None = None

    def decide(self, transaction: Transaction, run: RunState) -> Completed | Preparation | None:
        """Return what the checks say, on the record; None where nothing is to be checked."""
        if run.reviews.completion is not Completion.OPEN:
            return None
        found = run.reviews.pending.get(COMPLETION)
        if found is not None and found.review.awaiting_choice:
            return self._ask_again(transaction, run, found)
        gates = self._gates() if found is None else found.gates
        if not gates:
            return None
        ran = self._ran
        if ran is None:
            return Preparation(lambda: self._run_checks(run, gates))
        adopt_in_run(transaction, run, self._context, self._context.clock.now())
        return self._judged(transaction, run, gates, ran)

    def _gates(self) -> tuple[ReviewGate, ...]:
        policy = self._context.policy
        named = policy.config.reviews.completion
        return tuple(kept_gate(self._context, policy.review_gates[name]) for name in named)

    def _run_checks(self, run: RunState, gates: tuple[ReviewGate, ...]) -> None:
        self._ran = run_checks(self._context, run, COMPLETION, gates)

    def _judged(
        self,
        transaction: Transaction,
        run: RunState,
        gates: tuple[ReviewGate, ...],
        ran: tuple[CheckRan, ...],
    ) -> Completed:
        context, settings = self._context, self._context.policy.config.reviews
        if COMPLETION not in run.reviews.pending:
            review = opened(COMPLETION, gates, settings)
            event = ReviewOpened(review=review, gates=gates, purpose=ReviewPurpose.COMPLETION)
            transaction.append(run.id, event, at=context.clock.now(), by=SYSTEM)
        record_checks(context, transaction, run.id, ran)
        found = transaction.state(run.id).reviews.pending[COMPLETION]
        said = claim(self._outcome)
        decision = judge(found, said, settings)
        approval = question_of(context, transaction, run, found, decision)
        judged = ReviewJudged(
            review=COMPLETION,
            verdict=said,
            decision=decision,
            coverage=coverage_of(found),
            approval=approval,
        )
        transaction.append(run.id, judged, at=context.clock.now(), by=self._by)
        return Completed(decision, approval)

    def _ask_again(self, transaction: Transaction, run: RunState, found: OpenReview) -> Completed:
        """Have a person asked once more, where the last question ran out."""
        context = self._context
        decision = asked_again(found.review, context.policy.config.reviews)
        approval = question_of(context, transaction, run, found, decision)
        if approval != found.approval:
            judged = ReviewJudged(
                review=COMPLETION,
                verdict=claim(self._outcome),
                decision=decision,
                coverage=coverage_of(found),
                approval=approval,
            )
            transaction.append(run.id, judged, at=context.clock.now(), by=self._by)
        return Completed(decision, approval)


def blocking_reviews(run: RunState) -> tuple[str, ...]:
    """Return the reviews that keep a run from finishing, besides its completion checks."""
    return tuple(
        name
        for name, found in run.reviews.pending.items()
        if found.purpose is ReviewPurpose.WORK and found.review.mode is ReviewMode.BLOCKING
    )


class Unfinished(msgspec.Struct, frozen=True, kw_only=True):
    """Why a run may not finish as what it says."""

    why: str
    approval: str | None = None

    def error(self) -> UnfinishedError:
        """Return it as an error."""
        return UnfinishedError(self.why, approval_id=self.approval)


class FinishQuestion(msgspec.Struct, frozen=True, kw_only=True):
    """May it finish? Once it may, the evaluators speak and open questions are cancelled.

    A run that says it is done stays open while a blocking review of it is pending, or the
    completion checks of the policy fail.
    """

    run_id: str
    outcome: str
    evaluators: Sequence[Evaluator] = ()

    def prepare(self, asking: Asking) -> Work[Decided[Report | Unfinished]]:
        """Look at how it says it ends."""
        if self.run_id == LEDGER_RUN:
            raise InputError("the ledger's own chain is never finished")
        prepared = _PreparedFinish(asking.of_run(self.run_id), self)
        return Work(prepared.decide, locks=(f"run/{self.run_id}",))


class _PreparedFinish:
    """The end of a run on its way to the record."""

    def __init__(self, asked: Asked, question: FinishQuestion) -> None:
        self._asked = asked
        self._outcome = asked.context.clean(checked_name("outcome", question.outcome))
        self._evaluators = question.evaluators
        self._completion = CompletionCheck(asked, self._outcome)

    def decide(self, transaction: Transaction) -> Decided[Report | Unfinished]:
        """Close the run, unless something is missing."""
        context, run_id = self._asked.context, self._asked.run.id
        state = transaction.state(run_id)
        if state.status is not RunStatus.RUNNING and state.report is not None:
            return state.report
        if claims_success(self._outcome):
            missing = _missing(transaction, state, self._completion)
            if missing is not None:
                return missing
        return close_run(
            context,
            transaction,
            run_id,
            outcome=self._outcome,
            by=self._asked.principal,
            evaluators=self._evaluators,
        )


def _missing(
    transaction: Transaction, state: RunState, completion: CompletionCheck
) -> Unfinished | Preparation | None:
    """Return what keeps a run from finishing that says it is done, if anything does."""
    waiting = blocking_reviews(state)
    if waiting:
        named = ", ".join(f"`{name}`" for name in waiting)
        return Unfinished(
            why=f"run `{state.id}` may not finish: no verdict on review {named} has passed yet"
        )
    completed = completion.decide(transaction, state)
    if isinstance(completed, Preparation):
        return completed
    if completed is None or completed.decision.outcome is ReviewOutcome.ADVANCE:
        return None
    decision = completed.decision
    why = f"run `{state.id}` may not finish: {decision.reason}\n{decision.guidance or ''}"
    return Unfinished(why=why.rstrip(), approval=completed.approval)
