"""Runs as public benchmarks and agents write them down, made up, and what is read of them."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from interlock.model.past_run import PastRun, PastStep, Unread
from interlock.ports import HistoryReader

Row = dict[str, Any]


class Read(msgspec.Struct, frozen=True):
    """A run that was read to its end."""

    run: PastRun
    steps: tuple[PastStep, ...]

    @property
    def calls(self) -> list[PastStep]:
        """The steps that are calls."""
        return [each for each in self.steps if each.tool is not None]


def read(reader: HistoryReader, path: Path) -> tuple[list[Read], list[Unread]]:
    """Return every run of a file, and what could not be read."""
    before = path.read_bytes(), sorted(path.parent.rglob("*"))
    unread: list[Unread] = []
    found = [Read(run, tuple(run.steps)) for run in reader.runs(path, unread.append)]
    assert (path.read_bytes(), sorted(path.parent.rglob("*"))) == before
    return found, unread


def written(path: Path, content: object) -> Path:
    """Write a document."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content, indent=2))
    return path


def openai_call(name: str, params: object, key: str = "c1") -> Row:
    """Return a call as most providers write it."""
    function = {"name": name, "arguments": json.dumps(params)}
    return {"id": key, "type": "function", "function": function}


def a_tau_run(**fields: Any) -> Row:
    """Return a run of tau-bench in which one order is looked up."""
    return {
        "task_id": 7,
        "reward": 1.0,
        "info": {"task": {"user_id": "u", "actions": [], "instruction": "x", "outputs": []}},
        "traj": [
            {"role": "system", "content": "# Policy"},
            {"role": "user", "content": "Where is my order?"},
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [openai_call("get_order", {"order_id": "#1"})],
            },
            {"role": "tool", "tool_call_id": "c1", "name": "get_order", "content": "sent"},
            {"role": "assistant", "content": "It is on its way.", "tool_calls": None},
            {"role": "user", "content": "###STOP###"},
        ],
        "trial": 0,
        **fields,
    }


def a_tau2_result(*simulations: Row) -> Row:
    """Return a result of tau2-bench."""
    return {
        "timestamp": "2026-01-01T10:00:00",
        "info": {
            "git_commit": "0",
            "num_trials": 1,
            "max_steps": 100,
            "user_info": {"implementation": "user_simulator", "llm": "gpt-4.1"},
            "agent_info": {"implementation": "llm_agent", "llm": "gpt-4.1-mini"},
            "environment_info": {"domain_name": "telecom"},
        },
        "tasks": [],
        "simulations": list(simulations),
    }


def a_simulation(**fields: Any) -> Row:
    """Return a simulation of tau2-bench in which both sides use their tools."""
    call = {"id": "a", "name": "get_line", "arguments": {"line": 1}, "requestor": "assistant"}
    other: Row = {"id": "b", "name": "get_bill", "arguments": {}, "requestor": "assistant"}
    own: Row = {"id": "u", "name": "toggle_roaming", "arguments": {}, "requestor": "user"}
    return {
        "id": "sim-1",
        "task_id": "[mobile]x",
        "timestamp": "2026-01-01T10:00:00",
        "termination_reason": "user_stop",
        "reward_info": {"reward": 0.0},
        "messages": [
            {"role": "assistant", "content": "Hi! How can I help?"},
            {"role": "user", "content": "No signal.", "timestamp": "2026-01-01T10:00:01Z"},
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [call, other],
                "usage": {"completion_tokens": 20, "prompt_tokens": 3000},
            },
            {
                "role": "tool",
                "tool_messages": [
                    {"id": "b", "role": "tool", "content": "12 $", "requestor": "assistant"},
                    {"id": "a", "role": "tool", "content": "none", "error": True},
                ],
            },
            {"role": "user", "content": None, "tool_calls": [own]},
            {"id": "u", "role": "tool", "content": "on", "requestor": "user"},
            {"role": "assistant", "content": "Try again."},
        ],
        "trial": 0,
        **fields,
    }


def a_sample(**fields: Any) -> Row:
    """Return a sample of Inspect in which one file is listed and one call is refused."""
    return {
        "id": "sample-1",
        "epoch": 1,
        "uuid": "u-1",
        "input": "list",
        "target": "x",
        "messages": [
            {"id": "m0", "role": "system", "content": "You are helpful."},
            {"id": "m1", "role": "user", "content": "attachment://ab12"},
            {
                "id": "m2",
                "role": "assistant",
                "content": [
                    {"type": "reasoning", "reasoning": "hmm"},
                    {"type": "text", "text": "I look."},
                ],
                "tool_calls": [
                    {"id": "t1", "function": "bash", "arguments": {"cmd": "ls -l"}},
                    {"id": "t2", "function": "python", "arguments": {"code": "1"}},
                ],
                "model": "openai/gpt-5",
            },
            {"role": "tool", "tool_call_id": "t1", "function": "bash", "content": "a.txt"},
            {
                "role": "tool",
                "tool_call_id": "t2",
                "content": "",
                "error": {"type": "approval", "message": "not approved"},
            },
            {"id": "m3", "role": "assistant", "content": "a.txt"},
        ],
        "events": [
            {"event": "sample_init", "state": {}},
            {
                "event": "model",
                "timestamp": "2026-01-01T10:00:00+00:00",
                "input": [],
                "output": {
                    "choices": [{"message": {"id": "m2"}, "stop_reason": "tool_calls"}],
                    "usage": {
                        "input_tokens": 10,
                        "output_tokens": 5,
                        "total_tokens": 115,
                        "input_tokens_cache_read": 100,
                    },
                },
            },
        ],
        "attachments": {"ab12": "List all the files. " * 9},
        "scores": {"match": {"value": "C", "answer": "a.txt"}},
        **fields,
    }


def an_inspect_log(*samples: Row) -> Row:
    """Return a log of Inspect."""
    spec = {"run_id": "r1", "task": "files", "model": "openai/gpt-5", "created": "2026"}
    return {"version": 2, "status": "success", "eval": spec, "samples": list(samples)}


def an_archive(path: Path, *samples: Row, more: Mapping[str, bytes] | None = None) -> Path:
    """Write a log of Inspect as an archive."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        log = an_inspect_log()
        archive.writestr("header.json", json.dumps({**log, "samples": None}))
        for place, sample in enumerate(samples):
            archive.writestr(f"samples/{place}_epoch_1.json", json.dumps(sample))
        for name, content in (more or {}).items():
            archive.writestr(name, content)
    return path


def a_trajectory(**fields: Any) -> Row:
    """Return a trajectory of SWE-agent in which a file is looked at, edited and run."""
    state = {"open_file": "n/a", "working_dir": "/repo"}
    opened = {**state, "open_file": "/repo/a.py"}
    return {
        "environment": "main",
        "trajectory": [
            a_traj_step("open a.py 12", "[File: a.py]", json.dumps(opened)),
            a_traj_step("edit 1:2\nprint(1)\nend_of_edit\n", "edited", opened),
            a_traj_step("python a.py && rm -r build", "1", opened),
            a_traj_step("submit", "diff --git", opened),
        ],
        "history": [
            {"role": "system", "content": "SETTING", "agent": "main"},
            {"role": "user", "content": "a demonstration", "is_demo": True},
            {"role": "user", "content": "ISSUE: it does not print", "agent": "main"},
        ],
        "info": {"exit_status": "submitted", "submission": "diff", "model_stats": {}},
        **fields,
    }


def a_traj_step(action: str, observation: object, state: object = None) -> Row:
    """Return a step of SWE-agent."""
    return {
        "action": action,
        "observation": observation,
        "response": f"DISCUSSION\nnow {action}",
        "thought": "now",
        "state": state,
    }
