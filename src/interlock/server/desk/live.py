"""Events as they happen, for a connection that stays open (SSE): ids only, never what they say."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Final

from interlock.model.run import LEDGER_RUN
from interlock.model.system_loop import LOOP_RUN
from interlock.server.desk.news import Item, News
from interlock.server.wire.http_message import Receiver, Sender, json_bytes

_KEPT_ALIVE_S: Final = 15.0


async def stream(news: News, after: int, receive: Receiver, send: Sender) -> None:
    """Send what is recorded behind a place, until either side ends it."""
    headers = [(b"content-type", b"text/event-stream"), (b"x-accel-buffering", b"no")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await _send(send, b"retry: 1000\n\n")
    items = news.since(after)
    gone = asyncio.create_task(_gone(receive))
    coming = asyncio.ensure_future(anext(items, None))
    try:
        while not gone.done():
            await asyncio.wait(
                (coming, gone), timeout=_KEPT_ALIVE_S, return_when=asyncio.FIRST_COMPLETED
            )
            if not coming.done():
                await _send(send, b":\n\n")
                continue
            item = coming.result()
            if item is None:
                break
            await _send(send, _event(item))
            coming = asyncio.ensure_future(anext(items, None))
    finally:
        for task in (gone, coming):
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError, StopAsyncIteration):
                await task
        await items.aclose()
    await send({"type": "http.response.body", "body": b"", "more_body": False})


def _event(item: Item) -> bytes:
    told = json_bytes({"run": item.run_id, "seq": item.seq, "kind": item.kind})
    return b"id: %d\nevent: %s\ndata: %s\n\n" % (item.position, _subject(item).encode(), told)


def _subject(item: Item) -> str:
    """Return what a record changes, for whoever shows it."""
    if item.kind.startswith("approval-"):
        return "approval"
    if item.kind == "policy-adopted":
        return "policy"
    if item.run_id == LOOP_RUN:
        return "loop"
    return "run" if item.kind.startswith("run-") or item.run_id == LEDGER_RUN else "record"


async def _gone(receive: Receiver) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _send(send: Sender, body: bytes) -> None:
    await send({"type": "http.response.body", "body": body, "more_body": True})
