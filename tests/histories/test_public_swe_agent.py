"""Trajectories of SWE-agent and mini-swe-agent, of several versions."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from histories.public_run_files import Row, a_traj_step, a_trajectory, openai_call, read, written
from interlock.adapters.public_runs.swe_agent import SweAgent, call_from_line
from interlock.model.action import ToolAction
from interlock.model.budget import TokenUsage

NAME = "django__django-11099.traj"


def test_a_trajectory_is_the_task_and_a_step_per_action(tmp_path: Path) -> None:
    [found], unread = read(SweAgent(), written(tmp_path / "x" / NAME, a_trajectory()))

    assert unread == []
    run = found.run
    assert run.id == f"{tmp_path.name}/x/{NAME}"
    assert (run.client, run.group) == ("swe-agent", NAME[:-5])
    assert (run.project, run.success) == ("django/django", None)
    task, *calls = found.steps
    assert (task.role, task.text, task.line) == ("user", "ISSUE: it does not print", 3)
    assert [(each.tool, each.text, each.result, each.turn) for each in calls] == [
        ("open", "now", "[File: a.py]", 2),
        ("edit", "now", "edited", 3),
        ("bash", "now", "1", 4),
        ("submit", "now", "diff --git", 5),
    ]
    assert [each.action for each in calls] == [
        ToolAction(name="open", params={"path": "a.py", "line_number": "12"}),
        ToolAction(
            name="edit",
            params={
                "path": "/repo/a.py",
                "start_line": "1",
                "end_line": "2",
                "text": "print(1)",
                "cwd": "/repo",
            },
        ),
        ToolAction(name="bash", params={"command": "python a.py && rm -r build", "cwd": "/repo"}),
        ToolAction(name="submit", params={}),
    ]


def test_the_call_is_taken_from_the_history_where_it_is_told(tmp_path: Path) -> None:
    calls = [openai_call("edit", {"search": "a", "replace": "b && c"})]
    action = "edit 'a' 'b && c'"
    history: list[Row] = [
        {"role": "user", "content": [{"type": "text", "text": "ISSUE"}]},
        {"role": "assistant", "content": "x", "action": action, "tool_calls": calls},
    ]
    config = json.dumps({"agent": {"model": {"name": "claude-opus-4-6"}}})
    path = written(
        tmp_path / NAME,
        a_trajectory(
            history=history, trajectory=[a_traj_step(action, "done")], replay_config=config
        ),
    )

    [found], _ = read(SweAgent(), path)

    assert found.run.model == "claude-opus-4-6"
    assert found.steps[0].text == "ISSUE"
    assert found.calls[0].action == ToolAction(
        name="edit", params={"search": "a", "replace": "b && c"}
    )


def test_a_history_alone_is_enough(tmp_path: Path) -> None:
    history: list[Row] = [
        {"role": "system", "content": "SETTING"},
        {"role": "user", "content": "ISSUE"},
        {
            "role": "assistant",
            "content": "I look\n```\nls\n```",
            "thought": "I look",
            "action": "ls",
        },
        {"role": "user", "content": "a.py"},
        {
            "role": "assistant",
            "content": "open",
            "action": "open a.py",
            "tool_calls": [openai_call("open", {"path": "a.py"})],
        },
        {"role": "tool", "content": "[File: a.py]", "tool_call_ids": ["c1"]},
        {"role": "assistant", "content": "done"},
    ]

    [found], _ = read(SweAgent(), written(tmp_path / "demo.traj", {"history": history}))

    assert [(each.role, each.text, each.tool, each.result) for each in found.steps] == [
        ("user", "ISSUE", None, None),
        ("assistant", "I look", "bash", "a.py"),
        ("assistant", "open", "open", "[File: a.py]"),
        ("assistant", "done", None, None),
    ]
    assert found.run.project == ""


@pytest.mark.parametrize(
    ("info", "success"),
    [
        ({"exit_status": "submitted"}, None),
        ({"exit_status": "submitted (exit_cost)"}, None),
        ({"exit_status": "exit_cost"}, False),
        ({"exit_status": "exit_context"}, False),
        ({"exit_status": "early_exit"}, False),
        ({"exit_status": None}, None),
        ({"exit_status": "submitted", "resolved": True}, True),
        ({}, None),
        (None, None),
        ([1], None),
    ],
)
def test_submitted_is_not_yet_right(tmp_path: Path, info: object, success: bool | None) -> None:
    [found], _ = read(SweAgent(), written(tmp_path / NAME, a_trajectory(info=info)))

    assert found.run.success is success


@pytest.mark.parametrize(
    ("line", "name", "params"),
    [
        ("ls -F\n", "bash", {"command": "ls -F\n"}),
        ("submit", "submit", {}),
        ("submit\n", "submit", {}),
        ("submit && rm -rf /", "bash", {"command": "submit && rm -rf /"}),
        ("submit; rm -rf /", "bash", {"command": "submit; rm -rf /"}),
        ("submit\nrm -rf /", "bash", {"command": "submit\nrm -rf /"}),
        ("open $(rm -rf /)", "bash", {"command": "open $(rm -rf /)"}),
        ("open `rm -rf /`", "bash", {"command": "open `rm -rf /`"}),
        ('open "a $(rm x)"', "bash", {"command": 'open "a $(rm x)"'}),
        ("open 'a", "bash", {"command": "open 'a"}),
        ("open > /etc/passwd", "bash", {"command": "open > /etc/passwd"}),
        ("search_dir 'a && b' src", "search_dir", {"search_term": "a && b", "dir": "src"}),
        ("find_file a b c d", "find_file", {"file_name": "a", "dir": "b", "more": "c d"}),
        ("goto 5", "goto", {"line_number": "5"}),
        (
            "str_replace_editor create /a.py --file_text 'x\ny' --view_range 1 2",
            "str_replace_editor",
            {"command": "create", "path": "/a.py", "file_text": "x\ny", "view_range": "1 2"},
        ),
        ("edit 'a' 'b'", "edit", {"search": "a", "replace": "b"}),
        ("", "bash", {"command": ""}),
    ],
)
def test_only_a_tool_alone_is_a_call_of_that_tool(line: str, name: str, params: object) -> None:
    call = call_from_line(line, None)

    assert (call.name, call.params) == (name, params)


def test_steps_without_an_action_are_words(tmp_path: Path) -> None:
    steps: list[object] = [a_traj_step("", "no action"), 5, {"response": "only words"}]
    path = written(tmp_path / NAME, a_trajectory(trajectory=steps))

    [found], unread = read(SweAgent(), path)

    assert [(each.text, each.tool) for each in found.steps[1:]] == [
        ("now", None),
        ("only words", None),
    ]
    assert [each.reason for each in unread] == ["trajectory[1]: not an object"]


@pytest.mark.parametrize("content", [{}, [], 5, {"trajectory_format": "?"}])
def test_what_is_no_trajectory_is_told(tmp_path: Path, content: object) -> None:
    found, [unread] = read(SweAgent(), written(tmp_path / NAME, content))

    assert found == []
    assert unread.reason == "no trajectory: expected `trajectory`, `history` or `messages`"


def test_mini_swe_agent_writes_commands_into_its_texts(tmp_path: Path) -> None:
    messages: list[Row] = [
        {"role": "system", "content": "You are helpful."},
        {"role": "user", "content": "solve it"},
        {
            "role": "assistant",
            "content": "THOUGHT: look\n```bash\nls -l\n```",
            "extra": {
                "timestamp": 5,
                "response": {"usage": {"prompt_tokens": 7, "completion_tokens": 1}},
            },
        },
        {"role": "user", "content": "<returncode>1</returncode>\n<output>\nno</output>"},
        {"role": "assistant", "content": "x", "extra": {"actions": [{"command": "pwd"}, "id"]}},
        {"role": "user", "content": "<returncode>0</returncode>"},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [openai_call("bash", {"command": "w"})],
        },
        {"role": "tool", "tool_call_id": "c1", "content": "out"},
        {"role": "assistant", "content": "no command"},
        {"role": "exit", "content": "LimitsExceeded"},
    ]
    log = {
        "info": {
            "exit_status": "LimitsExceeded",
            "config": {"model": {"model_name": "deepseek"}},
        },
        "messages": messages,
        "trajectory_format": "mini-swe-agent-1.1",
    }
    path = written(tmp_path / "astropy__astropy-1.traj.json", log)

    assert SweAgent().reads(path, path.read_bytes()[:100])
    [found], _ = read(SweAgent(), path)

    assert (found.run.client, found.run.model, found.run.success) == (
        "mini-swe-agent",
        "deepseek",
        False,
    )
    assert [
        (each.action.params if isinstance(each.action, ToolAction) else None, each.failed)
        for each in found.steps
    ] == [
        (None, None),
        ({"command": "ls -l"}, True),
        ({"command": "pwd"}, False),
        ({"command": "id"}, None),
        ({"command": "w"}, None),
        (None, None),
    ]
    assert found.steps[1].usage == TokenUsage(input_tokens=7, output_tokens=1)
    assert found.steps[1].at == 5_000_000
