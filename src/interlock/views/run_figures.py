"""A run in figures: the same for the table, for one run, and for programs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from interlock.cli.measures import amounts_value
from interlock.model.report import Report, TestCounts
from interlock.model.step import StepDecision
from interlock.model.verdict import Decision

if TYPE_CHECKING:
    from interlock.model.ruling import Hold
    from interlock.model.run import RunState


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
        steps=state.going.steps,
        step_answers={
            each.value: state.going.decisions.get(each.value, 0) for each in StepDecision
        },
        hold=state.going.hold,
        coherence=state.going.coherence,
        checkpoints=state.going.checkpoints,
        last_checkpoint_step=state.going.checkpoint_step,
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
