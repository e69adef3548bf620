"""What follows from a record: accounts, request keys, reservations and approvals.

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
        """Put an account."""
        ...

    def put_key(self, row: KeyRow) -> None:
        """Put what a request key was used for."""
        ...

    def put_reservation(self, row: ReservationRow) -> None:
        """Put a reservation."""
        ...

    def release_reservation(self, run_id: str, seq: int) -> None:
        """Release a reservation."""
        ...

    def approval(self, approval_id: str) -> Approval | None:
        """Return an approval."""
        ...

    def put_approval(self, approval: Approval) -> None:
        """Put an approval."""
        ...


def project(projection: Projection, record: Record) -> None:  # noqa: C901, PLR0912 - one line per event
    """Bring accounts, keys, reservations and approvals up to date with one more record."""
    match record.event:
        case ActionJudged() as event:
            _judge(projection, record, event)
        case ActionObserved() | UsageReported() as event:
            _settle(projection, record, event)
        case ReservationLapsed() as event:
            _lapse(projection, record, event)
        case BudgetChanged(scope=scope, dimension=dimension, after=after):
            if not _belongs_to_run(record, scope):
                projection.put_account(
                    scope, relimited(projection.account(scope), dimension, after)
                )
        case BudgetAlerted(alert=alert):
            if not _belongs_to_run(record, alert.scope):
                projection.put_account(alert.scope, alerted(projection.account(alert.scope), alert))
        case ApprovalOpened() as event:
            projection.put_approval(_opened(record, event))
        case ApprovalDecided() as event:
            _decide(projection, record, event)
        case ApprovalUsed(id=approval_id):
            approval = projection.approval(approval_id)
            if approval is not None:
                projection.put_approval(replace(approval, uses_left=approval.uses_left - 1))
        case (
            StepJudged(key=key, digest=digest)
            | StopJudged(key=key, digest=digest)
            | ReviewJudged(key=key, digest=digest)
        ):
            if key is not None:
                projection.put_key(KeyRow(record.run, key, record.seq, digest))
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


def _lapse(projection: Projection, record: Record, event: ReservationLapsed) -> None:
    projection.release_reservation(record.run, event.of)
    for scope in event.scopes:
        account = projection.account(scope)
        projection.put_account(scope, settled(account, released=event.released, spent=NOTHING))


def _belongs_to_run(record: Record, scope: str) -> bool:
    """Whether an account is part of the run's own state."""
    return scope in (f"run/{record.run}", f"tree/{record.run}")


def _judge(projection: Projection, record: Record, event: ActionJudged) -> None:
    if event.replaces is not None:
        projection.release_reservation(record.run, event.replaces)
    if event.reserved != NOTHING or event.returned != NOTHING:
        for scope in event.scopes:
            account = settled(projection.account(scope), released=event.returned, spent=NOTHING)
            projection.put_account(scope, reserved(account, event.reserved))
    if event.lease_until is not None:
        projection.put_reservation(ReservationRow(record.run, record.seq, event.lease_until))
    if event.key is not None:
        projection.put_key(KeyRow(record.run, event.key, record.seq, event.digest))


def _settle(projection: Projection, record: Record, event: ActionObserved | UsageReported) -> None:
    released = NOTHING
    if isinstance(event, ActionObserved):
        released = event.released
        _note_report(projection, record, event)
    for scope in event.scopes:
        account = settled(
            projection.account(scope),
            released=released,
            spent=event.spent,
            unpriced_tokens=unpriced_tokens(event),
        )
        projection.put_account(scope, account)


def _note_report(projection: Projection, record: Record, event: ActionObserved) -> None:
    if event.of is not None:
        projection.release_reservation(record.run, event.of)
        projection.put_key(KeyRow(record.run, report_key(event.of), record.seq, event.digest))
    if event.forgets is not None:
        projection.put_key(KeyRow(record.run, event.forgets, FORGOTTEN, ""))


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


def _decide(projection: Projection, record: Record, event: ApprovalDecided) -> None:
    approval = projection.approval(event.id)
    if approval is None or approval.state is not ApprovalState.PENDING:
        return
    projection.put_approval(
        replace(
            approval,
            state=event.state,
            decided_at=record.at,
            decided_by=f"{record.by.kind.value}:{record.by.name}",
            note=event.note,
            always=event.always,
        )
    )
