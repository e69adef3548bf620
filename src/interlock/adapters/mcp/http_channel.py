"""A server elsewhere, which speaks streamable HTTP."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Iterator, Mapping
from contextlib import asynccontextmanager
from typing import Final

import httpx2
from mcp.client._transport import ReadStream, WriteStream
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.inbound import (
    MCP_METHOD_HEADER,
    MCP_NAME_HEADER,
    MCP_PROTOCOL_VERSION_HEADER,
    NAME_BEARING_METHODS,
    encode_header_value,
    mcp_param_headers,
    x_mcp_header_map,
)
from mcp.shared.message import ClientMessageMetadata, SessionMessage
from mcp_types import PROTOCOL_VERSION_META_KEY, jsonrpc_message_adapter
from pydantic import ValidationError

from interlock.adapters.mcp.rpc_message import LARGEST, Id, server_message, table, table_in
from interlock.adapters.mcp.tool_catalogue import ToolCatalogue
from interlock.errors import InputError

_LOG: Final = logging.getLogger("interlock.mcp")
_CONNECT_S: Final = 30.0


class HttpServer:
    """Messages to and from a server elsewhere."""

    def __init__(self, catalogue: ToolCatalogue) -> None:
        self._catalogue = catalogue
        self._came: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._sent: asyncio.Queue[SessionMessage] = asyncio.Queue()
        self._open: set[Id] = set()
        """The requests that the server has not answered."""
        self._is_ended = False
        self._initializes: Id = None
        self._version = ""

    async def speak(self, url: str, token: str | None) -> None:
        """Carry messages until it is ended; a server that cannot be reached has ended."""
        headers = {} if token is None else {"authorization": f"Bearer {token}"}
        # A call may take as long as it takes: its client knows how long it waits.
        patience = httpx2.Timeout(_CONNECT_S, read=None)
        try:
            async with (
                httpx2.AsyncClient(headers=headers, timeout=patience) as client,
                streamable_http_client(url, http_client=client, max_sse_event_size=LARGEST) as (
                    came,
                    to,
                ),
                asyncio.TaskGroup() as both,
            ):
                both.create_task(self._receive(came))
                both.create_task(self._send(to))
        except* Exception as errors:  # noqa: BLE001 - whatever it is, nothing more will come
            kinds = ", ".join({type(each).__name__ for each in _leaves(errors)})
            _LOG.warning("the server is not reached any more: %s", kinds)
        finally:
            self._came.put_nowait(None)

    async def _receive(self, came: ReadStream[SessionMessage | Exception]) -> None:
        async for each in came:
            if isinstance(each, SessionMessage):
                line = each.message.model_dump_json(by_alias=True, exclude_unset=True).encode()
                self._note(line)
                self._came.put_nowait(line)
                self._end_if_done()

    async def _send(self, to: WriteStream[SessionMessage]) -> None:
        while True:
            await to.send(await self._sent.get())

    async def read(self) -> bytes | None:
        """Return the next message; None where no more will come."""
        return await self._came.get()

    async def write(self, message: bytes) -> None:
        """Send a message, with the headers that say the same."""
        try:
            sent = jsonrpc_message_adapter.validate_json(message, by_name=False)
        except ValidationError as error:
            raise InputError("this is no message of the protocol: nothing was sent") from error
        headers = self._headers(message)
        metadata = ClientMessageMetadata(headers=headers) if headers else None
        self._sent.put_nowait(SessionMessage(sent, metadata))

    async def end(self) -> None:
        """Let the server go once it has answered."""
        self._is_ended = True
        self._end_if_done()

    def _end_if_done(self) -> None:
        if self._is_ended and not self._open:
            self._came.put_nowait(None)

    def _headers(self, message: bytes) -> dict[str, str]:
        told = server_message(message)
        if told is None or told.method is None:
            return {}
        if told.request_id is not None:
            self._open.add(told.request_id)
        if told.method == "initialize":
            self._initializes = told.request_id
            return {}
        params = table(told.params)
        version = table_in(params.get("_meta")).get(PROTOCOL_VERSION_META_KEY)
        if not isinstance(version, str):
            return {MCP_PROTOCOL_VERSION_HEADER: self._version} if self._version else {}
        headers = {MCP_PROTOCOL_VERSION_HEADER: version, MCP_METHOD_HEADER: told.method}
        name = params.get(NAME_BEARING_METHODS.get(told.method, ""))
        if isinstance(name, str):
            headers[MCP_NAME_HEADER] = encode_header_value(name)
            arguments = table_in(params.get("arguments"))
            headers.update(self._of_arguments(name, arguments))
        return headers

    def _of_arguments(self, name: str, arguments: Mapping[str, object]) -> Mapping[str, str]:
        """Return what a tool wants repeated as headers."""
        schema = self._catalogue.schema_of(name)
        return mcp_param_headers(x_mcp_header_map(schema), arguments)

    def _note(self, line: bytes) -> None:
        """Remember what is answered, and what both ends agreed on: later messages repeat it."""
        told = server_message(line)
        if told is None or told.method is not None:
            return
        self._open.discard(told.request_id)
        if told.request_id == self._initializes and told.result is not None:
            version = table(told.result).get("protocolVersion")
            self._version = version if isinstance(version, str) else ""
            self._initializes = None


def _leaves(errors: BaseExceptionGroup[Exception]) -> Iterator[Exception]:
    for each in errors.exceptions:
        if isinstance(each, BaseExceptionGroup):
            yield from _leaves(each)
        else:
            yield each


@asynccontextmanager
async def http_server(
    url: str, catalogue: ToolCatalogue, token: str | None
) -> AsyncGenerator[HttpServer]:
    """Connect to a server, with a token where it wants one."""
    server = HttpServer(catalogue)
    speaking = asyncio.create_task(server.speak(url, token))
    try:
        yield server
    finally:
        speaking.cancel()
        await asyncio.gather(speaking, return_exceptions=True)
