"""What follows from a record: accounts, request keys, promises and approvals.

Everything here can be thrown away and made again from the records: the same function serves
the writer, `recover` and `verify`.
"""

from __future__ import annotations

from typing import Final, Protocol, assert_never

from msgspec.structs import replace

from interlock.model.approval import Approval, ApprovalState
from interlock.model.budget import NOTHING, Account, alerted, relimited, reserved, settled
from interlock.model.events import (
    ActionJudged,
    ActionObserved,
    ApprovalDecided,
    ApprovalOpened,
    ApprovalUsed,
    BeliefHeld,
    BudgetAlerted,
    BudgetChanged,
    CheckpointTaken,
    CheckRan,
    EditsApplied,
    PersonSpoke,
    PolicyAdopted,
    Record,
    ReservationLapsed,
    ReviewChosen,
    ReviewJudged,
    ReviewOpened,
    RunFinished,
    RunHalted,
    RunLifted,
    RunStarted,
    StepJudged,
    StopJudged,
    Undone,
    UsageReported,
    ViolationRecorded,
)
from interlock.model.rows import KeyRow, ReservationRow
from interlock.model.run import unpriced_tokens

FORGOTTEN: Final = 0
"""The record of a request key whose answer must not be given again."""


class Projection(Protocol):
    """What a projection reads and writes."""

    def account(self, scope: str) -> Account:
        """Return an account; an unknown one is empty."""
        ...

    def put_account(self, scope: str, account: Account) -> None:
        """Keep an account."""
        ...

    def put_key(self, row: KeyRow) -> None:
        """Keep what a request key was used for."""
        ...

    def hold(self, row: ReservationRow) -> None:
        """Keep a promise."""
        ...

    def release(self, run_id: str, seq: int) -> None:
        """Forget a promise."""
        ...

    def approval(self, approval_id: str) -> Approval | None:
        """Return an approval."""
        ...

    def put_approval(self, approval: Approval) -> None:
        """Keep an approval."""
        ...


def project(books: Projection, record: Record) -> None:  # noqa: C901, PLR0912 - one line per event
    """Bring the books up to date with one more record."""
    match record.event:
        case ActionJudged() as event:
            _judge(books, record, event)
        case ActionObserved() | UsageReported() as event:
            _settle(books, record, event)
        case ReservationLapsed() as event:
            _lapse(books, record, event)
        case BudgetChanged(scope=scope, dimension=dimension, after=after):
            if not _is_kept_by_run(record, scope):
                books.put_account(scope, relimited(books.account(scope), dimension, after))
        case BudgetAlerted(alert=alert):
            if not _is_kept_by_run(record, alert.scope):
                books.put_account(alert.scope, alerted(books.account(alert.scope), alert))
        case ApprovalOpened() as event:
            books.put_approval(_opened(record, event))
        case ApprovalDecided() as event:
            _decide(books, record, event)
        case ApprovalUsed(id=approval_id):
            approval = books.approval(approval_id)
            if approval is not None:
                books.put_approval(replace(approval, uses_left=approval.uses_left - 1))
        case (
            StepJudged(key=key, digest=digest)
            | StopJudged(key=key, digest=digest)
            | ReviewJudged(key=key, digest=digest)
        ):
            if key is not None:
                books.put_key(KeyRow(record.run, key, record.seq, digest))
        case (
            RunStarted()
            | ViolationRecorded()
            | PolicyAdopted()
            | BeliefHeld()
            | PersonSpoke()
            | CheckpointTaken()
            | RunHalted()
            | RunLifted()
            | ReviewOpened()
            | CheckRan()
            | ReviewChosen()
            | EditsApplied()
            | Undone()
            | RunFinished()
        ):
            pass
        case _:
            assert_never(record.event)


def _lapse(books: Projection, record: Record, event: ReservationLapsed) -> None:
    books.release(record.run, event.of)
    for scope in event.scopes:
        account = books.account(scope)
        books.put_account(scope, settled(account, released=event.released, spent=NOTHING))


def _is_kept_by_run(record: Record, scope: str) -> bool:
    """Whether an account is part of the run's own state."""
    return scope in (f"run/{record.run}", f"tree/{record.run}")


def _judge(books: Projection, record: Record, event: ActionJudged) -> None:
    if event.replaces is not None:
        books.release(record.run, event.replaces)
    if event.reserved != NOTHING or event.returned != NOTHING:
        for scope in event.scopes:
            account = settled(books.account(scope), released=event.returned, spent=NOTHING)
            books.put_account(scope, reserved(account, event.reserved))
    if event.lease_until is not None:
        books.hold(ReservationRow(record.run, record.seq, event.lease_until))
    if event.key is not None:
        books.put_key(KeyRow(record.run, event.key, record.seq, event.digest))


def _settle(books: Projection, record: Record, event: ActionObserved | UsageReported) -> None:
    released = NOTHING
    if isinstance(event, ActionObserved):
        released = event.released
        _note_report(books, record, event)
    for scope in event.scopes:
        account = settled(
            books.account(scope),
            released=released,
            spent=event.spent,
            unpriced_tokens=unpriced_tokens(event),
        )
        books.put_account(scope, account)


def _note_report(books: Projection, record: Record, event: ActionObserved) -> None:
    if event.of is not None:
        books.release(record.run, event.of)
        books.put_key(KeyRow(record.run, report_key(event.of), record.seq, event.digest))
    if event.forgets is not None:
        books.put_key(KeyRow(record.run, event.forgets, FORGOTTEN, ""))


def report_key(of: int) -> str:
    """Return the key under which the report on a record is found."""
    return f"report:{of}"


def _opened(record: Record, event: ApprovalOpened) -> Approval:
    return Approval(
        id=event.id,
        run_id=record.run,
        subject=event.subject,
        digest=event.digest,
        summary=event.summary,
        findings=event.findings,
        policy_hash=event.policy_hash,
        opened_at=record.at,
        expires_at=event.expires_at,
        uses_left=event.uses,
    )


def _decide(books: Projection, record: Record, event: ApprovalDecided) -> None:
    approval = books.approval(event.id)
    if approval is None or approval.state is not ApprovalState.PENDING:
        return
    books.put_approval(
        replace(
            approval,
            state=event.state,
            decided_at=record.at,
            decided_by=f"{record.by.kind.value}:{record.by.name}",
            note=event.note,
            always=event.always,
        )
    )
