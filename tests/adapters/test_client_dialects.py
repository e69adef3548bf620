"""What each client says is understood, and it is answered in words that it takes as they are meant."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.client_readings import RUNS, call, is_sent_on, one_object, stop
from interlock import Interlock, Run
from interlock.adapters.clients.recognition import client_dialects, client_of
from interlock.model.hook import HookCall, HookReply
from interlock.server.hooks.hook_desk import HookDesk
from interlock.server.hooks.own_dialect import OWN_DIALECT
from interlock.service.aio import LoopDriver

PUSH = "git push --force origin main"
UNFINISHED = "I have read the file. Next I will run the tests."
CLIENTS = sorted(RUNS)


class Client:
    """A client whose hooks are answered from a ledger in memory."""

    def __init__(self, name: str = "auto") -> None:
        self.name = name
        self.interlock = Interlock.open(":memory:")
        driver = LoopDriver()
        self._desk = HookDesk(self.interlock.governor, driver, client_dialects(OWN_DIALECT))

    def says(self, payload: object, *args: str, **env: str) -> HookReply:
        given = payload if isinstance(payload, bytes) else msgspec.json.encode(payload)
        asked = HookCall(
            hook=self.name,
            args=args,
            cwd="/",
            pid=os.getpid(),
            env=env,
            payload=msgspec.Raw(given),
        )
        return asyncio.run(self._desk.reply(asked))

    def may_run(self, command: str, **more: Any) -> bool:
        return RUNS[self.name](*self.says(call(self.name, command, **more)))

    @property
    def runs(self) -> list[Run]:
        rows = self.interlock.ledger.rows.runs(limit=50)
        return [self.interlock.resume(row.id) for row in rows if row.agent.startswith(self.name)]


@pytest.fixture(params=CLIENTS)
def client(request: pytest.FixtureRequest) -> Iterator[Client]:
    found = Client(request.param)
    yield found
    found.interlock.close()


def test_a_destructive_command_does_not_run_and_a_harmless_one_does(client: Client) -> None:
    assert not client.may_run("rm -rf /etc")
    assert client.may_run("ls", number=2)
    assert [run.state.decisions for run in client.runs] == [{"allow": 1, "block": 1}]


def test_a_no_says_why_and_what_to_do_instead(client: Client) -> None:
    code, said, complaint = client.says(call(client.name, "rm -rf /etc"))

    assert "deletes the system" in f"{said!r}{complaint!r}"
    assert one_object(said) is not None
    assert code == (2 if client.name == "opencode" else 0)


def test_what_a_person_has_to_agree_to_waits_and_is_let_through_once(client: Client) -> None:
    passphrase = "correct horse battery staple"  # noqa: S105 - of a ledger in memory
    client.interlock.set_up("ada", passphrase)
    token = client.interlock.unlock("ada", passphrase)
    says = client.says(call(client.name, PUSH))
    assert not RUNS[client.name](*says)
    (question,) = client.interlock.approvals()
    assert f"interlock approve {question.id}".encode() in says.stdout

    client.interlock.approve(question.id, token=token)

    assert client.may_run(PUSH, number=2)
    assert not client.may_run(PUSH, number=3)


def test_nobody_is_asked_at_a_prompt_where_nobody_is(client: Client) -> None:
    reply = client.says(call(client.name, PUSH), CLAUDE_CODE_SESSION_ATTENDED="0")

    assert b'"ask"' not in reply.stdout


def test_an_early_stop_is_continued_until_the_counter_ends_it(client: Client) -> None:
    client.says(call(client.name, "ls"))
    client.says(seen(client.name, "ls"))
    payload = told_stop(client.name, UNFINISHED)
    sent_on = [is_sent_on(client.name, *client.says(payload, "stop")) for _ in range(10)]

    assert sent_on[0]
    count = sent_on.index(False)
    assert 1 <= count < 8
    assert not any(sent_on[count:])


def seen(client: str, command: str) -> dict[str, Any]:
    """Return what a client tells after a command ran."""
    before = call(client, command)
    match client:
        case "claude-code" | "codex":
            return {**before, "hook_event_name": "PostToolUse", "tool_response": "a\nb\n"}
        case "gemini":
            after = {"llmContent": "a", "returnDisplay": "a"}
            return {**before, "hook_event_name": "AfterTool", "tool_response": after}
        case "copilot":
            text = "a\n<shellId: 0 completed with exit code 0>"
            return {
                **before,
                "toolResult": {"resultType": "success", "textResultForLlm": text},
            }
        case _:
            return {**before, "opencode": "seen", "output": "a", "exit_code": 0}


def told_stop(client: str, text: str) -> dict[str, Any]:
    """Return the end of a turn; what Copilot's agent said stands in its own record."""
    return stop(client, text)
