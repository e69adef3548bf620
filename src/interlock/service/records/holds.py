"""What keeps a run from going on, and the people who begin and lift it.

A person who halts all runs does so on the chain of the ledger itself: it stands above every run.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from msgspec.structs import replace

from interlock.errors import HaltedError, InputError
from interlock.ledger.ledger import Work
from interlock.ledger.transaction import Transaction
from interlock.model.approval import Approval, ApprovalState, Subject
from interlock.model.arbitration import Authority, Course, Hard, HardState, Ruling
from interlock.model.budget import BudgetBalance
from interlock.model.budget_words import used_up
from interlock.model.events import (
    RunHalted,
    RunLifted,
    StepJudged,
    StopJudged,
)
from interlock.model.facts import Hold, HoldKind
from interlock.model.principal import Principal
from interlock.model.rows import RunRow
from interlock.model.run import LEDGER_RUN, RunState, RunStatus
from interlock.model.short_code import code_of
from interlock.model.step import ContinueDecision
from interlock.model.system_loop import LOOP_RUN
from interlock.model.verdict import Decision, Finding, Severity
from interlock.ports import ALL, Accounts, Rows
from interlock.service.records.approvals import check_budget, expire, open_approval, withdraw
from interlock.service.records.budgets import charged_scopes
from interlock.service.records.context import Asked, Context, Moment

_ALL_HALTED: Final = "all runs are halted"
_STATES: Final = {
    HoldKind.PERSON_STOP: HardState.PERSON_STOP,
    HoldKind.STOP: HardState.STOPPED,
    HoldKind.PAUSE: HardState.PAUSED,
}


def settle_hold(moment: Moment) -> RunState:
    """Return the run after it is known whether a question ran out that it, or one above, awaits."""
    run, transaction = moment.run, moment.transaction
    for whose, hold in list(holds_on(transaction, run)):
        approval = None if hold.approval is None else transaction.approval(hold.approval)
        if approval is not None and whose.status is RunStatus.RUNNING:
            expire(moment, approval)
    return moment.run


def holds_on(known: Accounts, run: RunState) -> Iterator[tuple[RunState, Hold]]:
    """Yield what keeps a run from going on: what holds a run above it, or all, holds it as well."""
    yield from holds_in_tree(known, run)
    everything = known.state(LEDGER_RUN)
    hold = halt_of_all(everything)
    if hold is not None:
        yield everything, hold


def holds_in_tree(known: Accounts, run: RunState) -> Iterator[tuple[RunState, Hold]]:
    """Yield what holds a run, or one above it."""
    if run.control.hold is not None:
        yield run, run.control.hold
    for above in map(known.state, run.ancestors):
        if above.control.hold is not None:
            yield above, above.control.hold


def halt_of_all(everything: RunState) -> Hold | None:
    """Return what every run is halted by, from the chain of the ledger itself."""
    hold = everything.control.hold
    return None if hold is None else replace(hold, reason=f"{_ALL_HALTED}: {hold.reason}")


def refuse_while_all_are_halted(known: Accounts) -> None:
    """Raise HaltedError where no run may begin."""
    hold = halt_of_all(known.state(LEDGER_RUN))
    if hold is not None:
        raise HaltedError(
            f"no run may begin: {hold.reason}: an operator lets them with `interlock resume --all"
            " --reason TEXT`"
        )


def strictest_hold(known: Accounts, run: RunState) -> Hold | None:
    """Return what keeps a run from going on, if anything does."""
    holds = [hold for _, hold in holds_on(known, run)]
    return max(holds, key=lambda hold: hold.kind.rank, default=None)


def hard_states(known: Accounts, run: RunState) -> tuple[Hard, ...]:
    """Return every hold in the words of the arbiter."""
    return tuple(
        Hard(
            state=_STATES[hold.kind],
            reason=(
                hold.reason
                if whose.id in (run.id, LEDGER_RUN)
                else f"run `{whose.id}` above: {hold.reason}"
            ),
            approval=hold.approval,
        )
        for whose, hold in holds_on(known, run)
    )


def hard_states_now(moment: Moment, balances: Sequence[BudgetBalance]) -> tuple[Hard, ...]:
    """Return every hold; of a budget that was raised since, that only a person's word is missing.

    The figures of a hold are those of the moment when it began.
    """
    run, found = moment.run, hard_states(moment.transaction, moment.run)
    asked = question_of(moment.transaction, run)
    if asked is None or not asked.is_about_budget or used_up(run.id, balances):
        return found
    why = (
        "it is still stopped: its budget was used up, and something is left of it by now;"
        f" `interlock resume {code_of(run.id)} --reason TEXT` lets it go on"
    )
    return (replace(found[0], reason=why), *found[1:])


def question_of(transaction: Transaction, run: RunState) -> Approval | None:
    """Return the question that was asked when the run was held, whatever became of it."""
    hold = run.control.hold
    asked = None if hold is None else hold.approval
    return None if asked is None else transaction.approval(asked)


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
    charged = charged_scopes(asked.run, asked.context.clock.now())

    def plan(moment: Moment) -> RunState:
        run = moment.running()
        if run.control.hold is None:
            raise InputError(_nothing_to_lift(moment.transaction, run))
        check_budget(moment, question_of(moment.transaction, run), charged)
        _withdraw_question(moment, run)
        moment.append(event)
        return moment.run

    return asked.work(plan, charged=charged)


def halt_all(context: Context, by: Principal, *, reason: str) -> Work[None]:
    """Return the work of stopping every run, also those that are yet to begin."""
    return _of_all(context, by, RunHalted(reason=_worded(context, reason, "why all have to stop")))


def lift_all(context: Context, by: Principal, *, reason: str) -> Work[None]:
    """Return the work of letting runs go on, where all of them were halted."""
    return _of_all(context, by, RunLifted(reason=_worded(context, reason, "why they may go on")))


def _of_all(context: Context, by: Principal, event: RunHalted | RunLifted) -> Work[None]:
    def plan(transaction: Transaction) -> None:
        hold = transaction.state(LEDGER_RUN).control.hold
        if hold is None and isinstance(event, RunLifted):
            raise InputError(
                "the runs are not halted all together: `interlock resume RUN --reason TEXT` resumes"
                " one, `interlock runs` lists them"
            )
        transaction.append(LEDGER_RUN, event, at=context.clock.now(), by=by)

    return Work(plan, locks=(f"run/{LEDGER_RUN}",))


def at_work(rows: Rows) -> Sequence[RunRow]:
    """Return every run that has not ended."""
    found = rows.runs(limit=ALL, status=RunStatus.RUNNING.value)
    return [row for row in found if row.id not in (LEDGER_RUN, LOOP_RUN)]


def _nothing_to_lift(transaction: Transaction, run: RunState) -> str:
    above = [whose.id for whose, _ in holds_on(transaction, run)]
    if above == [LEDGER_RUN]:
        return (
            f"run `{run.id}` is halted with all others: `interlock resume --all --reason TEXT`"
            " lifts that"
        )
    if above:
        return f"run `{run.id}` is held by run `{above[0]}` above it: resume that one"
    return f"run `{run.id}` is not held: there is nothing to resume"


def _withdraw_question(moment: Moment, run: RunState) -> None:
    """Take back the question whether the run may go on: a person has said so unasked."""
    asked = question_of(moment.transaction, run)
    if asked is not None and asked.state is ApprovalState.PENDING:
        withdraw(moment, asked)


def _worded(context: Context, reason: str, what: str) -> str:
    if not reason.strip():
        raise InputError(f"the reason is empty: say {what}, for the record")
    return context.clean(reason.strip())
