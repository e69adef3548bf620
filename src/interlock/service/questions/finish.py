"""New."""

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
from interlock.policy.reviews.completion import COMPLETION, claim, claims_success
from interlock.policy.reviews.gate_faults import coverage_of
from interlock.policy.reviews.review_gate import asked_again, judge, opened
from interlock.ports import Evaluator
from interlock.service.policies import adopt_in_run
from interlock.service.questions.question import DoFirstError
from interlock.service.records.context import Context, checked_name
from interlock.service.records.holds import agent_of
from interlock.service.records.review_checks import record_checks, run_checks
from interlock.service.records.reviews import kept_gate, question_of
from interlock.service.records.runs import close_run


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
        named = gates.config.reviews.completion
        return tuple(kept_gate(self._context, gates.review_gates[name]) for name in named)

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
        context, settings = self._context, self._context.gates.config.reviews
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
        decision = asked_again(found.review, context.gates.config.reviews)
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


class Unfinished(msgspec.Struct, frozen=True, kw_only=True):
    """Why a run may not finish as what it says."""

    why: str
    approval: str | None = None

    def error(self) -> UnfinishedError:
        """Return it as an error."""
        return UnfinishedError(self.why, approval_id=self.approval)


def finish_run(
    context: Context, run_id: str, *, outcome: str, evaluators: Sequence[Evaluator] = ()
) -> Work[Report | Unfinished]:
    """Return the work of closing a run: the evaluators speak, open questions are cancelled.

    A run that says it is done stays open while a blocking review of it is pending, or the
    completion checks of the policy fail.
    """
    checked_name("outcome", outcome)
    outcome = context.clean(outcome)
    completion = CompletionQuestion(context, outcome)

    def plan(transaction: Transaction) -> Report | Unfinished:
        state = transaction.state(run_id)
        if run_id == LEDGER_RUN:
            raise InputError("the ledger's own chain is never finished")
        if state.status is not RunStatus.RUNNING and state.report is not None:
            return state.report
        missing = _missing(transaction, state, completion) if claims_success(outcome) else None
        if missing is not None:
            return missing
        return close_run(
            context, transaction, run_id, outcome=outcome, by=agent_of(state), evaluators=evaluators
        )

    return Work(plan, locks=(f"run/{run_id}",))


def _missing(
    transaction: Transaction, state: RunState, completion: CompletionQuestion
) -> Unfinished | None:
    """Return what keeps a run from finishing that says it is done, if anything does."""
    waiting = blocking_reviews(state)
    if waiting:
        named = ", ".join(f"`{name}`" for name in waiting)
        return Unfinished(
            why=f"run `{state.id}` may not finish: no verdict on review {named} has passed yet"
        )
    completed = completion.answer(transaction, state)
    if completed is None or completed.decision.outcome is ReviewOutcome.ADVANCE:
        return None
    decision = completed.decision
    told = f"run `{state.id}` may not finish: {decision.reason}\n{decision.guidance or ''}"
    return Unfinished(why=told.rstrip(), approval=completed.approval)
