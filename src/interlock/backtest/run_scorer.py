"""How did a past run score as it went, and where did its turns end? Gone through once."""

from __future__ import annotations

import re
from typing import Final

from msgspec.structs import replace

from interlock.backtest.calibrate.calibration import ALWAYS
from interlock.backtest.calibrate.scored_run import (
    MOST,
    PastEnd,
    ScoredRun,
    percent_of,
    rises_of,
)
from interlock.backtest.calibrate.turn_points import turn_end
from interlock.backtest.hindsight import Watched, watched
from interlock.backtest.turn_ends import TurnEnd, TurnEnds
from interlock.model.past_run import PastRun, PastStep
from interlock.policy.config.document import Policy

_CHARACTERS_PER_TOKEN: Final = 4
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
    # What pauses it for another reason does so whatever the score is.
    settings = replace(policy.steps, mode="enforce")
    for each in watched(run.steps, settings, replace(policy.loops, pause_score_percent=MOST)):
        scorer.add(each)
    return scorer.told()


class _Scorer:
    """Follows one run."""

    def __init__(self, run: PastRun, policy: Policy) -> None:
        self._run, self._stops = run, policy.stops
        self._scores: list[tuple[int, int]] = []
        self._highest = 0
        self._used = 0
        self._first: int | None = None
        self._last: int | None = None
        self._model = run.model
        self._turn_ends = TurnEnds(run.model)
        self._ends: list[PastEnd] = []

    def add(self, watched: Watched) -> None:
        """Take the next step."""
        step = watched.step
        if step.at is not None:
            self._first = step.at if self._first is None else self._first
            self._last = step.at
        self._model = step.model or self._model
        self._note_end(self._turn_ends.add(step, watched.seen), step)
        self._used += _cost(step)
        if watched.answer is None:
            return
        score = ALWAYS if watched.is_held else percent_of(watched.score)
        if score > self._highest:
            self._highest = score
            self._scores.append((score, self._used))

    def told(self) -> ScoredRun:
        """Return what it came to."""
        self._note_end(self._turn_ends.end(), None)
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

    def _note_end(self, ended: TurnEnd | None, person: PastStep | None) -> None:
        if ended is None:
            return
        is_done = None if person is None else _GO_ON.fullmatch(person.text) is None
        self._ends.append(
            PastEnd(
                place=ended.place,
                end=turn_end(ended.context, self._stops),
                is_done=is_done,
                model=ended.context.model or "",
            )
        )


def _cost(step: PastStep) -> int:
    """Return the tokens of a step: as told, or else a quarter of its characters."""
    if step.tokens is not None:
        return step.tokens
    result = step.result_size if step.result_size is not None else len(step.result or "")
    return (len(step.text) + len(step.arguments) + result) // _CHARACTERS_PER_TOKEN
