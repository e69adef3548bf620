"""A run, as calibration sees it: how it scored as it went, and where its turns ended.

No words of anybody are in it: neither of the agent nor of a person.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import msgspec

from interlock.backtest.calibrate.calibration import Calibration, Case, Search, calibrated
from interlock.backtest.calibrate.turn_points import Labelled, TurnEnd
from interlock.policy.config.run_sections import Loops

CLEAR: Final = 100
"""One clear sign, in percent. Below that a single unclear one would pause a run, and
`pause-repeats` and `patience` would no longer mean what they say: the search ends here."""
MOST: Final = 1_000
_DRAWN: Final = (50, 60, 70, 80, 90, 100, 101, 105, 110, 120, 130, 150, 200, 300, 500, 1000)
_EVIDENT: Final = 0.2
"""A lower score comes from the length of a run alone, which pauses nothing."""


class PastEnd(msgspec.Struct, frozen=True, kw_only=True):
    """Where a turn ended in a run."""

    place: int
    """The step that ended it, from 1 on, as audits count."""
    end: TurnEnd
    is_done: bool | None
    """By what a person said next; None at the end of a run, where nobody said anything."""
    model: str = ""


class ScoredRun(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of a run besides its outcome, and what its own format says of that."""

    id: str
    agent: str = ""
    model: str = ""
    group: str = ""
    workspace: str | None = None
    success: bool | None = None
    began_at: int | None = None
    ended_at: int | None = None
    rises: tuple[tuple[int, int], ...] = ()
    cost: int = 0
    ends: tuple[PastEnd, ...] = ()

    def case(self, *, is_good: bool) -> Case:
        """Return it with its outcome."""
        return Case(
            id=self.id,
            is_good=is_good,
            rises=self.rises,
            cost=self.cost,
            group=self.group,
            agent=self.agent,
            model=self.model,
            at=self.began_at,
        )

    def labelled(
        self, *, success: bool | None, marks: Mapping[tuple[str, int], bool]
    ) -> Sequence[Labelled]:
        """Return the ends of turns of which is known whether the work was done.

        The last one is done where the run went well; a mark of a person overrules all.
        """
        found: list[Labelled] = []
        for each in self.ends:
            told = True if each.is_done is None and success else each.is_done
            is_done = marks.get((self.id, each.place), told)
            if is_done is not None:
                found.append(
                    Labelled(
                        id=f"{self.id}#{each.place}",
                        is_done=is_done,
                        end=each.end,
                        group=self.group or self.id,
                        agent=self.agent,
                        model=each.model,
                        at=self.began_at,
                    )
                )
        return found


def percent_of(score: float) -> int:
    """Return the highest `pause-score-percent` that a score reaches; 0 for none."""
    if score < _EVIDENT:
        return 0
    nearest = round(score * 100)
    # The gate compares shares: what lies next to one is as it says.
    return nearest if score >= nearest / 100 else nearest - 1


def rises_of(scores: Iterable[tuple[int, int]], total: int) -> tuple[tuple[int, int], ...]:
    """Return each new highest score, with what was used after it: from scores and uses so far."""
    found: list[tuple[int, int]] = []
    for score, used in scores:
        if score > 0 and (not found or score > found[-1][0]):
            found.append((score, total - used))
    return tuple(found)


def calibrated_steps(cases: Sequence[Case], loops: Loops, *, promise: float) -> Calibration:
    """Choose the score that pauses a run."""
    return calibrated(cases, steps_search(loops, promise=promise), _DRAWN)


def steps_search(loops: Loops, *, promise: float) -> Search:
    """Return where that score is searched."""
    return Search(least=CLEAR, most=MOST, current=loops.pause_score_percent, promise=promise)
