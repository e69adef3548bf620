"""Results of tau-bench and tau2-bench."""

from __future__ import annotations

from pathlib import Path

import pytest

from histories.public_run_files import (
    Row,
    a_simulation,
    a_tau2_result,
    a_tau_run,
    read,
    written,
)
from interlock.adapters.public_runs.tau_results import Tau2Results, TauResults
from interlock.model.action import ToolAction
from interlock.model.budget import TokenUsage

NAME = "tool-calling-gpt-4o-mini-0.0_range_0--1_user-gpt-4o-llm_0612073827.json"


def test_a_run_is_a_talk_with_calls_and_a_reward(tmp_path: Path) -> None:
    path = written(tmp_path / "a" / NAME, [a_tau_run(), a_tau_run(task_id=8, reward=0.0, trial=1)])

    assert TauResults().reads(path, path.read_bytes()[:4096])
    [found, other], unread = read(TauResults(), path)

    assert unread == []
    run = found.run
    assert (run.id, run.group) == (f"{tmp_path.name}/a/{NAME}:7:0", "tau-bench:7")
    assert (run.client, run.model, run.success) == ("tau-bench", "gpt-4o-mini", True)
    assert (other.run.success, other.run.group) == (False, "tau-bench:8")
    assert [(each.role, each.text, each.tool, each.result) for each in found.steps] == [
        ("user", "Where is my order?", None, None),
        ("assistant", "", "get_order", "sent"),
        ("assistant", "It is on its way.", None, None),
        ("user", "###STOP###", None, None),
    ]
    assert found.calls[0].action == ToolAction(name="get_order", params={"order_id": "#1"})
    assert [each.line for each in found.steps] == [2, 3, 5, 6]


def test_agents_without_tools_write_their_calls(tmp_path: Path) -> None:
    traj = [
        {"role": "user", "content": "hi"},
        {
            "role": "assistant",
            "content": 'Thought:\nlook it up\nAction:\n{"name": "find", "arguments": {"a": 1}}',
        },
        {"role": "user", "content": "API output: Error: none"},
        {
            "role": "assistant",
            "content": 'Action:\n{"name": "respond", "arguments": {"content": "sorry"}}',
        },
        {"role": "assistant", "content": "Action: {broken}"},
        {"role": "assistant", "content": 'Action: {"no": "name"}'},
    ]
    [found], _ = read(TauResults(), written(tmp_path / "react.json", [a_tau_run(traj=traj)]))

    assert [(each.role, each.text, each.tool, each.result) for each in found.steps] == [
        ("user", "hi", None, None),
        ("assistant", "Thought:\nlook it up", "find", "Error: none"),
        ("assistant", "sorry", None, None),
        ("assistant", "Action: {broken}", None, None),
        ("assistant", 'Action: {"no": "name"}', None, None),
    ]
    assert found.run.model is None


@pytest.mark.parametrize(
    ("reward", "success"),
    [(1, True), (0.9999999, True), (0.5, False), (0, False), (None, None), ("1", None)],
)
def test_only_the_whole_reward_is_a_success(
    tmp_path: Path, reward: object, success: bool | None
) -> None:
    [found], _ = read(TauResults(), written(tmp_path / "a.json", [a_tau_run(reward=reward)]))

    assert found.run.success is success


def test_what_is_no_run_is_told_with_its_place(tmp_path: Path) -> None:
    rows: list[object] = [5, {"task_id": 1}, a_tau_run(traj=[{"role": "user"}, None])]

    [found], unread = read(TauResults(), written(tmp_path / "a.json", rows))

    assert [(each.role, each.text) for each in found.steps] == [("user", "")]
    assert [(each.line, each.reason) for each in unread] == [
        (1, "no run of tau-bench: expected `task_id`, `reward` and `traj`"),
        (2, "no run of tau-bench: expected `task_id`, `reward` and `traj`"),
        (3, "traj[1]: not an object"),
    ]


def test_the_customers_own_device_is_no_tool_of_the_agent(tmp_path: Path) -> None:
    path = written(tmp_path / "results.json", a_tau2_result(a_simulation()))

    assert Tau2Results().reads(path, path.read_bytes()[:4096])
    [found], unread = read(Tau2Results(), path)

    assert unread == []
    run = found.run
    assert (run.id, run.project, run.model) == ("sim-1", "telecom", "gpt-4.1-mini")
    assert (run.group, run.success) == ("tau2-bench:telecom:[mobile]x", False)
    assert [
        (each.role, each.text, each.tool, each.result, each.failed) for each in found.steps
    ] == [
        ("assistant", "Hi! How can I help?", None, None, None),
        ("user", "No signal.", None, None, None),
        ("assistant", "", "get_line", "none", True),
        ("assistant", "", "get_bill", "12 $", None),
        ("assistant", "Try again.", None, None, None),
    ]
    usage = TokenUsage(input_tokens=3000, output_tokens=20)
    assert [each.usage for each in found.calls] == [usage, None]
    assert [each.turn for each in found.calls] == [3, 3]
    assert found.steps[1].at == 1_767_261_601_000_000


def test_a_simulation_in_a_file_of_its_own_is_read(tmp_path: Path) -> None:
    path = written(tmp_path / "simulations" / "sim-1.json", a_simulation(id=None))
    common: Row = a_tau2_result()
    del common["simulations"]
    whole = written(tmp_path / "results.json", common)

    assert Tau2Results().reads(path, path.read_bytes())
    [found], _ = read(Tau2Results(), path)
    assert found.run.id == f"{tmp_path.name}/simulations/sim-1.json:[mobile]x:0"
    assert found.run.model is None
    assert read(Tau2Results(), whole) == ([], [])


def test_a_simulation_without_messages_is_told(tmp_path: Path) -> None:
    path = written(tmp_path / "a.json", a_tau2_result({"id": "x", "ticks": []}))

    _, [unread] = read(Tau2Results(), path)

    assert unread.reason == "no simulation of tau2-bench: expected `task_id` and `messages`"
