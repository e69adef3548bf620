"""Is it really done? read → decide → record → answer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import msgspec

from interlock.ledger.ledger import Work
from interlock.ledger.transaction import Transaction
from interlock.model.answers import StopAnswer
from interlock.model.approval import ApprovalState
from interlock.model.budget import BudgetBalance, Dimension
from interlock.model.events import StopJudged
from interlock.model.review import ReviewDecision
from interlock.model.ruling import Hard, HardState, Ruling, Waiting
from interlock.model.run import RunState
from interlock.model.step import ContinueDecision, StepContext
from interlock.model.stop import (
    EvidenceKind,
    FinishReason,
    LastEvent,
    StopContext,
    StopDecision,
    StopEvidence,
)
from interlock.policy.arbiter import ruling
from interlock.policy.reviews.completion import is_claim
from interlock.policy.steps.continue_gate import decide as decide_step
from interlock.policy.stops.stop_gate import decide
from interlock.service.policies import adopt_in_run
from interlock.service.questions.finish import CompletionQuestion, blocking_reviews
from interlock.service.questions.question import answered_before, kept_key
from interlock.service.questions.step import credit_left, kept_waiting, kept_words, step_facts
from interlock.service.records.budgets import charged_scopes, limited_standings, locks_of
from interlock.service.records.context import Context
from interlock.service.records.holds import (
    agent_of,
    hard_states,
    question_to_resume,
    running,
    settle_hold,
    still_counts,
)

_LONGEST_TEXT: Final = 4000
"""The end of a message is what is read of it."""
_MOST_EVIDENCE: Final = 20
_LONGEST_EVIDENCE: Final = 200


class StopReport(msgspec.Struct, frozen=True, kw_only=True):
    """What a client says when the agent ends its turn; what it does not know it leaves out."""

    key: str | None = None
    """Its own name for this question: asked again, it gets the same answer."""
    text: str | None = None
    finish_reason: FinishReason | None = None
    last_event: LastEvent | None = None
    tool_ratio: float | None = None
    n_prev_turns: int | None = None
    model: str | None = None
    tool_calls: int | None = None
    todos: tuple[str, ...] = ()
    """What stands open on the agent's own list."""
    planned_files: tuple[str, ...] = ()
    """Files that its plan names."""
    waiting: Waiting | None = None


class _Judged(NamedTuple):
    """What the gates and the arbiter say, and what they were told."""

    hard: tuple[Hard, ...]
    facts: StepContext
    step: ContinueDecision
    context: StopContext
    decision: StopDecision
    credit: int
    ruling: Ruling


def judge_stop(context: Context, state: RunState, report: StopReport) -> Work[StopAnswer]:
    """Return the work of answering whether an agent that ends its turn is really done."""
    key = None if report.key is None else kept_key(context, report.key)
    digest = "" if key is None else context.digest("stop", msgspec.json.encode(report))
    report = _kept(context, report)
    scopes = charged_scopes(state, context.clock.now())
    completion = CompletionQuestion(context)

    def plan(transaction: Transaction) -> StopAnswer:
        run, now = running(transaction, state.id), context.clock.now()
        earlier = answered_before(transaction, run.id, key, digest, StopJudged)
        if earlier is not None and still_counts(transaction, run, earlier[1]):
            return _told(run.id, *earlier, repeated=True)
        adopt_in_run(transaction, run, context, now)
        run = settle_hold(transaction, transaction.state(run.id), now)
        judged = _judged(context, transaction, run, report, scopes)
        checked = None
        if is_claim(judged.ruling, judged.decision):
            checked = completion.answer(transaction, run)
        if checked is not None:
            # What the checks showed counts for everything else as well.
            run = transaction.state(run.id)
            judged = _judged(context, transaction, run, report, scopes, completion=checked.decision)
        event = StopJudged(
            key=key,
            digest=digest,
            context=judged.context,
            facts=judged.facts,
            throttled_before=run.control.throttled,
            hard=judged.hard,
            waiting=report.waiting,
            credit=judged.credit,
            step=judged.step,
            decision=judged.decision,
            completion=None if checked is None else checked.decision,
            ruling=judged.ruling,
            approval=question_to_resume(context, transaction, run, judged.ruling, judged.step, now),
        )
        record = transaction.append(run.id, event, at=now, by=agent_of(run))
        return _told(run.id, record.seq, event, repeated=False)

    return Work(plan, locks=locks_of(state, scopes))


def _judged(
    context: Context,
    transaction: Transaction,
    run: RunState,
    report: StopReport,
    scopes: tuple[str, ...],
    *,
    completion: ReviewDecision | None = None,
) -> _Judged:
    now = context.clock.now()
    standings = limited_standings(context.policy_limits, transaction, run, charged=scopes, now=now)
    hard = (*hard_states(transaction, run), *_other_hard_states(transaction, run, standings, now))
    facts = step_facts(
        context, run, StepContext(), closing=report.text, standings=standings, now=now
    )
    step = decide_step(facts, context.gates.config.steps, throttled_before=run.control.throttled)
    asked = _stop_context(run, report, hard)
    decision = decide(asked, context.gates.config.stops)
    credit = credit_left(context, run.control)
    ruled = ruling(
        hard, step, decision, credit=credit, waiting=report.waiting, completion=completion
    )
    return _Judged(hard, facts, step, asked, decision, credit, ruled)


def _kept(context: Context, report: StopReport) -> StopReport:
    """Return what a client says as it may be kept."""
    return msgspec.structs.replace(
        report,
        text=None if report.text is None else context.clean(report.text)[-_LONGEST_TEXT:],
        model=kept_words(context, report.model),
        todos=_kept_evidence(context, report.todos),
        planned_files=_kept_evidence(context, report.planned_files),
        waiting=kept_waiting(context, report.waiting),
    )


def _kept_evidence(context: Context, texts: Sequence[str]) -> tuple[str, ...]:
    told = [text for text in texts if text.strip()]
    return tuple(context.clean(text)[:_LONGEST_EVIDENCE] for text in told[:_MOST_EVIDENCE])


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
    tests = run.control.tests or run.tests
    if tests is not None and tests.failed:
        told = f"{tests.failed} of {tests.executed} tests failed"
        yield StopEvidence(kind=EvidenceKind.FAILING_CHECK, text=told)
    for name in blocking_reviews(run):
        yield StopEvidence(kind=EvidenceKind.PENDING_REVIEW, text=f"review {name}")
    for file in report.planned_files:
        if not any(_is_same_file(touched, file) for touched in run.files):
            yield StopEvidence(kind=EvidenceKind.UNTOUCHED_FILE, text=file)


def _is_same_file(touched: str, planned: str) -> bool:
    """Whether two names mean one file, of which one may be told from further up than the other."""
    one, other = f"/{touched.removeprefix('./')}", f"/{planned.removeprefix('./')}"
    return one.endswith(other) or other.endswith(one)


def _other_hard_states(
    transaction: Transaction, run: RunState, standings: Sequence[BudgetBalance], now: int
) -> Iterator[Hard]:
    """Yield what keeps a turn from going on by itself, besides a hold."""
    held = None if run.control.hold is None else run.control.hold.approval
    asked = (
        transaction.approvals_of(run.id, ApprovalState.PENDING.value)
        if run.pending_approvals
        else ()
    )
    for approval in asked:
        if approval.is_open_at(now) and approval.id != held:
            yield Hard(
                state=HardState.AWAITING_PERSON,
                reason=f"a person has to decide: {approval.summary[:_LONGEST_EVIDENCE]}",
                approval=approval.id,
            )
    for standing in standings:
        for dimension in Dimension:
            limit = standing.limits.of(dimension)
            if limit is not None and standing.used.of(dimension) >= limit:
                yield Hard(
                    state=HardState.OVER_BUDGET,
                    reason=f"the budget `{standing.scope}` is used up: {dimension.value}",
                )


def _told(run_id: str, seq: int, event: StopJudged, *, repeated: bool) -> StopAnswer:
    return StopAnswer(
        run_id=run_id,
        seq=seq,
        decision=event.decision,
        step=event.step,
        completion=event.completion,
        ruling=event.ruling,
        approval_id=event.approval or event.ruling.approval,
        repeated=repeated,
    )
