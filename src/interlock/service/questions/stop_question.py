"""Is it really done? read → decide → record → answer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import msgspec

from interlock.ledger.ledger import Work
from interlock.model.answers import StopAnswer
from interlock.model.approval import ApprovalState
from interlock.model.arbitration import Hard, HardState, Ruling
from interlock.model.budget import BudgetBalance
from interlock.model.budget_words import used_up
from interlock.model.control_state import dated
from interlock.model.events import Record, StopJudged
from interlock.model.review import ReviewDecision
from interlock.model.run import RunState
from interlock.model.step import ContinueDecision, StepContext
from interlock.model.stop import (
    EvidenceKind,
    StopContext,
    StopDecision,
    StopEvidence,
)
from interlock.model.turn_report import StopReport
from interlock.policy.arbiter import ruling
from interlock.policy.reviews.review_gate import is_claim
from interlock.policy.steps.continue_gate import decide as decide_step
from interlock.service.questions.finish_question import CompletionCheck, blocking_reviews
from interlock.service.questions.question import (
    Asking,
    Decided,
    Preparation,
    answered_before,
    keyed_report,
)
from interlock.service.questions.step_question import (
    credit_left,
    step_facts,
    waiting_on_record,
    words_on_record,
)
from interlock.service.records.adoption import adopt_in_run
from interlock.service.records.budgets import balances_of, charged_scopes
from interlock.service.records.context import Asked, Context, Moment
from interlock.service.records.holds import (
    hard_states_now,
    question_to_resume,
    settle_hold,
    still_counts,
)

_LONGEST_TEXT: Final = 4000
"""The end of a message is what is read of it."""
_MOST_EVIDENCE: Final = 20
_LONGEST_EVIDENCE: Final = 200


class _Judged(NamedTuple):
    """What the gates and the arbiter say, and what they looked at."""

    hard: tuple[Hard, ...]
    facts: StepContext
    step: ContinueDecision
    context: StopContext
    decision: StopDecision
    credit: int
    ruling: Ruling


class StopQuestion(msgspec.Struct, frozen=True, kw_only=True):
    """Is it really done?"""

    run_id: str
    report: StopReport

    def prepare(self, asking: Asking) -> Work[Decided[StopAnswer]]:
        """Read what the client says, without credentials."""
        asked = asking.of_run(self.run_id)
        prepared = _PreparedStop(asked, self.report)
        return asked.work(prepared.decide, charged=prepared.scopes)


class _PreparedStop:
    """The end of a turn on its way to an answer."""

    def __init__(self, asked: Asked, report: StopReport) -> None:
        # Its patterns take long to compile, which is no work to do within a transaction.
        from interlock.policy.stops.stop_gate import decide  # noqa: PLC0415 - few processes ask it

        context = asked.context
        self._asked = asked
        self._decide_stop = decide
        self._key, self._digest = keyed_report(context, "stop", report.key, report)
        self._report = _on_record(context, report)
        self.scopes = charged_scopes(asked.run, context.clock.now())
        self._completion = CompletionCheck(asked)

    def decide(self, moment: Moment) -> Decided[StopAnswer]:
        """Answer by the gates, the record and, for a claim to be done, the checks; record it."""
        run_id = moment.running().id
        earlier = answered_before(moment.transaction, run_id, self._key, self._digest, StopJudged)
        if earlier is not None and still_counts(moment, earlier[1]):
            return _answer(*earlier, repeated=True)
        adopt_in_run(moment)
        settle_hold(moment)
        judged, checked = self._judged(moment), None
        if is_claim(judged.ruling, judged.decision):
            checked = self._completion.decide(moment)
        if isinstance(checked, Preparation):
            return checked
        if checked is not None:
            # What the checks showed counts for everything else as well.
            judged = self._judged(moment, completion=checked.decision)
        event = StopJudged(
            key=self._key,
            digest=self._digest,
            context=judged.context,
            facts=judged.facts,
            throttled_before=moment.run.control.throttled,
            hard=judged.hard,
            waiting=self._report.waiting,
            credit=judged.credit,
            step=judged.step,
            decision=judged.decision,
            completion=None if checked is None else checked.decision,
            ruling=judged.ruling,
            approval=question_to_resume(moment, judged.ruling, judged.step),
        )
        return _answer(moment.append(event), event, repeated=False)

    def _judged(self, moment: Moment, completion: ReviewDecision | None = None) -> _Judged:
        """Ask both gates and the arbiter, with what the completion checks said."""
        context, run, report = moment.context, moment.run, self._report
        balances = balances_of(moment, self.scopes)
        hard = (*hard_states_now(moment, balances), *_other_hard_states(moment, balances))
        facts = step_facts(
            context, run, StepContext(), closing=report.text, balances=balances, now=moment.now
        )
        step = decide_step(
            facts, context.policy.config.steps, throttled_before=run.control.throttled
        )
        asked = _stop_context(run, report, hard)
        decision = self._decide_stop(asked, context.policy.config.stops)
        credit = credit_left(context, run.control)
        ruled = ruling(
            hard, step, decision, credit=credit, waiting=report.waiting, completion=completion
        )
        return _Judged(hard, facts, step, asked, decision, credit, ruled)


def _on_record(context: Context, report: StopReport) -> StopReport:
    """Return what a client says as it may be recorded."""
    return msgspec.structs.replace(
        report,
        text=None if report.text is None else context.clean(report.text)[-_LONGEST_TEXT:],
        model=words_on_record(context, report.model),
        todos=_evidence_on_record(context, report.todos),
        planned_files=_evidence_on_record(context, report.planned_files),
        waiting=waiting_on_record(context, report.waiting),
    )


def _evidence_on_record(context: Context, texts: Sequence[str]) -> tuple[str, ...]:
    given = [text for text in texts if text.strip()]
    return tuple(context.clean(text)[:_LONGEST_EVIDENCE] for text in given[:_MOST_EVIDENCE])


def _stop_context(run: RunState, report: StopReport, hard: Sequence[Hard]) -> StopContext:
    """Return everything the stop gate looks at: the record, and what the client tells."""
    control = run.control
    return StopContext(
        text=report.text,
        last_event=report.last_event or control.last_event,
        finish_reason=report.finish_reason,
        tool_ratio=control.tool_ratio if report.tool_ratio is None else report.tool_ratio,
        n_prev_turns=len(control.turns) if report.n_prev_turns is None else report.n_prev_turns,
        model=report.model,
        tool_calls=report.tool_calls,
        retries=control.continuations,
        hard=tuple(each.state.value for each in hard),
        evidence=tuple(_evidence(run, report)),
    )


def _evidence(run: RunState, report: StopReport) -> Iterator[StopEvidence]:
    """Yield every fact that speaks against being done."""
    for todo in report.todos:
        yield StopEvidence(kind=EvidenceKind.OPEN_TODO, text=todo)
    tests = run.tests
    if tests is not None and tests.failed:
        words = f"{tests.failed} of {tests.executed} tests failed"
        yield StopEvidence(kind=EvidenceKind.FAILING_CHECK, text=words)
    for name in blocking_reviews(run):
        yield StopEvidence(kind=EvidenceKind.PENDING_REVIEW, text=f"review {name}")
    for file in report.planned_files:
        if not any(_is_same_file(touched, file) for touched in run.files):
            yield StopEvidence(kind=EvidenceKind.UNTOUCHED_FILE, text=file)


def _is_same_file(touched: str, planned: str) -> bool:
    """Whether two names mean one file, of which one may be named from further up than the other."""
    one, other = f"/{touched.removeprefix('./')}", f"/{planned.removeprefix('./')}"
    return one.endswith(other) or other.endswith(one)


def _other_hard_states(moment: Moment, balances: Sequence[BudgetBalance]) -> Iterator[Hard]:
    """Yield what keeps a turn from going on by itself, besides a hold."""
    run = moment.run
    held = None if run.control.hold is None else run.control.hold.approval
    pending = ApprovalState.PENDING.value
    asked = moment.transaction.approvals_of(run.id, pending) if run.pending_approvals else ()
    for approval in asked:
        if approval.is_open_at(moment.now) and approval.id != held:
            yield Hard(
                state=HardState.AWAITING_PERSON,
                reason=f"a person has to decide: {approval.summary[:_LONGEST_EVIDENCE]}",
                approval=approval.id,
            )
    for each in used_up(run.id, balances):
        yield Hard(state=HardState.OVER_BUDGET, reason=f"the budget is used up: {each.text}")


def _answer(record: Record, event: StopJudged, *, repeated: bool) -> StopAnswer:
    completion = event.completion
    return StopAnswer(
        run_id=record.run,
        seq=record.seq,
        decision=event.decision.outcome,
        detail=event.decision,
        step=event.step,
        completion=None if completion is None else dated(completion, record.at),
        ruling=event.ruling,
        approval_id=event.approval or event.ruling.approval,
        repeated=repeated,
    )
