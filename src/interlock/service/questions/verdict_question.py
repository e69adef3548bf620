"""Was it good enough? A verdict is read, the checks are run, and what it comes to is recorded."""

from __future__ import annotations

from typing import Final

import msgspec
from msgspec.structs import replace

from interlock.errors import InputError
from interlock.ledger.ledger import Work
from interlock.model.answers import ReviewAnswer
from interlock.model.control_state import OpenReview, dated
from interlock.model.events import CheckRan, Record, ReviewJudged
from interlock.model.question_fields import VerdictGiven
from interlock.model.review import (
    ReviewDecision,
    ReviewGate,
    ReviewVerdict,
    Unreadable,
)
from interlock.model.run import RunState
from interlock.policy.reviews.gate_faults import coverage_of
from interlock.policy.reviews.review_gate import judge
from interlock.policy.reviews.review_guidance import footer_of
from interlock.policy.reviews.verdict_grammar import VerdictSource, as_said, gate_verdict_from
from interlock.service.questions.question import (
    Asking,
    Decided,
    Preparation,
    answered_before,
    key_of,
)
from interlock.service.records.adoption import adopt_in_run
from interlock.service.records.context import Asked, Context, Moment
from interlock.service.records.holds import strictest_hold
from interlock.service.records.reviews import question_of, record_checks, run_checks, to_be_judged

_LONGEST_RATIONALE: Final = 2_000


class VerdictQuestion(msgspec.Struct, frozen=True, kw_only=True):
    """Was it good enough?"""

    run_id: str
    given: VerdictGiven
    review: str | None = None
    key: str | None = None
    is_reply: bool = False

    def prepare(self, asking: Asking) -> Work[Decided[ReviewAnswer]]:
        """Read the verdict, without credentials."""
        asked = asking.of_run(self.run_id)
        return asked.work(_PreparedVerdict(asked, self).decide)


class _PreparedVerdict:
    """A verdict on its way to an answer."""

    def __init__(self, asked: Asked, question: VerdictQuestion) -> None:
        context, given = asked.context, question.given
        source = VerdictSource.REPLY if question.is_reply else VerdictSource.VERDICT
        self._context = context
        self._review_id = question.review
        self._said = _on_record(context, _read(given, source))
        self._key, self._digest = None, ""
        if question.key is not None:
            self._key = key_of(context, "verdict", question.key)
            self._digest = context.digest("verdict", _raw(question.review or ""), _raw(given))
        self._gates: tuple[ReviewGate, ...] = ()
        self._ran: tuple[CheckRan, ...] | None = None

    def decide(self, moment: Moment) -> Decided[ReviewAnswer]:
        """Answer by what was said and what the checks of the review showed; record it."""
        run = moment.running()
        earlier = answered_before(moment.transaction, run.id, self._key, self._digest, ReviewJudged)
        if earlier is not None:
            return _answer(*earlier, repeated=True)
        found = to_be_judged(run, self._review_id)
        has_checks = not found.review.awaiting_choice
        if has_checks and self._ran is None:
            return self._checks_first(moment, run, found)
        if has_checks:
            self._refuse_other_gates(found)
        adopt_in_run(moment)
        if has_checks:
            record_checks(moment, self._ran or ())
            found = moment.run.reviews.pending[found.review.id]
        decision = judge(found, self._said, self._context.policy.config.reviews)
        return self._record(moment, found, decision)

    def _checks_first(self, moment: Moment, run: RunState, found: OpenReview) -> Preparation:
        """Have the checks run outside of the ledger."""
        _refuse_held(moment)
        # Whatever is opened meanwhile, what was said is about this one.
        self._review_id, self._gates = found.review.id, found.gates
        return Preparation(lambda: self._run_checks(run, found))

    def _run_checks(self, run: RunState, found: OpenReview) -> None:
        self._ran = run_checks(self._context, run, found.review.id, found.gates)

    def _refuse_other_gates(self, found: OpenReview) -> None:
        if found.gates != self._gates:
            raise InputError(
                f"review `{found.review.id}` was opened anew, with other gates, while its checks"
                " ran: give a verdict on that one"
            )

    def _record(self, moment: Moment, found: OpenReview, decision: ReviewDecision) -> ReviewAnswer:
        said = self._said
        is_read = isinstance(said, ReviewVerdict)
        event = ReviewJudged(
            review=found.review.id,
            key=self._key,
            digest=self._digest,
            verdict=said if is_read else None,
            unreadable=None if is_read else said.reason,
            decision=decision,
            coverage=coverage_of(found),
            approval=question_of(moment, found, decision),
        )
        return _answer(moment.append(event), event, repeated=False)


def _refuse_held(moment: Moment) -> None:
    """Raise InputError for a run that may do nothing: a check is something done."""
    hold = strictest_hold(moment.transaction, moment.run)
    if hold is not None:
        raise InputError(
            f"run `{moment.run.id}` is held: {hold.reason}; its checks are run, and verdicts"
            " counted, once a person resumes it"
        )


def _read(given: VerdictGiven, source: VerdictSource) -> ReviewVerdict | Unreadable:
    if not isinstance(given, ReviewVerdict):
        return gate_verdict_from(given, source)
    try:
        # Whoever made it may have put anything into it.
        return as_said(msgspec.convert(msgspec.to_builtins(given), ReviewVerdict))
    except (msgspec.ValidationError, TypeError, ValueError) as error:
        raise InputError(f"the verdict is none: {error}") from error


def _raw(given: VerdictGiven) -> bytes:
    if isinstance(given, str):
        return given.encode("utf-8", "surrogatepass")
    try:
        return msgspec.json.encode(given, order="sorted")
    except (TypeError, ValueError, RecursionError) as error:
        raise InputError(f"the verdict cannot be written as JSON: {error}") from error


def _on_record(context: Context, said: ReviewVerdict | Unreadable) -> ReviewVerdict | Unreadable:
    """Return what was said as it may be recorded: without secrets."""
    if isinstance(said, Unreadable):
        return Unreadable(reason=context.clean(said.reason))
    return replace(
        said,
        rationale=_clean(context, said.rationale),
        per_gate=tuple(
            replace(each, gate=context.clean(each.gate), rationale=_clean(context, each.rationale))
            for each in said.per_gate
        ),
    )


def _clean(context: Context, rationale: str) -> str:
    return context.clean(rationale)[:_LONGEST_RATIONALE]


def _answer(record: Record, event: ReviewJudged, *, repeated: bool) -> ReviewAnswer:
    detail = dated(event.decision, record.at)
    return ReviewAnswer(
        run_id=record.run,
        seq=record.seq,
        review_id=event.review,
        decision=detail.outcome,
        detail=detail,
        coverage=event.coverage,
        footer=footer_of(event.decision.warnings),
        approval_id=event.approval,
        repeated=repeated,
    )
