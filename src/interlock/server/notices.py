"""Beside the answers: whoever has to decide something hears of it."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from typing import Final

from interlock.errors import InterlockError
from interlock.server.desk import Desk
from interlock.service.notifications import Due, Notifier

_OPENED: Final = "approval-opened"
_LOOK_AGAIN_S: Final = 60.0
"""A server that died in the middle of telling somebody is followed within this time."""
_SHORTEST_PAUSE_S: Final = 0.05
_AT_ONCE: Final = 4

_log: Final = logging.getLogger(__name__)


async def notify_people(desk: Desk) -> None:
    """Tell people of every question that waits for them, until this is cancelled."""
    notifier = Notifier(
        desk.governor, lambda: None if desk.listening is None else desk.listening.url
    )
    room = asyncio.Semaphore(_AT_ONCE)
    with desk.news.listening() as heard:
        while True:
            due, later = await asyncio.to_thread(notifier.due)
            async with asyncio.TaskGroup() as group:
                for each in due:
                    group.create_task(_tell(notifier, each, room))
            pause_s = _LOOK_AGAIN_S
            if due:
                pause_s = _SHORTEST_PAUSE_S
            elif later is not None:
                pause_s = min(max((later - desk.now()) / 1_000_000, _SHORTEST_PAUSE_S), pause_s)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(pause_s):
                    while (item := await heard.queue.get()) is not None and item.kind != _OPENED:
                        pass
                    if item is None:
                        return


async def _tell(notifier: Notifier, due: Due, room: asyncio.Semaphore) -> None:
    async with room:
        try:
            await asyncio.to_thread(notifier.tell, due)
        except InterlockError as error:
            fields = {"approval": due.approval.id, "channel": due.channel, "error": str(error)}
            _log.warning("nobody could be told of a question", extra={"fields": fields})
