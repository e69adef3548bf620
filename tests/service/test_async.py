"""The same from a coroutine: nothing blocks the loop, and whoever stops waiting breaks nothing."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from effort import LOCAL
from gates.policies import gates_with
from interlock import (
    Answer,
    AsyncInterlock,
    AsyncRun,
    Budget,
    Decision,
    InputError,
    NotPermittedError,
    TokenUsage,
)
from interlock.errors import KeyConflictError
from interlock.ledger.ledger import Ledger
from interlock.model.action import CommandAction
from interlock.model.approval import ApprovalState
from interlock.model.run import RunStatus
from service.ledgers import CHEAP, PASSPHRASE, HandClock, kinds_of, records_of

_FORCE = "git push --force"


@pytest.fixture(params=LOCAL)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return ":memory:" if request.param == "memory" else str(tmp_path / "ledger.db")


@contextlib.asynccontextmanager
async def _opened(place: str, policy: str = "") -> AsyncGenerator[AsyncInterlock]:
    gates, clock = gates_with(policy), HandClock()
    keys = Path(place).parent / "keys"
    async with await AsyncInterlock.open(place, policy=gates, clock=clock, keys=keys) as interlock:
        yield interlock


async def _operator(interlock: AsyncInterlock) -> str:
    await interlock.set_up("ada", PASSPHRASE, cost=CHEAP)
    return await interlock.unlock("ada", PASSPHRASE)


def _is_whole(ledger: Ledger, run_id: str) -> bool:
    records = records_of(ledger, run_id)
    return [record.seq for record in records] == list(range(1, len(records) + 1))


def test_a_run_from_start_to_finish(place: str) -> None:
    async def act(interlock: AsyncInterlock, run: AsyncRun) -> None:
        answer = await run.command("ls", key="k")
        assert (await run.command("ls", key="k")).repeated
        await run.observe(answer, exit_code=0)
        await run.observe(await run.may_edit("a.py", "x = 1\n", old=""))
        await run.observe(await run.tool("Read", {"path": "a"}), outcome="failed")
        await run.observe_unasked(CommandAction(command="ls"))
        await run.usage(TokenUsage(input_tokens=5), model="nobody-knows-this")
        await run.violation("style", "too long")
        child = await run.child("c")
        assert (await child.state()).ancestors == (run.id,)
        assert (await child.finish("gave up")).passed
        assert (await (await interlock.resume(run.id)).state()) == await run.state()

    async def story() -> None:
        async with _opened(place) as interlock:
            async with await interlock.run("t", agent="claude") as run:
                await act(interlock, run)
            state = await run.state()
            assert state.outcome == "completed"
            assert state.tools == {"command": 2, "edit": 1, "Read": 1}
            assert state.spent.tokens == 5

    asyncio.run(story())


def test_a_body_that_raises_fails_its_run(place: str) -> None:
    async def raising(run: AsyncRun) -> None:
        async with run:
            raise LookupError("of the agent's own")

    async def story() -> None:
        async with _opened(place) as interlock:
            run = await interlock.run("t")
            with pytest.raises(LookupError):
                await raising(run)
            state = await run.state()
            assert (state.status, state.outcome) == (RunStatus.FINISHED, "failed")

    asyncio.run(story())


def test_many_questions_at_once_are_each_answered_once(place: str) -> None:
    async def story() -> None:
        async with _opened(place) as interlock:
            run = await interlock.run("t", budget=Budget(tool_calls=40))
            answers = await asyncio.gather(*[run.command(f"echo {n}") for n in range(100)])

            assert sum(answer.allowed for answer in answers) == 40
            assert len({answer.action_id for answer in answers}) == 100
            assert _is_whole(interlock.ledger, run.id)

    asyncio.run(story())


def test_the_same_key_at_once_is_answered_once(place: str) -> None:
    async def story() -> None:
        async with _opened(place) as interlock:
            run = await interlock.run("t")
            answers = await asyncio.gather(*[run.command("ls", key="k") for _ in range(20)])

            assert len({answer.action_id for answer in answers}) == 1
            assert [answer.repeated for answer in answers].count(False) == 1
            with pytest.raises(KeyConflictError):
                await run.command("ls -l", key="k")

    asyncio.run(story())


def test_one_bad_question_does_not_spoil_the_others(place: str) -> None:
    async def story() -> None:
        async with _opened(place) as interlock:
            run, ended = await interlock.run("t"), await interlock.run("t")
            await ended.finish()
            asked = [(ended if n % 3 == 0 else run).command(f"echo {n}") for n in range(30)]
            answers = await asyncio.gather(*asked, return_exceptions=True)

            assert [isinstance(each, InputError) for each in answers] == [
                n % 3 == 0 for n in range(30)
            ]
            assert _is_whole(interlock.ledger, run.id)

    asyncio.run(story())


def test_who_stops_waiting_for_an_answer_leaves_the_ledger_in_order(place: str) -> None:
    async def story() -> None:
        async with _opened(place) as interlock:
            run = await interlock.run("t", budget=Budget(tool_calls=1000))
            asking = [asyncio.create_task(run.command(f"echo {n}")) for n in range(50)]
            await asyncio.sleep(0)
            for each in asking[::2]:
                each.cancel()
            done = await asyncio.gather(*asking, return_exceptions=True)
            answers = [each for each in done if isinstance(each, Answer)]

            assert len(answers) == 25
            # What was asked for is recorded, whether or not anybody still listens.
            while len(kinds_of(interlock.ledger, run.id)) < 51:  # noqa: ASYNC110 - nobody is left to say so
                await asyncio.sleep(0.01)
            assert len(kinds_of(interlock.ledger, run.id)) == 51
            assert _is_whole(interlock.ledger, run.id)
            assert (await run.command("ls")).allowed

    asyncio.run(story())


def test_a_decision_wakes_the_one_who_awaits_it(place: str) -> None:
    async def story() -> None:
        async with _opened(place) as interlock:
            token = await _operator(interlock)
            run = await interlock.run("t")
            asked = await run.command(_FORCE)
            assert asked.approval_id is not None
            waiting = asyncio.create_task(interlock.wait(asked.approval_id))
            asking = asyncio.create_task(run.command(_FORCE, wait_s=3000))
            await asyncio.sleep(0)
            await interlock.approve(asked.approval_id, token=token, note="fine")

            assert (await waiting).state is ApprovalState.GRANTED
            assert (await asking).decision is Decision.WARN

    asyncio.run(story())


def test_a_refusal_and_a_new_limit_can_be_awaited(place: str) -> None:
    async def story() -> None:
        async with _opened(place) as interlock:
            token = await _operator(interlock)
            run = await interlock.run("t", budget=Budget(tool_calls=1))
            asked = await run.command(_FORCE)
            assert asked.approval_id is not None
            assert [each.id for each in await interlock.approvals()] == [asked.approval_id]
            await interlock.deny(asked.approval_id, token=token, note="no")
            assert (await run.command(_FORCE)).decision is Decision.BLOCK
            await run.command("ls")
            assert not (await run.command("ls")).allowed
            await interlock.set_budget(f"run/{run.id}", Budget(tool_calls=2), token=token)
            assert (await run.command("ls")).allowed
            with pytest.raises(NotPermittedError):
                await interlock.approve(asked.approval_id, token="guessed")

    asyncio.run(story())


def test_waiting_for_people_does_not_hold_up_anybody_else(place: str) -> None:
    async def story() -> None:
        async with _opened(place) as interlock:
            token = await _operator(interlock)
            run = await interlock.run("t")
            waiting = [
                asyncio.create_task(run.command(f"{_FORCE} origin {n}", wait_s=3000))
                for n in range(50)
            ]
            while len(await interlock.approvals()) < 50:
                pass
            # More of them wait than a loop has threads, and reading takes one.
            assert (await run.state()).pending_approvals == 50
            for approval in await interlock.approvals():
                await interlock.approve(approval.id, token=token)

            assert all(answer.allowed for answer in await asyncio.gather(*waiting))

    asyncio.run(story())


def test_who_stops_waiting_for_a_person_can_leave(place: str) -> None:
    async def story() -> None:
        async with _opened(place) as interlock:
            run = await interlock.run("t")
            waiting = asyncio.create_task(run.command(_FORCE, wait_s=3000))
            while not await interlock.approvals():
                pass
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting
            assert len(await interlock.approvals()) == 1

    # Ends, although the question still stands.
    asyncio.run(story())


def test_a_reservation_whose_lease_is_over_comes_back(place: str) -> None:
    async def story() -> None:
        async with _opened(place) as interlock:
            run = await interlock.run("t", budget=Budget(tool_calls=1))
            await run.command("ls")
            clock = interlock.governor.clock
            assert isinstance(clock, HandClock)
            clock.forward(seconds=900)

            assert (await run.command("ls")).allowed

    asyncio.run(story())


def test_another_policy_can_be_adopted(place: str) -> None:
    async def story() -> None:
        async with _opened(place) as interlock:
            assert not await interlock.adopt(gates_with(""))
            assert await interlock.adopt(gates_with("[limits]\nnesting = 20\n"))

    asyncio.run(story())


def test_two_loops_may_use_one_ledger_one_after_the_other(tmp_path: Path) -> None:
    place = str(tmp_path / "ledger.db")

    async def begin() -> tuple[AsyncInterlock, AsyncRun]:
        gates, clock = gates_with(""), HandClock()
        interlock = await AsyncInterlock.open(
            place, policy=gates, clock=clock, keys=tmp_path / "keys"
        )
        return interlock, await interlock.run("t")

    async def go_on(interlock: AsyncInterlock, run: AsyncRun) -> None:
        answers = await asyncio.gather(*[run.command(f"echo {n}") for n in range(10)])
        assert all(answer.allowed for answer in answers)
        assert _is_whole(interlock.ledger, run.id)
        await interlock.close()

    interlock, run = asyncio.run(begin())
    asyncio.run(go_on(interlock, run))


def test_an_unknown_run_cannot_be_resumed(place: str) -> None:
    async def story() -> None:
        async with _opened(place) as interlock:
            with pytest.raises(InputError, match="there is no run `nowhere`"):
                await interlock.resume("nowhere")

    asyncio.run(story())


def test_an_answer_may_be_a_task_or_gathered(place: str) -> None:
    async def use() -> list[bool]:
        async with _opened(place) as interlock, await interlock.run("t") as run:
            task = asyncio.create_task(run.command("ls"))
            gathered = await asyncio.gather(task, run.command("rm -rf /"))
            last = await asyncio.wait_for(run.command("git status"), timeout=None)
            return [bool(each) for each in (*gathered, last)]

    assert asyncio.run(use()) == [True, False, True]


def test_a_guard_that_forgot_to_await_is_told_so(place: str) -> None:
    async def use() -> None:
        async with _opened(place) as interlock, await interlock.run("t") as run:
            asked = run.command("rm -rf /")
            try:
                with pytest.raises(TypeError, match="there is no answer yet: await it"):
                    bool(asked)
            finally:
                asked.close()

    asyncio.run(use())
