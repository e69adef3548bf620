"""A call is judged in the folder in which its client makes it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from adapters.client_readings import RUNS, call
from adapters.test_client_dialects import Client, client

__all__ = ["client"]

PATCH = "*** Begin Patch\n*** Add File: ../.bashrc\n+x\n*** End Patch"


@pytest.mark.parametrize(
    ("name", "parameter"), [("gemini", "dir_path"), ("opencode", "workdir"), ("codex", "workdir")]
)
def test_a_line_is_judged_in_the_folder_that_the_client_runs_it_in(
    name: str, parameter: str
) -> None:
    client = Client(name)
    where = "tool_input" if name != "opencode" else "args"
    for number, folder in enumerate(("/etc", "../../etc")):
        line = call(name, "rm -rf *", number=number)
        named = {**line, where: {**line[where], parameter: folder}}
        reply = client.says({**named, "cwd": "/tmp/work", "directory": "/tmp/work"})

        assert b"deletes the system" in reply.stdout
    client.interlock.close()


def test_a_folder_that_the_client_does_not_obey_makes_no_line_harmless(client: Client) -> None:
    where = {"copilot": "toolArgs", "opencode": "args"}.get(client.name, "tool_input")
    line: dict[str, Any] = {**call(client.name, "rm -rf *"), "cwd": "/etc", "directory": "/etc"}
    reply = client.says({**line, where: {**line[where], "cwd": "/tmp/elsewhere"}})

    assert b"deletes the system" in reply.stdout


@pytest.mark.parametrize(
    ("name", "tool", "params"),
    [
        ("gemini", "write_file", {"file_path": "../.bashrc", "content": "x"}),
        ("codex", "apply_patch", {"command": PATCH}),
        ("copilot", "create", {"path": "../.bashrc", "file_text": "x"}),
        ("opencode", "write", {"filePath": "../.bashrc", "content": "x"}),
        ("opencode", "apply_patch", {"patchText": PATCH}),
    ],
)
def test_a_file_is_found_from_the_folder_of_the_session(
    name: str, tool: str, params: dict[str, str]
) -> None:
    client = Client(name)
    folder = str(Path.home() / "work")
    told: dict[str, Any] = {**call(name, ""), "cwd": folder, "directory": folder}
    told |= {"tool": tool, "args": params} if name == "opencode" else {}
    told |= {"toolName": tool, "toolArgs": params} if name == "copilot" else {}
    told |= {"tool_name": tool, "tool_input": params} if name in ("gemini", "codex") else {}

    assert not RUNS[name](*client.says(told))
    client.interlock.close()
