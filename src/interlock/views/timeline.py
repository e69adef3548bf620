"""Records as a person reads them: what happened, what was answered, and why."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Final, assert_never

from interlock.ledger.chain import decoded, records_of
from interlock.model import events
from interlock.model.action import Action, CommandAction, EditAction, ToolAction, call_text
from interlock.model.approval import ApprovalState, Subject
from interlock.model.arbitration import Course, Ruling
from interlock.model.edit import Applied
from interlock.model.review import GateAction, ReviewMode, ReviewOutcome, ReviewPurpose
from interlock.model.short_code import code_of
from interlock.model.step import Checkpoint, StepDecision
from interlock.model.verdict import Decision, Finding
from interlock.policy.reviews.gate_faults import check_in_words, fault_in_words
from interlock.policy.steps.step_figures import confidence
from interlock.ports import Rows
from interlock.views import units
from interlock.views.loop_timeline import loop_entry
from interlock.views.timeline_entry import Accent, Entry

_MOST_REMEMBERED: Final = 1000
ANSWERS: Final = {
    Decision.ALLOW: ("allow", Accent.GOOD),
    Decision.WARN: ("warn", Accent.CAREFUL),
    Decision.REQUIRE_CONFIRMATION: ("ask", Accent.ASKING),
    Decision.BLOCK: ("deny", Accent.BAD),
}
"""Each answer to an action in one word."""
APPROVED: Final = ("approved", Accent.GOOD)
"""The same for what a person let happen."""
_OUTCOMES: Final = {
    events.Outcome.OK: ("done", Accent.FAINT),
    events.Outcome.FAILED: ("failed", Accent.CAREFUL),
    events.Outcome.NOT_RUN: ("not run", Accent.FAINT),
}
STATES: Final = {
    ApprovalState.PENDING: ("pending", Accent.ASKING),
    ApprovalState.GRANTED: ("approved", Accent.GOOD),
    ApprovalState.DENIED: ("denied", Accent.BAD),
    ApprovalState.EXPIRED: ("expired", Accent.CAREFUL),
    ApprovalState.CANCELLED: ("cancelled", Accent.FAINT),
}
"""Where a question to a person stands, in one word."""

_ABOUT: Final = {
    Subject.RESUME: ": may the run go on?",
    Subject.REVIEW: ": how does the review go on?",
    Subject.LOOP: ": may the loop do this?",
    Subject.PRICE: ": may the run go on at an unknown cost?",
}


class Timeline:
    """Reads records; what an earlier record said is looked up in the ledger."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows
        self._asked = lru_cache(maxsize=_MOST_REMEMBERED)(self._looked_up)

    def entry(self, record: events.Record) -> Entry:  # noqa: C901, PLR0911, PLR0912, PLR0915 - a case per event
        """Return what happened."""
        by = f"by {record.by.name}"
        match record.event:
            case events.RunStarted() as event:
                who = f"{event.agent} ({event.client})"
                return Entry("started", Accent.STRONG, event.task, who)
            case events.RunResumed(process=process):
                number = process.partition("/")[2].partition("/")[0]
                return Entry("resumed", Accent.STRONG, f"by process {number}", by)
            case events.ActionJudged() as event:
                return self._judged(event)
            case events.ActionObserved() as event:
                return self._observed(record, event)
            case events.UsageReported() as event:
                return Entry("model", Accent.FAINT, event.model or "unnamed", _used(event))
            case events.ReservationLapsed(of=of):
                text = self._asked(record.run, of)
                return Entry("lapsed", Accent.CAREFUL, text, "nobody reported, the promise is back")
            case events.ViolationRecorded() as event:
                text = f"{event.rule}: {event.message}"
                return Entry("violation", Accent.BAD, text, event.location or "")
            case events.BudgetChanged() as event:
                return _rebudgeted(event, by)
            case events.BudgetAlerted() as event:
                return _alerted(event)
            case events.ApprovalOpened() as event:
                return _question(event)
            case events.ApprovalDecided() as event:
                return _decided(event, by)
            case events.ApprovalUsed(id=approval_id):
                return Entry("used", Accent.FAINT, f"approval {code_of(approval_id)}")
            case events.EditsApplied(applied=applied):
                return _applied(applied)
            case events.Undone() as event:
                return _put_back(event)
            case events.PolicyAdopted() as event:
                return _adopted(event)
            case events.CredentialGranted(kind=kind, name=name, method=method):
                text = f"{kind.value} {name} has a {method.value.replace('-', ' ')}"
                return Entry("let in", Accent.ASKING, text, by)
            case events.CredentialRevoked(digest=digest, name=name):
                return Entry("revoked", Accent.BAD, f"a credential of {name}", digest[:12])
            case events.AccessRefused(operation=operation, name=name, reason=reason):
                whose = f"{operation}, as {name}" if name else operation
                return Entry("refused", Accent.BAD, whose, by, (reason,))
            case events.LedgerAccepted(problems=problems, records=records):
                text = f"the ledger with {records:,} records, as it was found"
                return Entry("accepted", Accent.ASKING, text, by, problems)
            case events.PersonNotified(approval=approval_id, channel=channel, retry_at=retry_at):
                word = "told" if retry_at is None else "telling"
                text = f"a person about approval {code_of(approval_id)}, by {channel}"
                return Entry(word, Accent.FAINT, text)
            case events.LedgerArchived(file=file, runs=runs, records=records):
                text = f"{records:,} records of {runs:,} finished runs"
                return Entry("archived", Accent.FAINT, text, by, (file,))
            case events.LedgerRestored(archive=archive):
                text = f"what record {archive} had archived"
                return Entry("restored", Accent.FAINT, text, by)
            case events.RunFinished() as event:
                return _finished(event)
            case events.ReviewOpened() as event:
                return _opened(event)
            case events.CheckRan() as event:
                return _checked(event)
            case events.ReviewJudged() as event:
                return _review_judged(event)
            case events.ReviewChosen(action=action, review=review, decision=decision):
                accent, text = _CHOICES[action], f"review {review}"
                return Entry(action.value, accent, text, by, (decision.reason,))
            case events.StepJudged() as event:
                return _step_judged(event)
            case events.StopJudged() as event:
                return _stop_judged(event)
            case events.BeliefHeld(belief=belief, because=because):
                sure = f"confidence {confidence(belief):.2f}"
                return Entry("believes", Accent.FAINT, belief.name, sure, _note(because or None))
            case events.PersonSpoke():
                text = "spoke to the agent: it counts anew from here"
                return Entry("person", Accent.ASKING, text)
            case events.CheckpointTaken(checkpoint=checkpoint):
                return _saved(checkpoint)
            case events.RunHalted(reason=reason):
                return Entry("halted", Accent.BAD, reason, by)
            case events.RunLifted(reason=reason):
                return Entry("resumed", Accent.GOOD, reason, by)
            case _:
                return loop_entry(record.event, by)

    def of_run(self, run_id: str, *, after: int, last: int) -> Iterator[tuple[int, Entry]]:
        """Yield what happened in a run behind record `after` up to `last`, each with its time."""
        for row in records_of(self._rows, run_id, after=after, last=last):
            yield row.at, self.entry(decoded(row.body))

    def _judged(self, event: events.ActionJudged) -> Entry:
        mark, accent = APPROVED if is_approved(event) else ANSWERS[event.decision]
        if (would_have := event.verdict.would_have) is not None:
            mark = f"would {would_have.short}"
        granted = event.facts.granted
        return Entry(
            mark,
            accent,
            action_text(event.action),
            _asked(event) if granted is None else self._approved_by(granted),
            tuple(map(reason_text, event.verdict.findings)),
            ", ".join(finding.rule for finding in event.verdict.findings),
        )

    def _approved_by(self, approval_id: str) -> str:
        approval = self._rows.approval(approval_id)
        who = "" if approval is None else (approval.decided_by or "").partition(":")[2]
        return f"by {who or 'a person'} ({code_of(approval_id)})"

    def _observed(self, record: events.Record, event: events.ActionObserved) -> Entry:
        mark, accent = _OUTCOMES[event.outcome]
        text = event.tool
        if event.action is not None:
            text = action_text(event.action)
        elif event.of is not None:
            text = self._asked(record.run, event.of)
        unasked = ("not asked",) if event.of is None else ()
        facts = ", ".join((*unasked, *_observed_facts(event)))
        accent = Accent.BAD if event.forbidden else accent
        return Entry(mark, accent, text, facts, event.forbidden, ", ".join(event.forbidden))

    def _looked_up(self, run_id: str, seq: int) -> str:
        row = self._rows.record(run_id, seq)
        event = None if row is None else decoded(row.body).event
        return (
            action_text(event.action) if isinstance(event, events.ActionJudged) else f"record {seq}"
        )


def action_text(action: Action) -> str:
    """Return an action in one line."""
    match action:
        case CommandAction(command=command):
            return f"$ {command}"
        case ToolAction():
            return call_text(action)
        case EditAction(path=path):
            return f"write {path}"
        case _:
            assert_never(action)


def reason_text(finding: Finding) -> str:
    """Return why, with the rule that says so."""
    return f"{finding.rule}: {finding.message}"


def _asked(event: events.ActionJudged) -> str:
    """Return which question waits for a person."""
    asks = event.decision is Decision.REQUIRE_CONFIRMATION and event.approval is not None
    return f"approval {code_of(event.approval)}" if asks else ""


def is_approved(event: events.ActionJudged) -> bool:
    """Whether an action may happen because a person approved it."""
    return event.facts.granted is not None and event.decision in (Decision.ALLOW, Decision.WARN)


def _observed_facts(event: events.ActionObserved) -> Iterator[str]:
    if event.exit_code is not None:
        yield f"exit {event.exit_code}"
    if event.duration_ms:
        yield units.duration(event.duration_ms)
    if event.tests is not None:
        yield f"{event.tests.failed} of {event.tests.executed} tests failed"
    added = sum(change.added for change in event.changes)
    removed = sum(change.removed for change in event.changes)
    if added or removed:
        yield f"+{added} -{removed}"
    if event.usage is not None:
        yield _used(event)


def _used(event: events.ActionObserved | events.UsageReported) -> str:
    tokens = units.counted(0 if event.usage is None else event.usage.total, "token")
    cost = event.cost_micros
    return f"{tokens}, {'price unknown' if cost is None else units.dollars(cost)}"


def _rebudgeted(event: events.BudgetChanged, by: str) -> Entry:
    before, after = (
        "no limit" if limit is None else units.amount(event.dimension, limit)
        for limit in (event.before, event.after)
    )
    text = f"{_scope_text(event.scope)}, {event.dimension.value}: {before} -> {after}"
    return Entry("budget", Accent.ASKING, text, by, _note(event.note))


def _alerted(event: events.BudgetAlerted) -> Entry:
    alert = event.alert
    used = units.amount(alert.dimension, alert.used)
    limit = units.amount(alert.dimension, alert.limit)
    facts = f"{used} of {limit} {alert.dimension.value}"
    accent = Accent.BAD if alert.percent >= 100 else Accent.CAREFUL
    return Entry(f"{alert.percent} %", accent, _scope_text(alert.scope), facts)


def _scope_text(scope: str) -> str:
    """Return whose account it is; the run itself is known already."""
    kind, _, name = scope.partition("/")
    return f"this {kind}" if kind in ("run", "tree") else f"{kind} {name}"


def _question(event: events.ApprovalOpened) -> Entry:
    until = f"until {units.time_of_day(event.expires_at)}"
    about = _ABOUT.get(event.subject, "")
    return Entry("waits", Accent.ASKING, f"approval {code_of(event.id)}{about}", until)


def _decided(event: events.ApprovalDecided, by: str) -> Entry:
    facts, text = by + (", always" if event.always else ""), f"approval {code_of(event.id)}"
    return Entry(*STATES[event.state], text, facts, _note(event.note))


def _note(text: str | None) -> tuple[str, ...]:
    return () if text is None else (text,)


def _applied(applied: Applied) -> Entry:
    facts = units.counted(len(applied.files), "file")
    paths = ", ".join(file.path for file in applied.files)
    return Entry("applied", Accent.GOOD, paths, facts, (f"interlock undo {code_of(applied.id)}",))


def _put_back(event: events.Undone) -> Entry:
    reasons = () if event.undo_id is None else (f"interlock undo {code_of(event.undo_id)}",)
    return Entry("put back", Accent.ASKING, ", ".join(event.paths), event.kind.value, reasons)


def _adopted(event: events.PolicyAdopted) -> Entry:
    before = "" if event.before is None else f"{event.before[:12]} -> "
    hashes, changes = f"{before}{event.policy_hash[:12]}", len(event.changes)
    facts = units.counted(changes, "change")
    return Entry("policy", Accent.ASKING, hashes, facts, event.changes)


def _finished(event: events.RunFinished) -> Entry:
    failed = [each.evaluator for each in event.report.evaluations if not each.passed]
    facts = f"failed: {', '.join(failed)}" if failed else "every evaluator passes"
    return Entry("finished", Accent.BAD if failed else Accent.GOOD, event.outcome, facts)


_REVIEW_OUTCOMES: Final = {
    ReviewOutcome.ADVANCE: ("advance", Accent.GOOD),
    ReviewOutcome.RETRY: ("retry", Accent.CAREFUL),
    ReviewOutcome.ASK: ("asks", Accent.ASKING),
    ReviewOutcome.STOPPED: ("aborted", Accent.BAD),
    ReviewOutcome.REFUSED: ("refused", Accent.CAREFUL),
}
_CHOICES: Final = {
    GateAction.RETRY: Accent.GOOD,
    GateAction.SKIP: Accent.CAREFUL,
    GateAction.ABORT: Accent.BAD,
}


def _opened(event: events.ReviewOpened) -> Entry:
    review = event.review
    is_completion = event.purpose is ReviewPurpose.COMPLETION
    subject = "may the run finish?" if is_completion else event.subject
    text = f"{review.id}: {subject}" if subject else review.id
    facts = f"{review.mode.value}, {units.counted(review.max_attempts, 'attempt')}"
    return Entry("review", Accent.ASKING, text, facts, (f"gates: {', '.join(review.gate_ids)}",))


def _checked(event: events.CheckRan) -> Entry:
    result = event.result
    command, words = f"$ {event.command}", check_in_words(result)
    if not result.ran:
        return Entry("no check", Accent.BAD, result.gate, "", (command, words), "unverified")
    mark, accent = ("check ok", Accent.GOOD) if result.passed else ("check bad", Accent.BAD)
    facts = f"{words}, {units.duration(event.duration_ms)}"
    return Entry(mark, accent, result.gate, facts, (command,))


def _review_judged(event: events.ReviewJudged) -> Entry:
    mark, accent = _REVIEW_OUTCOMES[event.decision.outcome]
    review, entry, verdict = event.decision.review, event.decision.entry, event.verdict
    # What came through needs no count.
    attempt = (
        "" if review is None or entry is None else f", {entry.attempt} of {review.max_attempts}"
    )
    said = (
        "a verdict that could not be read"
        if verdict is None
        else f"{verdict.overall.value} - {verdict.rationale}"
    )
    return Entry(
        mark,
        accent,
        f"{event.review}{attempt}: {said}",
        "" if event.approval is None else f"approval {code_of(event.approval)}",
        tuple(_why(event)),
        ", ".join(dict.fromkeys(fault.gate for fault in event.decision.faults)),
    )


def _why(event: events.ReviewJudged) -> Iterator[str]:
    """Yield what the verdict itself does not say: the evidence, and what was warned of."""
    decision = event.decision
    held = [fault for fault in decision.faults if fault.mode is ReviewMode.BLOCKING]
    if event.unreadable is not None:
        yield event.unreadable
    if decision.outcome is ReviewOutcome.REFUSED:
        yield decision.reason
    yield from map(fault_in_words, held)
    for warning in decision.warnings:
        yield f"warned: {warning}"


_STEPS: Final = {
    StepDecision.CONTINUE: ("continue", Accent.GOOD),
    StepDecision.CHECKPOINT: ("save", Accent.GOOD),
    StepDecision.THROTTLE: ("throttle", Accent.CAREFUL),
    StepDecision.PAUSE: ("pause", Accent.ASKING),
    StepDecision.STOP: ("stop", Accent.BAD),
}
_STOPS: Final = {
    Course.GO_ON: ("go on", Accent.CAREFUL),
    Course.WAIT: ("timer", Accent.FAINT),
    Course.FINISH: ("ends", Accent.GOOD),
    Course.AWAIT_PERSON: ("pause", Accent.ASKING),
    Course.HALT: ("stop", Accent.BAD),
}
_HELD: Final = ("held", Accent.CAREFUL)
_SHORT_COMMIT: Final = 12


def _step_judged(event: events.StepJudged) -> Entry:
    """Return the answer to "should it go on?" with all its reasons and warnings."""
    mark, accent = _step_mark(event)
    number = event.context.step_number
    step = "a step" if number is None else f"step {number}"
    text = step if not event.said else f"{step}, it says: {_first_line(event.said)}"
    if event.held:
        return Entry(mark, accent, text, _held_by(event))
    reasons = [reason.message for reason in event.decision.reasons]
    warned = [f"warned: {sign.message}" for sign in event.decision.warnings]
    waits = [event.ruling.reason] if event.ruling.course is Course.WAIT else []
    codes = [reason.code for reason in event.decision.reasons] or [
        f"warns of {sign.name}" for sign in event.decision.warnings
    ]
    facts = ", ".join(_ruling_facts(event.ruling, event.approval))
    return Entry(mark, accent, text, facts, (*reasons, *warned, *waits), ", ".join(codes))


def _stop_judged(event: events.StopJudged) -> Entry:
    """Return the answer to "is it really done?" with its reason and the nudge."""
    mark, accent = _HELD if event.hard else _STOPS[event.ruling.course]
    nudge = event.ruling.nudge
    mark = "nudge" if nudge is not None else mark
    said = _last_line(event.context.text or "")
    text = f"it stopped at: {said}" if said else "it stopped and said nothing"
    if event.hard:
        return Entry(mark, accent, text, _held_by(event))
    veto = event.decision.veto
    score = f"score {event.decision.score}" if veto is None else veto.value
    facts = ", ".join((score, *_ruling_facts(event.ruling, event.approval)))
    nudged = () if nudge is None else (f"it is told: {' '.join(nudge.split())}",)
    return Entry(mark, accent, text, facts, (event.ruling.reason, *nudged), event.ruling.by.value)


def _held_by(event: events.StepJudged | events.StopJudged) -> str:
    """Return what held it; why stands where that began."""
    return ", ".join(dict.fromkeys(hard.state.value for hard in event.hard))


def _step_mark(event: events.StepJudged) -> tuple[str, Accent]:
    if event.held:
        return _HELD
    if event.ruling.course is Course.WAIT:
        return _STOPS[Course.WAIT]
    return _STEPS[event.decision.decision]


def _ruling_facts(ruling: Ruling, approval: str | None) -> Iterator[str]:
    if ruling.delay_ms:
        yield f"waits {units.duration(ruling.delay_ms)}"
    if approval is not None:
        yield f"approval {code_of(approval)}"


def _saved(checkpoint: Checkpoint) -> Entry:
    text = f"checkpoint {code_of(checkpoint.id)} at step {checkpoint.step}"
    if checkpoint.error is not None:
        return Entry("not saved", Accent.BAD, text, checkpoint.kind.value, (checkpoint.error,))
    if checkpoint.commit is not None:
        return Entry("saved", Accent.GOOD, text, f"commit {checkpoint.commit[:_SHORT_COMMIT]}")
    return Entry("saved", Accent.FAINT, text, _WITHOUT_COMMIT[checkpoint.kind.value])


_WITHOUT_COMMIT: Final = {
    "git": "by git",
    "command": "by a command of your own",
    "none": "the step alone, no files",
}


def _first_line(text: str) -> str:
    return next((line.strip() for line in text.splitlines() if line.strip()), "")


def _last_line(text: str) -> str:
    return next((line.strip() for line in reversed(text.splitlines()) if line.strip()), "")
