"""The loop of an agent, by itself: whoever answers it is told the same."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest
from msgspec.structs import replace

from interlock.errors import InputError, LedgerError
from interlock.model.answers import StepAnswer, StopAnswer
from interlock.model.approval import Approval, ApprovalState, Subject
from interlock.model.arbitration import Authority, Course, Ruling
from interlock.model.patience import after_delay, patiently
from interlock.model.promised_answer import completed
from interlock.model.run import RunState
from interlock.model.step import ContinueDecision, StepContext, StepDecision
from interlock.model.step_loop import AsyncStepLoop, StepLoop
from interlock.model.stop import StopDecision, StopOutcome
from interlock.model.turn_report import StepReport, StopReport, step_report, stop_report

GO_ON, WAIT, FINISH, AWAIT = Course.GO_ON, Course.WAIT, Course.FINISH, Course.AWAIT_PERSON


def ruled(course: Course, delay_ms: int | None = None, **more: Any) -> Ruling:
    by = Authority.STOP if course is FINISH else Authority.STEP
    return Ruling(course=course, by=by, reason="so", delay_ms=delay_ms, **more)


def a_step(number: int, course: Course = GO_ON, delay_ms: int | None = None) -> StepAnswer:
    return StepAnswer(
        run_id="r",
        seq=number,
        step=number,
        decision=StepDecision.CONTINUE,
        facts=StepContext(),
        detail=ContinueDecision(decision=StepDecision.CONTINUE),
        ruling=ruled(course, delay_ms),
        approval_id="a" if course is AWAIT else None,
    )


def a_stop(course: Course, nudge: str | None = None, delay_ms: int | None = None) -> StopAnswer:
    said = StopDecision(
        goes_on=False, score=0, signals=(), reason="so", outcome=StopOutcome.FINISHED
    )
    return StopAnswer(
        run_id="r",
        seq=9,
        decision=StopOutcome.FINISHED,
        detail=said,
        step=ContinueDecision(decision=StepDecision.CONTINUE),
        ruling=ruled(course, delay_ms, nudge=nudge),
    )


class Told:
    """Answers in turn what a loop asks, and remembers what it was told."""

    def __init__(
        self, answers: Sequence[StepAnswer | StopAnswer | Exception], state: RunState | None = None
    ) -> None:
        self._answers = list(answers)
        self._state = state or RunState(id="r")
        self.heard: list[StepReport | StopReport] = []

    async def before_step(self, report: StepReport, wait_s: float | None) -> Any:
        return self._next(report)

    async def at_stop(self, report: StopReport, wait_s: float | None) -> Any:
        return self._next(report)

    async def state(self) -> RunState:
        return self._state

    def _next(self, report: StepReport | StopReport) -> StepAnswer | StopAnswer:
        self.heard.append(report)
        answer = self._answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


def test_what_a_step_said_is_told_with_the_next_question() -> None:
    run = Told([a_step(0), a_step(1), a_stop(GO_ON, "go on"), a_step(2), a_stop(FINISH)])
    loop, nudges = StepLoop(run, None), list[str | None]()

    assert (loop.reason, loop.finished) == ("nothing was asked yet", False)
    for step in loop:
        nudges.append(step.nudge)
        if step.number:
            step.done("that is it", todos=["a"])
        else:
            step.said("looking", waiting_for="a build")
        assert (step.warnings, step.checkpoint) == ((), None)

    assert nudges == [None, None, "go on"]
    assert run.heard[1] == step_report("looking", waiting_for="a build")
    assert run.heard[2] == stop_report("that is it", todos=["a"])
    assert (loop.finished, loop.reason) == (True, "done: so")


def test_a_loop_ends_where_the_run_may_not_go_on() -> None:
    loop = StepLoop(Told([a_step(0, AWAIT)]), 1)

    assert list(loop) == []
    assert (loop.finished, loop.reason) == (False, "so")


def test_what_was_waited_for_is_asked_again() -> None:
    over, throttled = replace(a_step(0, WAIT), waited_ms=5), replace(a_step(1), waited_ms=5)
    run = Told([over, a_step(0), throttled, a_step(2, AWAIT)])

    assert [step.number for step in StepLoop(run, None)] == [0, 1]


@pytest.mark.parametrize("outcome", ["completed", "failed"])
def test_a_run_that_is_finished_meanwhile_ends_its_loop(outcome: str) -> None:
    loop = StepLoop(Told([InputError("it is over")], RunState(id="r", outcome=outcome)), None)

    assert list(loop) == []
    assert loop.finished is (outcome == "completed")
    assert loop.reason == f"the run is finished: {outcome}"


def test_an_error_in_a_run_that_goes_on_is_raised() -> None:
    with pytest.raises(InputError, match="what else"):
        list(StepLoop(Told([InputError("what else")]), None))


def test_the_same_loop_is_awaited() -> None:
    async def work() -> list[int]:
        loop = AsyncStepLoop(Told([a_step(0), a_step(1, FINISH)]), 1)
        return [step.number async for step in loop]

    assert asyncio.run(work()) == [0]


def test_a_coroutine_that_waits_for_others_is_no_call() -> None:
    with pytest.raises(LedgerError, match="was suspended"):
        completed(asyncio.sleep, (0,))


def an_approval(state: ApprovalState) -> Approval:
    return Approval(
        id="a",
        run_id="r",
        subject=Subject.ACTION,
        digest="d",
        summary="s",
        findings=(),
        policy_hash="p",
        opened_at=0,
        expires_at=1,
        uses_left=1,
        state=state,
    )


@pytest.mark.parametrize(
    ("wait_s", "state", "clock", "asked"),
    [
        (None, ApprovalState.GRANTED, [0], 1),
        (1, ApprovalState.GRANTED, [0, 0], 2),
        (1, ApprovalState.DENIED, [0, 0], 2),
        (1, ApprovalState.EXPIRED, [0, 2_000_000], 1),
    ],
)
def test_patience_asks_again_once_a_person_has_decided(
    wait_s: float | None, state: ApprovalState, clock: list[int], asked: int
) -> None:
    answers, times = [a_step(0, AWAIT), a_step(0, AWAIT)], iter(clock)
    given = list[StepAnswer]()

    async def ask() -> StepAnswer:
        given.append(answers[len(given)])
        return given[-1]

    async def decision(_approval_id: str, _wait_s: float) -> Approval:
        return an_approval(state)

    completed(patiently, (ask, decision, lambda: next(times), wait_s))

    assert len(given) == asked


@pytest.mark.parametrize(("wait_s", "waited"), [(None, 0), (1, 50), (0.01, 0)])
def test_a_delay_is_waited_for_within_the_patience(wait_s: float | None, waited: int) -> None:
    slept = list[float]()

    async def delay(seconds: float) -> None:
        slept.append(seconds)

    answer = completed(after_delay, (a_step(0, GO_ON, 50), delay), {"waited": 0, "wait_s": wait_s})

    assert (answer.waited_ms, sum(slept)) == (waited, waited / 1000)
