"""What follows from a record: accounts, request keys, reservations, approvals and credentials.

Everything here can be thrown away and made again from the records: the same function serves
the writer, `recover` and `verify`.
"""

from __future__ import annotations

from typing import Final, assert_never

import msgspec
from msgspec.structs import replace

from interlock.model import events, loop_events
from interlock.model.approval import Approval, ApprovalState
from interlock.model.budget import EMPTY, NOTHING, Account, alerted, relimited, reserved, settled
from interlock.model.rows import Changes, CredentialRow, KeyRow, ReservationRow
from interlock.model.run import LEDGER_RUN, unpriced_tokens

FORGOTTEN: Final = 0
"""The record of a request key whose answer must not be given again."""


class Projection:
    """What follows from the records so far."""

    def __init__(self) -> None:
        self.accounts: dict[str, Account] = {}
        self.changes = Changes()

    def account(self, scope: str) -> Account:
        """Return an account; one that nothing was ever charged to is empty."""
        return self.accounts.get(scope, EMPTY)

    def put_account(self, scope: str, account: Account) -> None:
        """Put an account; its bytes are made when the changes are complete."""
        self.accounts[scope] = account
        self.changes.accounts[scope] = b""

    def approval(self, approval_id: str) -> Approval | None:
        """Return an approval by its id."""
        return self.changes.approvals.get(approval_id)

    def put_approval(self, approval: Approval) -> None:
        """Put an approval."""
        self.changes.approvals[approval.id] = approval

    def credential(self, digest: str) -> CredentialRow | None:
        """Return a credential by its digest."""
        return self.changes.credentials.get(digest)

    def put_credential(self, row: CredentialRow) -> None:
        """Put a credential; it is sealed when the changes are complete."""
        self.changes.credentials[row.digest] = row

    def put_key(self, row: KeyRow) -> None:
        """Put what a request key was used for."""
        self.changes.keys[row.run_id, row.key] = row


def project(projection: Projection, record: events.Record) -> None:  # noqa: C901, PLR0912, PLR0915 - a case per event
    """Bring accounts, keys, reservations and approvals up to date with one more record."""
    match record.event:
        case events.ActionJudged() as event:
            _judge(projection, record, event)
        case events.ActionObserved() | events.UsageReported() as event:
            _settle(projection, record, event)
        case events.ReservationLapsed() as event:
            _lapse(projection, record, event)
        case events.BudgetChanged(scope=scope, dimension=dimension, after=after):
            if not _belongs_to_run(record, scope):
                projection.put_account(
                    scope, relimited(projection.account(scope), dimension, after)
                )
        case events.BudgetAlerted(alert=alert):
            if not _belongs_to_run(record, alert.scope):
                projection.put_account(alert.scope, alerted(projection.account(alert.scope), alert))
        case events.ApprovalOpened() as event:
            projection.put_approval(_opened(record, event))
        case events.ApprovalDecided() as event:
            _decide(projection, record, event)
        case events.ApprovalUsed(id=approval_id):
            approval = projection.approval(approval_id)
            if approval is not None:
                projection.put_approval(replace(approval, uses_left=approval.uses_left - 1))
        case (
            events.StepJudged(key=key, digest=digest)
            | events.StopJudged(key=key, digest=digest)
            | events.ReviewJudged(key=key, digest=digest)
        ):
            if key is not None:
                projection.put_key(KeyRow(record.run, key, record.seq, digest))
        case events.CredentialGranted() as event:
            # Whatever stands in the chain of a run lets nobody in.
            if record.run == LEDGER_RUN:
                projection.put_credential(_granted(record, event))
        case events.CredentialRevoked(digest=digest):
            row = projection.credential(digest)
            if row is not None and record.run == LEDGER_RUN:
                projection.put_credential(row._replace(revoked_at=record.at))
        case events.PersonNotified(approval=approval_id, channel=channel):
            key = notification_key(approval_id, channel)
            projection.put_key(KeyRow(record.run, key, record.seq, ""))
        case (
            loop_events.TriggerReceived()
            | loop_events.CycleDecided()
            | loop_events.RetrospectiveWritten() as event
        ):
            for key in _loop_keys(event):
                projection.put_key(KeyRow(record.run, key, record.seq, ""))
        case (
            events.RunStarted()
            | events.RunResumed()
            | events.AccessRefused()
            | events.LedgerAccepted()
            | events.LedgerArchived()
            | events.LedgerRestored()
            | events.ViolationRecorded()
            | events.PolicyAdopted()
            | events.BeliefHeld()
            | events.PersonSpoke()
            | events.CheckpointTaken()
            | events.RunHalted()
            | events.RunLifted()
            | events.ReviewOpened()
            | events.CheckRan()
            | events.ReviewChosen()
            | events.EditsApplied()
            | events.Undone()
            | events.RunFinished()
            | loop_events.NoteAdded()
            | loop_events.NotesProcessed()
            | loop_events.ModelAsked()
            | loop_events.ModelAnswered()
            | loop_events.DeliveryAttempted()
            | loop_events.LoopFrozen()
            | loop_events.LoopThawed()
            | loop_events.LoopCancelled()
            | loop_events.RecommendationSettled()
        ):
            pass
        case _:
            assert_never(record.event)


def _loop_keys(
    event: loop_events.TriggerReceived
    | loop_events.CycleDecided
    | loop_events.RetrospectiveWritten,
) -> tuple[str, ...]:
    """Return the keys by which what happened to the loop is found again."""
    match event:
        case loop_events.TriggerReceived(trigger=trigger):
            return (trigger_key(trigger.id),)
        case loop_events.CycleDecided(decision_id=decision_id, emitted=emitted):
            answered = tuple(map(answer_key, event.triggers))
            named = () if emitted is None else (decision_key(emitted.id),)
            return (decision_key(decision_id), *named, *answered)
        case loop_events.RetrospectiveWritten(retrospective=retrospective):
            return (retrospective_key(retrospective.run),)


def notification_key(approval_id: str, channel: str) -> str:
    """Return the key of the last attempt to tell somebody of a question."""
    return f"notified:{channel}:{approval_id}"


def trigger_key(trigger_id: str) -> str:
    """Return the key under which a trigger is known: the same one is not taken twice."""
    return f"trigger:{trigger_id}"


def answer_key(trigger_id: str) -> str:
    """Return the key of the decision that answered a trigger."""
    return f"answer:{trigger_id}"


def decision_key(decision_id: str) -> str:
    """Return the key of a decision, by its own id or that of what it emitted."""
    return f"decision:{decision_id}"


def retrospective_key(run_id: str) -> str:
    """Return the key of what was learnt from a run."""
    return f"retrospective:{run_id}"


def _lapse(projection: Projection, record: events.Record, event: events.ReservationLapsed) -> None:
    projection.changes.reservations[record.run, event.of] = None
    for scope in event.scopes:
        account = projection.account(scope)
        projection.put_account(scope, settled(account, released=event.released, spent=NOTHING))


def _belongs_to_run(record: events.Record, scope: str) -> bool:
    """Whether an account is part of the run's own state."""
    return scope in (f"run/{record.run}", f"tree/{record.run}")


def _judge(projection: Projection, record: events.Record, event: events.ActionJudged) -> None:
    if event.replaces is not None:
        projection.changes.reservations[record.run, event.replaces] = None
    if event.reserved != NOTHING or event.returned != NOTHING:
        for scope in event.scopes:
            account = settled(projection.account(scope), released=event.returned, spent=NOTHING)
            projection.put_account(scope, reserved(account, event.reserved))
    if event.lease_until is not None:
        reservation = ReservationRow(record.run, record.seq, event.lease_until)
        projection.changes.reservations[record.run, record.seq] = reservation
    if event.key is not None:
        projection.put_key(KeyRow(record.run, event.key, record.seq, event.digest))


def _settle(
    projection: Projection,
    record: events.Record,
    event: events.ActionObserved | events.UsageReported,
) -> None:
    released = NOTHING
    if isinstance(event, events.ActionObserved):
        released = event.released
        _note_report(projection, record, event)
    elif event.key is not None:
        projection.put_key(KeyRow(record.run, event.key, record.seq, event.digest))
    for scope in event.scopes:
        account = settled(
            projection.account(scope),
            released=released,
            spent=event.spent,
            unpriced_tokens=unpriced_tokens(event),
        )
        projection.put_account(scope, account)


def _note_report(
    projection: Projection, record: events.Record, event: events.ActionObserved
) -> None:
    if event.of is not None:
        projection.changes.reservations[record.run, event.of] = None
        projection.put_key(KeyRow(record.run, report_key(event.of), record.seq, event.digest))
    if event.forgets is not None:
        projection.put_key(KeyRow(record.run, event.forgets, FORGOTTEN, ""))


def report_key(of: int) -> str:
    """Return the key under which the report on a record is found."""
    return f"report:{of}"


def _opened(record: events.Record, event: events.ApprovalOpened) -> Approval:
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


def _granted(record: events.Record, event: events.CredentialGranted) -> CredentialRow:
    cost = None if event.cost is None else msgspec.json.encode(event.cost, order="sorted").decode()
    return CredentialRow(
        digest=event.digest,
        kind=event.kind.value,
        name=event.name,
        method=event.method.value,
        cost=cost,
        created_at=record.at,
        revoked_at=None,
        seal="",
    )


def _decide(projection: Projection, record: events.Record, event: events.ApprovalDecided) -> None:
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
