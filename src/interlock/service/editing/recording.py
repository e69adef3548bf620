"""What a set of edits did, on the record, and read from there again."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from msgspec.structs import replace

from interlock.errors import InputError
from interlock.ledger.codec import decoded
from interlock.ledger.ledger import Work
from interlock.ledger.projection import report_key
from interlock.ledger.rows import RecordRow, Rows
from interlock.ledger.transaction import Transaction
from interlock.model.answers import Answer
from interlock.model.edit import Applied, AppliedFile, EditPlan, Layer
from interlock.model.events import EditsApplied, Event, FileChange, Outcome
from interlock.model.run import RunState, RunStatus
from interlock.service.context import Context
from interlock.service.editing.actions import SetOwner
from interlock.service.holding import agent_of
from interlock.service.observing import Observation, observe

APPLIED: Final = "edits-applied"
_PAGE: Final = 1000


def applied_work(
    context: Context, run: RunState, judged: SetOwner, event: EditsApplied, seen: Observation
) -> Work[EditsApplied]:
    """Return the work of recording that a set was applied, and of reporting on the action.

    What is on record already is returned as it is. A run that was finished meanwhile gets no
    report any more, but what happened to its files is told.
    """
    report = observe(context, run, judged.seq, seen)

    def plan(transaction: Transaction) -> EditsApplied:
        reported = transaction.key(run.id, report_key(judged.seq))
        if reported is not None:
            record = transaction.record(run.id, reported.seq - 1)
            if record is not None and isinstance(record.event, EditsApplied):
                return record.event
        state = transaction.state(run.id)
        # Right before the report, which is found by the action: so it is found as well.
        transaction.append(run.id, event, at=context.clock.now(), by=agent_of(state))
        if reported is None and state.status is RunStatus.RUNNING:
            report.plan(transaction)
        return event

    return Work(plan, locks=report.locks)


def application_of(rows: Rows, judged: SetOwner) -> EditsApplied | None:
    """Return what is on record of a set that was applied."""
    reported = rows.key(judged.run_id, report_key(judged.seq))
    if reported is None:
        return None
    event = event_at(rows, SetOwner(judged.run_id, reported.seq - 1))
    return event if isinstance(event, EditsApplied) and event.of == judged.seq else None


def application_without_report(rows: Rows, judged: SetOwner) -> EditsApplied | None:
    """Return the same of a run that was finished before it could be reported."""
    for row in records_of(rows, judged.run_id):
        event = decoded(row.body).event if row.kind == APPLIED else None
        if isinstance(event, EditsApplied) and event.of == judged.seq:
            return event
    return None


def is_reported(rows: Rows, judged: SetOwner) -> bool:
    """Whether it is on record what became of an action."""
    return rows.key(judged.run_id, report_key(judged.seq)) is not None


def event_at(rows: Rows, place: SetOwner) -> Event | None:
    """Return what happened at a place of the record."""
    row = rows.record(place.run_id, place.seq)
    return None if row is None else decoded(row.body).event


def records_of(rows: Rows, run_id: str) -> Iterator[RecordRow]:
    """Yield every record of a run."""
    after = 0
    while page := rows.records(run_id, after=after, limit=_PAGE):
        yield from page
        after = page[-1].seq


def judged_place(answer: Answer) -> SetOwner:
    """Return the record that an answer is told from."""
    run_id, _, seq = answer.action_id.rpartition(":")
    return SetOwner(run_id, int(seq))


def application(
    context: Context, judged: SetOwner, applied: Applied, plan: EditPlan | None
) -> EditsApplied:
    """Return the event of a set that was applied, as it may be kept."""
    layers = frozenset[Layer]() if plan is None else plan.layers
    return EditsApplied(
        of=judged.seq,
        applied=without_secrets(context, applied),
        layers=tuple(layer for layer in Layer if layer in layers),
    )


def observed_ok(
    context: Context, plan: EditPlan, *, storage_bytes: int, duration_ms: int
) -> Observation:
    """Return the report on a set that was applied, with the figures of its plan."""
    counted = tuple(
        FileChange(path=context.clean(file.target), added=file.added, removed=file.removed)
        for file in plan.files
    )
    return Observation(
        outcome=Outcome.OK, duration_ms=duration_ms, storage_bytes=storage_bytes, counted=counted
    )


def observed_failed(error: Exception, *, duration_ms: int) -> Observation:
    """Return the report on a set that was not applied."""
    return Observation(outcome=Outcome.FAILED, duration_ms=duration_ms, output=str(error))


def workspace_of(run: RunState) -> str:
    """Return the folder that a run works in; raise InputError where it has none."""
    if run.workspace is None:
        raise InputError(
            f"run `{run.id}` has no workspace, so that there is nothing to edit: start it with"
            " `workspace=`"
        )
    return run.workspace


def plan_without_secrets(context: Context, plan: EditPlan) -> EditPlan:
    """Return a plan as it may be told."""
    files = tuple(
        replace(file, path=context.clean(file.path), target=context.clean(file.target))
        for file in plan.files
    )
    return EditPlan(workspace=context.clean(plan.workspace), files=files)


def without_secrets(context: Context, applied: Applied) -> Applied:
    """Return a set as it may be kept and told."""
    files = tuple(
        AppliedFile(
            path=context.clean(file.path),
            target=context.clean(file.target),
            before=file.before,
            after=file.after,
        )
        for file in applied.files
    )
    return replace(applied, workspace=context.clean(applied.workspace), files=files)
