"""Whatever an agent starts may use its session, but is neither a person nor the client."""

from __future__ import annotations

import os
import subprocess
import sys

import msgspec
import pytest

from adapters.client_readings import call
from interlock import Interlock, processes
from interlock.model.events import PersonSpoke
from interlock.model.run import RunState, RunStatus
from server.hook_process import ENTRY, Home, home
from service.ledgers import events_of

__all__ = ["home"]

CALL = call("claude-code", "ls")
PROMPT = {**CALL, "hook_event_name": "UserPromptSubmit", "prompt": "go on", "source": "user"}
END = {**CALL, "hook_event_name": "SessionEnd"}
BETWEEN = "import subprocess, sys; sys.exit(subprocess.run(sys.argv[1:]).returncode)"


def from_below(home: Home, payload: object) -> int:
    """Run a hook as a client does that this one's agent has started; return its exit code."""
    hook = [sys.executable, "-I", "-S", ENTRY, "claude-code", "told"]
    words = [sys.executable, "-c", BETWEEN, *hook]
    given = msgspec.json.encode(payload)
    return subprocess.run(words, input=given, env=home.environment, check=False).returncode


def run_in(interlock: Interlock) -> RunState:
    """Return the only run of the client."""
    rows = interlock.ledger.rows.runs(limit=10)
    (run,) = [interlock.governor.state(row.id) for row in rows if row.agent == "claude-code"]
    return run


def test_a_session_that_its_own_agent_goes_on_with_is_neither_spoken_to_nor_ended(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    with home.served():
        home.hook(CALL, dialect="claude-code")
        assert [from_below(home, each) for each in (PROMPT, END)] == [0, 0]
        with home.ledger(monkeypatch) as interlock:
            run = run_in(interlock)
            assert run.status is RunStatus.RUNNING
            assert PersonSpoke() not in events_of(interlock.ledger, run.id)

        for each in (PROMPT, END):
            home.hook(each, "told", dialect="claude-code")
        with home.ledger(monkeypatch) as interlock:
            run = run_in(interlock)
            assert run.status is not RunStatus.RUNNING
            assert PersonSpoke() in events_of(interlock.ledger, run.id)


def test_a_run_is_its_clients_although_a_hook_had_to_start_the_server(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    home.hook(CALL, dialect="claude-code")

    assert home.running() is not None
    with home.ledger(monkeypatch) as interlock:
        assert run_in(interlock).process == processes.process_name(os.getpid())
