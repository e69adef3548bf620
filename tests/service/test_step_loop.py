"""The loop of an agent: it asks before each step, really waits, and ends when the run does."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Callable

import pytest

from gates.policies import gates_with
from interlock import AsyncInterlock, InputError, Interlock, Run, StepAnswer, StopAnswer
from interlock.model.approval import ApprovalState
from interlock.model.short_code import code_of
from interlock.ports import Listener
from interlock.values import StepLoop
from patience import LONG_ENOUGH_S
from service.ledgers import HandClock, in_memory, kinds_of, operator_of
from service.stepping_runs import asked, check_record, open_questions, paused

_DONE = "All folders were listed. The task is complete."


class PatientHand(HandClock):
    """A clock whose hands move while somebody sleeps by it; something may happen meanwhile."""

    def __init__(self) -> None:
        super().__init__()
        self.slept: list[float] = []
        self.meanwhile: Callable[[], object] = lambda: None

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.forward(seconds=seconds)
        self.meanwhile()


def looked(run: Run, number: int) -> None:
    run.observe(run.command(f"ls {number}"), output=str(number))


def spending_more(run: Run, clock: HandClock, number: int) -> None:
    run.usage({"output_tokens": round(1000 * 1.1**number)})
    clock.forward(seconds=10)


def test_it_asks_before_each_step_and_ends_when_the_agent_is_done() -> None:
    with in_memory() as interlock:
        run = interlock.run("t")
        loop = run.steps()
        before = loop.reason, loop.finished
        numbers: list[int] = []
        for step in loop:
            numbers.append(step.number)
            looked(run, step.number)
            if step.number == 2:
                step.done(_DONE)
            else:
                step.said("one more")

        assert before == ("nothing was asked yet", False)
        assert numbers == [0, 1, 2]
        assert loop.finished
        assert isinstance(loop.answer, StopAnswer)
        assert loop.reason == f"done: {loop.answer.ruling.reason}"
        assert kinds_of(interlock.ledger, run.id).count("step-judged") == 3
        assert kinds_of(interlock.ledger, run.id).count("stop-judged") == 1
        check_record(interlock)


def test_an_agent_that_stopped_half_way_is_sent_on_with_a_nudge() -> None:
    with in_memory() as interlock:
        run = interlock.run("t")
        nudges: list[str | None] = []
        for step in run.steps():
            nudges.append(step.nudge)
            looked(run, step.number)
            step.done(_DONE if len(nudges) == 2 else "Now let me run the tests.")

        assert nudges[0] is None
        assert nudges[1]


def test_what_stands_open_on_the_agents_list_is_told_with_its_last_words() -> None:
    with in_memory() as interlock:
        run = interlock.run("t")
        nudges: list[str | None] = []
        for step in run.steps():
            nudges.append(step.nudge)
            looked(run, step.number)
            if len(nudges) == 1:
                step.done("I listed two, next I will list the third.", todos=["write the test"])
            else:
                step.done(_DONE)

        assert len(nudges) == 2
        assert "write the test" in (nudges[1] or "")


def test_what_a_step_measured_counts_before_the_next_one() -> None:
    with in_memory() as interlock:
        loop = interlock.run("t").steps(wait_s=0)
        for step in loop:
            step.said("hm", coherence_score=0.1)

        assert not loop.finished
        assert "coherence" in loop.reason
        assert isinstance(loop.answer, StepAnswer)
        assert loop.answer.decision == "stop"


def test_it_really_waits_for_what_slows_it_down() -> None:
    clock = PatientHand()
    with in_memory(clock=clock) as interlock:
        run = interlock.run("t")
        answers: list[StepAnswer] = []
        for step in run.steps(wait_s=600):
            answers.append(step.answer)
            if len(answers) == 12:
                break
            spending_more(run, clock, step.number)

        throttled = [each for each in answers if each.decision == "throttle"]
        assert clock.slept[:6] == [5, 10, 20, 40, 60, 60]
        assert len(throttled) == len(clock.slept)
        assert {each.delay_ms for each in throttled} == {0}
        check_record(interlock)


def test_what_slows_it_down_for_longer_than_it_has_patience_ends_it() -> None:
    clock = PatientHand()
    with in_memory(clock=clock) as interlock:
        run = interlock.run("t")
        loop = run.steps(wait_s=4)
        for step in loop:
            spending_more(run, clock, step.number)

        assert clock.slept == []
        assert isinstance(loop.answer, StepAnswer)
        assert loop.answer.delay_ms == 5000
        assert not loop.finished


def test_what_the_agent_waits_for_is_waited_for_before_it_is_sent_on() -> None:
    clock = PatientHand()
    with in_memory(clock=clock) as interlock:
        run = interlock.run("t")
        for step in run.steps(wait_s=600):
            looked(run, step.number)
            if step.number == 1:
                step.done(_DONE)
            else:
                step.done("The build is under way.", waiting_for="the build", look_again_s=90)
        impatient = interlock.run("u")
        loop = impatient.steps(wait_s=60)
        for step in loop:
            step.done("The build is under way.", waiting_for="the build", look_again_s=90)

        assert clock.slept == [90]
        assert isinstance(loop.answer, StopAnswer)
        assert loop.answer.delay_ms == 90_000


def test_what_a_step_waits_for_is_waited_for_before_the_next_one() -> None:
    clock = PatientHand()
    with in_memory(clock=clock) as interlock:
        run = interlock.run("t")
        for step in run.steps():
            looked(run, step.number)
            if step.number == 0:
                step.said("The build is under way.", waiting_for="the build", look_again_s=90)
            else:
                step.done(_DONE)

        assert clock.slept == [90]
        assert run.state.control.steps == 2
        check_record(interlock)


def test_it_goes_on_once_a_person_agrees_and_looks_no_more_often_than_it_sleeps() -> None:
    clock = PatientHand()
    with in_memory(clock=clock) as interlock:
        run, token = interlock.run("t"), operator_of(interlock)
        question = paused(run)

        def agree_in_the_third_second() -> None:
            if len(clock.slept) == 3:
                interlock.approve(question, token=token)

        clock.meanwhile = agree_in_the_third_second
        loop = run.steps()
        for step in loop:
            looked(run, step.number)
            step.done(_DONE)

        assert loop.finished
        assert clock.slept == [1, 1, 1]
        assert open_questions(interlock, run) == []
        check_record(interlock)


def test_a_question_that_ran_out_is_asked_anew_while_there_is_patience() -> None:
    clock = PatientHand()
    with in_memory("[approvals]\nexpires-seconds = 60\n", clock=clock) as interlock:
        run, token = interlock.run("t"), operator_of(interlock)

        def agree_to_the_third() -> None:
            if len(asked(interlock, run)) == 3:
                interlock.approve(open_questions(interlock, run)[0].id, token=token)

        clock.meanwhile = agree_to_the_third
        allowed = run.command("git push --force", wait_s=600)
        clock.meanwhile = lambda: None
        in_vain = run.command("git push --force origin main", wait_s=90)

        assert allowed
        assert in_vain.waits_for_person
        assert sum(clock.slept) == pytest.approx(60 + 60 + 1 + 90)
        assert [each.state for each in asked(interlock, run)][:3] == [
            ApprovalState.EXPIRED,
            ApprovalState.EXPIRED,
            ApprovalState.GRANTED,
        ]


def test_a_pause_that_nobody_lifts_in_time_is_a_stop_and_ends_it() -> None:
    clock = PatientHand()
    with in_memory("[approvals]\nexpires-seconds = 60\n", clock=clock) as interlock:
        run = interlock.run("t")
        paused(run)
        loop = run.steps()

        assert [*loop] == []
        assert len(clock.slept) == 60
        assert "uncertainty" in loop.reason


def test_nobody_is_asked_again_after_a_no() -> None:
    clock = PatientHand()
    with in_memory(clock=clock) as interlock:
        run, token = interlock.run("t"), operator_of(interlock)
        question = paused(run)
        clock.meanwhile = lambda: interlock.deny(question, token=token, note="enough of it")
        loop = run.steps()

        assert [*loop] == []
        assert not loop.finished
        assert loop.reason
        assert clock.slept == [1]
        assert len(asked(interlock, run)) == 1


def test_without_patience_nobody_is_waited_for() -> None:
    clock = PatientHand()
    with in_memory(clock=clock) as interlock:
        run = interlock.run("t")
        question = paused(run)
        loop = run.steps(wait_s=0)

        assert [*loop] == []
        assert loop.answer is not None
        assert loop.answer.approval_id == question
        assert clock.slept == []


def test_a_stop_ends_it_and_the_reason_can_be_read() -> None:
    with in_memory() as interlock:
        run, token = interlock.run("t"), operator_of(interlock)
        loop = run.steps(wait_s=0)
        for step in loop:
            if step.number == 2:
                interlock.halt(run.id, token=token, reason="enough of it")

        assert not loop.finished
        assert "enough of it" in loop.reason


def test_a_run_that_is_stopped_while_it_waits_takes_no_further_step() -> None:
    clock = PatientHand()
    with in_memory(clock=clock) as interlock:
        run, token = interlock.run("t"), operator_of(interlock)
        clock.meanwhile = lambda: interlock.halt(run.id, token=token, reason="enough of it")
        loop = run.steps(wait_s=6)
        for step in loop:
            assert clock.slept == []
            spending_more(run, clock, step.number)

        assert clock.slept[0] == 5
        assert "enough of it" in loop.reason


@pytest.mark.parametrize(("outcome", "finished"), [("completed", True), ("failed", False)])
def test_a_run_that_is_finished_on_the_way_ends_it(outcome: str, finished: bool) -> None:
    with in_memory() as interlock:
        run = interlock.run("t")
        loop = run.steps()
        for _ in loop:
            run.finish(outcome)

        assert loop.finished is finished
        assert loop.reason == f"the run is finished: {outcome}"


def test_a_run_that_is_finished_while_it_waits_for_a_person_ends_it() -> None:
    clock = PatientHand()
    with in_memory(clock=clock) as interlock:
        run = interlock.run("t")
        paused(run)
        clock.meanwhile = lambda: run.finish("aborted")
        loop = run.steps()

        assert [*loop] == []
        assert loop.reason == "the run is finished: aborted"


def test_an_error_of_the_callers_is_not_taken_for_the_end() -> None:
    with in_memory() as interlock:
        loop = interlock.run("t").steps()
        next(iter(loop)).said("hm", waiting_for="rain", look_again_s=0)
        with pytest.raises(InputError, match="delay_ms"):
            next(iter(loop))


def _interrupt() -> None:
    raise KeyboardInterrupt


def test_an_interrupt_ends_a_wait_and_the_same_loop_can_go_on() -> None:
    clock = PatientHand()
    with in_memory(clock=clock) as interlock:
        run, token = interlock.run("t"), operator_of(interlock)
        question = paused(run)

        def spend(steps: StepLoop) -> None:
            for step in steps:
                spending_more(run, clock, step.number)

        clock.meanwhile = _interrupt
        loop = run.steps()
        with pytest.raises(KeyboardInterrupt):
            next(iter(loop))
        interlock.approve(question, token=token)
        taken = next(iter(loop))
        with pytest.raises(KeyboardInterrupt):
            spend(loop)

        assert taken.answer.goes_on
        assert clock.slept == [1, 5]
        check_record(interlock)


class _Listened:
    """Does something once somebody has begun to listen for news."""

    def __init__(
        self, interlock: Interlock | AsyncInterlock, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        self.then: Callable[[], object] = lambda: None
        listen = interlock.ledger.listen

        def listened() -> Listener:
            listener = listen()
            self.then()
            return listener

        monkeypatch.setattr(interlock.ledger, "listen", listened)


def test_a_signal_ends_a_wait_by_the_computers_own_time(monkeypatch: pytest.MonkeyPatch) -> None:
    with Interlock.open(":memory:", policy=gates_with("")) as interlock:
        run = interlock.run("t")
        paused(run)
        listened = _Listened(interlock, monkeypatch)
        me = threading.get_ident()
        listened.then = lambda: threading.Thread(
            target=signal.pthread_kill, args=(me, signal.SIGINT)
        ).start()
        with pytest.raises(KeyboardInterrupt):
            next(iter(run.steps()))

        check_record(interlock)


def test_news_end_a_wait_by_the_computers_own_time(monkeypatch: pytest.MonkeyPatch) -> None:
    with Interlock.open(":memory:", policy=gates_with("")) as interlock:
        run, token = interlock.run("t"), operator_of(interlock)
        question = paused(run)
        listened = _Listened(interlock, monkeypatch)
        deciding = threading.Thread(target=lambda: interlock.approve(question, token=token))
        listened.then = deciding.start
        taken = next(iter(run.steps(wait_s=LONG_ENOUGH_S)))
        deciding.join()

        assert taken.answer.goes_on


def test_an_awaited_loop_is_the_same() -> None:
    async def taken() -> tuple[list[int], bool, list[float]]:
        clock, numbers = PatientHand(), list[int]()
        async with await AsyncInterlock.open(
            ":memory:", policy=gates_with(""), clock=clock
        ) as interlock:
            run = await interlock.run("t")
            loop = run.steps(wait_s=600)
            async for step in loop:
                numbers.append(step.number)
                await run.usage({"output_tokens": round(1000 * 1.1**step.number)})
                clock.forward(seconds=10)
                if step.number == 7:
                    step.done(_DONE)
            return numbers, loop.finished, clock.slept

    numbers, finished, slept = asyncio.run(taken())
    assert numbers == [*range(8)]
    assert finished
    assert slept[0] == 5


def test_who_awaits_a_person_can_be_cancelled(monkeypatch: pytest.MonkeyPatch) -> None:
    async def cancelled() -> bool:
        async with await AsyncInterlock.open(":memory:", policy=gates_with("")) as interlock:
            run = await interlock.run("t")
            await run.belief("it compiles", opposing=50)
            listened, has_begun = _Listened(interlock, monkeypatch), asyncio.Event()
            wake = asyncio.get_running_loop().call_soon_threadsafe
            listened.then = lambda: wake(has_begun.set)

            async def steps() -> None:
                async for _ in run.steps():
                    raise AssertionError("nobody had agreed")

            task = asyncio.get_running_loop().create_task(steps())
            await has_begun.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            return (await run.state()).control.hold is not None

    assert asyncio.run(cancelled())


def test_the_wait_of_a_step_is_within_its_patience_as_a_whole() -> None:
    clock = PatientHand()
    with in_memory(clock=clock) as interlock:
        run, token = interlock.run("t"), operator_of(interlock)
        question = paused(run)
        clock.meanwhile = lambda: interlock.approve(question, token=token)

        assert run.step(wait_s=600)
        assert not run.step(wait_s=600, coherence_score=0.1)
        assert clock.slept[0] == 1


def test_a_verdict_comes_to_what_the_person_chose_who_was_waited_for() -> None:
    clock = PatientHand()
    with in_memory(clock=clock) as interlock:
        run, token = interlock.run("t"), operator_of(interlock)
        run.review("r", [{"id": "tests", "criteria": ["they pass"], "max_attempts": 1}])
        clock.meanwhile = lambda: interlock.choose_review(run.id, "skip", token=token)
        answer = run.verdict("FAIL - they do not", wait_s=600)

        assert answer
        assert answer.approval_id is None
        assert clock.slept == [1]


def test_a_verdict_that_nobody_chose_about_in_time_asks_still() -> None:
    clock = PatientHand()
    with in_memory(clock=clock) as interlock:
        run = interlock.run("t")
        run.review("r", [{"id": "tests", "criteria": ["they pass"], "max_attempts": 1}])
        answer = run.verdict("FAIL - they do not", wait_s=2.5)

        assert not answer
        assert answer.approval_id is not None
        assert clock.slept == [1, 1, 0.5]


def test_who_leaves_a_run_that_may_not_go_on_has_not_completed_it() -> None:
    with in_memory() as interlock:
        with interlock.run("t", budget={"tool_calls": 1}) as run:
            for step in run.steps(wait_s=0):
                looked(run, step.number)

        assert run.state.outcome is None
        check_record(interlock)


def test_a_run_whose_budget_is_used_up_goes_on_once_a_person_has_raised_it() -> None:
    with in_memory() as interlock:
        token = operator_of(interlock)
        with interlock.run("t", budget={"tool_calls": 1}) as run:
            loop = run.steps(wait_s=0)
            for step in loop:
                looked(run, step.number)
        assert isinstance(loop.answer, StepAnswer)
        assert f"`interlock budget run/{code_of(run.id)} tool-calls NEW`" in loop.answer.reasons[0]

        interlock.set_budget(f"run/{run.id}", {"tool_calls": 2}, token=token)
        interlock.lift(run.id, reason="nearly there", token=token)
        with interlock.resume(run.id) as again:
            for step in again.steps(wait_s=0):
                looked(again, step.number)
        assert run.state.spent.tool_calls == 2
        check_record(interlock)


def test_who_leaves_a_run_that_a_person_has_to_decide_about_leaves_it_open() -> None:
    with in_memory() as interlock:
        with interlock.run("t") as run:
            for _ in run.steps(wait_s=0):
                run.observe(run.command("pytest -q"), exit_code=1, output="1 failed")

        assert run.state.outcome is None
        assert [each.run_id for each in interlock.approvals()] == [run.id]
        check_record(interlock)


def test_who_leaves_a_run_that_is_done_has_completed_it() -> None:
    with in_memory() as interlock:
        with interlock.run("t") as run:
            for step in run.steps():
                looked(run, step.number)
                step.done(_DONE)
        with interlock.run("t") as asked_nothing:
            pass
        with pytest.raises(ZeroDivisionError), interlock.run("t") as broken:
            raise ZeroDivisionError

        outcomes = [each.state.outcome for each in (run, asked_nothing, broken)]
        assert outcomes == ["completed", "completed", "failed"]


def test_an_agent_that_was_sent_on_and_left_has_not_completed_its_run() -> None:
    with in_memory() as interlock:
        with interlock.run("t") as run:
            assert run.stopped("Now let me run the tests:").goes_on

        assert run.state.outcome == "stopped"
