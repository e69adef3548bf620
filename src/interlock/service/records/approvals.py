"""Questions to people: opened once, decided once, used once."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Final

from interlock.errors import DecidedError, InputError, NotPermittedError, UnknownError
from interlock.ledger.ledger import Ledger, Work
from interlock.ledger.transaction import Transaction
from interlock.model.approval import Approval, ApprovalState, Subject
from interlock.model.budget_words import UsedUp, used_up
from interlock.model.events import ApprovalDecided, ApprovalOpened
from interlock.model.facts import HoldKind
from interlock.model.principal import SYSTEM, PrincipalKind
from interlock.model.short_code import code_of
from interlock.model.verdict import Finding
from interlock.ports import Clock, Listener, PatientClock
from interlock.service.records.budgets import balances_of, charged_scopes
from interlock.service.records.context import SECOND, Asked, Moment, new_id

_LOOK_AGAIN_S: Final = 30.0
_LET_GO_S: Final = 1.0
_AT_CLIENT: Final = (Subject.ACTION, Subject.PRICE)
"""What a client may ask at its own prompt: both come with an action that it shows."""


def open_approval(
    moment: Moment,
    *,
    subject: Subject = Subject.ACTION,
    digest: str,
    summary: str,
    findings: tuple[Finding, ...],
    superseded: Approval | None = None,
) -> str:
    """Ask a person; return the question's id."""
    asked_at, policy = moment.now, moment.context.policy
    if superseded is not None:
        expire(moment, superseded)
        # The latest question counts, also if the clock has gone back since the last one.
        asked_at = max(moment.now, superseded.opened_at + 1)
    event = ApprovalOpened(
        id=new_id(),
        subject=subject,
        digest=digest,
        summary=summary,
        findings=findings,
        policy_hash=policy.hash,
        expires_at=moment.now + SECOND * policy.config.approvals.expires_seconds,
        uses=1,
    )
    moment.append(event, None if subject is Subject.ACTION else SYSTEM, at=asked_at)
    return event.id


def expire(moment: Moment, approval: Approval) -> None:
    """Record that nobody answered in time, if that is so: silence is never consent."""
    if approval.state is ApprovalState.PENDING and not approval.is_open_at(moment.now):
        event = ApprovalDecided(id=approval.id, state=ApprovalState.EXPIRED)
        moment.append(event, SYSTEM, run_id=approval.run_id)


def withdraw(moment: Moment, approval: Approval) -> None:
    """Take back a pending question that needs no answer any more."""
    state = ApprovalState.CANCELLED if approval.is_open_at(moment.now) else ApprovalState.EXPIRED
    moment.append(ApprovalDecided(id=approval.id, state=state), SYSTEM)


def settle_elsewhere(moment: Moment, approval_id: str) -> None:
    """Close a question that a person answered with yes where their client asked it as well."""
    found = moment.transaction.approval(approval_id)
    if found is not None and found.state is ApprovalState.PENDING:
        # What was asked of the whole run stays answered; what was asked of one action is over.
        is_of_run = found.subject is Subject.PRICE
        state = ApprovalState.GRANTED if is_of_run else ApprovalState.CANCELLED
        note = "somebody at the client's own prompt allowed it"
        moment.append(ApprovalDecided(id=found.id, state=state, note=note))


def answer_at_client(asked: Asked, approval: Approval, *, agreed: bool) -> Work[Approval]:
    """Return the work of taking a client's word on one action: it lets nothing else happen."""
    if asked.principal.kind is not PrincipalKind.PERSON or approval.subject not in _AT_CLIENT:
        raise NotPermittedError(
            f"{asked.principal.kind.value} `{asked.principal.name}` may not answer this: whoever a"
            " client asks decides about the one action that it shows"
        )
    return _decision(
        asked, approval, ApprovalState.GRANTED if agreed else ApprovalState.DENIED, note=None
    )


def decide(
    asked: Asked, approval: Approval, state: ApprovalState, *, note: str | None, always: bool
) -> Work[Approval]:
    """Return the work of deciding an approval: the first one decides, the others are told."""
    by = asked.principal
    if by.kind is not PrincipalKind.OPERATOR:
        raise NotPermittedError(
            f"{by.kind.value} `{by.name}` may not decide approvals: only an operator may"
        )
    return _decision(asked, approval, state, note=note, always=always)


def _decision(
    asked: Asked,
    approval: Approval,
    state: ApprovalState,
    *,
    note: str | None,
    always: bool = False,
) -> Work[Approval]:
    charged = charged_scopes(asked.run, asked.context.clock.now())

    def plan(moment: Moment) -> Approval:
        transaction = moment.transaction
        current = transaction.approval(approval.id)
        if current is None:
            raise unknown_approval(approval.id)
        check_is_open(current, moment.now)
        _check_subject(current)
        _check_reason(transaction, current, state, note)
        if state is ApprovalState.GRANTED:
            check_budget(moment, current, charged)
        said = None if note is None else asked.context.clean(note)
        moment.append(ApprovalDecided(id=current.id, state=state, note=said, always=always))
        decided = transaction.approval(current.id)
        return current if decided is None else decided

    return asked.work(plan, charged=charged if approval.is_about_budget else None)


def check_budget(moment: Moment, approval: Approval | None, charged: Sequence[str]) -> None:
    """Refuse to let a run go on that would be stopped again at once."""
    if approval is not None and approval.is_about_budget:
        refuse_used_up(approval, used_up(moment.run.id, balances_of(moment, charged)))


def refuse_used_up(approval: Approval, limits: Sequence[UsedUp]) -> None:
    """Raise InputError where a run asks to go on and nothing is left of a limit."""
    if limits:
        ways = " and ".join(f"`{each.way_to_raise}`" for each in limits)
        raise InputError(
            f"run `{code_of(approval.run_id)}` would be stopped again at once:"
            f" {'; '.join(each.text for each in limits)}. Raise it first, {ways}, then let it go"
            f" on: `interlock resume {code_of(approval.run_id)} --reason TEXT`"
        )


def check_is_open(approval: Approval, now: int) -> None:
    """Raise DecidedError for a question that nobody can answer any more."""
    if not approval.is_open_at(now):
        raise DecidedError(_what_became(approval, now))


def _check_subject(approval: Approval) -> None:
    if approval.subject is Subject.REVIEW:
        raise InputError(
            f"approval `{approval.id}` is about a review, which has three ways on:"
            f" `interlock review resolve {approval.code} retry`, `skip` or `abort`"
        )


def _check_reason(
    transaction: Transaction, approval: Approval, state: ApprovalState, note: str | None
) -> None:
    """Refuse to lift a stop without a word on why."""
    if approval.subject is not Subject.RESUME or state is not ApprovalState.GRANTED:
        return
    hold = transaction.state(approval.run_id).control.hold
    if hold is not None and hold.kind is HoldKind.STOP and not (note or "").strip():
        raise InputError(
            f"run `{approval.run_id}` was stopped: say why it may go on,"
            f" `interlock approve {approval.code} --reason WHY`"
        )


def wait_for_decision(
    ledger: Ledger,
    approval_id: str,
    *,
    clock: Clock,
    timeout_s: float | None,
    is_wanted: Callable[[], bool] = lambda: True,
) -> Approval:
    """Wait until an approval is decided, runs out or patience does; return it as it then is.

    Once nobody wants to know any more, the wait ends within a second.
    """
    asked_at = clock.now()
    listener = ledger.listen()
    try:
        while True:
            approval = ledger.rows.approval(approval_id)
            if approval is None:
                raise unknown_approval(approval_id)
            ends = approval.expires_at
            if timeout_s is not None:
                ends = min(ends, asked_at + int(timeout_s * 1_000_000))
            left_s = (ends - clock.now()) / 1_000_000
            if approval.state is not ApprovalState.PENDING or left_s <= 0 or not is_wanted():
                return approval
            # A notice may be lost with a connection: look again now and then.
            if isinstance(clock, PatientClock):
                clock.sleep(min(left_s, _LET_GO_S))
            else:
                _wait_for_news(listener, min(left_s, _LOOK_AGAIN_S), is_wanted)
    finally:
        listener.close()


def _wait_for_news(listener: Listener, longest_s: float, is_wanted: Callable[[], bool]) -> None:
    until = time.monotonic() + longest_s
    while is_wanted() and (left_s := until - time.monotonic()) > 0:
        if listener.wait(min(left_s, _LET_GO_S)):
            return


def unknown_approval(approval_id: str) -> InputError:
    """Return the error for an id that names no approval."""
    return UnknownError(f"there is no approval `{approval_id}`: look at `interlock approvals`")


def _what_became(approval: Approval, now: int) -> str:
    if approval.state is ApprovalState.PENDING:
        ago = (now - approval.expires_at) // 1_000_000
        return f"approval `{approval.id}` expired {ago} s ago: the agent has to ask again"
    who = (approval.decided_by or "somebody").partition(":")[2] or "somebody"
    word = "approved" if approval.state is ApprovalState.GRANTED else approval.state.value
    return f"approval `{approval.id}` was {word} already, by {who}"
