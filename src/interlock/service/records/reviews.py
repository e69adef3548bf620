"""A review that work waits for: gates of the policy by name, or gates made for the occasion."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import Final, TypedDict

import msgspec
from msgspec.structs import replace

from interlock.errors import InputError
from interlock.ledger.ledger import Work
from interlock.ledger.transaction import Transaction
from interlock.model.answers import ReviewAnswer, ReviewOpening
from interlock.model.approval import Approval, ApprovalState, Subject
from interlock.model.events import ApprovalDecided, ReviewChosen, ReviewOpened
from interlock.model.principal import SYSTEM, Principal
from interlock.model.review import (
    GateAction,
    ReviewDecision,
    ReviewGate,
    ReviewOutcome,
    refuse_name,
)
from interlock.model.review_state import OpenReview
from interlock.model.run import RunState
from interlock.model.verdict import Decision, Finding, Severity
from interlock.policy.reviews.gate_definition import gate_from
from interlock.policy.reviews.gate_faults import coverage_of, fault_in_words
from interlock.policy.reviews.review_gate import COMPLETION, asked_again, choose, opened
from interlock.policy.reviews.review_guidance import guidance_of
from interlock.service.records.adoption import adopt_in_run
from interlock.service.records.approvals import check_is_open, expire, open_approval
from interlock.service.records.context import Asked, Context
from interlock.service.records.holds import running
from interlock.service.records.runs import close_run

GateGiven = str | ReviewGate | Mapping[str, object]
"""A gate: the name of one in the policy, a gate, or a table that describes one."""

_MOST_PENDING: Final = 20
_LONGEST_SUBJECT: Final = 1_000
_MOST_BYTES: Final = 256 * 1024
"""So much may all gates of a review take: they are part of the run's state while it is pending."""


class ReviewFields(TypedDict, total=False):
    """What a review may be opened with, besides its name and its gates."""

    subject: str
    """What is reviewed, in words."""
    all_hints: bool
    """Whether the guidance shows every criterion, not only the first few."""


def open_review(
    asked: Asked,
    review_id: str,
    given: Sequence[GateGiven],
    *,
    subject: str,
    all_hints: bool = False,
) -> Work[ReviewOpening]:
    """Return the work of opening a review; one that is pending already stays as it is."""
    context, state, by = asked
    refuse_name("review", "id", review_id)
    _refuse_secret(context, "review: its id", review_id)
    if review_id == COMPLETION:
        raise InputError(
            f"`{COMPLETION}` is the review that the policy asks for: name it otherwise"
        )
    gates = tuple(_gate(context, each) for each in given)
    _check_size(review_id, gates)
    event = ReviewOpened(
        review=opened(review_id, gates, context.policy.config.reviews),
        gates=gates,
        subject=context.clean(subject)[:_LONGEST_SUBJECT],
    )

    def plan(transaction: Transaction) -> ReviewOpening:
        run, now = running(transaction, state.id), context.clock.now()
        earlier = run.reviews.pending.get(review_id)
        if earlier is not None:
            _check_is_same(earlier, event)
            return _opening(context, run, earlier, seq=run.seq, repeated=True, all_hints=all_hints)
        _check_room(run)
        adopt_in_run(transaction, run, context, now)
        record = transaction.append(run.id, event, at=now, by=by)
        found = transaction.state(run.id).reviews.pending[review_id]
        return _opening(context, run, found, seq=record.seq, repeated=False, all_hints=all_hints)

    return Work(plan, locks=(f"run/{state.id}",))


def kept_gate(context: Context, gate: ReviewGate) -> ReviewGate:
    """Return a gate as it may be kept; InputError for a check with a secret among its words."""
    _refuse_secret(context, "gate: its id", gate.id)
    argv = () if gate.check is None else gate.check.argv
    for text in (*argv, shlex.join(argv)):
        if not _is_whole(text):
            raise InputError(f"gate `{gate.id}`: its check holds half a character")
        _refuse_secret(context, f"gate `{gate.id}`: its check", text)
    return replace(gate, criteria=tuple(map(context.clean, gate.criteria)))


def _refuse_secret(context: Context, place: str, text: str) -> None:
    if context.clean(text) != text:
        raise InputError(f"{place} holds a secret: name it otherwise, or read it from a file")


def _is_whole(text: str) -> bool:
    """Whether a text can be written: half of a surrogate pair cannot."""
    return not any("\ud800" <= character <= "\udfff" for character in text)


def _gate(context: Context, given: GateGiven) -> ReviewGate:
    if isinstance(given, ReviewGate):
        return kept_gate(context, given)
    if isinstance(given, Mapping):
        return kept_gate(context, gate_from(given, "review"))
    known = context.policy.review_gates
    if given not in known:
        names = ", ".join(f"`{name}`" for name in known) or "it has none"
        raise InputError(f"the policy has no review gate `{given[:80]}`: {names}")
    return kept_gate(context, known[given])


def _check_size(review_id: str, gates: Sequence[ReviewGate]) -> None:
    size = len(msgspec.json.encode(gates))
    if size > _MOST_BYTES:
        raise InputError(
            f"the gates of review `{review_id}` take {size} bytes, at most {_MOST_BYTES} are kept:"
            " have checks read from files, or make it several reviews"
        )


def _check_is_same(earlier: OpenReview, event: ReviewOpened) -> None:
    if earlier.gates != event.gates:
        raise InputError(
            f"review `{event.review.id}` is pending already, with other gates: give its verdict"
            " first, or name the new one otherwise"
        )


def _check_room(run: RunState) -> None:
    pending = len(run.reviews.pending)
    if pending >= _MOST_PENDING:
        raise InputError(
            f"run `{run.id}` has {pending} pending reviews, {_MOST_PENDING} are the most: give"
            " their verdicts first"
        )


def _opening(
    context: Context,
    run: RunState,
    found: OpenReview,
    *,
    seq: int,
    repeated: bool,
    all_hints: bool,
) -> ReviewOpening:
    guidance = guidance_of(found, context.policy.config.reviews, all_hints=all_hints)
    return ReviewOpening(
        run_id=run.id,
        seq=seq,
        review=found.review,
        gates=found.gates,
        guidance=guidance,
        repeated=repeated,
    )


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


ABORTED: Final = "aborted"
"""How a run ends whose review a person aborts."""


def choose_by_approval(
    asked: Asked, approval: Approval, action: GateAction, *, instructions: str | None
) -> Work[ReviewAnswer]:
    """Return the work of answering a question about a review."""
    context, by, approval_id = asked.context, asked.principal, approval.id
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
    asked: Asked, review_id: str | None, action: GateAction, *, instructions: str | None
) -> Work[ReviewAnswer]:
    """Return the work of choosing for a review by its name; refused while attempts remain."""
    context, run_id, by = asked.context, asked.run.id, asked.principal
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
    by: Principal,
) -> ReviewAnswer:
    now = context.clock.now()
    settings = context.policy.config.reviews
    decision = choose(found, action, settings, instructions=instructions)
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
    return _choice_answer(run.id, record.seq, found, decision)


def _answer_question(
    transaction: Transaction,
    found: OpenReview,
    action: GateAction,
    instructions: str | None,
    *,
    by: Principal,
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


def _choice_answer(
    run_id: str, seq: int, found: OpenReview, decision: ReviewDecision
) -> ReviewAnswer:
    return ReviewAnswer(
        run_id=run_id,
        seq=seq,
        review_id=found.review.id,
        decision=decision,
        coverage=coverage_of(found),
    )


def question_of(
    context: Context,
    transaction: Transaction,
    run: RunState,
    found: OpenReview,
    decision: ReviewDecision,
) -> str | None:
    """Return the question to a person that a review waits for; it is asked again if it ran out."""
    review = decision.review
    if review is None or not review.awaiting_choice:
        return None
    is_new = decision.outcome is ReviewOutcome.ASK
    asked = decision if is_new else asked_again(review, context.policy.config.reviews)
    return ask_for_choice(context, transaction, run, found, asked)
