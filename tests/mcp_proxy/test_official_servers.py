"""The reference servers of the protocol behind the proxy: the same as without it."""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp_types import CreateMessageResult, ElicitResult, ListRootsResult, TextContent

from mcp_proxy.ends import Home, run_to_end

_PLACE = os.environ.get("INTERLOCK_CLIENTS")
pytestmark = [
    pytest.mark.clients,
    pytest.mark.skipif(
        _PLACE is None, reason="INTERLOCK_CLIENTS names no folder with `node_modules`"
    ),
]
_ERAS = pytest.mark.parametrize("mode", ["auto", "legacy"])


@asynccontextmanager
async def _connected(
    server: str, *words: str, through: bool, mode: str, **client: Any
) -> AsyncGenerator[Client]:
    programs = Path(_PLACE or "", "node_modules", ".bin")
    node = programs / "node"
    command = [str(node if node.exists() else "node"), str(programs / server), *words]
    if through:
        proxy = [sys.executable, "-I", "-m", "interlock", "mcp", "--name", server, "--"]
        command = [*proxy, *command]
    parameters = StdioServerParameters(command=command[0], args=command[1:], env=dict(os.environ))
    async with Client(stdio_client(parameters), mode=mode, **client) as connected:
        yield connected


async def _sampled(_context: object, _params: object) -> CreateMessageResult:
    return CreateMessageResult(
        role="assistant", content=TextContent(type="text", text="four"), model="none"
    )


async def _elicited(_context: object, _params: object) -> ElicitResult:
    return ElicitResult(action="decline")


async def _roots(_context: object) -> ListRootsResult:
    return ListRootsResult(roots=[])


@_ERAS
@pytest.mark.usefixtures("home")
def test_everything_is_the_same(mode: str):
    async def attempt(through: bool) -> list[Any]:
        heard: list[Any] = []

        async def progressed(progress: float, total: float | None, message: str | None) -> None:
            heard.append((progress, total, message))

        callbacks = {
            "sampling_callback": _sampled,
            "elicitation_callback": _elicited,
            "list_roots_callback": _roots,
        }
        async with _connected(
            "mcp-server-everything", through=through, mode=mode, **callbacks
        ) as client:
            resources = await client.list_resources()
            listed = await client.list_tools()
            return [
                listed,
                await client.list_prompts(),
                resources,
                await client.list_resource_templates(),
                await client.call_tool("echo", {"message": "hello"}),
                await client.call_tool("get-sum", {"a": 2, "b": 2.5}),
                await client.call_tool("get-tiny-image", {}),
                await client.call_tool("get-structured-content", {"location": "Chicago"}),
                await client.call_tool("get-annotated-message", {"messageType": "error"}),
                await client.call_tool(
                    "trigger-long-running-operation",
                    {"duration": 0.3, "steps": 3},
                    progress_callback=progressed,
                ),
                await client.call_tool("trigger-sampling-request", {"prompt": "2 + 2"}),
                await client.get_prompt("simple-prompt"),
                await client.read_resource(resources.resources[0].uri),
                heard,
            ]

    through, without = run_to_end(attempt(True)), run_to_end(attempt(False))

    assert through == without
    assert len(through[0].tools) > 8
    assert len(through[-1]) > 1
    assert "four" in str(through[10].content)


@_ERAS
def test_files_are_read_and_written_the_same_and_refused_where_they_must_be(home: Home, mode: str):
    work = home.folder / "work"
    work.mkdir()

    async def attempt(through: bool) -> list[Any]:
        note = work / "note.txt"
        async with _connected(
            "mcp-server-filesystem", str(work), through=through, mode=mode
        ) as client:
            return [
                await client.list_tools(),
                await client.call_tool("write_file", {"path": str(note), "content": "hello\n"}),
                await client.call_tool("read_text_file", {"path": str(note)}),
                await client.call_tool("list_directory", {"path": str(work)}),
                await client.call_tool("read_text_file", {"path": "/etc/hostname"}),
                note.read_text(),
            ]

    async def refused() -> list[Any]:
        async with _connected(
            "mcp-server-filesystem", str(work), through=True, mode=mode
        ) as client:
            hook = {"path": str(work / ".mcp.json"), "content": "{}"}
            return [
                await client.call_tool("write_file", hook),
                await client.call_tool("write_file", {"path": 1}),
            ]

    assert run_to_end(attempt(True)) == run_to_end(attempt(False))
    for each in run_to_end(refused()):
        assert each.is_error
        assert each.content[0].text.startswith("Interlock did not let this happen")
    assert not (work / ".mcp.json").exists()
