"""The ends of a proxy that are lines: its own standard streams, and a process that it starts."""

from __future__ import annotations

import asyncio
import contextlib
import os
import stat
import sys
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from typing import Final, Self

from interlock import settings
from interlock.adapters.mcp.rpc_message import LARGEST
from interlock.errors import InputError, UnavailableError

_ENDS_WITHIN_S: Final = 5.0
_DIES_WITHIN_S: Final = 2.0
_NO_PIPES: Final = (
    "standard input and output are not pipes: a client starts this and sends MCP through them;"
    " `--listen` serves HTTP instead"
)


class LineChannel:
    """Messages as lines, in and out."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._lock = asyncio.Lock()

    async def read(self) -> bytes | None:
        """Return the next line that is not empty; None at the end."""
        while True:
            try:
                line = await self._reader.readline()
            except ValueError as error:
                raise UnavailableError(f"a message has more than {LARGEST:,} bytes") from error
            if not line:
                return None
            if line.strip():
                return line.rstrip(b"\r\n")

    async def write(self, message: bytes) -> None:
        """Write a line."""
        async with self._lock:
            self._writer.write(message + b"\n")
            await self._writer.drain()

    async def end(self) -> None:
        """Close what is written to."""
        self._writer.close()
        with contextlib.suppress(OSError):
            await self._writer.wait_closed()


@asynccontextmanager
async def standard_streams() -> AsyncGenerator[LineChannel]:
    """Return the client at standard input and output; whatever else is printed goes to stderr.

    INVARIANT: standard output is the wire, and nothing but messages is written to it.
    """
    if not os.isatty(0) and stat.S_ISCHR(os.fstat(0).st_mode):
        # The system says yes to waiting for `/dev/null`, and then that it cannot be waited for.
        raise InputError(_NO_PIPES)
    wire = os.dup(1)
    os.dup2(2, 1)
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=LARGEST)
    try:
        came, _ = await loop.connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(reader), sys.stdin.buffer
        )
        transport, protocol = await loop.connect_write_pipe(
            # Nothing is read from it: it only knows when there is room, and when it was closed.
            lambda: asyncio.StreamReaderProtocol(asyncio.StreamReader()),
            os.fdopen(wire, "wb", 0),
        )
    except ValueError as error:
        raise InputError(_NO_PIPES) from error
    channel = LineChannel(reader, asyncio.StreamWriter(transport, protocol, None, loop))
    try:
        yield channel
    finally:
        await channel.end()
        came.close()


class ServerProcess(LineChannel):
    """A server that runs as long as it is spoken to."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        if process.stdin is None or process.stdout is None:
            raise InputError("the server has no standard streams")
        super().__init__(process.stdout, process.stdin)
        self._process = process

    @classmethod
    async def start(cls, command: Sequence[str]) -> Self:
        """Start it, with what this process knows but for an agent's token."""
        environment = {
            name: value
            for name, value in settings.environment().items()
            if name != "INTERLOCK_TOKEN"
        }
        try:
            process = await asyncio.create_subprocess_exec(
                *command,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                env=environment,
                limit=LARGEST,
            )
        except OSError as error:
            raise InputError(
                f"the server `{command[0]}` cannot be started: {error.strerror}"
            ) from error
        return cls(process)

    async def close(self) -> int:
        """Let it end by itself, and end it where it does not; return its exit code."""
        await self.end()
        for patience_s, insist in (
            (_ENDS_WITHIN_S, self._process.terminate),
            (_DIES_WITHIN_S, self._process.kill),
        ):
            try:
                return await asyncio.wait_for(self._process.wait(), patience_s)
            except TimeoutError:
                with contextlib.suppress(ProcessLookupError):
                    insist()
        return await self._process.wait()


@asynccontextmanager
async def server_process(command: Sequence[str]) -> AsyncGenerator[ServerProcess]:
    """Run a server for as long as it is needed."""
    server = await ServerProcess.start(command)
    try:
        yield server
    finally:
        await server.close()
