"""Records as a person reads them: what happened, what was answered, and why."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Final, assert_never

from interlock.cli import measures
from interlock.cli.escape import escape, json_text
from interlock.cli.render import Line, Span, Tone
from interlock.cli.run_choice import SHORT
from interlock.cli.tables import cut
from interlock.model.action import Action, CommandAction, EditAction, ToolAction
from interlock.model.approval import ApprovalState, Subject
from interlock.model.edit import Applied
from interlock.model.edit_events import EditsApplied, Undone
from interlock.model.events import (
    ActionJudged,
    ActionObserved,
    ApprovalDecided,
    ApprovalOpened,
    ApprovalUsed,
    BudgetAlerted,
    BudgetChanged,
    Outcome,
    PolicyAdopted,
    Record,
    ReservationLapsed,
    RunFinished,
    RunStarted,
    UsageReported,
    ViolationRecorded,
)
from interlock.model.review_events import CheckRan, ReviewChosen, ReviewJudged, ReviewOpened
from interlock.model.verdict import Decision, Finding
from interlock.views.entries import Entry
from interlock.views.timeline_of_reviews import review_entry
from interlock.views.timeline_of_steps import going_entry

if TYPE_CHECKING:
    from interlock.model.usage import Dimension
    from interlock.ports import Rows

_MARK_WIDTH: Final = 10
_MOST_REMEMBERED: Final = 1000
_ANSWERS: Final = {
    Decision.ALLOW: ("allow", Tone.GOOD),
    Decision.WARN: ("warn", Tone.CAREFUL),
    Decision.REQUIRE_CONFIRMATION: ("ask", Tone.ASKING),
    Decision.BLOCK: ("block", Tone.BAD),
}
_OUTCOMES: Final = {
    Outcome.OK: ("done", Tone.FAINT),
    Outcome.FAILED: ("failed", Tone.CAREFUL),
    Outcome.NOT_RUN: ("not run", Tone.FAINT),
}
_STATES: Final = {
    ApprovalState.PENDING: Tone.ASKING,
    ApprovalState.GRANTED: Tone.GOOD,
    ApprovalState.DENIED: Tone.BAD,
    ApprovalState.EXPIRED: Tone.CAREFUL,
    ApprovalState.CANCELLED: Tone.FAINT,
}

_ABOUT: Final = {
    Subject.RESUME: ": may the run go on?",
    Subject.REVIEW: ": how does the review go on?",
}


class Teller:
    """Tells records; what an earlier record said is looked up in the ledger."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows
        self._asked = lru_cache(maxsize=_MOST_REMEMBERED)(self._looked_up)

    def entry(self, record: Record) -> Entry:  # noqa: C901, PLR0911, PLR0912 - one line per event
        """Return what happened."""
        match record.event:
            case RunStarted() as event:
                who = f"{event.agent} ({event.client})"
                return Entry("started", Tone.STRONG, event.task, who)
            case ActionJudged() as event:
                return _judged(event)
            case ActionObserved() as event:
                return self._observed(record, event)
            case UsageReported() as event:
                return Entry("model", Tone.FAINT, event.model or "unnamed", _used(event))
            case ReservationLapsed(of=of):
                text = self._asked(record.run, of)
                return Entry("lapsed", Tone.CAREFUL, text, "nobody reported, the promise is back")
            case ViolationRecorded() as event:
                text = f"{event.rule}: {event.message}"
                return Entry("broken", Tone.BAD, text, event.location or "")
            case BudgetChanged() as event:
                return _rebudgeted(record, event)
            case BudgetAlerted() as event:
                return _alerted(event)
            case ApprovalOpened() as event:
                return _question(event)
            case ApprovalDecided() as event:
                return _decided(record, event)
            case ApprovalUsed(id=approval_id):
                return Entry("used", Tone.FAINT, f"approval {approval_id[:SHORT]}")
            case EditsApplied(applied=applied):
                return _applied(applied)
            case Undone() as event:
                return _put_back(event)
            case PolicyAdopted() as event:
                return _adopted(event)
            case RunFinished() as event:
                return _finished(event)
            case ReviewOpened() | CheckRan() | ReviewJudged() | ReviewChosen() as event:
                return review_entry(event, record)
            case _:
                return going_entry(record.event, record)

    def _observed(self, record: Record, event: ActionObserved) -> Entry:
        mark, tone = _OUTCOMES[event.outcome]
        text = event.tool
        if event.action is not None:
            text = action_text(event.action)
        elif event.of is not None:
            text = self._asked(record.run, event.of)
        unasked = ("not asked",) if event.of is None else ()
        facts = ", ".join((*unasked, *_observed_facts(event)))
        tone = Tone.BAD if event.forbidden else tone
        return Entry(mark, tone, text, facts, event.forbidden, ", ".join(event.forbidden))

    def _looked_up(self, run_id: str, seq: int) -> str:
        from interlock.ledger.codec import decoded  # noqa: PLC0415 - only where there is a ledger

        row = self._rows.record(run_id, seq)
        event = None if row is None else decoded(row.body).event
        return action_text(event.action) if isinstance(event, ActionJudged) else f"record {seq}"


def timeline_lines(entry: Entry, *, when: str, width: int) -> Iterator[Line]:
    """Yield one record: a line with what happened, and below it why."""
    yield entry_line(entry, when=when, width=width, facts=entry.facts)
    indent = " " * (len(when) + 2 + _MARK_WIDTH)
    for reason in entry.reasons:
        yield (Span(indent), Span(cut(escape(reason), width - len(indent)), Tone.FAINT))


def entry_line(entry: Entry, *, when: str, width: int, facts: str) -> Line:
    """Return what happened as one line."""
    facts = escape(facts)
    room = width - len(when) - 2 - _MARK_WIDTH - (len(facts) + 2 if facts else 0)
    text = cut(escape(entry.text), max(12, room))
    line = (
        Span(f"{when}  ", Tone.FAINT),
        Span(f"{entry.mark:<{_MARK_WIDTH}}", entry.tone),
        Span(text),
    )
    return (*line, Span(f"  {facts}", Tone.FAINT)) if facts else line


def action_text(action: Action) -> str:
    """Return an action in one line."""
    match action:
        case CommandAction(command=command):
            return f"$ {command}"
        case ToolAction(name=name, params=params):
            return f"{name} {params if isinstance(params, str) else json_text(params)}"
        case EditAction(path=path):
            return f"write {path}"
        case _:
            assert_never(action)


def reason_text(finding: Finding) -> str:
    """Return why, with the rule that says so."""
    return f"{finding.rule}: {finding.message}"


def _judged(event: ActionJudged) -> Entry:
    mark, tone = _ANSWERS[event.decision]
    granted = event.facts.granted
    facts = "" if granted is None else f"approved by {granted[:SHORT]}"
    return Entry(
        mark,
        tone,
        action_text(event.action),
        facts,
        tuple(map(reason_text, event.verdict.findings)),
        ", ".join(finding.rule for finding in event.verdict.findings),
    )


def _observed_facts(event: ActionObserved) -> Iterator[str]:
    if event.exit_code is not None:
        yield f"exit {event.exit_code}"
    if event.duration_ms:
        yield measures.duration(event.duration_ms)
    if event.tests is not None:
        yield f"{event.tests.failed} of {event.tests.executed} tests failed"
    added = sum(change.added for change in event.changes)
    removed = sum(change.removed for change in event.changes)
    if added or removed:
        yield f"+{added} -{removed}"
    if event.usage is not None:
        yield _used(event)


def _used(event: ActionObserved | UsageReported) -> str:
    tokens = measures.counted(0 if event.usage is None else event.usage.total, "token")
    cost = event.cost_micros
    return f"{tokens}, {'price unknown' if cost is None else measures.dollars(cost)}"


def _rebudgeted(record: Record, event: BudgetChanged) -> Entry:
    before = _limit(event.dimension, event.before)
    after = _limit(event.dimension, event.after)
    text = f"{_scope_text(event.scope)}, {event.dimension.value}: {before} -> {after}"
    reasons = () if event.note is None else (event.note,)
    return Entry("budget", Tone.ASKING, text, f"by {record.by.name}", reasons)


def _limit(dimension: Dimension, limit: int | None) -> str:
    return "no limit" if limit is None else measures.amount(dimension, limit)


def _alerted(event: BudgetAlerted) -> Entry:
    alert = event.alert
    used = measures.amount(alert.dimension, alert.used)
    limit = measures.amount(alert.dimension, alert.limit)
    facts = f"{used} of {limit} {alert.dimension.value}"
    tone = Tone.BAD if alert.percent >= 100 else Tone.CAREFUL
    return Entry(f"{alert.percent} %", tone, _scope_text(alert.scope), facts)


def _scope_text(scope: str) -> str:
    """Return whose account it is; the run itself is known already."""
    kind, _, name = scope.partition("/")
    return f"this {kind}" if kind in ("run", "tree") else f"{kind} {name}"


def _question(event: ApprovalOpened) -> Entry:
    until = f"until {measures.time_of_day(event.expires_at)}"
    about = _ABOUT.get(event.subject, "")
    return Entry("waits", Tone.ASKING, f"approval {event.id[:SHORT]}{about}", until)


def _decided(record: Record, event: ApprovalDecided) -> Entry:
    facts = f"by {record.by.name}" + (", always" if event.always else "")
    reasons = () if event.note is None else (event.note,)
    return Entry(
        event.state.value, _STATES[event.state], f"approval {event.id[:SHORT]}", facts, reasons
    )


def _applied(applied: Applied) -> Entry:
    facts = measures.counted(len(applied.files), "file")
    paths = ", ".join(file.path for file in applied.files)
    return Entry("applied", Tone.GOOD, paths, facts, (f"interlock undo {applied.id}",))


def _put_back(event: Undone) -> Entry:
    reasons = () if event.undo_id is None else (f"interlock undo {event.undo_id}",)
    return Entry("put back", Tone.ASKING, ", ".join(event.paths), event.kind.value, reasons)


def _adopted(event: PolicyAdopted) -> Entry:
    before = "" if event.before is None else f"{event.before[:12]} -> "
    changes = measures.counted(len(event.changes), "change")
    return Entry("policy", Tone.ASKING, f"{before}{event.policy_hash[:12]}", changes, event.changes)


def _finished(event: RunFinished) -> Entry:
    failed = [each.evaluator for each in event.report.evaluations if not each.passed]
    facts = f"failed: {', '.join(failed)}" if failed else "every evaluator passes"
    return Entry("finished", Tone.BAD if failed else Tone.GOOD, event.outcome, facts)
