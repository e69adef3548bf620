"""May these edits be made? plan → judge → apply → record."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Sequence
from pathlib import Path

from msgspec.structs import replace

from interlock.edits.edit_apply import applied_set, apply_once
from interlock.edits.edit_plan import Planned, plan_edits
from interlock.errors import EditError, InputError, KeyConflictError, LedgerError
from interlock.ledger.projection import FORGOTTEN
from interlock.model.answers import Answer, EditAnswer
from interlock.model.budget import NOTHING
from interlock.model.edit import Applied, EditSet, FileEdit
from interlock.model.events import ActionJudged, Outcome
from interlock.service.governor import Governor
from interlock.service.questions.action import answer_of
from interlock.service.questions.question import kept_key
from interlock.service.records.edit_sets import (
    SetOwner,
    added_bytes,
    application,
    application_of,
    application_without_report,
    applied_work,
    event_at,
    is_plan,
    is_reported,
    judged_place,
    observed_failed,
    observed_ok,
    plan_without_secrets,
    planned_action,
    request_digest,
    set_id_of,
    workspace_of,
)
from interlock.service.records.observations import Observation, observe
from interlock.service.records.undo_records import recover_unfinished


def edit_set(edits: EditSet | Sequence[FileEdit]) -> EditSet:
    """Return edits as a set."""
    return edits if isinstance(edits, EditSet) else EditSet(edits=tuple(edits))


def look_at_edits(governor: Governor, run_id: str, edits: EditSet) -> EditAnswer:
    """Return what would become of the files; nothing is judged, written or recorded."""
    context = governor.context
    planned = plan_edits(edits, workspace=Path(workspace_of(governor.run(run_id))))
    return EditAnswer(
        plan=plan_without_secrets(context, planned.plan),
        diff=context.clean(planned.unified_diff()),
    )


def apply_edits(
    governor: Governor, run_id: str, edits: EditSet, *, key: str | None = None
) -> EditAnswer:
    """Make edits if the policy lets them be made, and return what became of them.

    Raises EditError, with no file changed, where they cannot be planned or applied.
    """
    return _Request(governor, run_id, edits, key).answered()


class _Request:
    """One set of edits on its way into the files."""

    def __init__(self, governor: Governor, run_id: str, edits: EditSet, key: str | None) -> None:
        governor.ledger.check_process()
        self._governor = governor
        self._context = governor.context
        self._store = governor.context.undo_store
        self._run = governor.run(run_id)
        self._workspace = Path(workspace_of(self._run))
        self._edits = edits
        self._key = key
        self._digest = request_digest(governor.context, edits)

    def answered(self) -> EditAnswer:
        # Before anything is looked at: a set that died half-way is no state to plan on.
        recover_unfinished(self._store)
        earlier = self._answered_before()
        if earlier is not None:
            return earlier
        planned = plan_edits(self._edits, workspace=self._workspace)
        answer = self._judged(planned)
        told = EditAnswer(
            answer=answer,
            plan=plan_without_secrets(self._context, planned.plan),
            diff=self._context.clean(planned.unified_diff()),
            repeated=answer.repeated,
        )
        return self._applied(planned, told, judged_place(answer)) if answer.allowed else told

    def _answered_before(self) -> EditAnswer | None:
        """Return what became of the same request, where something has become of it."""
        if self._key is None:
            return None
        rows, run_id = self._context.ledger.rows, self._run.id
        known = rows.key(run_id, kept_key(self._context, self._key))
        if known is None or known.seq == FORGOTTEN:
            return None
        judged = SetOwner(run_id, known.seq)
        event = event_at(rows, judged)
        if not isinstance(event, ActionJudged) or not is_plan(event.action):
            raise self._conflict()
        applied = self._applied_before(judged)
        if applied is not None:
            answer = answer_of(*judged, event, repeated=True)
            return EditAnswer(answer=answer, applied=applied, repeated=True)
        if is_reported(rows, judged):
            raise EditError(
                f"the edits with the key `{self._key[:60]}` were not applied when they were asked"
                " for: nothing is tried twice under one key; use a new key to try again"
            )
        return None

    def _applied_before(self, judged: SetOwner) -> Applied | None:
        """Return the set that was applied, which is put on record if that had not been done."""
        set_id = set_id_of(judged, self._digest)
        recorded = application_of(self._context.ledger.rows, judged)
        if recorded is not None:
            if recorded.applied.id != set_id:
                raise self._conflict()
            return recorded.applied
        kept = applied_set(self._store, set_id)
        if kept is None:
            return None
        told = application_without_report(self._context.ledger.rows, judged)
        if told is not None:
            return told.applied
        # Whoever applied it did not live to tell: what is known of the action has to do.
        return self._recorded(judged, kept, None, Observation(outcome=Outcome.OK))

    def _judged(self, planned: Planned) -> Answer:
        action = planned_action(planned, self._edits)
        expects = replace(NOTHING, storage_bytes=added_bytes(planned))
        question = self._governor.ask(self._run.id, action, key=self._key, expects=expects)
        try:
            return self._governor.done(question)
        except KeyConflictError as error:
            raise KeyConflictError(
                f"{error}; it is another one as well where the files have changed since, so that"
                " another text would be replaced"
            ) from error

    def _applied(self, planned: Planned, told: EditAnswer, judged: SetOwner) -> EditAnswer:
        began = time.monotonic()
        try:
            recover_unfinished(self._store)
            set_id = set_id_of(judged, self._digest)
            done = apply_once(planned, store=self._store, set_id=set_id)
        except EditError as error:
            self._report_failure(judged, error, _since(began))
            raise
        seen = observed_ok(
            self._context,
            planned.plan,
            storage_bytes=added_bytes(planned),
            duration_ms=_since(began),
        )
        try:
            applied = self._recorded(judged, done.applied, planned, seen)
        except LedgerError as error:
            raise type(error)(
                f"the edits were applied as `{set_id}`, but that is not on record: {error}; ask"
                " again with the same key to record it, or put them back with"
                f" `interlock undo {set_id}`"
            ) from error
        return replace(told, applied=applied, repeated=done.repeated)

    def _recorded(
        self, judged: SetOwner, applied: Applied, planned: Planned | None, seen: Observation
    ) -> Applied:
        plan = None if planned is None else planned.plan
        event = application(self._context, judged, applied, plan)
        work = applied_work(self._context, self._run, judged, event, seen)
        return self._governor.done(work).applied

    def _report_failure(self, judged: SetOwner, error: EditError, duration_ms: int) -> None:
        seen = observed_failed(error, duration_ms=duration_ms)
        # A run that was finished meanwhile takes no report, and nothing has happened.
        with contextlib.suppress(InputError):
            self._governor.done(observe(self._context, self._run, judged.seq, seen))

    def _conflict(self) -> KeyConflictError:
        shown = (self._key or "")[:60]
        return KeyConflictError(
            f"the key `{shown}` stands for another request in run `{self._run.id}`: use a new key"
            " for a new request"
        )


def _since(began: float) -> int:
    return int((time.monotonic() - began) * 1000)
