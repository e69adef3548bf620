"""`interlock mcp`: a proxy as a process, between what a client starts and the server it wants."""

from __future__ import annotations

import asyncio
import re
import signal
from collections.abc import Callable, Coroutine
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import msgspec

from interlock.adapters.mcp.call_judge import CallMemory, Confirm, Manner
from interlock.adapters.mcp.channels import server_process, standard_streams
from interlock.adapters.mcp.governed_run import GovernedRun
from interlock.adapters.mcp.message_proxy import Channel, MessageProxy
from interlock.adapters.mcp.tool_catalogue import ToolCatalogue
from interlock.adapters.mcp.tool_pins import PinFile, server_identity
from interlock.errors import InputError

_RUNNERS: Final = frozenset(
    "npx bunx pnpm uvx uv pipx node deno bun python python3 docker podman sh bash env".split()
)
_SUBCOMMANDS: Final = frozenset(("run", "exec", "dlx", "tool", "x"))
_NAME: Final = re.compile(r"[^A-Za-z0-9_-]+")


class ProxyOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What a proxy is told."""

    pins: Path
    command: tuple[str, ...] = ()
    url: str | None = None
    listen: str | None = None
    """Where clients come over HTTP; None is the one at the standard streams."""
    token: str | None = None
    """What the server at the URL is shown."""
    name: str | None = None
    run_id: str | None = None
    confirm: Confirm | None = None
    wait_s: float | None = None

    @property
    def server_name(self) -> str:
        """What the server is called in policies."""
        name = self.name or (_name_of_url(self.url) if self.url else _name_of(self.command))
        plain = _NAME.sub("-", name).strip("-")
        if not plain or "__" in plain:
            raise InputError(f"`{name}` names no server: give it one with `--name`, without `__`")
        return plain

    @property
    def identity(self) -> str:
        """What tells the server apart from others."""
        return server_identity(self.command or (self.url or "",))


def run_proxy(options: ProxyOptions) -> None:
    """Stand between the client at the standard streams and a server, until either ends."""
    asyncio.run(_between(options))


async def _between(options: ProxyOptions) -> None:
    task = asyncio.current_task()
    if task is not None and options.listen is None:
        for each in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(each, task.cancel)
    run = GovernedRun(task=f"calls of MCP server {options.server_name}", run_id=options.run_id)
    memory = CallMemory()
    try:
        if options.listen is not None:
            await _listen(options.listen, lambda client: _carry(client, options, run, memory))
            return
        async with standard_streams() as client:
            await _carry(client, options, run, memory)
    finally:
        await run.close()


async def _listen(
    address: str, carry: Callable[[Channel], Coroutine[object, object, None]]
) -> None:
    """Serve clients over HTTP until SIGTERM or Ctrl-C."""
    import uvicorn  # noqa: PLC0415 - only with the extra

    from interlock.adapters.mcp.http_front import LOOPBACK, HttpFront  # noqa: PLC0415 - the same

    host, _, port = address.rpartition(":")
    host = host.strip("[]")
    if host not in LOOPBACK or not port.isdecimal():
        raise InputError(
            f"`--listen {address}` is not an address of this machine: expected `127.0.0.1:PORT`;"
            " other machines are refused, because requests here are not authenticated"
        )
    config = uvicorn.Config(
        HttpFront(carry).application(), host, int(port), log_level="warning", ws="none"
    )
    await uvicorn.Server(config).serve()


async def _carry(
    client: Channel, options: ProxyOptions, run: GovernedRun, memory: CallMemory
) -> None:
    """Stand between one client and a server of its own."""
    name = options.server_name
    catalogue = ToolCatalogue(PinFile(options.pins), options.identity, name)
    async with AsyncExitStack() as ends:
        server = await _server(options, catalogue, ends)
        proxy = MessageProxy(
            client,
            server,
            manner=Manner(name, options.confirm, options.wait_s),
            run=run,
            catalogue=catalogue,
            memory=memory,
        )
        try:
            await proxy.carry()
        finally:
            await client.end()


async def _server(options: ProxyOptions, catalogue: ToolCatalogue, ends: AsyncExitStack) -> Channel:
    if options.url is None:
        return await ends.enter_async_context(server_process(options.command))
    from interlock.adapters.mcp.http_channel import http_server  # noqa: PLC0415 - only with the extra

    return await ends.enter_async_context(http_server(options.url, catalogue, options.token))


def _name_of(command: tuple[str, ...]) -> str:
    """Return what a command runs: of `npx -y @scope/server-files /tmp` it is `server-files`."""
    words = [Path(each).name for each in command if not each.startswith("-")]
    while len(words) > 1 and (words[0] in _RUNNERS or words[0] in _SUBCOMMANDS):
        words = words[1:]
    return words[0].partition("@")[0].removesuffix(".py").removesuffix(".js") if words else ""


def _name_of_url(url: str) -> str:
    return urlsplit(url).hostname or ""
