"""The official client and server of both eras: the same with the proxy as without it."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from mcp.client import Client
from mcp_types import ElicitResult

from interlock.adapters.mcp.call_judge import Confirm
from mcp_proxy.ends import Home, official, run_to_end
from mcp_proxy.small_server import SmallServer

_ERAS = pytest.mark.parametrize("mode", ["auto", "legacy"])


async def everything(client: Client) -> list[Any]:
    steps: list[Any] = []

    async def heard(progress: float, total: float | None, message: str | None) -> None:
        steps.append((progress, total, message))

    resources = await client.list_resources()
    return [
        client.server_info,
        client.server_capabilities,
        client.instructions,
        await client.list_tools(),
        await client.call_tool("echo", {"text": "héllo"}, meta={"own": 1}),
        await client.call_tool("count", {}, progress_callback=heard),
        await client.call_tool("large", {"size": 3_000_000}),
        resources,
        await client.read_resource(resources.resources[0].uri),
        await client.list_prompts(),
        await client.get_prompt("greet", {"name": "Ada"}),
        steps,
    ]


@_ERAS
def test_everything_is_the_same_with_and_without_it(home: Home, mode: str):
    async def attempt(through: bool) -> list[Any]:
        async with official(home, SmallServer().server, mode=mode, through=through) as client:
            assert client.protocol_version == ("2026-07-28" if mode == "auto" else "2025-11-25")
            return await everything(client)

    through, without = run_to_end(attempt(True)), run_to_end(attempt(False))

    assert through == without
    assert len(through[-1]) == 3


@_ERAS
def test_a_refused_call_is_a_result_and_never_reaches_the_server(home: Home, mode: str):
    async def attempt() -> tuple[Any, Any, list[str]]:
        small = SmallServer()
        async with official(home, small.server, mode=mode) as client:
            refused = await client.call_tool("run_command", {"command": "rm -rf /"})
            wrong = await client.call_tool("run_command", {"command": 7})
            return refused, wrong, small.commands

    refused, wrong, commands = run_to_end(attempt())

    assert refused.is_error
    assert "deletes the system" in refused.content[0].text
    assert refused.meta["dev.interlock/decision"]["decision"] == "block"
    assert wrong.is_error
    assert "expected `type`" in wrong.content[0].text
    assert commands == []


@_ERAS
@pytest.mark.parametrize("agreed", [True, False, None])
def test_the_official_client_asks_its_user(home: Home, mode: str, agreed: bool | None):
    asked: list[str] = []

    async def elicited(context: object, params: Any) -> ElicitResult:
        asked.append(params.message)
        if agreed is None:
            return ElicitResult(action="cancel")
        return ElicitResult(action="accept", content={"allow": agreed})

    async def attempt() -> tuple[Any, list[str]]:
        small = SmallServer()
        async with official(
            home,
            small.server,
            mode=mode,
            client={"elicitation_callback": elicited},
            confirm=Confirm.ELICIT,
        ) as client:
            result = await client.call_tool("run_command", {"command": "git push --force"})
            return result, small.commands

    result, commands = run_to_end(attempt())

    assert len(asked) == 1
    assert result.is_error is not agreed or agreed is None
    assert commands == (["git push --force"] if agreed else [])


@_ERAS
def test_a_cancelled_call_is_cancelled_at_the_server(home: Home, mode: str):
    async def attempt() -> None:
        small = SmallServer()
        async with official(home, small.server, mode=mode) as client:
            calling = asyncio.create_task(client.call_tool("wait", {}))
            await small.has_begun.wait()
            calling.cancel()
            await small.is_cancelled.wait()

    run_to_end(attempt())
