"""May these edits be made? plan → judge → apply → record."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, cast

import msgspec
from msgspec.structs import replace

from interlock.edits.edit_apply import applied_set, apply_once
from interlock.edits.edit_plan import Planned, plan_edits
from interlock.errors import EditError, InputError, KeyConflictError, LedgerError
from interlock.ledger.ledger import Work
from interlock.ledger.projection import FORGOTTEN
from interlock.model.answers import Answer, EditAnswer
from interlock.model.budget import NOTHING
from interlock.model.edit import Applied, EditSet, FileEdit
from interlock.model.entrance import checked
from interlock.model.events import ActionJudged, Outcome
from interlock.model.run import RunState
from interlock.service.questions.action_question import ActionQuestion, PreparedAction, answer_of
from interlock.service.questions.question import (
    Asking,
    Consequence,
    Decided,
    Preparation,
    key_of,
    key_on_record,
)
from interlock.service.records.context import Asked, Context, Moment
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
from interlock.service.records.known_sets import recover_unfinished
from interlock.service.records.observations import Observation, observe

_KIND: Final = "edits"
"""What keys for sets of edits are told from others by."""
EditsGiven = EditSet | FileEdit | Mapping[str, object] | Sequence[FileEdit]


def edit_set(edits: EditsGiven) -> EditSet:
    """Return edits as a set: one alone is a set of one."""
    if isinstance(edits, Mapping):
        edits = cast(
            "EditSet | FileEdit", checked(edits, EditSet if "edits" in edits else FileEdit, "edits")
        )
    if isinstance(edits, EditSet):
        return edits
    return EditSet(edits=(edits,) if isinstance(edits, FileEdit) else tuple(edits))


def look_at_edits(context: Context, run: RunState, edits: EditSet) -> EditAnswer:
    """Return what would become of the files; nothing is judged, written or recorded."""
    planned = plan_edits(edits, workspace=Path(workspace_of(run)))
    return _looked_at(context, planned)


class EditQuestion(msgspec.Struct, frozen=True, kw_only=True):
    """May these edits be made? Those that may are made, all of them or none.

    Raises EditError, with no file changed, where they cannot be planned or applied.
    """

    run_id: str
    edits: EditSet
    key: str | None = None
    """The client's own name for this question: asked again, it gets the same answer."""

    def prepare(self, asking: Asking) -> Work[Decided[EditAnswer]]:
        """Plan the edits, and have what they would really change judged."""
        asked = asking.of_run(self.run_id)
        prepared = _PreparedEdit(asked, self)
        return asked.work(prepared.decide, charged=prepared.scopes)


class _PreparedEdit:
    """One set of edits on its way into the files."""

    def __init__(self, asked: Asked, question: EditQuestion) -> None:
        self._asked = asked
        self._context = asked.context
        self._store = asked.context.undo_store
        self._run = asked.run
        self._key = question.key
        workspace = Path(workspace_of(asked.run))
        self._digest = request_digest(asked.context, question.edits)
        # Before anything is looked at: a set that died half-way is no state to plan on.
        recover_unfinished(self._context)
        self._earlier = self._answered_before()
        self.scopes: tuple[str, ...] | None = None
        if self._earlier is not None:
            return
        try:
            self._planned = plan_edits(question.edits, workspace=workspace)
        except EditError:
            # Whoever asked the very same at the same time may have changed the files meanwhile.
            recover_unfinished(self._context)
            self._earlier = self._answered_before()
            if self._earlier is None:
                raise
            return
        self._looked_at = _looked_at(asked.context, self._planned)
        action = ActionQuestion(
            run_id=question.run_id,
            action=planned_action(self._planned, question.edits),
            key=question.key,
            kind=_KIND,
            expects=replace(NOTHING, storage_bytes=added_bytes(self._planned)),
        )
        self._action = PreparedAction(asked, action, asked.context.judgements.of(action.action))
        self.scopes = self._action.scopes

    def decide(self, moment: Moment) -> Decided[EditAnswer]:
        """Answer as for any other action; what is allowed is then done."""
        if self._earlier is not None:
            return self._earlier
        answer = self._judged(moment)
        if isinstance(answer, Preparation):
            return answer
        asked = replace(self._looked_at, answer=answer, repeated=answer.repeated)
        if not answer.allowed:
            return asked
        return Consequence(lambda: self._applied(asked, judged_place(answer)))

    def _answered_before(self) -> EditAnswer | None:
        """Return what became of the same request, where something has become of it."""
        if self._key is None:
            return None
        rows, run_id = self._context.ledger.rows, self._run.id
        known = rows.key(run_id, key_of(self._context, _KIND, self._key))
        if known is None:
            # From when one key stood for one question of any kind.
            known = rows.key(run_id, key_on_record(self._context, self._key))
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
        done = applied_set(self._store, set_id)
        if done is None:
            return None
        unreported = application_without_report(self._context.ledger.rows, judged)
        if unreported is not None:
            return unreported.applied
        # Whoever applied it did not live to report: what is known of the action has to do.
        return self._recorded(judged, done, None, Observation(outcome=Outcome.OK))

    def _judged(self, moment: Moment) -> Answer | Preparation:
        try:
            return self._action.decide(moment)
        except KeyConflictError as error:
            raise KeyConflictError(
                f"{error}; it is another one as well where the files have changed since, so that"
                " another text would be replaced"
            ) from error

    def _applied(self, asked: EditAnswer, judged: SetOwner) -> EditAnswer:
        planned, began = self._planned, time.monotonic()
        try:
            recover_unfinished(self._context)
            set_id = set_id_of(judged, self._digest)
            done, was_applied = apply_once(planned, store=self._store, set_id=set_id)
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
            applied = self._recorded(judged, done, planned, seen)
        except LedgerError as error:
            raise type(error)(
                f"the edits were applied as `{set_id}`, but that is not on record: {error}; ask"
                " again with the same key to record it, or put them back with"
                f" `interlock undo {set_id}`"
            ) from error
        return replace(asked, applied=applied, repeated=was_applied)

    def _recorded(
        self, judged: SetOwner, applied: Applied, planned: Planned | None, seen: Observation
    ) -> Applied:
        plan = None if planned is None else planned.plan
        event = application(self._context, judged, applied, plan)
        work = applied_work(self._asked, judged, event, seen)
        return self._context.ledger.execute(work).applied

    def _report_failure(self, judged: SetOwner, error: EditError, duration_ms: int) -> None:
        seen = observed_failed(error, duration_ms=duration_ms)
        # A run that was finished meanwhile takes no report, and nothing has happened.
        with contextlib.suppress(InputError):
            self._context.ledger.execute(observe(self._asked, judged.seq, seen))

    def _conflict(self) -> KeyConflictError:
        shown = (self._key or "")[:60]
        return KeyConflictError(
            f"the key `{shown}` stands for another request in run `{self._run.id}`: use a new key"
            " for a new request"
        )


def _looked_at(context: Context, planned: Planned) -> EditAnswer:
    return EditAnswer(
        plan=plan_without_secrets(context, planned.plan),
        diff=context.clean(planned.unified_diff()),
    )


def _since(began: float) -> int:
    return int((time.monotonic() - began) * 1000)
