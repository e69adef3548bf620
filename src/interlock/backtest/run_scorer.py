"""How did a past run score as it went, and where did its turns end? Gone through once."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable
from typing import Final

from msgspec.structs import replace

from interlock.backtest.calibrate.calibration import ALWAYS
from interlock.backtest.calibrate.scored_run import (
    EVIDENT,
    MOST,
    PastEnd,
    ScoredRun,
    percent_of,
    rises_of,
)
from interlock.backtest.calibrate.turn_points import turn_end
from interlock.backtest.hindsight import Watch
from interlock.model.past_run import PastRun, PastStep
from interlock.model.step import StepDecision
from interlock.model.stop import (
    EvidenceKind,
    LastEvent,
    StopContext,
    StopEvidence,
    finish_reason_from,
)
from interlock.policy.config.document import Policy
from interlock.policy.evidence.tool_output import counts_in

_CHARACTERS_PER_TOKEN: Final = 4
_RECENT: Final = 10
_CLOSING: Final = 4_000
_LATEST_RESULTS: Final = 5
_GO_ON: Final = re.compile(
    r"\W*(?:(?:ok(?:ay)?|yes|please|pls|just|and|now|then|good|great|can you|you can)\W+)*"
    r"(?:continue|go on|go ahead|carry on|keep (?:going|on|working)|proceed|finish(?: it)?|resume"
    r"|don'?t stop|not done(?: yet)?|weiter(?:machen)?|mach weiter|fortfahren|continúa|continua"
    r"|sigue|adelante|continuez?|poursuis|продолжай(?:те)?|продолжи|дальше|继续|繼續|続けて|계속)"
    r"(?:\W+(?:please|pls|then|now|with (?:it|that)|the work|working|bitte))*\W*",
    re.IGNORECASE,
)
"""What a person says whose agent stopped too early: these words, and nothing new."""


def scored_run(run: PastRun, policy: Policy) -> ScoredRun:
    """Go through a run; its steps are used up."""
    scorer = _Scorer(run, policy)
    for step in run.steps:
        scorer.add(step)
    return scorer.told()


class _Scorer:
    """Follows one run."""

    def __init__(self, run: PastRun, policy: Policy) -> None:
        self._run, self._stops = run, policy.stops
        # What pauses it for another reason does so whatever the score is.
        self._watch = Watch(
            replace(policy.steps, mode="enforce"), replace(policy.loops, pause_score_percent=MOST)
        )
        self._scores: list[tuple[int, int]] = []
        self._highest = 0
        self._used = self._place = 0
        self._first: int | None = None
        self._last: int | None = None
        self._model = run.model
        self._said: PastStep | None = None
        self._before = LastEvent.NONE
        self._acted: deque[bool] = deque(maxlen=_RECENT)
        self._todos: tuple[str, ...] = ()
        self._results: deque[str] = deque(maxlen=_LATEST_RESULTS)
        self._ends: list[PastEnd] = []

    def add(self, step: PastStep) -> None:
        """Take the next step."""
        self._place += 1
        if step.at is not None:
            self._first = step.at if self._first is None else self._first
            self._last = step.at
        self._model = step.model or self._model
        answer = self._watch.after(step)
        if step.tool is not None:
            self._act(step)
        elif answer is None:
            self._hear(step)
        elif step.text.strip():
            self._before = self._before if self._said is None else LastEvent.ASSISTANT_MESSAGE
            self._said = step
        self._used += _cost(step)
        if answer is None:
            return
        is_held = answer.decision.rank >= StepDecision.PAUSE.rank
        score = ALWAYS if is_held else self._percent()
        if score > self._highest:
            self._highest = score
            self._scores.append((score, self._used))

    def told(self) -> ScoredRun:
        """Return what it came to."""
        self._end_turn(None)
        run = self._run
        return ScoredRun(
            id=run.id,
            agent=run.client,
            model=self._model or "",
            group=run.group,
            workspace=run.workspace,
            success=run.success,
            began_at=self._first,
            ended_at=self._last,
            rises=rises_of(self._scores, self._used),
            cost=self._used,
            ends=tuple(self._ends),
        )

    def _percent(self) -> int:
        score = self._watch.score
        return percent_of(score) if score >= EVIDENT else 0

    def _act(self, step: PastStep) -> None:
        self._said, self._before = None, LastEvent.TOOL_RESULT
        self._acted.append(True)
        self._todos = self._todos if step.todos is None else step.todos
        if step.result:
            self._results.append(step.result[-_CLOSING:])

    def _hear(self, step: PastStep) -> None:
        self._end_turn(step)
        self._before = LastEvent.USER_MESSAGE
        self._results.clear()

    def _end_turn(self, person: PastStep | None) -> None:
        said, self._said = self._said, None
        if said is None:
            return
        context = StopContext(
            text=said.text[-_CLOSING:],
            last_event=self._before,
            finish_reason=finish_reason_from(said.finish_reason) if said.finish_reason else None,
            tool_ratio=sum(self._acted) / len(self._acted) if self._acted else None,
            n_prev_turns=len(self._acted),
            model=said.model or self._model,
            evidence=tuple(self._evidence()),
        )
        self._acted.append(False)
        is_done = None if person is None else _GO_ON.fullmatch(person.text) is None
        self._ends.append(
            PastEnd(
                place=self._place,
                end=turn_end(context, self._stops),
                is_done=is_done,
                model=context.model or "",
            )
        )

    def _evidence(self) -> Iterable[StopEvidence]:
        for each in self._todos:
            yield StopEvidence(kind=EvidenceKind.OPEN_TODO, text=each)
        counts = next(filter(None, map(counts_in, reversed(self._results))), None)
        if counts is not None and counts.failed:
            yield StopEvidence(kind=EvidenceKind.FAILING_CHECK, text="tests")


def _cost(step: PastStep) -> int:
    """Return the tokens of a step: as told, or else a quarter of its characters."""
    if step.tokens is not None:
        return step.tokens
    result = step.result_size if step.result_size is not None else len(step.result or "")
    return (len(step.text) + len(step.arguments) + result) // _CHARACTERS_PER_TOKEN
