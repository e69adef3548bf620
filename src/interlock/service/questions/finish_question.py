"""May it finish? The completion checks of the policy, run whenever a run says that it is done."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from interlock.errors import InputError, UnfinishedError
from interlock.ledger.ledger import Work
from interlock.model.control_state import Completion, OpenReview
from interlock.model.events import CheckRan, ReviewJudged, ReviewOpened
from interlock.model.principal import SYSTEM
from interlock.model.review import (
    Report,
    ReviewDecision,
    ReviewGate,
    ReviewMode,
    ReviewOutcome,
    ReviewPurpose,
)
from interlock.model.run import LEDGER_RUN, RunState, RunStatus
from interlock.model.system_loop import LOOP_RUN
from interlock.policy.config.key import OBSERVE
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
from interlock.service.records.context import Asked, Moment, checked_name
from interlock.service.records.reviews import (
    question_of,
    record_checks,
    recordable_gate,
    run_checks,
)
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
        self._outcome = outcome
        self._ran: tuple[CheckRan, ...] | None = None

    def decide(self, moment: Moment) -> Completed | Preparation | None:
        """Return what the checks say, on the record; None where nothing is to be checked."""
        run = moment.run
        if run.reviews.completion is not Completion.OPEN:
            return None
        found = run.reviews.pending.get(COMPLETION)
        if found is not None and found.review.awaiting_choice:
            return self._ask_again(moment, found)
        gates = self._gates() if found is None else found.gates
        if not gates:
            return None
        if self._ran is None:
            return Preparation(lambda: self._run_checks(run, gates))
        adopt_in_run(moment)
        return self._judged(moment, gates, self._ran)

    def _gates(self) -> tuple[ReviewGate, ...]:
        policy = self._context.policy
        named = policy.config.reviews.completion
        return tuple(recordable_gate(self._context, policy.review_gates[name]) for name in named)

    def _run_checks(self, run: RunState, gates: tuple[ReviewGate, ...]) -> None:
        self._ran = run_checks(self._context, run, COMPLETION, gates)

    def _judged(
        self, moment: Moment, gates: tuple[ReviewGate, ...], ran: tuple[CheckRan, ...]
    ) -> Completed:
        settings = self._context.policy.config.reviews
        if COMPLETION not in moment.run.reviews.pending:
            review = opened(COMPLETION, gates, settings)
            event = ReviewOpened(review=review, gates=gates, purpose=ReviewPurpose.COMPLETION)
            moment.append(event, SYSTEM)
        record_checks(moment, ran)
        found = moment.run.reviews.pending[COMPLETION]
        decision = judge(found, claim(self._outcome), settings)
        approval = question_of(moment, found, decision)
        self._record(moment, found, decision, approval)
        return Completed(decision, approval)

    def _ask_again(self, moment: Moment, found: OpenReview) -> Completed:
        """Have a person asked once more, where the last question ran out."""
        decision = asked_again(found, self._context.policy.config.reviews)
        approval = question_of(moment, found, decision)
        if approval != found.approval:
            self._record(moment, found, decision, approval)
        return Completed(decision, approval)

    def _record(
        self, moment: Moment, found: OpenReview, decision: ReviewDecision, approval: str | None
    ) -> None:
        event = ReviewJudged(
            review=COMPLETION,
            verdict=claim(self._outcome),
            decision=decision,
            coverage=coverage_of(found),
            approval=approval,
        )
        moment.append(event)


def blocking_reviews(run: RunState) -> tuple[str, ...]:
    """Return the reviews that keep a run from finishing, besides its completion checks."""
    return tuple(
        name
        for name, found in run.reviews.pending.items()
        if found.purpose is ReviewPurpose.WORK and found.review.mode is ReviewMode.BLOCKING
    )


class FinishQuestion(msgspec.Struct, frozen=True, kw_only=True):
    """May it finish? Once it may, the evaluators speak and open questions are cancelled.

    A run that says it is done stays open while a blocking review of it is pending, or the
    completion checks of the policy fail.
    """

    run_id: str
    outcome: str
    evaluators: Sequence[Evaluator] = ()

    def prepare(self, asking: Asking) -> Work[Decided[Report | UnfinishedError]]:
        """Look at how it says it ends."""
        if self.run_id in (LEDGER_RUN, LOOP_RUN):
            raise InputError(f"`{self.run_id}` is a chain of Interlock's own: it is never finished")
        asked = asking.of_run(self.run_id)
        return asked.work(_PreparedFinish(asked, self).decide)


class _PreparedFinish:
    """The end of a run on its way to the record."""

    def __init__(self, asked: Asked, question: FinishQuestion) -> None:
        self._outcome = asked.context.clean(checked_name("outcome", question.outcome))
        self._evaluators = question.evaluators
        self._completion = CompletionCheck(asked, self._outcome)

    def decide(self, moment: Moment) -> Decided[Report | UnfinishedError]:
        """Close the run, unless something is missing."""
        state = moment.run
        if state.status is not RunStatus.RUNNING and state.report is not None:
            return state.report
        if claims_success(self._outcome):
            missing = _missing(moment, self._completion)
            if missing is not None:
                return missing
        return close_run(moment, outcome=self._outcome, evaluators=self._evaluators)


def _missing(moment: Moment, completion: CompletionCheck) -> UnfinishedError | Preparation | None:
    """Return what keeps a run from finishing that says it is done, if anything does."""
    state = moment.run
    waiting = blocking_reviews(state)
    if waiting and moment.context.policy.config.reviews.mode != OBSERVE:
        named = ", ".join(f"`{name}`" for name in waiting)
        return UnfinishedError(
            f"run `{state.id}` may not finish: no verdict on review {named} has passed yet"
        )
    completed = completion.decide(moment)
    if isinstance(completed, Preparation):
        return completed
    if completed is None or completed.decision.outcome is ReviewOutcome.ADVANCE:
        return None
    decision = completed.decision
    why = f"run `{state.id}` may not finish: {decision.reason}\n{decision.guidance or ''}"
    return UnfinishedError(why.rstrip(), approval_id=completed.approval)
