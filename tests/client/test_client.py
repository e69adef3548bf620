from __future__ import annotations

import asyncio
import subprocess
import threading
from collections.abc import Generator
from decimal import Decimal
from pathlib import Path

import pytest

from interlock import (
    Answer,
    Budget,
    Decision,
    InputError,
    NotPermittedError,
    StepDecision,
    TokenUsage,
)
from interlock.client import AsyncClient, Client, connect
from interlock.errors import HaltedError, KeyConflictError, UnknownError
from interlock.model.events import Outcome
from patience import wait_until
from server.served import Served


@pytest.fixture
def agent() -> Generator[int]:
    """A process for a run: this one, where a person decides, does not descend from it."""
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE) as process:
        yield process.pid


def test_a_run_is_asked_and_reported_as_in_process(client: Client) -> None:
    with client.run("fix the build", budget=Budget(tokens=1_000)) as run:
        harmless = run.command(["ls", "-l"], key="one")
        dangerous = run.command("rm -rf /")
        seen = run.observe(harmless, exit_code=1, duration_ms=5, cost_usd=Decimal("0.25"))
        used = run.usage(TokenUsage(input_tokens=10, output_tokens=5), model="m")
        step = run.step("on it", total_tokens_used=15)

    assert isinstance(harmless, Answer)
    assert (harmless.decision, dangerous.decision) == (Decision.ALLOW, Decision.BLOCK)
    assert seen.outcome is Outcome.FAILED
    assert used.usage.input_tokens == 10
    assert step.decision is StepDecision.CONTINUE
    assert run.history.entries[0].decision is StepDecision.CONTINUE


def test_the_same_key_is_answered_once(client: Client) -> None:
    run = client.run("a task")
    first, again = run.command("ls", key="k"), run.command("ls", key="k")

    assert (first.repeated, again.repeated) == (False, True)
    assert first.action_id == again.action_id
    with pytest.raises(KeyConflictError):
        run.command("pwd", key="k")


def test_errors_are_those_of_the_ledger(client: Client, served: Served) -> None:
    run = client.run("a task")

    with pytest.raises(InputError, match="takes no `lines`"):
        run.ask(lines="ls")  # pyright: ignore[reportCallIssue] - as a caller might
    with pytest.raises(InputError, match="is not an action of run"):
        run.observe("elsewhere:1")
    with pytest.raises(UnknownError, match="there is no run"):
        client.resume("no-such-run")
    with (
        connect(served.listening.url, token=served.tokens["other"]) as other,
        pytest.raises(NotPermittedError, match="an agent asks for its own"),
    ):
        other.resume(run.id)


def test_a_run_stands_below_another_one(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    run = client.run("a task", project="p")
    child = run.child("a part of it")
    monkeypatch.setenv("INTERLOCK_RUN", run.id)
    other = client.run("started by a command of it")

    assert child.state.ancestors == other.state.ancestors == (run.id,)
    assert child.state.project == "p"


def test_an_agent_waits_for_a_person(client: Client, served: Served, agent: int) -> None:
    run, answers = client.run("a task", process=agent), list[Answer]()
    waiting = threading.Thread(
        target=lambda: answers.append(run.command("git push --force", wait_s=60))
    )
    waiting.start()
    with connect(served.listening.url, token=served.tokens["ada"]) as person:
        wait_until(lambda: bool(person.approvals()))
        asked = person.approvals()
        person.approve(asked[0].id, token=served.tokens["ada"], note="once")
        waiting.join()

    assert answers[0].allowed
    assert client.wait(asked[0].id, wait_s=0).note == "once"


def test_the_loop_of_an_agent_goes_its_way(client: Client) -> None:
    run = client.run("a task")
    said = ["I look at the code", "Done: all tests pass."]

    loop = run.steps(wait_s=1)
    for step in loop:
        text = said[step.number] if step.number < len(said) else "Done: all tests pass."
        step.done(text) if step.number else step.said(text)

    assert loop.answer is not None
    assert [record.seq for record in run.ledger] == list(range(1, run.state.seq + 1))
    assert run.statistics().evaluations == len(run.history.entries)


def test_a_person_halts_and_lifts(client: Client, served: Served, agent: int) -> None:
    ada, run = served.tokens["ada"], client.run("a task", process=agent)
    with connect(served.listening.url, token=ada) as person:
        held = person.halt(run.id, token=ada, reason="look first")
        refused = run.command("ls")
        person.lift(run.id, token=ada, reason="looked")
        assert person.halt_all(token=ada, reason="look first") >= 1
        assert not run.command("ls").allowed
        with pytest.raises(HaltedError, match="all runs are halted: look first"):
            client.run("another task")
        assert person.lift_all(token=ada, reason="looked") >= 1
        changes = person.set_budget(f"run/{run.id}", Budget(tokens=5), token=ada)
        token = person.add_agent("mole", token=ada)

    assert held.control.hold is not None
    assert not refused.allowed
    assert run.command("ls").allowed
    assert changes[0].after == 5
    assert isinstance(token, str)


def test_edits_are_made_where_the_server_is(client: Client, tmp_path: Path) -> None:
    (tmp_path / "w").mkdir()
    run = client.run("a task", workspace=tmp_path / "w")
    answer = run.apply_edits({"path": "a.txt", "old": "", "new": "hello\n"})

    assert answer.allowed
    assert (tmp_path / "w/a.txt").read_text() == "hello\n"


def test_the_same_words_are_awaited(served: Served) -> None:
    async def work() -> tuple[bool, int]:
        token = served.tokens["agent"]
        async with (
            AsyncClient(served.listening.socket, token=token) as client,
            await client.run("a task") as run,
        ):
            answers = await asyncio.gather(*(run.command(f"echo {n}") for n in range(20)))
            return all(answers), (await run.state()).seq

    assert asyncio.run(work()) == (True, 21)
