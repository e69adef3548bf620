"""What keeps a run from going on, and the people who begin and lift it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from interlock.errors import InputError
from interlock.ledger.ledger import Work
from interlock.ledger.transaction import Transaction
from interlock.model.approval import ApprovalState, Subject
from interlock.model.arbitration import Authority, Course, Hard, HardState, Ruling
from interlock.model.events import (
    RunHalted,
    RunLifted,
    StepJudged,
    StopJudged,
)
from interlock.model.facts import Hold, HoldKind
from interlock.model.run import RunState, RunStatus
from interlock.model.step import ContinueDecision
from interlock.model.verdict import Decision, Finding, Severity
from interlock.ports import Accounts
from interlock.service.records.approvals import expire, open_approval, withdraw
from interlock.service.records.context import Asked, Context, Moment

_STATES: Final = {
    HoldKind.PERSON_STOP: HardState.PERSON_STOP,
    HoldKind.STOP: HardState.STOPPED,
    HoldKind.PAUSE: HardState.PAUSED,
}


def settle_hold(moment: Moment) -> RunState:
    """Return the run after it is known whether a question ran out that it, or one above, awaits."""
    run, transaction = moment.run, moment.transaction
    if run.control.hold is not None or run.ancestors:
        for whose, hold in list(holds_on(transaction, run)):
            approval = None if hold.approval is None else transaction.approval(hold.approval)
            if approval is not None and whose.status is RunStatus.RUNNING:
                expire(moment, approval)
    return moment.run


def holds_on(known: Accounts, run: RunState) -> Iterator[tuple[RunState, Hold]]:
    """Yield what keeps a run from going on: what holds a run above it holds it as well."""
    if run.control.hold is not None:
        yield run, run.control.hold
    for above in map(known.state, run.ancestors):
        if above.control.hold is not None:
            yield above, above.control.hold


def strictest_hold(known: Accounts, run: RunState) -> Hold | None:
    """Return what keeps a run from going on, if anything does."""
    if run.control.hold is None and not run.ancestors:
        return None
    holds = [hold for _, hold in holds_on(known, run)]
    return max(holds, key=lambda hold: hold.kind.rank, default=None)


def hard_states(known: Accounts, run: RunState) -> tuple[Hard, ...]:
    """Return every hold in the words of the arbiter."""
    return tuple(
        Hard(
            state=_STATES[hold.kind],
            reason=(
                hold.reason if whose.id == run.id else f"run `{whose.id}` above: {hold.reason}"
            ),
            approval=hold.approval,
        )
        for whose, hold in holds_on(known, run)
    )


def asks_person(ruling: Ruling) -> bool:
    """Whether the continue gate has just begun to hold the run."""
    return ruling.by is Authority.STEP and ruling.course in (Course.HALT, Course.AWAIT_PERSON)


def still_counts(moment: Moment, event: StepJudged | StopJudged) -> bool:
    """Whether an answer may be given again: nothing held the run then, or holds it now."""
    was_held = bool(event.hard) or asks_person(event.ruling)
    return not was_held and strictest_hold(moment.transaction, moment.run) is None


def question_to_resume(moment: Moment, ruled: Ruling, step: ContinueDecision) -> str | None:
    """Ask a person whether a run may go on that is held from here; return the question's id."""
    if not asks_person(ruled):
        return None
    run = moment.run
    findings = tuple(
        Finding(
            gate="continue",
            rule=f"continue.{reason.code}",
            decision=Decision.BLOCK,
            severity=Severity.MEDIUM,
            message=reason.message,
            remediation=reason.remediation,
        )
        for reason in step.reasons
    )
    return open_approval(
        moment,
        subject=Subject.RESUME,
        digest=moment.context.digest("resume", run.id, str(run.seq)),
        summary=f"go on with: {run.task}" if run.task else "go on",
        findings=findings,
    )


def halt(asked: Asked, *, reason: str) -> Work[RunState]:
    """Return the work of stopping a run, and with it every run below."""
    event = RunHalted(reason=_worded(asked.context, reason, "why it has to stop"))

    def plan(moment: Moment) -> RunState:
        _withdraw_question(moment, moment.running())
        moment.append(event)
        return moment.run

    return asked.work(plan)


def lift(asked: Asked, *, reason: str) -> Work[RunState]:
    """Return the work of letting a held run go on."""
    event = RunLifted(reason=_worded(asked.context, reason, "why it may go on"))

    def plan(moment: Moment) -> RunState:
        run = moment.running()
        if run.control.hold is None:
            raise InputError(_nothing_to_lift(moment.transaction, run))
        _withdraw_question(moment, run)
        moment.append(event)
        return moment.run

    return asked.work(plan)


def _nothing_to_lift(transaction: Transaction, run: RunState) -> str:
    above = [whose.id for whose, _ in holds_on(transaction, run)]
    if above:
        return f"run `{run.id}` is held by run `{above[0]}` above it: resume that one"
    return f"run `{run.id}` is not held: there is nothing to resume"


def _withdraw_question(moment: Moment, run: RunState) -> None:
    """Take back the question whether the run may go on: a person has said so unasked."""
    hold, find = run.control.hold, moment.transaction.approval
    asked = None if hold is None or hold.approval is None else find(hold.approval)
    if asked is not None and asked.state is ApprovalState.PENDING:
        withdraw(moment, asked)


def _worded(context: Context, reason: str, what: str) -> str:
    if not reason.strip():
        raise InputError(f"the reason is empty: say {what}, for whoever reads the record")
    return context.clean(reason.strip())
