"""A server elsewhere: the same through the proxy, in both eras, over streamable HTTP."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import pytest
import uvicorn
from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.memory import create_client_server_memory_streams
from mcp_types import ElicitResult

from interlock.adapters.mcp.call_judge import CallMemory, Confirm, Manner
from interlock.adapters.mcp.governed_run import GovernedRun
from interlock.adapters.mcp.http_channel import http_server
from interlock.adapters.mcp.http_front import HttpFront
from interlock.adapters.mcp.message_proxy import Channel, MessageProxy
from mcp_proxy.ends import NAME, Home, StreamEnd, connected, official, run_to_end
from mcp_proxy.small_server import SmallServer
from mcp_proxy.test_eras import everything

_ERAS = pytest.mark.parametrize("mode", ["auto", "legacy"])


@asynccontextmanager
async def _served(small: SmallServer, seen: list[str]) -> AsyncGenerator[str]:
    """Serve over HTTP; return where."""
    inner = small.server.streamable_http_app()

    async def noting(scope: Any, receive: Any, send: Any) -> None:
        seen.extend(
            value.decode() for name, value in scope.get("headers", ()) if name == b"authorization"
        )
        await inner(scope, receive, send)

    async with _listening(noting) as url:
        yield url


@asynccontextmanager
async def _listening(application: Any) -> AsyncGenerator[str]:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        server = uvicorn.Server(uvicorn.Config(application, log_level="error", ws="none"))
        serving = asyncio.create_task(server.serve([listening]))
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}/mcp"
        finally:
            server.should_exit = True
            await serving


@asynccontextmanager
async def _through(home: Home, url: str, mode: str) -> AsyncGenerator[Client]:
    async with (
        create_client_server_memory_streams() as (near, near_end),
        http_server(url, home.catalogue(), "a-token") as far,
    ):
        proxy, run = home.proxy(StreamEnd(near_end), far)
        carrying = asyncio.create_task(proxy.carry())
        async with connected(near, mode) as client:
            yield client
        await carrying
        await run.close()


@_ERAS
def test_everything_is_the_same_with_and_without_it(home: Home, mode: str):
    async def attempt() -> tuple[list[Any], list[Any], list[str], list[str]]:
        small, seen = SmallServer(), list[str]()
        async with _served(small, seen) as url:
            async with Client(
                streamable_http_client(url, max_sse_event_size=None), mode=mode
            ) as client:
                without = await everything(client)
            async with _through(home, url, mode) as client:
                through = await everything(client)
                refused = await client.call_tool("run_command", {"command": "rm -rf /"})
                assert refused.is_error
            return through, without, seen, small.commands

    through, without, seen, commands = run_to_end(attempt())

    assert through == without
    assert set(seen) == {"Bearer a-token"}
    assert commands == []


def test_a_server_that_is_not_there_has_ended(home: Home):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/mcp"

    async def attempt() -> bytes | None:
        async with http_server(url, home.catalogue(), None) as far:
            await far.write(b'{"jsonrpc":"2.0","id":1,"method":"ping"}')
            return await far.read()

    assert run_to_end(attempt()) is None


@asynccontextmanager
async def _in_front(home: Home, small: SmallServer) -> AsyncGenerator[str]:
    """Serve a proxy over HTTP; every client of it has the server to itself."""
    run, memory = GovernedRun(task="a test", run_id=None), CallMemory()

    async def carry(client: Channel) -> None:
        async with create_client_server_memory_streams() as (far_end, far):
            low = small.server._lowlevel_server
            serving = asyncio.create_task(low.run(*far, low.create_initialization_options()))
            proxy = MessageProxy(
                client,
                StreamEnd(far_end),
                manner=Manner(NAME, Confirm.ELICIT),
                run=run,
                catalogue=home.catalogue(),
                memory=memory,
            )
            await proxy.carry()
            await serving

    async with _listening(HttpFront(carry).application()) as url:
        yield url
    await run.close()


@_ERAS
def test_clients_over_http_hear_the_same(home: Home, mode: str):
    asked: list[str] = []

    async def elicited(context: object, params: Any) -> ElicitResult:
        asked.append(params.message)
        return ElicitResult(action="accept", content={"allow": True})

    async def attempt() -> tuple[list[Any], list[Any], list[str]]:
        small = SmallServer()
        async with official(home, small.server, mode=mode, through=False) as client:
            without = await everything(client)
        small = SmallServer()
        async with _in_front(home, small) as url:
            transport = streamable_http_client(url, max_sse_event_size=None)
            async with Client(transport, mode=mode, elicitation_callback=elicited) as client:
                through = await everything(client)
                together = await asyncio.gather(
                    *(client.call_tool("echo", {"text": str(each)}) for each in range(5))
                )
                refused = await client.call_tool("run_command", {"command": "rm -rf /"})
                await client.call_tool("run_command", {"command": "git push --force"})
            assert [each.structured_content["said"] for each in together] == list("01234")
            assert refused.is_error
        return through, without, small.commands

    through, without, commands = run_to_end(attempt())

    assert through == without
    assert len(asked) == 1
    assert commands == ["git push --force"]


@pytest.mark.parametrize("headers", [{"host": "evil.example"}, {"origin": "https://evil.example"}])
def test_a_page_of_another_site_is_not_answered(home: Home, headers: dict[str, str]):
    async def attempt() -> int:
        async with _in_front(home, SmallServer()) as url, httpx2.AsyncClient() as client:
            ping = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
            return (await client.post(url, json=ping, headers=headers)).status_code

    assert run_to_end(attempt()) == 403


def test_what_is_no_message_of_anybody_is_refused(home: Home):
    async def attempt() -> list[int]:
        async with _in_front(home, SmallServer()) as url, httpx2.AsyncClient() as client:
            ping = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
            unknown = {"mcp-session-id": "x"}
            return [
                (await client.post(url, content=b"{")).status_code,
                (await client.post(url, json=ping)).status_code,
                (await client.post(url, json=ping, headers=unknown)).status_code,
                (await client.get(url, headers=unknown)).status_code,
                (await client.delete(url)).status_code,
            ]

    assert run_to_end(attempt()) == [400, 400, 404, 404, 404]
