"""Runs that are paused, stopped or at work, and what must be true of every run's record."""

from __future__ import annotations

from collections.abc import Callable

from interlock import Approval, Interlock, Run, StepAnswer, StepDecision
from interlock.backtest.run_replay import replay_run
from interlock.model.approval import ApprovalState
from interlock.model.facts import Hold
from interlock.model.run import RunState, folded
from interlock.views.ledger_view import verified_ledger
from service.ledgers import records_of


def paused(run: Run) -> str:
    """Have a run paused for what it is unsure of; return the question to a person."""
    run.belief("it compiles", opposing=50)
    answer = run.step()
    assert answer.decision is StepDecision.PAUSE, answer
    return question_of(answer)


def stopped_for_good(run: Run) -> str:
    """Have a run stopped; return the question to a person."""
    answer = run.step(coherence_score=0.1)
    assert answer.decision is StepDecision.STOP, answer
    return question_of(answer)


HELD: dict[str, Callable[[Run], str]] = {"pause": paused, "stop": stopped_for_good}
"""The ways in which the continue gate holds a run."""


def question_of(answer: StepAnswer) -> str:
    """Return the question to a person that an answer asks."""
    assert answer.approval_id is not None
    return answer.approval_id


def hold_of(run: Run) -> Hold:
    """Return what holds a run."""
    hold = run.state.control.hold
    assert hold is not None
    return hold


def asked(interlock: Interlock, run: Run) -> list[Approval]:
    """Return every question about a run, whatever became of it."""
    found = interlock.ledger.rows.approvals(run_id=run.id)
    return sorted(found, key=lambda each: each.opened_at)


def open_questions(interlock: Interlock, run: Run) -> list[Approval]:
    """Return the questions about a run that nobody has decided."""
    return [each for each in asked(interlock, run) if each.state is ApprovalState.PENDING]


def worked(run: Run, line: str, output: str, *, exit_code: int = 0) -> None:
    """Have a run do something, and report what came of it."""
    run.observe(run.command(line), output=output, exit_code=exit_code)


def check_record(interlock: Interlock) -> None:
    """Check that every chain is whole, tells the state that is kept, and is decided the same."""
    ledger = interlock.ledger
    assert verified_ledger(ledger, ledger.rows, lambda _read, _of: None).faults == []
    for run_id in ledger.rows.chains():
        assert _told_by_records(interlock, run_id) == ledger.state(run_id)
        assert [each for each in replay_run(ledger.rows, run_id) if not each.is_same] == []


def _told_by_records(interlock: Interlock, run_id: str) -> RunState:
    state = RunState(id=run_id)
    for record in records_of(interlock.ledger, run_id):
        state = folded(state, record)
    return state
