"""A run in figures: the same for the table, for one run, and for programs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Final

import msgspec

from interlock.cli.text.render import Line, Span, Tone, wrapped_lines
from interlock.model.report import Report, TestCounts
from interlock.model.ruling import HoldKind
from interlock.model.run import RunStatus
from interlock.model.step import StepDecision
from interlock.model.verdict import Decision
from interlock.views.lookup import SHORT
from interlock.views.units import amounts_value, span

if TYPE_CHECKING:
    from interlock.ledger.ledger import Ledger
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


WORDS: Final = {
    HoldKind.PAUSE: "paused",
    HoldKind.STOP: "stopped",
    HoldKind.PERSON_STOP: "halted",
}
"""How a run is called that is held."""
TONES: Final = {
    HoldKind.PAUSE: Tone.CONFIRM,
    HoldKind.STOP: Tone.BLOCK,
    HoldKind.PERSON_STOP: Tone.BLOCK,
}


_EFFECTS: Final = ("lets it go on", "stops it")
_INDENT: Final = "    "
_LONGEST_WORD: Final = 30
"""What is longer is an id."""


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


def hold_lines(
    holds: Sequence[Held], run_id: str, now: int, *, width: int, most: int | None = None
) -> Iterator[Line]:
    """Yield each hold: since when, why in at most so many lines, and what answers it."""
    for held in holds:
        whose = "" if held.run == run_id else f", by run {held.run[:SHORT]} above"
        since = f"{span(now - held.since)} ago at step {held.step}{whose}"
        yield (Span("  "), Span(held.word.upper(), TONES[held.kind]), Span(f"  {since}"))
        why = wrapped_lines((Span(_INDENT),), held.reason, Tone.STRONG, width=width)
        yield from islice(why, most)
        for command, effect in zip(held.commands, _EFFECTS, strict=False):
            yield (Span(_INDENT), Span(_short(command), Tone.CODE), Span(f"  {effect}", Tone.FAINT))


def _short(command: str) -> str:
    """Return a command with the beginning of the id in it, which is enough."""
    return " ".join(word[:SHORT] if len(word) > _LONGEST_WORD else word for word in command.split())


def _held(ledger: Ledger, state: RunState, now: int) -> Held | None:
    hold = state.going.hold
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
