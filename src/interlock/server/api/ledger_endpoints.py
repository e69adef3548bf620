"""The ledger itself: what it holds, all of it as lines, whether it holds, and what is new in it."""

from __future__ import annotations

from functools import partial
from typing import Final

from interlock.model.entrance import entrance
from interlock.model.principal import Scope
from interlock.model.rows import WrittenRow
from interlock.server.desk.endpoint import Call, Endpoint, Place, Streamed
from interlock.server.desk.live import stream
from interlock.server.wire.http_message import Receiver, Sender
from interlock.views.ledger_view import (
    LedgerInfo,
    Verification,
    ledger_info,
    verified_ledger,
    verified_run,
)

_PAGE: Final = 500
_LINES: Final = "application/x-ndjson"
_EVENTS: Final = "text/event-stream"


async def _info(call: Call) -> LedgerInfo:
    ledger = call.desk.ledger
    return await call.look(lambda: ledger_info(ledger, call.desk.now()))


async def _export(call: Call) -> Streamed:
    """Send every record behind a place, a line each, as fast as it is read at the other end."""
    rows = call.desk.ledger.rows

    async def send_lines(_receive: Receiver, send: Sender) -> None:
        headers = [(b"content-type", _LINES.encode())]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        after: int = call.query.get("after", 0)
        while page := await call.look(partial(rows.written, after=after, limit=_PAGE)):
            body = b"".join(map(_line, page))
            await send({"type": "http.response.body", "body": body, "more_body": True})
            after = page[-1].position
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    return Streamed(send_lines)


def _line(written: WrittenRow) -> bytes:
    row = written.record
    return b'{"position":%d,"hash":"%b","record":%b}\n' % (
        written.position,
        row.hash.encode(),
        row.body,
    )


@entrance
async def verification(call: Call, run: str | None = None) -> Verification:
    """Hold one run, or everything, against its chain and its seals."""
    ledger = call.desk.ledger

    def work() -> Verification:
        with ledger.store.frozen() as rows:
            if run is not None:
                return verified_run(ledger, rows, run)
            return verified_ledger(ledger, rows, lambda _read, _total: None)

    async with call.desk.heavy:
        return await call.look(work)


async def _verify(call: Call) -> Verification:
    return await call.say(verification, call)


async def _stream(call: Call) -> Streamed:
    """Send what is recorded, by its ids, as it is recorded."""
    news, seen = call.desk.news, call.last_event
    is_place = seen.isascii() and seen.isdecimal() and len(seen) < 16
    after = int(seen) if is_place else call.query.get("after", news.position)
    return Streamed(partial(stream, news, after))


LEDGER_ENDPOINTS: Final = (
    Endpoint(
        method="GET",
        path="/v1/ledger",
        scope=Scope.VIEWER,
        summary="Where the ledger is, what it holds, who may decide in it",
        perform=_info,
        answer=LedgerInfo,
    ),
    Endpoint(
        method="GET",
        path="/v1/ledger/export",
        scope=Scope.VIEWER,
        summary="Every record behind a place, in the order of writing, a line of JSON each",
        perform=_export,
        query={"after": Place},
        answer=str,
        kind=_LINES,
    ),
    Endpoint(
        method="POST",
        path="/v1/ledger/verify",
        scope=Scope.VIEWER,
        summary="Hold every record against its chain and its seals",
        perform=_verify,
        body=verification,
        given=("call",),
        answer=Verification,
    ),
    Endpoint(
        method="GET",
        path="/v1/stream",
        scope=Scope.VIEWER,
        summary="What is recorded, by its ids, as it is recorded (server-sent events)",
        perform=_stream,
        query={"after": Place},
        answer=str,
        kind=_EVENTS,
    ),
)
