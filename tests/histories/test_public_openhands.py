"""Events and outputs of OpenHands, of both generations."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from histories.public_run_files import Row, read, written
from interlock.adapters.public_runs.openhands import OpenHandsEvents, OpenHandsOutputs
from interlock.model.action import ToolAction
from interlock.model.budget import TokenUsage
from interlock.model.past_run import Unread


def an_action(key: int, kind: str, source: str = "agent", **fields: Any) -> Row:
    args = fields.pop("args", {})
    moment = "2026-01-01T10:00:00+00:00"
    return {
        "id": key,
        "timestamp": moment,
        "source": source,
        "message": "",
        "action": kind,
        "args": args,
        **fields,
    }


def an_observation(cause: int, kind: str, content: str, **extras: Any) -> Row:
    return {
        "id": cause + 1,
        "source": "agent",
        "cause": cause,
        "observation": kind,
        "content": content,
        "extras": extras,
    }


def called(name: str, reply: str = "r1") -> Row:
    usage = {
        "prompt_tokens": 50,
        "completion_tokens": 3,
        "prompt_tokens_details": {"cached_tokens": 40},
    }
    response = {"id": reply, "model": "claude-opus-4-6", "usage": usage}
    return {"function_name": name, "tool_call_id": "t", "model_response": response}


def old_events() -> list[Row]:
    shell = {"command": "pytest", "thought": "I test.", "blocking": False, "hidden": False}
    edit = {"path": "/a.py", "command": "create", "file_text": "x", "old_str": None, "thought": ""}
    tool = {"name": "fetch", "arguments": {"url": "http://x"}, "thought": ""}
    return [
        an_action(0, "system", args={"content": "You are"}),
        an_action(1, "message", "user", args={"content": "fix it"}),
        an_action(2, "recall", "user", args={"query": "fix it"}),
        an_observation(2, "recall", "knowledge"),
        an_action(4, "run", args=shell, tool_call_metadata=called("execute_bash")),
        an_observation(4, "run", "1 failed", metadata={"exit_code": 1}),
        an_action(6, "edit", args=edit, tool_call_metadata=called("str_replace_editor", "r2")),
        an_observation(6, "edit", "created"),
        an_action(8, "call_tool_mcp", args=tool),
        an_observation(8, "user_rejected", "no"),
        an_action(10, "run", "user", args={"command": "git log"}),
        an_action(12, "run_ipython", args={"code": "1/0", "thought": "hm"}),
        an_observation(12, "error", "division by zero"),
        an_action(13, "run", args={"command": "ls"}),
        an_observation(13, "run", "a.py", exit_code=0),
        an_action(14, "run", args={"command": "sleep 9"}),
        an_observation(14, "run", "still running", exit_code=-1),
        an_observation(99, "run", "nobody's"),
        an_action(15, "message", args={"content": "Shall I go on?"}),
        an_action(16, "change_agent_state", "environment", args={"agent_state": "finished"}),
        an_action(17, "finish", args={"final_thought": "All done.", "outputs": {}}),
    ]


OLD_STEPS = [
    ("user", "fix it", None, None, None, True),
    ("assistant", "I test.", "bash", "1 failed", True, True),
    ("assistant", "", "str_replace_editor", "created", None, True),
    ("assistant", "", "fetch", "no", None, False),
    ("assistant", "hm", "run_ipython", "division by zero", True, True),
    ("assistant", "", "bash", "a.py", False, True),
    ("assistant", "", "bash", "still running", None, True),
    ("assistant", "Shall I go on?", None, None, None, True),
    ("assistant", "All done.", None, None, None, True),
]


def test_a_list_of_events_is_a_run(tmp_path: Path) -> None:
    path = written(tmp_path / "trajectory.json", old_events())

    assert OpenHandsEvents().reads(path, path.read_bytes()[:4096])
    [found], unread = read(OpenHandsEvents(), path)

    assert unread == []
    assert [
        (each.role, each.text, each.tool, each.result, each.failed, each.ran)
        for each in found.steps
    ] == OLD_STEPS
    assert [each.action for each in found.calls[:3]] == [
        ToolAction(name="bash", params={"command": "pytest"}),
        ToolAction(
            name="str_replace_editor",
            params={"path": "/a.py", "command": "create", "file_text": "x"},
        ),
        ToolAction(name="fetch", params={"url": "http://x"}),
    ]
    usage = TokenUsage(input_tokens=50, output_tokens=3, cache_read_tokens=40)
    assert (found.calls[0].usage, found.calls[0].model) == (usage, "claude-opus-4-6")
    assert found.calls[0].at == 1_767_261_600_000_000
    folder = tmp_path.name
    assert found.run.id == f"{tmp_path.parent.name}/{folder}/trajectory.json"
    assert (found.run.client, found.run.group) == ("openhands", folder)


def test_a_file_that_is_named_after_its_task_says_which_it_is(tmp_path: Path) -> None:
    path = written(tmp_path / "run" / "django__django-11099.json", old_events())

    [found], _ = read(OpenHandsEvents(), path)

    assert (found.run.group, found.run.project) == ("django__django-11099", "django/django")


@pytest.mark.parametrize("name", ["{}.json", "event-{:05d}-0a1b-2c.json"])
def test_a_folder_of_events_is_one_run(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "sessions" / "s1" / "events"
    events: list[object] = [*old_events(), 5]
    for place, event in enumerate(events):
        written(folder / name.format(place), event)
    (folder / name.format(4)).write_text("{")
    first, second = folder / name.format(0), folder / name.format(1)

    assert OpenHandsEvents().reads(first, first.read_bytes())
    [found], [unread] = read(OpenHandsEvents(), first)

    assert (found.run.id, found.run.group) == ("sessions/s1", "s1")
    assert [each.tool for each in found.calls] == [
        "str_replace_editor",
        "fetch",
        "run_ipython",
        "bash",
        "bash",
    ]
    assert (unread.path, unread.reason.split(":")[0]) == (str(folder / name.format(4)), "not JSON")
    assert read(OpenHandsEvents(), second) == ([], [])


def test_events_of_the_newer_kit_are_joined_by_their_calls(tmp_path: Path) -> None:
    call = {"kind": "ActionEvent", "source": "agent", "llm_response_id": "r1"}
    text = [{"type": "text", "text": "I look."}]
    events: list[Row] = [
        {"kind": "SystemPromptEvent", "source": "agent"},
        {
            "kind": "MessageEvent",
            "source": "user",
            "llm_message": {"role": "user", "content": [{"type": "text", "text": "fix it"}]},
        },
        {
            **call,
            "thought": text,
            "tool_name": "terminal",
            "tool_call_id": "a",
            "action": {"kind": "TerminalAction", "command": "ls", "is_input": False},
        },
        {
            **call,
            "thought": [],
            "tool_name": "file_editor",
            "tool_call_id": "b",
            "action": {"kind": "FileEditorAction", "command": "view", "path": "/a"},
        },
        {
            "kind": "ObservationEvent",
            "tool_call_id": "a",
            "observation": {"content": [{"type": "text", "text": "a.py"}], "exit_code": 2},
        },
        {"kind": "UserRejectObservation", "tool_call_id": "b", "rejection_reason": "not that"},
        {
            "kind": "ActionEvent",
            "thought": [],
            "action": None,
            "tool_name": "terminal",
            "tool_call_id": "c",
            "tool_call": {"id": "c", "name": "terminal", "arguments": '{"command": "x'},
        },
        {"kind": "AgentErrorEvent", "tool_call_id": "c", "error": "bad arguments"},
        {
            "kind": "ActionEvent",
            "tool_name": "finish",
            "tool_call_id": "d",
            "action": {"kind": "FinishAction", "message": "Done."},
        },
        {"kind": "FutureEvent"},
    ]
    path = written(tmp_path / "events.json", events)

    assert OpenHandsEvents().reads(path, path.read_bytes())
    [found], unread = read(OpenHandsEvents(), path)

    assert unread == []
    assert [
        (each.role, each.text, each.tool, each.result, each.failed, each.ran, each.turn)
        for each in found.steps
    ] == [
        ("user", "fix it", None, None, None, True, 1),
        ("assistant", "I look.", "terminal", "a.py", True, True, 2),
        ("assistant", "", "file_editor", "not that", None, False, 2),
        ("assistant", "", "terminal", "bad arguments", True, False, 3),
        ("assistant", "Done.", None, None, None, True, 4),
    ]
    assert found.calls[0].action == ToolAction(name="bash", params={"command": "ls"})
    assert found.calls[2].action == ToolAction(name="terminal", params='{"command": "x')


def test_an_answer_of_a_model_is_paid_once_whatever_it_calls(tmp_path: Path) -> None:
    def done(key: int, kind: str, reply: str, **args: str) -> Row:
        return an_action(key, kind, args=args, tool_call_metadata=called(kind, reply))

    events = [
        done(1, "run", "r1", command="ls"),
        an_observation(1, "run", "a.py"),
        done(3, "think", "r1", thought="hm"),
        done(4, "run", "r1", command="pwd"),
        an_observation(4, "run", "/"),
        an_action(6, "message", "user", args={"content": "go on"}),
        done(7, "run", "r1", command="id"),
        done(8, "message", "r2", content="Look:"),
        done(9, "finish", "r3", final_thought="Done."),
    ]
    path = written(tmp_path / "trajectory.json", events)

    [found], _ = read(OpenHandsEvents(), path)

    assert [(each.text, each.result, each.tokens, each.turn) for each in found.steps] == [
        ("", "a.py", 53, 1),
        ("hm", None, None, 1),
        ("", "/", None, 1),
        ("go on", None, None, 2),
        ("", None, None, 3),
        ("Look:", None, 53, 4),
        ("Done.", None, 53, 5),
    ]
    assert found.steps[-1].model == "claude-opus-4-6"


def test_a_thought_between_calls_keeps_no_result_from_its_call(tmp_path: Path) -> None:
    def asked(key: str, tool: str, **action: str) -> Row:
        about = {"kind": "ActionEvent", "llm_response_id": "r1"}
        return {**about, "tool_name": tool, "tool_call_id": key, "action": action}

    def seen(key: str, content: str) -> Row:
        observation = {"content": content}
        return {"kind": "ObservationEvent", "tool_call_id": key, "observation": observation}

    calls = [
        asked("a", "terminal", command="ls"),
        asked("b", "think", thought="hm"),
        asked("c", "terminal", command="pwd"),
    ]
    path = written(
        tmp_path / "events.json", [*calls, seen("a", "a.py"), seen("b", "noted"), seen("c", "/")]
    )

    [found], _ = read(OpenHandsEvents(), path)

    assert [(each.text, each.result, each.turn) for each in found.steps] == [
        ("", "a.py", 1),
        ("hm", None, 1),
        ("", "/", 1),
    ]


def an_output(**fields: Any) -> Row:
    return {
        "instance_id": "django__django-11099",
        "test_result": {"git_patch": "diff"},
        "metadata": {"llm_config": {"model": "gpt-4o"}},
        "history": old_events(),
        "metrics": {},
        **fields,
    }


def test_outputs_of_an_evaluation_have_a_run_per_line(tmp_path: Path) -> None:
    path = tmp_path / "output.jsonl"
    events = old_events()
    pairs = [[events[4], events[5]], [events[6], events[7]]]
    rows = [an_output(), an_output(history=pairs, attempt=2), {"instance_id": "x"}, 5]
    path.write_text("\n\n".join(map(json.dumps, rows)))

    assert OpenHandsOutputs().reads(path, path.read_bytes()[:4096])
    [first, second], unread = read(OpenHandsOutputs(), path)

    name = f"{tmp_path.parent.name}/{tmp_path.name}/output.jsonl:django__django-11099"
    assert (first.run.id, first.run.model) == (f"{name}:1", "gpt-4o")
    assert (first.run.group, first.run.project) == ("django__django-11099", "django/django")
    assert [each.tool for each in first.steps] == [each[2] for each in OLD_STEPS]
    assert {each.line for each in first.steps} == {1}
    assert second.run.id == f"{name}:2"
    assert [each.result for each in second.calls] == ["1 failed", "created"]
    assert [(each.line, each.reason) for each in unread] == [
        (5, "no output of OpenHands: expected `instance_id` and `history`"),
        (7, "no output of OpenHands: expected `instance_id` and `history`"),
    ]


@pytest.mark.parametrize(
    ("fields", "success"),
    [
        ({"resolved": True}, True),
        ({"report": {"resolved": False}}, False),
        ({"test_result": {"report": {"resolved": True}}}, True),
        ({"test_result": {"resolved": "yes"}}, None),
        ({}, None),
    ],
)
def test_success_is_what_the_report_says(tmp_path: Path, fields: Row, success: bool | None) -> None:
    path = tmp_path / "output.jsonl"
    path.write_text(json.dumps(an_output(**fields)))

    [found], _ = read(OpenHandsOutputs(), path)

    assert found.run.success is success


def test_an_event_that_is_a_pipe_is_told(tmp_path: Path) -> None:
    folder = tmp_path / "s" / "events"
    first = written(folder / "0.json", old_events()[1])
    (folder / "1.json").symlink_to("1.json")
    unread: list[Unread] = []

    [run] = OpenHandsEvents().runs(first, unread.append)

    assert [each.text for each in run.steps] == ["fix it"]
    assert "symbolic links" in unread[0].reason
