"""Copilot CLI's events, as several of its versions wrote them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from histories.written_history import WORK, asked, at, moment, read, written
from interlock.adapters.histories.copilot_history import CopilotHistory
from interlock.model.arbitration import AUTOMATIC

READER = CopilotHistory()
SESSION = "c037d541"


def event(type_: str, second: int = 0, agent: str | None = None, **data: object) -> dict[str, Any]:
    own = {} if agent is None else {"agentId": agent}
    return {"type": type_, "data": data, "id": "e", "timestamp": moment(second), **own}


START = event(
    "session.start",
    sessionId=SESSION,
    producer="copilot-agent",
    selectedModel="gpt",
    context={"cwd": WORK},
)


def used(call: str, agent: str | None = None) -> dict[str, Any]:
    usage = {"apiCallId": call, "inputTokens": 100, "outputTokens": 20, "cacheReadTokens": 5}
    usage |= {"model": "gpt", "finishReason": "stop", "cost": 0.0}
    return event("session.usage_record", agent=agent, usage=usage)


def said(call: str, text: str, *requests: object, second: int = 0, **more: Any) -> dict[str, Any]:
    about = {"apiCallId": call, "messageId": f"m-{call}", "content": text, "model": "gpt"}
    return event("assistant.message", second, toolRequests=list(requests), **about, **more)


def request(id_: str, name: str = "bash", **arguments: object) -> dict[str, Any]:
    return {"toolCallId": id_, "name": name, "arguments": arguments, "type": "function"}


def answer(id_: str, text: str, **more: Any) -> dict[str, Any]:
    given: dict[str, Any] = {"success": True, "result": {"content": text}, **more}
    return event("tool.execution_complete", toolCallId=id_, **given)


@pytest.fixture
def events(tmp_path: Path) -> Path:
    return tmp_path / "session-state" / SESSION / "events.jsonl"


def test_a_session_is_read_step_by_step(events: Path) -> None:
    written(
        events,
        [
            START,
            event("hook.start", hookType="sessionStart", input={"prompt": '"user.message"'}),
            event("user.message", 1, content="fix it"),
            used("a1"),
            said("a1", "I look.", request("c1", command="ls", description="lists"), second=2),
            event("tool.execution_start", toolCallId="c1", toolName="bash"),
            answer("c1", "oops\n<shellId: 1 completed with exit code 3>"),
            event("session.context_changed", cwd="/elsewhere"),
            used("a2"),
            said("a2", "", request("c2", "create", path="a"), request("c3", command="x")),
            answer("c3", "ok"),
            answer("c2", "no", success=False),
            used("a3"),
            said("a3", "Done.", second=4),
            event("session.shutdown", shutdownType="routine"),
        ],
    )

    found = read(READER, events)

    assert found.unread == []
    run = found.only
    assert (run.head.id, run.head.project, run.head.model) == (SESSION, "shop", "gpt")
    told, listed, made, moved, last = run.steps
    assert (told.role, told.text, told.at, told.line) == ("user", "fix it", at(1), 3)
    assert asked(listed) == ("bash", {"command": "ls", "cwd": WORK})
    assert (listed.text, listed.result, listed.failed) == ("I look.", "oops\n", True)
    assert (listed.at, listed.line, listed.finish_reason) == (at(2), 5, "stop")
    assert asked(made) == ("create", {"path": "a", "cwd": "/elsewhere"})
    assert (made.result, made.failed, moved.failed, made.turn) == ("no", True, False, moved.turn)
    assert (last.text, last.finish_reason, last.at) == ("Done.", "stop", at(4))
    assert [step.tokens for step in run.steps] == [None, 120, 120, None, 120]


@pytest.mark.parametrize(
    ("error", "ran"),
    [
        ({"message": "Denied by preToolUse hook: no", "code": "denied"}, False),
        ({"message": "The user said no", "code": "rejected"}, False),
        ({"message": "Tool 'x' does not exist.", "code": "failure"}, False),
        ({"message": "broken"}, True),
    ],
)
def test_a_call_that_was_refused_did_not_run(events: Path, error: Any, ran: bool) -> None:
    told = event("tool.execution_complete", toolCallId="c", success=False, error=error)
    written(events, [START, said("a", "", request("c")), told])

    (step,) = read(READER, events).only.steps

    assert (step.ran, step.failed, step.result) == (ran, True, error["message"])
    assert step.declined is (error.get("code") == "rejected")


@pytest.mark.parametrize(
    "data",
    [
        {"content": "Do it.", "source": "agent-1"},
        {"content": f"{AUTOMATIC}: go on"},
        {"content": " "},
        {"content": ["?"]},
    ],
)
def test_what_no_person_typed_is_not_heard(events: Path, data: dict[str, Any]) -> None:
    written(events, [START, event("user.message", **data), event("user.message", content="fix")])

    assert read(READER, events).only.said == [("user", "fix")]


def test_sub_agents_are_runs_of_their_own(events: Path) -> None:
    own: dict[str, Any] = {"agent": "79dc"}
    written(
        events,
        [
            START,
            said("a1", "", request("c1", "task")),
            event("user.message", content="Do it.", **own),
            used("a2", "79dc"),
            said("a2", "Did it.", **own),
            answer("c1", "Did it."),
        ],
    )

    main, sub = read(READER, events).runs

    assert [(step.tool, step.result, step.tokens) for step in main.steps] == [
        ("task", "Did it.", None)
    ]
    assert (sub.head.id, sub.head.parent, sub.head.workspace) == ("79dc", SESSION, WORK)
    assert [(step.text, step.tokens) for step in sub.steps] == [("Did it.", 120)]


def test_what_cannot_be_read_is_told_and_the_rest_is_read(events: Path) -> None:
    written(
        events,
        [
            event("session.start", sessionId=7),
            b'{"type":"user.message","data":{"content":"half',
            event("session.usage_record", usage={"inputTokens": 3}),
            event("session.usage_record", usage={"apiCallId": "x", "inputTokens": -3}),
            event("session.usage_record"),
            event("subagent.started", note="user.message"),
            {"type": "assistant.message", "data": {"content": "Done.", "toolRequests": None}},
            {"type": "assistant.message", "data": {"toolRequests": [{"name": "x"}]}},
        ],
    )

    found = read(READER, events)

    assert [each.line for each in found.unread] == [1, 2, 3]
    assert found.only.head.id == SESSION
    assert [(step.text, step.tool) for step in found.only.steps] == [("Done.", None), ("", "x")]


def test_a_record_without_a_beginning_is_named_after_its_folder(events: Path) -> None:
    written(events, [said(f"a{number}", "x") for number in range(60)])

    assert read(READER, events).only.head.id == SESSION
    assert read(READER, written(events, [])) == ([], [])


def test_it_knows_its_own_files_and_where_they_are(tmp_path: Path) -> None:
    begins = b'{"type":"session.start","data":{"producer":"copilot-agent"'

    assert READER.reads(tmp_path / "events.jsonl", begins)
    assert not READER.reads(tmp_path / "events.json", begins)
    assert not READER.reads(tmp_path / "events.jsonl", b'{"type":"session.start"}')
    assert READER.usual_places(tmp_path, {}) == [tmp_path / ".copilot" / "session-state"]
    assert READER.usual_places(tmp_path, {"COPILOT_HOME": "/c"}) == [Path("/c/session-state")]
