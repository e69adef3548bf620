"""All that calibration has to say: both gates, the rules people marked, and the patch."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Final

import msgspec

from interlock.backtest.calibrate.calibration import Calibration, Case, Conclusion
from interlock.backtest.calibrate.outcomes import MarkedRule, Marks
from interlock.backtest.calibrate.scored_run import ScoredRun, calibrated_steps
from interlock.backtest.calibrate.turn_points import Labelled, StopCalibration, calibrated_stops
from interlock.model.past_run import Unread
from interlock.model.recommendation import PatchOperation
from interlock.policy.config.document import Policy

NO_MARKS: Final = Marks(runs={}, ends={}, rules=())
_SUGGESTED: Final = "warn"


class KnownOutcomes(msgspec.Struct, frozen=True, kw_only=True):
    """Where it is known from how runs ended; the first that knows has the word."""

    given: Mapping[str, bool] = {}
    """By a file."""
    marks: Marks = NO_MARKS
    kept: Callable[[ScoredRun], bool | None] = lambda _: None
    """Whether the work still stands in a repository."""

    def of(self, run: ScoredRun) -> tuple[str, bool | None]:
        """Return who knows how a run ended, and how."""
        ways: tuple[tuple[str, Callable[[], bool | None]], ...] = (
            ("file", lambda: self.given.get(run.id)),
            ("marks", lambda: self.marks.runs.get(run.id)),
            ("history", lambda: run.success),
            ("git", lambda: self.kept(run)),
        )
        for name, ask in ways:
            success = ask()
            if success is not None:
                return name, success
        return "unknown", None


class CalibrationReport(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What past runs say about the thresholds of a policy."""

    promise: float
    runs: int
    outcomes: Mapping[str, int] = {}
    """How many outcomes are known from where."""
    ends: int = 0
    """Ends of turns of which is known whether the work was done."""
    steps: Calibration | None = None
    stops: StopCalibration | None = None
    rules: tuple[MarkedRule, ...] = ()
    patch: tuple[PatchOperation, ...] = ()
    suggested: tuple[PatchOperation, ...] = ()
    """For rules that people marked wrong more often than right: a suggestion, and no more."""
    unread: tuple[Unread, ...] = ()

    @property
    def is_conclusive(self) -> bool:
        """Whether anything was found that keeps the promise."""
        stops = None if self.stops is None else self.stops.threshold
        return any(each is not None and each.is_conclusive for each in (self.steps, stops))


def calibration_report(
    runs: Iterable[ScoredRun],
    turns: Sequence[Labelled],
    known: KnownOutcomes,
    policy: Policy,
    *,
    promise: float,
    rules: Collection[str] = (),
    unread: Sequence[Unread] = (),
) -> CalibrationReport:
    """Choose what can be chosen; `rules` are those that the policy can give another answer."""
    outcomes: Counter[str] = Counter()
    cases: dict[tuple[str, str], Case] = {}
    ends = {each.id: each for each in turns}
    total = 0
    for run in runs:
        total += 1
        name, success = known.of(run)
        outcomes[name] += 1
        if success is not None:
            cases[run.agent, run.id] = run.case(is_good=success)
        ends.update(
            {each.id: each for each in run.labelled(success=success, marks=known.marks.ends)}
        )
    steps = calibrated_steps(list(cases.values()), policy.loops, promise=promise) if total else None
    stops = calibrated_stops(list(ends.values()), policy.stops, promise=promise) if ends else None
    return CalibrationReport(
        promise=promise,
        runs=total,
        outcomes=dict(outcomes),
        ends=len(ends),
        steps=steps,
        stops=stops,
        rules=known.marks.rules,
        patch=(*_steps_patch(steps), *_stops_patch(stops, policy)),
        suggested=tuple(_suggested(known.marks, rules)),
        unread=tuple(unread),
    )


def _steps_patch(steps: Calibration | None) -> Iterator[PatchOperation]:
    if steps is not None:
        yield from _threshold("loops", "pause-score-percent", steps)


def _stops_patch(stops: StopCalibration | None, policy: Policy) -> Iterator[PatchOperation]:
    if stops is None or stops.threshold.chosen is None:
        return
    yield from _threshold("stops", "continue-at", stops.threshold)
    for name, value in stops.points.items():
        before = getattr(policy.stops, name.replace("-", "_"))
        yield PatchOperation(path=("stops", name), value=str(value), before=str(before))


def _threshold(table: str, key: str, found: Calibration) -> Iterator[PatchOperation]:
    if found.chosen is not None and found.conclusion is Conclusion.CHANGED:
        yield PatchOperation(
            path=(table, key),
            value=str(found.chosen.threshold),
            before=str(found.search.current),
        )


def _suggested(marks: Marks, rules: Collection[str]) -> Iterator[PatchOperation]:
    for each in marks.rules:
        if each.is_suspect and each.rule in rules:
            path = ("destructive-ops", "rules", each.rule)
            yield PatchOperation(path=path, value=f'"{_SUGGESTED}"')
