"""Clients that come over streamable HTTP: each of them has a proxy, and a server, of its own.

A client that shakes hands has a session. Since 2026-07-28 there are none: each request is put to a
server that has nothing else to do just then, and the one that was asked last is asked first.
"""

from __future__ import annotations

import asyncio
import contextlib
import secrets
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Final
from urllib.parse import urlsplit

from mcp_types import PROTOCOL_VERSION_META_KEY
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from interlock.adapters.mcp.message_proxy import Channel
from interlock.adapters.mcp.rpc_message import (
    LARGEST,
    Id,
    Message,
    notification_line,
    server_message,
    table,
    table_in,
)
from interlock.errors import InputError

_SESSION: Final = "mcp-session-id"
_MOST_SESSIONS: Final = 64
_MOST_KEPT: Final = 1000
LOOPBACK: Final = ("127.0.0.1", "::1", "localhost")


class HttpClient:
    """What one client sends and hears, each answer on the stream of its request."""

    def __init__(self) -> None:
        self._came: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._answers: dict[Id, asyncio.Queue[bytes | None]] = {}
        self._others: asyncio.Queue[bytes | None] = asyncio.Queue(_MOST_KEPT)
        """What belongs to no request, for whoever listens to that."""

    async def read(self) -> bytes | None:
        """Return the next message; None where the client is gone."""
        return await self._came.get()

    async def write(self, message: bytes) -> None:
        """Put a message on the stream that it belongs to."""
        told = server_message(message) or Message()
        answered = None if told.method is not None else self._answers.pop(told.request_id, None)
        if answered is not None:
            answered.put_nowait(message)
            answered.put_nowait(None)
            return
        # Whatever a server says by itself is about what it was asked last, if anything is open.
        stream = next(reversed(self._answers.values()), self._others)
        with contextlib.suppress(asyncio.QueueFull):
            stream.put_nowait(message)

    async def end(self) -> None:
        """Close every stream."""
        for stream in (*self._answers.values(), self._others):
            stream.put_nowait(None)
        self._answers.clear()

    def says(self, line: bytes | None) -> None:
        """Take what the client sends; None where it is gone."""
        self._came.put_nowait(line)

    def asks(self, request_id: Id, line: bytes) -> asyncio.Queue[bytes | None]:
        """Take a request; return where its answer will be."""
        if request_id in self._answers:
            raise InputError(f"request `{request_id}` is still under way: use another `id`")
        stream = self._answers[request_id] = asyncio.Queue()
        self.says(line)
        return stream

    @property
    def others(self) -> asyncio.Queue[bytes | None]:
        """Where everything is that belongs to no request."""
        return self._others

    def lets_go(self, request_id: Id) -> None:
        """Note that nobody waits for an answer any more."""
        if self._answers.pop(request_id, None) is not None:
            self.says(notification_line("notifications/cancelled", {"requestId": request_id}))


Carry = Callable[[Channel], Coroutine[object, object, None]]
"""Stands between a client and a server of its own, until the client is gone."""


class HttpFront:
    """Answers HTTP for as many clients as there are."""

    def __init__(self, carry: Carry) -> None:
        self._carry = carry
        self._sessions: dict[str, HttpClient] = {}
        self._idle: list[HttpClient] = []
        self._carrying: dict[HttpClient, asyncio.Task[None]] = {}

    def application(self) -> Starlette:
        """Return what answers at `/mcp`."""
        methods = {"POST": self._post, "GET": self._listen, "DELETE": self._leave}

        async def answered(request: Request) -> Response:
            if not _is_local(request):
                return _refused(403, "only what comes from this machine is answered")
            return await methods[request.method](request)

        route = Route("/mcp", answered, methods=list(methods))
        return Starlette(routes=[route], lifespan=self._lifespan)

    @asynccontextmanager
    async def _lifespan(self, _application: Starlette) -> AsyncGenerator[None]:
        try:
            yield
        finally:
            for client in self._carrying:
                client.says(None)
            await asyncio.gather(*self._carrying.values(), return_exceptions=True)

    async def _post(self, request: Request) -> Response:
        line = await _body(request)
        message = None if line is None else server_message(line)
        if line is None or message is None:
            return _refused(400, "this is no JSON-RPC message")
        session = request.headers.get(_SESSION)
        if session is not None:
            client = self._sessions.get(session)
            return (
                _refused(404, "there is no such session")
                if client is None
                else _said(client, message, line)
            )
        if message.method == "initialize":
            return self._greeted(message, line)
        if message.method is None or message.request_id is None:
            # Since 2026-07-28 a client says nothing but requests.
            return Response(status_code=202)
        if not _is_modern(message):
            return _refused(400, f"`{_SESSION}` is missing")
        client = self._idle.pop() if self._idle else self._begun()
        return _said(client, message, line, lambda: self._idle.append(client))

    def _greeted(self, message: Message, line: bytes) -> Response:
        if len(self._sessions) >= _MOST_SESSIONS:
            return _refused(503, f"{_MOST_SESSIONS} sessions are open: close some of them")
        session = secrets.token_urlsafe(24)
        client = self._sessions[session] = self._begun()
        answer = _said(client, message, line)
        answer.headers[_SESSION] = session
        return answer

    def _begun(self) -> HttpClient:
        client = HttpClient()
        carrying = self._carrying[client] = asyncio.create_task(self._carry(client))
        carrying.add_done_callback(lambda _: self._forget(client))
        return client

    def _forget(self, client: HttpClient) -> None:
        """Let go of a client whose server has ended."""
        self._carrying.pop(client, None)
        self._idle = [each for each in self._idle if each is not client]
        self._sessions = {key: each for key, each in self._sessions.items() if each is not client}

    async def _listen(self, request: Request) -> Response:
        client = self._sessions.get(request.headers.get(_SESSION, ""))
        if client is None:
            return _refused(404, "there is no such session")
        return _stream(client.others, lambda: None)

    async def _leave(self, request: Request) -> Response:
        client = self._sessions.pop(request.headers.get(_SESSION, ""), None)
        if client is None:
            return _refused(404, "there is no such session")
        client.says(None)
        return Response(status_code=200)


def _said(
    client: HttpClient,
    message: Message,
    line: bytes,
    when_answered: Callable[[], None] = lambda: None,
) -> Response:
    if message.method is None or message.request_id is None:
        client.says(line)
        return Response(status_code=202)
    try:
        stream = client.asks(message.request_id, line)
    except InputError as error:
        return _refused(400, str(error))

    def is_over() -> None:
        client.lets_go(message.request_id)
        when_answered()

    return _stream(stream, is_over)


def _stream(messages: asyncio.Queue[bytes | None], when_over: Callable[[], None]) -> Response:
    async def events() -> AsyncIterator[bytes]:
        try:
            while (message := await messages.get()) is not None:
                yield b"event: message\ndata: " + message + b"\n\n"
        finally:
            when_over()

    return StreamingResponse(events(), media_type="text/event-stream", headers=_NOT_KEPT)


_NOT_KEPT: Final = {"cache-control": "no-store"}


async def _body(request: Request) -> bytes | None:
    """Return what was sent as one line; None where it is more than anybody needs."""
    body = b""
    async for piece in request.stream():
        body += piece
        if len(body) > LARGEST:
            return None
    # Within a message a line break is white space.
    return body.replace(b"\r", b" ").replace(b"\n", b" ")


def _is_modern(message: Message) -> bool:
    try:
        return PROTOCOL_VERSION_META_KEY in table_in(table(message.params).get("_meta"))
    except InputError:
        return False


def _is_local(request: Request) -> bool:
    """Refuse what a page of another site sends: its browser says whose it is, or whom it means."""
    named = [f"//{request.headers.get('host', '')}", request.headers.get("origin", "//localhost")]
    return all(urlsplit(each).hostname in LOOPBACK for each in named)


def _refused(status: int, why: str) -> Response:
    error = {"code": -32600, "message": why}
    return JSONResponse({"jsonrpc": "2.0", "id": None, "error": error}, status)
