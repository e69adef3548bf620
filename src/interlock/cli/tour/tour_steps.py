"""A run that gets stuck and stops half-way, played to a real ledger in memory."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import contextmanager
from typing import Final, NamedTuple

from interlock.cli.render import Line, Span, Tone
from interlock.cli.tour.tour_run import PassingClock, first_operator
from interlock.cli.wrap import wrapped_lines
from interlock.ledger.codec import decoded
from interlock.model.answer import StepAnswer
from interlock.model.events import ActionJudged, ApprovalOpened, RunStarted
from interlock.ports import Rows
from interlock.service.interlock import Interlock, Run
from interlock.service.wiring import default_gates
from interlock.views.entries import Entry
from interlock.views.timeline import Teller

TITLE: Final = "Should it go on? Is it really done?"
ABOUT: Final = (
    "Before each step, and whenever the agent ends its turn, one arbiter decides from what it "
    "has seen itself: repeats, rework, progress, budgets. A run was just played; this is what it "
    "was told. `interlock watch RUN` shows it live, `interlock explain RUN` everything behind it."
)
_SUITE: Final = "pytest -q tests/test_totals.py"
_FAILED: Final = (
    "FAILED tests/test_totals.py::test_vat - assert 11 == 12\n1 failed, 11 passed in 0.61s"
)
_MARK: Final = 10
_NOT_TOLD: Final = (RunStarted, ActionJudged, ApprovalOpened)
"""What a visitor has seen in the chapter before."""


class Beat(NamedTuple):
    """A part of the story: a word on it, and what was recorded meanwhile."""

    note: str
    entries: tuple[Entry, ...]


class Story:
    """Plays a part, then keeps what it left on the record."""

    def __init__(self, interlock: Interlock, run: Run) -> None:
        self._rows: Rows = interlock.ledger.rows
        self._run_id = run.id
        self._told = 0

    def beat(self, note: str) -> Beat:
        """Return what was recorded since the last beat."""
        rows = self._rows.records(self._run_id, after=self._told)
        self._told = rows[-1].seq
        teller = Teller(self._rows)
        records = [decoded(row.body) for row in rows]
        told = [each for each in records if not isinstance(each.event, _NOT_TOLD)]
        return Beat(note, tuple(map(teller.entry, told)))


@contextmanager
def played_steps() -> Generator[tuple[Beat, ...]]:
    """Play the run; the ledger is gone afterwards."""
    clock = PassingClock()
    with Interlock.open(":memory:", gates=default_gates(), clock=clock) as interlock:
        run = interlock.run("make the totals come out right", agent="coder", project="shop")
        yield tuple(_beats(interlock, run, clock))


def _beats(interlock: Interlock, run: Run, clock: PassingClock) -> Iterator[Beat]:
    story = Story(interlock, run)
    paused = _gets_stuck(run, clock)
    yield story.beat("It runs the same tests again and again: it is warned, then paused")
    clock.passes(50)
    token = first_operator(interlock, "ada")
    interlock.approve(paused.approval_id or "", token=token, note="look at the rounding")
    yield story.beat("A person lets it go on, with a hint")
    _mends_it(run, clock)
    run.stopped(
        "The rounding was wrong. Now let me run the whole suite:",
        finish_reason="stop",
        todos=["run the whole suite"],
    )
    yield story.beat("It stops half-way: what is left is named, and it is sent on")
    clock.passes(5)
    run.step()
    answer = run.command("pytest -q")
    clock.passes(9)
    run.observe(answer, output="212 passed in 8.40s", exit_code=0, duration_ms=8_400)
    run.stopped(
        "All 212 tests pass; in summary, the VAT is rounded once, at the end.", finish_reason="stop"
    )
    yield story.beat("It is done, and may be")


def _gets_stuck(run: Run, clock: PassingClock) -> StepAnswer:
    """Run the same tests until somebody says stop."""
    answer = run.step()
    while answer.goes_on:
        clock.passes(6)
        asked = run.command(_SUITE)
        clock.passes(2)
        run.observe(asked, output=_FAILED, exit_code=1, duration_ms=610)
        answer = run.step()
    return answer


def _mends_it(run: Run, clock: PassingClock) -> None:
    run.step()
    clock.passes(7)
    answer = run.edit("src/vat.py", "vat = round(sum(parts), 2)\n", old="vat = sum(rounded)\n")
    clock.passes(1)
    run.observe(answer)
    run.step()
    clock.passes(3)
    answer = run.command(_SUITE)
    clock.passes(1)
    run.observe(answer, output="12 passed in 0.60s", exit_code=0, duration_ms=600)
    clock.passes(2)


def beat_lines(beat: Beat, *, width: int) -> Iterator[Line]:
    """Yield what was recorded, with every reason in full."""
    for entry in beat.entries:
        text = "  ".join(filter(None, (entry.text, entry.facts)))
        head = (Span(f"{entry.mark:<{_MARK}}", entry.tone),)
        yield from wrapped_lines(head, text, width=width)
        for reason in entry.reasons:
            yield from wrapped_lines((Span(" " * _MARK),), reason, Tone.FAINT, width=width)
