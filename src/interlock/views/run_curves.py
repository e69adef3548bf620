"""How a run went, as points of curves: tokens and answers, coherence and rework, tests, money.

They come from the latest records of the run: of one with very many steps, the last of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from interlock.model import events
from interlock.model.budget import Dimension
from interlock.model.run import RunState, RunStatus
from interlock.model.step import SLOPE_STEPS, StepDecision
from interlock.policy.config.run_sections import Steps


class StepBar(NamedTuple):
    """One step, or several in a row."""

    first: int
    last: int
    tokens: int
    """What was used between the question before it and its own; of several, on average."""
    answer: StepDecision
    """The most severe of them."""

    @property
    def name(self) -> str:
        """Which steps it stands for."""
        return (
            f"step {self.first}" if self.first == self.last else f"steps {self.first}-{self.last}"
        )


class Mark(NamedTuple):
    """Something that happened at a step, named above the chart."""

    step: int
    tone: str
    text: str


class Trend(NamedTuple):
    """How fast the tokens grow over the last steps, as a share of their average."""

    slope: float
    limit: float
    steps: int


class Point(NamedTuple):
    """What was known of a run at one step."""

    step: int
    coherence: float | None
    rework: float | None


class Bands(NamedTuple):
    """Where privileges shrink, and how much rework may be."""

    restricted_below: float
    read_only_below: float
    min_coherence: float
    max_rework: float


class Results(NamedTuple):
    """What one run of the tests came to."""

    step: int
    failed: int
    passed: int


class Burn(msgspec.Struct, frozen=True, kw_only=True):
    """How the money of a run goes."""

    spent: int
    limit: int
    left: tuple[int, ...]
    """At each step that is known, and now."""
    more_steps: int | None
    """How many more it can take at the present pace; None where there is no pace, or no more."""


class RunCurves(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that the charts of a run show."""

    bars: tuple[StepBar, ...]
    trend: Trend | None
    marks: tuple[Mark, ...]
    points: tuple[Point, ...]
    bands: Bands
    results: tuple[Results, ...]
    burn: Burn | None
    """None where no limit is set."""
    is_whole: bool
    """Whether the run is shown from its first step on."""


def run_curves(
    state: RunState, records: Sequence[events.Record], settings: Steps, cost_limit: int | None
) -> RunCurves:
    """Return the curves of a run from its latest records."""
    reader = _Reader()
    for record in records:
        reader.take(record)
    latest = reader.latest
    slope = None if latest is None else latest.decision.metrics.budget_slope
    steps = 0 if latest is None else len(latest.context.steps_tokens[-SLOPE_STEPS:])
    return RunCurves(
        bars=tuple(reader.bars.values()),
        trend=None if slope is None else Trend(slope, settings.max_slope, steps),
        marks=tuple(reader.marks.values()),
        points=tuple(reader.points.values()),
        bands=Bands(
            settings.restricted_below,
            settings.read_only_below,
            settings.min_coherence,
            settings.max_rework,
        ),
        results=tuple(reader.results),
        burn=None if cost_limit is None else _burn(state, reader, cost_limit),
        is_whole=not records or records[0].seq == 1,
    )


class _Reader:
    """Goes along the records of a run."""

    def __init__(self) -> None:
        self.bars: dict[int, StepBar] = {}
        self.points: dict[int, Point] = {}
        self.marks: dict[tuple[int, str], Mark] = {}
        self.results: list[Results] = []
        self.spent: list[int] = [0]
        """What was spent since the first record, at each step and now."""
        self.latest: events.StepJudged | None = None
        self._total: int | None = None
        self._step = 0

    def take(self, record: events.Record) -> None:
        match record.event:
            case events.StepJudged() as event if not event.held:
                self._step_judged(event)
            case events.ActionObserved(tests=tests, spent=spent):
                self.spent[-1] += spent.cost_micros
                if tests is not None and tests.executed:
                    self.results.append(Results(self._step, tests.failed, tests.passed))
            case events.UsageReported(spent=spent):
                self.spent[-1] += spent.cost_micros
            case events.CheckRan(result=result):
                tests = result.tests
                if tests is not None and tests.executed:
                    self.results.append(Results(self._step, tests.failed, tests.passed))
            case events.CheckpointTaken(checkpoint=checkpoint) if checkpoint.is_saved:
                self.marks[checkpoint.step, "save"] = Mark(checkpoint.step, "save", "saved")
            case _:
                pass

    def _step_judged(self, event: events.StepJudged) -> None:
        context, answer = event.context, event.decision.decision
        step = self._step = self._step + 1 if context.step_number is None else context.step_number
        total = context.total_tokens_used
        known = context.steps_tokens[-1] if context.steps_tokens else total or 0
        tokens = known if total is None or self._total is None else max(total - self._total, 0)
        self._total = total if total is not None else self._total
        self.bars[step] = StepBar(step, step, tokens, answer)
        rework = event.decision.metrics.rework_ratio
        self.points[step] = Point(step, context.coherence_score, rework)
        if answer in (StepDecision.PAUSE, StepDecision.STOP):
            tone = "ask" if answer is StepDecision.PAUSE else "block"
            self.marks[step, tone] = Mark(step, tone, answer.value)
        self.latest = event
        self.spent.append(self.spent[-1])


def _burn(state: RunState, reader: _Reader, limit: int) -> Burn:
    """Return what was left at each step: what is known of the end, less what came after it."""
    spent = state.spent.of(Dimension.COST)
    before = spent - reader.spent[-1]
    left = tuple(limit - before - each for each in reader.spent[1:] or reader.spent)
    latest = [*left[-SLOPE_STEPS - 1 :], limit - spent]
    pace = (latest[0] - latest[-1]) / max(len(latest) - 1, 1)
    goes_on = pace > 0 and state.status is RunStatus.RUNNING
    more = int(max(limit - spent, 0) / pace) if goes_on else None
    return Burn(spent=spent, limit=limit, left=(*left, limit - spent), more_steps=more)
