"""Was it good enough? A verdict is read, the checks are run, and what it comes to is recorded."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec
from msgspec.structs import replace

from interlock.errors import InputError
from interlock.ledger.ledger import Work
from interlock.ledger.transaction import Transaction
from interlock.model.answers import ReviewAnswer
from interlock.model.events import CheckRan, ReviewJudged
from interlock.model.review import (
    GateVerdict,
    ReviewDecision,
    ReviewGate,
    ReviewVerdict,
    Unreadable,
)
from interlock.model.review_state import OpenReview
from interlock.model.run import RunState
from interlock.policy.reviews.gate_faults import coverage_of
from interlock.policy.reviews.review_gate import judge
from interlock.policy.reviews.review_guidance import footer_of
from interlock.policy.reviews.verdict_grammar import VerdictSource, gate_verdict_from
from interlock.service.policies import adopt_in_run
from interlock.service.questions.question import DoFirstError, answered_before, kept_key
from interlock.service.records.context import Context
from interlock.service.records.holds import agent_of, running, strictest_hold
from interlock.service.records.review_checks import record_checks, run_checks
from interlock.service.records.reviews import question_of, to_be_judged

VerdictGiven = str | Mapping[str, object] | ReviewVerdict
"""A verdict: as text, as a table, or as a value."""

_LONGEST_RATIONALE: Final = 2_000


class VerdictQuestion:
    """One verdict on its way to an answer."""

    def __init__(
        self,
        context: Context,
        state: RunState,
        given: VerdictGiven,
        *,
        review_id: str | None,
        key: str | None,
        source: VerdictSource,
    ) -> None:
        self._context = context
        self._run_id = state.id
        self._review_id = review_id
        self._said = _kept(context, _read(given, source))
        self._key = None if key is None else kept_key(context, key)
        self._digest = (
            "" if key is None else context.digest("verdict", _raw(review_id or ""), _raw(given))
        )
        self._gates: tuple[ReviewGate, ...] = ()
        self._ran: tuple[CheckRan, ...] | None = None

    def work(self) -> Work[ReviewAnswer]:
        """Return what is to be done at the desk."""
        return Work(self._plan, locks=(f"run/{self._run_id}",))

    def _plan(self, transaction: Transaction) -> ReviewAnswer:
        run = running(transaction, self._run_id)
        earlier = answered_before(transaction, run.id, self._key, self._digest, ReviewJudged)
        if earlier is not None:
            return _told(run.id, *earlier, repeated=True)
        found = to_be_judged(run, self._review_id)
        adopt_in_run(transaction, run, self._context, self._context.clock.now())
        if not found.review.awaiting_choice:
            self._check_first(transaction, run, found)
            found = transaction.state(run.id).reviews.pending[found.review.id]
        decision = judge(
            found.review,
            self._said,
            gates=found.gates,
            checks=found.checks,
            settings=self._context.gates.config.reviews,
        )
        return self._record(transaction, run, found, decision)

    def _check_first(self, transaction: Transaction, run: RunState, found: OpenReview) -> None:
        """Have the checks run outside of the ledger, once; then put them on the record."""
        ran = self._ran
        if ran is None:
            _refuse_held(transaction, run)
            # Whatever is opened meanwhile, what was said is about this one.
            self._review_id, self._gates = found.review.id, found.gates

            def run_them() -> None:
                self._ran = run_checks(self._context, run, found.review.id, found.gates)

            raise DoFirstError(run_them)
        if found.gates != self._gates:
            raise InputError(
                f"review `{found.review.id}` was opened anew, with other gates, while its checks"
                " ran: give a verdict on that one"
            )
        record_checks(self._context, transaction, run.id, ran)

    def _record(
        self, transaction: Transaction, run: RunState, found: OpenReview, decision: ReviewDecision
    ) -> ReviewAnswer:
        context, said = self._context, self._said
        is_read = isinstance(said, ReviewVerdict)
        event = ReviewJudged(
            review=found.review.id,
            key=self._key,
            digest=self._digest,
            verdict=said if is_read else None,
            unreadable=None if is_read else said.reason,
            decision=decision,
            coverage=coverage_of(found.gates, found.checks),
            approval=question_of(context, transaction, run, found, decision),
        )
        record = transaction.append(run.id, event, at=context.clock.now(), by=agent_of(run))
        return _told(run.id, record.seq, event, repeated=False)


def _refuse_held(transaction: Transaction, run: RunState) -> None:
    """Raise InputError for a run that may do nothing: a check is something done."""
    hold = strictest_hold(transaction, run)
    if hold is not None:
        raise InputError(
            f"run `{run.id}` is held: {hold.reason}; its checks are run, and verdicts counted,"
            " once a person lets it go on"
        )


def _read(given: VerdictGiven, source: VerdictSource) -> ReviewVerdict | Unreadable:
    if not isinstance(given, ReviewVerdict):
        return gate_verdict_from(given, source)
    try:
        # Whoever made it may have put anything into it.
        return msgspec.convert(msgspec.to_builtins(given), ReviewVerdict)
    except (msgspec.ValidationError, TypeError, ValueError) as error:
        raise InputError(f"the verdict is none: {error}") from error


def _raw(given: VerdictGiven) -> bytes:
    if isinstance(given, str):
        return given.encode("utf-8", "surrogatepass")
    try:
        return msgspec.json.encode(given, order="sorted")
    except (TypeError, ValueError, RecursionError) as error:
        raise InputError(f"the verdict cannot be written as JSON: {error}") from error


def _kept(context: Context, said: ReviewVerdict | Unreadable) -> ReviewVerdict | Unreadable:
    """Return what was said as it may be kept: without secrets."""
    if isinstance(said, Unreadable):
        return Unreadable(reason=context.clean(said.reason))
    return replace(
        said,
        rationale=_clean(context, said.rationale),
        per_gate=tuple(
            GateVerdict(
                gate=context.clean(each.gate),
                passed=each.passed,
                rationale=_clean(context, each.rationale),
            )
            for each in said.per_gate
        ),
    )


def _clean(context: Context, rationale: str) -> str:
    return context.clean(rationale)[:_LONGEST_RATIONALE]


def _told(run_id: str, seq: int, event: ReviewJudged, *, repeated: bool) -> ReviewAnswer:
    return ReviewAnswer(
        run_id=run_id,
        seq=seq,
        review_id=event.review,
        decision=event.decision,
        coverage=event.coverage,
        footer=footer_of(event.decision.warnings),
        approval_id=event.approval,
        repeated=repeated,
    )
