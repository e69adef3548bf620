"""Bytes in and out: bodies with a limit, JSON both ways, answers."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from typing import Any, Final, cast

import msgspec

from interlock.server.wire.problem import Refused
from interlock.views.units import json_text

Scope = MutableMapping[str, Any]
"""What an ASGI server tells of a request."""
Message = MutableMapping[str, Any]
Receiver = Callable[[], Awaitable[Message]]
Sender = Callable[[Message], Awaitable[None]]
Headers = Iterable[tuple[str, str]]

LARGEST_BODY: Final = 4 * 2**20
"""More than any action needs: a larger one is refused, unread."""
LARGE: Final = 32 * 1024
"""What is larger takes its time: it is looked at apart."""
_MOST_VALUES: Final = 200_000
_BODY_S: Final = 20.0
"""So long a client may take to send what it announced."""
JSON: Final = "application/json"
_DECODER: Final = msgspec.json.Decoder()


async def whole_body(receive: Receiver, largest: int = LARGEST_BODY) -> bytes:
    """Return all that is sent; raise Refused where it is too much or too slow."""
    try:
        async with asyncio.timeout(_BODY_S):
            return await _collected(receive, largest)
    except TimeoutError:
        raise Refused(408, f"the body did not arrive within {_BODY_S:g} seconds") from None


async def _collected(receive: Receiver, largest: int) -> bytes:
    parts: list[bytes] = []
    length, is_more = 0, True
    while is_more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise Refused(400, "the client went away before it had sent everything")
        part = cast("bytes", message.get("body", b""))
        length += len(part)
        if length > largest:
            raise Refused(413, f"the body is larger than {largest:,} bytes: send less at a time")
        parts.append(part)
        is_more = bool(message.get("more_body"))
    body = parts[0] if len(parts) == 1 else b"".join(parts)
    if length > LARGE and _values_in(body) > _MOST_VALUES:
        raise Refused(413, f"the body holds more than {_MOST_VALUES:,} values: send less at a time")
    return body


def _values_in(body: bytes) -> int:
    """Return at least how many lists, tables and names a body in JSON holds, text included."""
    return body.count(b"[") + body.count(b"{") + body.count(b'":')


def json_table(body: bytes, content_type: str) -> dict[str, object]:
    """Return the table that a body holds; an empty one is an empty table."""
    if not body:
        return {}
    kind = content_type.partition(";")[0].strip().lower()
    if kind not in ("", JSON) and not kind.endswith("+json"):
        raise Refused(
            415, f"the body is `{content_type[:60]}`, expected the header `Content-Type: {JSON}`"
        )
    try:
        found = _decoded(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise Refused(400, f"the body is not JSON: {error}") from None
    if not isinstance(found, dict):
        raise Refused(400, "the body is not a JSON object")
    return cast("dict[str, object]", found)


def _decoded(body: bytes) -> object:
    """Return what a body says; nothing else is done meanwhile, so it is done fast."""
    if len(body) <= LARGE or not gc.isenabled():
        return _DECODER.decode(body)
    # To look for garbage among what is just made takes several times as long as making it.
    gc.disable()
    try:
        return _DECODER.decode(body)
    finally:
        gc.enable()


def json_bytes(value: object) -> bytes:
    """Return a value as JSON."""
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:
        # Half of a character, as cut-off text has.
        return json_text(value).encode()


async def send_answer(
    send: Sender,
    status: int,
    body: bytes,
    content_type: str = JSON,
    headers: Headers = (),
) -> None:
    """Send a whole answer."""
    sent = [
        (b"content-type", content_type.encode("ascii")),
        (b"content-length", str(len(body)).encode("ascii")),
        *((name.encode("latin-1"), value.encode("latin-1")) for name, value in headers),
    ]
    await send({"type": "http.response.start", "status": status, "headers": sent})
    await send({"type": "http.response.body", "body": body})


def header(scope: Scope, name: bytes) -> str:
    """Return a header of a request, empty where there is none; two of one name are refused."""
    found = [value for each, value in scope["headers"] if each == name]
    if len(found) > 1:
        raise Refused(400, f"the header `{name.decode()}` stands there twice")
    return found[0].decode("latin-1") if found else ""
