"""The loop of a governed agent: asks before each step, waits, and ends when the run does.

    for step in run.steps():
        reply = model(step.nudge)
        step.done(reply.text) if reply.is_final else step.said(reply.text)

What a step said, and what it measured, is told with the next question. Where it ends the turn,
the question is whether the agent is really done: that ends the loop, or the next step carries a
nudge.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Final, Protocol, Unpack

from interlock.errors import InputError
from interlock.model.answers import StepAnswer, StopAnswer
from interlock.model.arbitration import Course
from interlock.model.entrance import MOST, entrance
from interlock.model.glance import Glance, Glanced, counted, glance_of
from interlock.model.promised_answer import completed
from interlock.model.run import RunState
from interlock.model.step import Checkpoint
from interlock.model.turn_report import (
    StepFields,
    StepReport,
    StopFields,
    StopReport,
    step_report,
    stop_report,
)

_FOR_EVER_S: Final = MOST // 1_000_000
_COMPLETED: Final = "completed"
_GOES_ON: Final = (Course.GO_ON, Course.WAIT)


class SteppedRun(Protocol):
    """A run as its loop sees it, wherever that is asked."""

    async def before_step(self, report: StepReport, wait_s: float | None) -> StepAnswer:
        """Ask whether it should go on."""
        ...

    async def at_stop(self, report: StopReport, wait_s: float | None) -> StopAnswer:
        """Ask whether it is really done."""
        ...

    async def state(self) -> RunState:
        """Return the run as it is on record."""
        ...


class GovernedStep(Glanced):
    """One step that the run may take now."""

    def __init__(self, answer: StepAnswer, nudge: str | None) -> None:
        self.number = answer.step
        """How many steps the run has taken."""
        self.answer = answer
        """Why it may be taken, with every figure behind it."""
        self.nudge = nudge
        """What to say to an agent that had stopped too early; None where there is nothing."""
        self.report = step_report(None)
        """What is told with the next question."""
        self.closing: StopReport | None = None
        """What ended the turn, if it did."""

    @property
    def warnings(self) -> tuple[str, ...]:
        """What the agent should hear although the run goes on."""
        return self.answer.warnings

    @property
    def checkpoint(self) -> Checkpoint | None:
        """What was saved before the step, if it was due."""
        return self.answer.checkpoint

    @entrance
    def said(self, text: str | None = None, **fields: Unpack[StepFields]) -> None:
        """Note what the agent said in this step, and what else `run.step` takes."""
        self.report = step_report(text, **fields)

    @entrance
    def done(self, text: str | None = None, **fields: Unpack[StopFields]) -> None:
        """Note that the agent ends its turn with these words, and what `run.stopped` takes."""
        self.closing = stop_report(text, **fields)

    def _glance(self) -> Glance:
        line, rows = glance_of(self.answer)
        return Glance(line, (("nudge", self.nudge), *rows))


class Steps(Glanced):
    """What the loops of `Run` and `AsyncRun` share; readable when they are over."""

    def __init__(self, run: SteppedRun, wait_s: float | None) -> None:
        self._run = run
        self._wait_s = _FOR_EVER_S if wait_s is None else wait_s
        self._current: GovernedStep | None = None
        self._outcome: str | None = None
        self.answer: StepAnswer | StopAnswer | None = None
        """The last answer: before a step, or at the end of a turn."""

    @property
    def finished(self) -> bool:
        """Whether the agent is done, and nothing else ended the loop."""
        if self._outcome is not None:
            return self._outcome == _COMPLETED
        return isinstance(self.answer, StopAnswer) and self.answer.done

    @property
    def reason(self) -> str:
        """Why the loop ended, or goes on."""
        if self._outcome is not None:
            return f"the run is finished: {self._outcome}"
        if self.answer is None:
            return "nothing was asked yet"
        return f"{'done: ' if self.finished else ''}{self.answer.ruling.reason}"

    def _glance(self) -> Glance:
        taken = 0 if self._current is None else self._current.number + 1
        return Glance(f"{counted(taken, 'step')}: {self.reason}", (("reason", self.reason),))

    async def advance(self) -> GovernedStep | None:
        """Return the next step that may be taken; None where the loop ends."""
        try:
            return await self._next()
        except InputError:
            # A run may well be finished in the middle of a step, or while it waits for a person.
            self._outcome = (await self._run.state()).outcome
            if self._outcome is None:
                raise
            return None

    async def _next(self) -> GovernedStep | None:
        nudge, report = None, step_report(None)
        if self._current is not None:
            report, closing = self._current.report, self._current.closing
            if closing is not None:
                self.answer = stop = await self._run.at_stop(closing, self._wait_s)
                if stop.ruling.course not in _GOES_ON or stop.delay_ms:
                    return None
                nudge = stop.nudge
        answer = await self._run.before_step(report, self._wait_s)
        if answer.waited_ms and await self._is_to_be_asked_again(answer):
            answer = await self._run.before_step(step_report(None), self._wait_s)
        self.answer = answer
        if not answer.goes_on or answer.delay_ms:
            return None
        self._current = GovernedStep(answer, nudge)
        return self._current

    async def _is_to_be_asked_again(self, answer: StepAnswer) -> bool:
        """Whether what was waited for is over, or somebody stopped the run meanwhile."""
        if answer.ruling.course is Course.WAIT:
            return True
        return (await self._run.state()).control.hold is not None


class StepLoop(Steps):
    """The loop for whoever waits."""

    def __iter__(self) -> Iterator[GovernedStep]:
        """Yield each step that may be taken, once it may."""
        while (step := completed(self.advance, ())) is not None:
            yield step


class AsyncStepLoop(Steps):
    """The loop for whoever awaits."""

    async def __aiter__(self) -> AsyncIterator[GovernedStep]:
        """Yield each step that may be taken, once it may."""
        while (step := await self.advance()) is not None:
            yield step
