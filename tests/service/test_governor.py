"""The way of a question: who asks, under whose policy, on which thread, and what opening does."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import pytest

from gates.policies import gates_with
from interlock import (
    AsyncInterlock,
    Budget,
    Decision,
    Interlock,
    InterlockError,
    Principal,
    gate_verdict,
)
from interlock.backtest.run_replay import replay_run
from interlock.model.events import PolicyAdopted
from interlock.model.run import LEDGER_RUN
from interlock.service import aio
from interlock.service.questions.action_question import ActionQuestion, PreparedAction
from interlock.service.questions.question import Preparation
from interlock.values import PrincipalKind, RunLedger
from service.ledgers import events_of, kinds_of, operator_of, records_of

T = TypeVar("T")

_NO_MAKE = (
    '[[rules]]\nid = "no-make"\nwhen = "command == \\"make\\""\n'
    'decision = "block"\nmessage = "no"\n'
)


def test_opening_changes_nothing_in_the_process_and_nothing_in_the_ledger(tmp_path: Path) -> None:
    program = """
import atexit, concurrent.futures, logging, signal, sys, threading
registered = []
atexit.register = registered.append
from interlock import Interlock
before = signal.getsignal(signal.SIGTERM)
interlock = Interlock.open(sys.argv[1])
assert signal.getsignal(signal.SIGTERM) == before == signal.SIG_DFL, before
assert not [each for each in registered if each.__module__.startswith("interlock")], registered
assert list(interlock.ledger.rows.runs(limit=10)) == []
"""
    ended = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path / "ledger.db")],
        env={**os.environ, "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )

    assert ended.returncode == 0, ended.stderr


def test_each_project_is_judged_by_its_own_policy_and_replays(interlock: Interlock) -> None:
    strict = gates_with(_NO_MAKE)
    assert interlock.adopt(strict, project="bank")
    assert not interlock.adopt(strict, project="bank")
    usual, bank = interlock.run("t"), interlock.run("t", project="bank")

    assert usual.command("make").decision is Decision.ALLOW
    assert bank.command("make").decision is Decision.BLOCK
    assert bank.child("t").command("make").decision is Decision.BLOCK
    chain = events_of(interlock.ledger, LEDGER_RUN)
    assert [each.project for each in chain if isinstance(each, PolicyAdopted)] == ["bank", None]
    assert interlock.governor.state(LEDGER_RUN).policy_hash == usual.state.policy_hash
    assert bank.state.policy_hash == strict.hash
    for run in (usual, bank):
        assert all(each.is_same for each in replay_run(interlock.ledger.rows, run.id))


def test_a_projects_policy_is_recorded_once(tmp_path: Path) -> None:
    for _ in range(2):
        with Interlock.open(
            tmp_path / "ledger.db",
            policy=gates_with(""),
            projects={"bank": gates_with(_NO_MAKE)},
            keys=tmp_path / "keys",
        ) as interlock:
            for project in ("default", "bank"):
                interlock.run("t", project=project).command("ls")
            assert kinds_of(interlock.ledger, LEDGER_RUN) == ["policy-adopted"] * 2


def test_who_asks_stands_in_every_record(interlock: Interlock) -> None:
    token = operator_of(interlock)
    run = interlock.run("t", agent="claude")
    answer = run.command("git push --force")
    interlock.approve(answer.approval_id or "", token=token)
    named = Principal(kind=PrincipalKind.AGENT, name="codex", credential="0123456789ab")
    other = Interlock(interlock.governor, named).resume(run.id)
    other.command("ls")

    by = [record.by for record in records_of(interlock.ledger, run.id)]
    claude = Principal(kind=PrincipalKind.AGENT, name="claude")
    assert by[:3] == [claude, claude, claude]
    assert (by[3].kind, by[3].name) == (PrincipalKind.OPERATOR, "ada")
    assert by[3].credential is not None
    assert by[3].credential not in token
    assert by[4] == named


def test_the_ledger_of_a_run_tells_everything_in_order(interlock: Interlock) -> None:
    run = interlock.run("t")
    run.command("ls")

    assert isinstance(run.ledger, RunLedger)
    assert [record.seq for record in run.ledger] == [1, 2]
    assert run.ledger.state == run.state


def test_a_verdict_is_read_without_a_ledger() -> None:
    assert gate_verdict({"overall": "PASS", "rationale": "done"}) == gate_verdict(
        "GATE_REVIEW: PASS - done"
    )


def test_nothing_of_a_question_is_done_on_the_thread_of_the_loop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads: list[tuple[str, int]] = []

    def noted(what: str, do: Callable[..., T]) -> Callable[..., T]:
        def doing(*args: object, **kwargs: object) -> T:
            threads.append((what, threading.get_ident()))
            return do(*args, **kwargs)

        return doing

    for owner, name in (
        (ActionQuestion, "prepare"),
        (PreparedAction, "decide"),
        (aio.Governor, "state"),
        (aio.Governor, "context_of"),
    ):
        monkeypatch.setattr(owner, name, noted(name, getattr(owner, name)))

    async def story() -> int:
        async with await AsyncInterlock.open(
            tmp_path / "ledger.db", policy=gates_with(""), keys=tmp_path / "keys"
        ) as interlock:
            run = await interlock.run("t", budget=Budget(tool_calls=9))
            again = await interlock.resume(run.id)
            await asyncio.gather(*(again.command(f"echo {number}") for number in range(5)))
            await again.step()
            await again.stopped("done")
            await again.state()
            await again.finish()
        return threading.get_ident()

    loop = asyncio.run(story())

    assert {what for what, _ in threads} == {"prepare", "decide", "state", "context_of"}
    assert loop not in {thread for _, thread in threads}


def test_a_question_that_is_never_decided_ends(interlock: Interlock) -> None:
    run = interlock.run("t")
    asked: list[int] = []

    class Endless:
        def prepare(self, asking: object) -> object:
            from interlock.ledger.ledger import Work  # noqa: PLC0415 - only here

            del asking
            return Work(lambda _: Preparation(lambda: asked.append(1)), locks=(f"run/{run.id}",))

    with pytest.raises(InterlockError, match="nothing was decided in 128 rounds"):
        interlock.governor.answer(Endless())  # pyright: ignore[reportArgumentType] - on purpose
    assert len(asked) == 128
