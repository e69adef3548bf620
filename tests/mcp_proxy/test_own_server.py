"""Interlock as a server: what an agent can say there, and that nothing there decides."""

from __future__ import annotations

from typing import Any

import pytest
from mcp.client import Client

from interlock.adapters.mcp.governed_run import GovernedRun
from interlock.adapters.mcp.own_server import own_server
from interlock.model.events import BeliefHeld, EditsApplied, RunFinished, StopJudged
from mcp_proxy.ends import Home, official, run_to_end

_ERAS = pytest.mark.parametrize("mode", ["auto", "legacy"])


async def _said(home: Home, mode: str, *calls: tuple[str, dict[str, Any]]) -> list[Any]:
    server = own_server(GovernedRun(task="a test", run_id=None))
    async with official(home, server, mode=mode, through=False) as client:
        return [await client.call_tool(name, given) for name, given in calls]


@_ERAS
def test_what_is_said_is_on_record(home: Home, mode: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(home.folder)
    edit = {"path": "note.txt", "old": "", "new": "hello\n"}

    held, todos, asked, edited = run_to_end(
        _said(
            home,
            mode,
            ("report_belief", {"claim": "it works", "supporting": 2, "because": "tests pass"}),
            ("report_todos", {"open_todos": ["write the docs"], "text": "Nearly there."}),
            ("request_budget_raise", {"dimension": "tokens", "limit": "9000", "because": "more"}),
            ("apply_edit", {"edits": [edit]}),
        )
    )

    assert held.structured_content["supporting"] == 2
    assert set(todos.structured_content) == {"goes_on", "waits_for_person", "next"}
    assert "interlock budget run/" in asked.structured_content["next"]
    assert edited.structured_content["undo"]
    assert (home.folder / "note.txt").read_text() == "hello\n"
    with home.opened() as interlock:
        rows = interlock.ledger.rows
        runs = [each for each in rows.runs(limit=9) if each.agent == "agent"]
        assert len(runs) == 1
        events = [each.event for each in interlock.resume(runs[0].id).ledger]
    kinds = {type(each) for each in events}
    assert {BeliefHeld, StopJudged, EditsApplied} <= kinds
    assert isinstance(events[-1], RunFinished)


@_ERAS
def test_an_edit_that_may_not_be_made_is_an_error_that_says_why(
    home: Home, mode: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(home.folder)
    settings = {"path": ".mcp.json", "old": "", "new": "{}"}
    outside = {"path": "../outside.txt", "old": "", "new": "x"}

    results = run_to_end(
        _said(
            home,
            mode,
            ("apply_edit", {"edits": [settings]}),
            ("apply_edit", {"edits": [outside]}),
            ("approval_status", {"approval_id": "0123"}),
        )
    )

    assert [each.is_error for each in results] == [True, True, True]
    assert "tool servers are set here" in results[0].content[0].text
    assert "leads out of the workspace" in results[1].content[0].text
    assert "there is no approval" in results[2].content[0].text
    assert not (home.folder / ".mcp.json").exists()


def test_how_a_question_stands_is_said_and_nothing_there_decides(home: Home):
    with home.opened() as interlock:
        asked = interlock.run("x").command("git push --force")

    async def attempt() -> tuple[list[str], Any]:
        server = own_server(GovernedRun(task="a test", run_id=None))
        async with official(home, server, mode="auto", through=False) as client:
            names = [each.name for each in (await client.list_tools()).tools]
            return names, await _status(client, asked.approval_id)

    names, status = run_to_end(attempt())

    assert names == [
        "approval_status", "report_belief", "report_todos", "request_budget_raise", "apply_edit",
    ]  # fmt: skip
    assert status["state"] == "pending"
    assert set(status) == {"id", "code", "state", "next"}


async def _status(client: Client, approval_id: str | None) -> Any:
    return (
        await client.call_tool("approval_status", {"approval_id": approval_id})
    ).structured_content
