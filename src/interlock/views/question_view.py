"""One question to a person, with everything that they need to know to answer it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import msgspec

from interlock.errors import LedgerError, PolicyError
from interlock.ledger.chain import decoded
from interlock.ledger.ledger import Ledger
from interlock.model import events, loop_events
from interlock.model.action import Action, CommandAction, EditAction
from interlock.model.approval import Approval, ApprovalState, Subject
from interlock.model.rows import RecordRow, RunRow
from interlock.model.step import StepReason
from interlock.policy.actions.compiled_policy import CompiledPolicy
from interlock.policy.steps.step_figures import band_of
from interlock.ports import Rows
from interlock.service.policies.policy_book import recompiled_policy
from interlock.service.policies.policy_files import default_policy
from interlock.views.action_view import ActionReading, action_reading
from interlock.views.change_view import FileChangeView, changes_of
from interlock.views.inbox import LoopQuestion, loop_question, recommendation
from interlock.views.queue_view import QueueEntry, held_in_words, queue_entry
from interlock.views.review_question import ReviewQuestion, review_question
from interlock.views.run_glance import LOOK_BACK, LatestDeeds, RunGlance, glances_at, latest_deeds

_KINDS: Final = frozenset(
    ("action-judged", "step-judged", "stop-judged", "review-judged", "cycle-decided")
)
_NO_DEEDS: Final = LatestDeeds(actions=(), said=None, bars=())
_Judged = (
    events.ActionJudged
    | events.StepJudged
    | events.StopJudged
    | events.ReviewJudged
    | loop_events.CycleDecided
)


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """A question to a person."""

    approval: Approval
    entry: QueueEntry
    is_open: bool
    kind: str
    """`command`, `edit`, `tool`, `resume`, `review` or `loop`."""
    heading: str
    record: int | None
    """The record that asks it, where it is found."""
    step: int | None
    run: RunGlance | None
    band: str | None
    """What the run may still do, by its coherence."""
    deeds: LatestDeeds
    """What the run did before it asked."""
    action: Action | None
    reading: ActionReading | None
    changes: tuple[FileChangeView, ...]
    reasons: tuple[StepReason, ...]
    """Why a run was held, where that is the question."""
    held_for: str
    review: ReviewQuestion | None
    loop: LoopQuestion | None
    rule: str
    """The lines of a policy under which nobody would be asked about this again."""
    used_at: int | None
    """When it let its action through."""
    needs_note: bool
    """Whether saying yes needs a word on why."""


def question_view(ledger: Ledger, approval: Approval, now: int) -> Question:
    """Look at one question."""
    rows = ledger.rows
    run = rows.run(approval.run_id)
    found = None if run is None else _asked_in(rows, approval, run)
    event = None if found is None else found.event
    judged = event if isinstance(event, events.ActionJudged) else None
    action = None if judged is None else judged.action
    # Where it is asked whether a run may go on, the step that was held belongs to it.
    upto = 0 if found is None else found.seq - (approval.subject is not Subject.RESUME)
    deeds = latest_deeds(ledger, approval.run_id, upto=upto) if upto else _NO_DEEDS
    is_of_run = approval.subject is not Subject.LOOP and run is not None
    glance = glances_at(ledger).of(run) if is_of_run and run is not None else None
    policy = _policy(rows, approval.policy_hash)
    kind = _kind(approval, action)
    reading = None if action is None else action_reading(action, policy, approval.findings)
    coherence = None if glance is None else glance.coherence
    return Question(
        approval=approval,
        entry=queue_entry(approval, run, now),
        is_open=approval.is_open_at(now),
        kind=kind,
        heading=_heading(kind, approval, is_open=approval.is_open_at(now)),
        record=None if found is None else found.seq,
        step=_step(event) if glance is None or _step(event) is not None else glance.step,
        run=glance,
        band=None if coherence is None else band_of(coherence, policy.config.steps).value,
        deeds=deeds,
        action=action,
        reading=reading,
        changes=() if action is None else changes_of(action),
        reasons=_reasons(event),
        held_for=_held_for(event),
        review=review_question(ledger, approval, run, now) if kind == "review" else None,
        loop=loop_question(ledger, approval) if kind == "loop" else None,
        rule=recommendation(approval.findings, judged, policy)
        if kind not in ("resume", "review")
        else "",
        used_at=None if found is None else _used_at(rows, approval, found.seq),
        needs_note=kind == "resume" and glance is not None and glance.standing.word == "stopped",
    )


_HEADINGS: Final = {
    "command": ("May it run this command?", "It asked to run this command."),
    "edit": ("May it change this file?", "It asked to change this file."),
    "tool": ("May it make this call?", "It asked to make this call."),
    "loop": ("May the loop do this?", "The loop asked to do this."),
    "price": ("May it go on at an unknown cost?", "It asked to go on at an unknown cost."),
}


def _heading(kind: str, approval: Approval, *, is_open: bool) -> str:
    if kind == "resume":
        why = held_in_words(approval.findings) or "it was paused"
        ends = "May it resume?" if is_open else "It asked to resume."
        return f"{why[:1].upper()}{why[1:]}. {ends}"
    if kind == "review":
        return (
            "A review failed. Retry, skip or abort?"
            if is_open
            else "It asked to retry, skip or abort."
        )
    return _HEADINGS[kind][not is_open]


def _kind(approval: Approval, action: Action | None) -> str:
    if approval.subject is not Subject.ACTION:
        return approval.subject.value
    if isinstance(action, EditAction):
        return "edit"
    if action is not None and changes_of(action):
        return "edit"
    return "tool" if action is not None and not hasattr(action, "command") else "command"


def asked_folder(ledger: Ledger, approval: Approval) -> str:
    """Return the folder that a command would run in, which a person cannot see from its line."""
    event = asking_event(ledger.rows, approval) if approval.subject is Subject.ACTION else None
    if event is None or not isinstance(event.action, CommandAction):
        return ""
    state = ledger.state(approval.run_id)
    return event.action.cwd or (state and state.workspace) or ""


def asking_event(rows: Rows, approval: Approval) -> events.ActionJudged | None:
    """Return what is on record of the action that a question is about."""
    run = rows.run(approval.run_id)
    found = None if run is None else _asked_in(rows, approval, run)
    event = None if found is None else found.event
    return event if isinstance(event, events.ActionJudged) else None


def asked_rule(rows: Rows, approval: Approval) -> str:
    """Return the lines of a policy under which a person would not be asked about this again."""
    policy = _policy(rows, approval.policy_hash)
    return recommendation(approval.findings, asking_event(rows, approval), policy)


def _asked_in(rows: Rows, approval: Approval, run: RunRow) -> events.Record | None:
    """Return the record that asks a question: mostly one of the latest of its run."""
    last = run.seq
    found = _among(rows.records(run.id, after=max(0, last - LOOK_BACK), limit=LOOK_BACK), approval)
    if found is None and last > LOOK_BACK:
        place = max(0, _place_at(rows, run, approval.opened_at) - LOOK_BACK // 2)
        found = _among(rows.records(run.id, after=place, limit=LOOK_BACK), approval)
    return found


def _among(found: Iterable[RecordRow], approval: Approval) -> events.Record | None:
    name = approval.id.encode()
    for row in found:
        if row.kind in _KINDS and name in row.body:
            record = decoded(row.body)
            event = record.event
            if isinstance(event, _Judged) and event.approval == approval.id:
                return record
    return None


def _place_at(rows: Rows, run: RunRow, at: int) -> int:
    """Return the first record of a run that is not older than a time, found by halving."""
    low, high = 1, run.seq
    while low < high:
        middle = (low + high) // 2
        row = rows.record(run.id, middle)
        low, high = (middle + 1, high) if row is not None and row.at < at else (low, middle)
    return low


def _policy(rows: Rows, policy_hash: str) -> CompiledPolicy:
    """Return the policy that asks; the built-in one where that cannot be read any more."""
    try:
        return recompiled_policy(rows, policy_hash)
    except (LedgerError, PolicyError):
        return default_policy()


def _step(event: events.Event | None) -> int | None:
    match event:
        case events.StepJudged(context=context) | events.StopJudged(facts=context):
            return context.step_number
        case _:
            return None


def _reasons(event: events.Event | None) -> tuple[StepReason, ...]:
    match event:
        case events.StepJudged(decision=decision) | events.StopJudged(step=decision):
            return decision.reasons
        case _:
            return ()


def _held_for(event: events.Event | None) -> str:
    match event:
        case events.StepJudged(ruling=ruling) | events.StopJudged(ruling=ruling):
            return ruling.reason
        case _:
            return ""


def _used_at(rows: Rows, approval: Approval, seq: int) -> int | None:
    if approval.state is not ApprovalState.GRANTED or approval.uses_left:
        return None
    name = approval.id.encode()
    found = rows.records(approval.run_id, after=seq, limit=LOOK_BACK)
    return next((row.at for row in found if row.kind == "approval-used" and name in row.body), None)
