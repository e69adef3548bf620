"""Both ends of a proxy within the test: raw messages, or the official client and server."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

import anyio
import pytest
from mcp.client import Client
from mcp.server.mcpserver import MCPServer
from mcp.shared.memory import MessageStream, create_client_server_memory_streams
from mcp.shared.message import SessionMessage
from mcp_types import jsonrpc_message_adapter

from interlock import Interlock
from interlock.adapters.mcp.call_judge import Manner
from interlock.adapters.mcp.governed_run import GovernedRun
from interlock.adapters.mcp.message_proxy import Channel, MessageProxy
from interlock.adapters.mcp.tool_catalogue import ToolCatalogue
from interlock.adapters.mcp.tool_pins import PinFile
from interlock.model.events import Event
from interlock.model.run import LEDGER_RUN
from patience import LONG_ENOUGH_S

T = TypeVar("T")
Json = dict[str, Any]

NAME = "small"
GREETING: Json = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "tester", "version": "1"},
}
FORMS: Json = {"elicitation": {}}


def modern(capabilities: Json | None = None) -> Json:
    """Return what every request says since 2026-07-28."""
    return {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "tester", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": capabilities or {},
    }


def run_to_end(attempt: Coroutine[object, object, T]) -> T:
    """Run a coroutine, for as long as anything may take."""

    async def limited() -> T:
        return await asyncio.wait_for(attempt, LONG_ENOUGH_S)

    return asyncio.run(limited())


class Home:
    """A ledger, a policy and pins of a test's own, found by the environment."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        self.run_id: str | None = None
        """The run that is asked in; None is one of the proxy's own."""
        self.policy = folder / "policy.toml"
        self.policy.write_text("version = 1\n")
        self.pins = PinFile(folder / "state" / "interlock" / "mcp-pins.json")
        for name in ("INTERLOCK_RUN", "INTERLOCK_TOKEN", "INTERLOCK_LEDGER"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setenv("HOME", str(folder))
        monkeypatch.setenv("XDG_STATE_HOME", str(folder / "state"))
        monkeypatch.setenv("XDG_CONFIG_HOME", str(folder / "config"))
        monkeypatch.setenv("INTERLOCK_POLICY", str(self.policy))

    def opened(self) -> Interlock:
        return Interlock.open()

    def events(self) -> list[Event]:
        """Return everything that is on record of the only run."""
        with self.opened() as interlock:
            rows = interlock.ledger.rows.runs(limit=10)
            (row,) = [each for each in rows if each.id != LEDGER_RUN]
            return [each.event for each in interlock.resume(row.id).ledger]

    def catalogue(self) -> ToolCatalogue:
        return ToolCatalogue(self.pins, "the identity", NAME)

    def proxy(
        self, client: Channel, server: Channel, **manner: Any
    ) -> tuple[MessageProxy, GovernedRun]:
        run = GovernedRun(task="a test", run_id=self.run_id)
        catalogue = self.catalogue()
        return (
            MessageProxy(
                client, server, manner=Manner(NAME, **manner), run=run, catalogue=catalogue
            ),
            run,
        )


class MemoryEnd:
    """One end, which the test itself plays: `None` is its end."""

    def __init__(self) -> None:
        self._from: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._to: asyncio.Queue[bytes | None] = asyncio.Queue()

    async def read(self) -> bytes | None:
        return await self._from.get()

    async def write(self, message: bytes) -> None:
        await self._to.put(message)

    async def end(self) -> None:
        await self._to.put(None)

    def says(self, message: Json | bytes | None) -> None:
        if isinstance(message, dict):
            message = json.dumps(message).encode()
        self._from.put_nowait(message)

    async def hears(self) -> Json:
        heard = await self._to.get()
        assert heard is not None, "nothing more is said"
        return json.loads(heard)

    async def hears_raw(self) -> bytes | None:
        return await self._to.get()

    def has_heard_all(self) -> bool:
        return self._to.empty()


class Both:
    """A proxy between a client and a server that the test plays."""

    def __init__(self) -> None:
        self.client = MemoryEnd()
        self.server = MemoryEnd()
        self._count = 0

    async def greet(self, capabilities: Json | None = None) -> None:
        """Shake hands, and have the tools of the server listed."""
        params = {**GREETING, "capabilities": capabilities or {}}
        self.client.says(
            {"jsonrpc": "2.0", "id": "hello", "method": "initialize", "params": params}
        )
        await self.server.hears()
        self.server.says({"jsonrpc": "2.0", "id": "hello", "result": {}})
        await self.client.hears()

    async def list_tools(self, *tools: Json) -> Json:
        """Have the client list the tools; return what it is shown."""
        self.client.says({"jsonrpc": "2.0", "id": "list", "method": "tools/list"})
        await self.server.hears()
        self.server.says(
            {"jsonrpc": "2.0", "id": "list", "result": {"tools": list(tools or TOOLS)}}
        )
        return await self.client.hears()

    def calls(self, name: str, arguments: Json, **params: Any) -> int:
        """Have the client call a tool; return the number of the call."""
        self._count += 1
        whole = {"name": name, "arguments": arguments, **params}
        self.client.says(
            {"jsonrpc": "2.0", "id": self._count, "method": "tools/call", "params": whole}
        )
        return self._count

    async def answers(self, request: Json, text: str = "done") -> Json:
        """Have the server answer what it heard; return what the client hears."""
        result = {"content": [{"type": "text", "text": text}]}
        self.server.says({"jsonrpc": "2.0", "id": request["id"], "result": result})
        return await self.client.hears()


TOOLS: tuple[Json, ...] = (
    {
        "name": "run_command",
        "description": "runs a command",
        "inputSchema": {
            "$schema": "http://json-schema.org/draft-07/schema#",
            "type": "object",
            "properties": {"command": {"type": "string"}},
            "required": ["command"],
            "additionalProperties": False,
        },
    },
    {"name": "echo", "description": "says it again", "inputSchema": {"type": "object"}},
)


@asynccontextmanager
async def both_ends(home: Home, **manner: Any) -> AsyncGenerator[Both]:
    """Play both ends of a proxy."""
    ends = Both()
    proxy, run = home.proxy(ends.client, ends.server, **manner)
    carrying = asyncio.create_task(proxy.carry())
    try:
        yield ends
    finally:
        ends.client.says(None)
        ends.server.says(None)
        await carrying
        await run.close()


class StreamEnd:
    """An end that is an official client or server, in the same process."""

    def __init__(self, streams: MessageStream) -> None:
        self._from, self._to = streams

    async def read(self) -> bytes | None:
        async for came in self._from:
            assert isinstance(came, SessionMessage)
            return came.message.model_dump_json(by_alias=True, exclude_unset=True).encode()
        return None

    async def write(self, message: bytes) -> None:
        sent = jsonrpc_message_adapter.validate_json(message, by_name=False)
        try:
            await self._to.send(SessionMessage(sent))
        except anyio.BrokenResourceError as error:
            raise ConnectionResetError from error

    async def end(self) -> None:
        await self._to.aclose()


@asynccontextmanager
async def connected(near: MessageStream, mode: str, **client: Any) -> AsyncGenerator[Client]:
    """Have the official client speak through streams, which it leaves closed."""

    @asynccontextmanager
    async def transport() -> AsyncGenerator[MessageStream]:
        yield near

    async with Client(transport(), mode=mode, **client) as made:
        yield made
    await near[1].aclose()


@asynccontextmanager
async def official(
    home: Home,
    server: MCPServer[Any],
    *,
    mode: str,
    through: bool = True,
    client: Json | None = None,
    **manner: Any,
) -> AsyncGenerator[Client]:
    """Have the official client speak to the official server, through a proxy or without one."""
    async with (
        create_client_server_memory_streams() as (near, near_end),
        create_client_server_memory_streams() as (far_end, far),
    ):
        low = server._lowlevel_server
        its_end = far if through else near_end
        serving = low.run(*its_end, low.create_initialization_options())
        tasks = [asyncio.create_task(serving)]
        run: GovernedRun | None = None
        if through:
            proxy, run = home.proxy(StreamEnd(near_end), StreamEnd(far_end), **manner)
            tasks.append(asyncio.create_task(proxy.carry()))
        async with connected(near, mode, **(client or {})) as made:
            yield made
        await asyncio.gather(*tasks)
        if run is not None:
            await run.close()
