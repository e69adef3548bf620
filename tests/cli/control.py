"""Runs that get stuck, are held, and stop too early, for the command line to tell of."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import NamedTuple

from cli.ledgers import SetClock, a_run
from interlock import Interlock, Run
from interlock.model.answers import StepAnswer

SUITE = "pytest -q tests/test_quotes.py"


class Stuck(NamedTuple):
    """A run that goes round in circles until it is paused."""

    run: Run
    clock: SetClock
    paused: StepAnswer

    @property
    def question(self) -> str:
        """The approval that lets it go on."""
        assert self.paused.approval_id is not None
        return self.paused.approval_id


@contextmanager
def a_stuck_run(place: str) -> Generator[Stuck]:
    """Let an agent repeat itself until it is paused, and keep its ledger open."""
    clock = SetClock(ago_s=3 * 60 + 30)
    with Interlock.open(place, clock=clock) as interlock:
        run = a_run(interlock, "escape the quotes")
        yield Stuck(run, clock, repeats_itself(run, clock))


def repeats_itself(run: Run, clock: SetClock | None = None) -> StepAnswer:
    """Run the same failing tests until it is told to stop; return that answer."""
    answer = run.step()
    for _ in range(20):
        if not answer.goes_on:
            return answer
        asked = run.command(SUITE)
        run.observe(asked, output="1 failed, 3 passed in 0.1s", exit_code=1)
        if clock is not None:
            clock.passes(6)
        answer = run.step()
    raise AssertionError("it was never paused")


def steps_along(run: Run, steps: int, *, first: int = 0) -> None:
    """Take so many steps, each of which brings something new."""
    for number in range(first, first + steps):
        assert run.step().goes_on
        asked = run.command(f"cat src/file{number}.py")
        run.observe(asked, output=f"content {number}\n" * 20, exit_code=0)
