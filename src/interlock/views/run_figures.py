"""A run in figures, what keeps it from going on, and what was saved of its work."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

import msgspec

from interlock.ledger.chain import decoded
from interlock.ledger.ledger import Ledger
from interlock.model.checkpoint import Checkpoint
from interlock.model.events import CheckpointTaken
from interlock.model.facts import Hold, HoldKind
from interlock.model.report import Report, TestCounts
from interlock.model.rows import RecordRow
from interlock.model.run import RunState, RunStatus
from interlock.model.step import StepDecision
from interlock.model.verdict import Decision
from interlock.views.units import amounts_value

_TAKEN: Final = "checkpoint-taken"


class RunFigures(msgspec.Struct, frozen=True, kw_only=True):
    """Everything about a run that fits on one page."""

    id: str
    status: str
    outcome: str | None
    task: str
    agent: str
    client: str
    project: str
    parent: str | None
    policy_hash: str
    started_at: int
    """Microseconds since 1970, UTC, like every time here."""
    updated_at: int
    ended_at: int | None
    records: int
    answers: dict[str, int]
    steps: int
    """How many steps it was let go on for."""
    step_answers: dict[str, int]
    hold: Hold | None
    """What keeps it from going on, unless a run above it does."""
    coherence: float | None
    checkpoints: int
    last_checkpoint_step: int
    spent: dict[str, int | float | str]
    input_tokens: int
    output_tokens: int
    unpriced_tokens: int
    lines_added: int
    lines_removed: int
    rework_lines: int
    files: tuple[str, ...]
    tools: dict[str, int]
    dependencies: tuple[str, ...]
    tests: TestCounts | None
    violations: int
    corrected: int
    forbidden: int
    pending_approvals: int
    pending_reviews: tuple[str, ...]
    completion: str
    """How the checks stand that must pass before it may finish."""
    report: Report | None


def run_figures(state: RunState) -> RunFigures:
    """Return a run's figures from its state."""
    return RunFigures(
        id=state.id,
        status=state.status.value,
        outcome=state.outcome,
        task=state.task,
        agent=state.agent,
        client=state.client,
        project=state.project,
        parent=state.ancestors[0] if state.ancestors else None,
        policy_hash=state.policy_hash,
        started_at=state.started_at,
        updated_at=state.updated_at,
        ended_at=state.ended_at,
        records=state.seq,
        answers={each.value: state.decisions.get(each.value, 0) for each in Decision},
        steps=state.control.steps,
        step_answers={
            each.value: state.control.decisions.get(each.value, 0) for each in StepDecision
        },
        hold=state.control.hold,
        coherence=state.control.coherence,
        checkpoints=state.control.checkpoints,
        last_checkpoint_step=state.control.checkpoint_step,
        spent=amounts_value(state.spent),
        input_tokens=state.input_tokens,
        output_tokens=state.output_tokens,
        unpriced_tokens=state.unpriced_tokens,
        lines_added=state.lines_added,
        lines_removed=state.lines_removed,
        rework_lines=state.rework_lines,
        files=tuple(sorted(state.files)),
        tools=dict(sorted(state.tools.items(), key=lambda item: (-item[1], item[0]))),
        dependencies=tuple(sorted(state.dependencies)),
        tests=state.tests,
        violations=state.violations,
        corrected=state.corrected,
        forbidden=state.forbidden,
        pending_approvals=state.pending_approvals,
        pending_reviews=tuple(state.reviews.pending),
        completion=state.reviews.completion.value,
        report=state.report,
    )


WORDS: Final = {
    HoldKind.PAUSE: "paused",
    HoldKind.STOP: "stopped",
    HoldKind.PERSON_STOP: "halted",
}
"""How a run is called that is held."""


class Held(msgspec.Struct, frozen=True, kw_only=True):
    """A hold in its place: whose it is, and how it is lifted."""

    run: str
    """The run itself, or one above it."""
    kind: HoldKind
    reason: str
    step: int
    since: int
    question: str | None
    """The approval whose answer lifts it, if a person was asked and may still answer."""
    commands: tuple[str, ...]
    """What lets it go on, and what stops it for good."""

    @property
    def word(self) -> str:
        """What the run is called."""
        return WORDS[self.kind]


def holds_on(ledger: Ledger, state: RunState, now: int) -> Sequence[Held]:
    """Return what keeps a run from going on: its own hold first, then those of runs above."""
    if state.status is not RunStatus.RUNNING:
        return ()
    above = filter(None, map(ledger.state, state.ancestors))
    return [held for each in (state, *above) if (held := _held(ledger, each, now)) is not None]


def _held(ledger: Ledger, state: RunState, now: int) -> Held | None:
    hold = state.control.hold
    if hold is None:
        return None
    asked = None if hold.approval is None else ledger.rows.approval(hold.approval)
    question = asked.id if asked is not None and asked.is_open_at(now) else None
    return Held(
        run=state.id,
        kind=hold.kind,
        reason=hold.reason,
        step=hold.step,
        since=hold.since,
        question=question,
        commands=_commands(state.id, question),
    )


def _commands(run_id: str, question: str | None) -> tuple[str, ...]:
    if question is None:
        return (f"interlock lift {run_id} --reason TEXT",)
    return (f"interlock approve {question}", f"interlock deny {question}")


class TakenCheckpoint(NamedTuple):
    """A checkpoint in its place on the record."""

    run_id: str
    at: int
    checkpoint: Checkpoint


def checkpoints_among(records: Iterable[RecordRow]) -> Iterator[TakenCheckpoint]:
    """Yield the checkpoints that these records tell of."""
    for row in records:
        if row.kind == _TAKEN:
            event = decoded(row.body).event
            if isinstance(event, CheckpointTaken):
                yield TakenCheckpoint(row.run_id, row.at, event.checkpoint)
