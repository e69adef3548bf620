"""Beside the answers: people hear what waits for them, and what is old leaves the ledger."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from typing import Final

from interlock.errors import InterlockError
from interlock.server.desk.desk import Desk
from interlock.server.desk.news import Subscriber
from interlock.service.archives import ArchiveWritten, archive_as_policy_says
from interlock.service.deliveries.notifications import Due, Notifier
from interlock.views.grounds import Grounds

_OPENED: Final = "approval-opened"
_LOOK_AGAIN_S: Final = 60.0
"""A server that died in the middle of telling somebody is followed within this time."""
_SHORTEST_PAUSE_S: Final = 0.05
_AT_ONCE: Final = 4
_FIRST_S: Final = 60.0
_EVERY_S: Final = 6 * 3600.0
"""Of several servers each looks by itself; what one has archived the others do not find."""

_log: Final = logging.getLogger(__name__)


async def notify_people(desk: Desk) -> None:
    """Tell people of every question that waits for them, until this is cancelled."""
    notifier = Notifier(
        desk.ledger,
        lambda: desk.governor.context,
        lambda: None if desk.listening is None else desk.listening.url,
    )
    while True:
        if not notifier.is_wanted:
            # Whoever listens costs every answer a little: the policy may change, and then we do.
            await asyncio.sleep(_LOOK_AGAIN_S)
            continue
        with desk.news.listening() as heard:
            while notifier.is_wanted:
                await _wait(heard, await _tell_all(notifier, desk))


async def _tell_all(notifier: Notifier, desk: Desk) -> float:
    """Tell of everything that is due; return after how long to look again."""
    try:
        due, later = await asyncio.to_thread(notifier.due)
    except InterlockError as error:
        _log.warning("what waits is not known", extra={"fields": {"error": str(error)}})
        return _LOOK_AGAIN_S
    room = asyncio.Semaphore(_AT_ONCE)
    async with asyncio.TaskGroup() as group:
        for each in due:
            group.create_task(_tell(notifier, each, room))
    if due:
        return _SHORTEST_PAUSE_S
    left_s = _LOOK_AGAIN_S if later is None else (later - desk.now()) / 1_000_000
    return min(max(left_s, _SHORTEST_PAUSE_S), _LOOK_AGAIN_S)


async def _wait(heard: Subscriber, pause_s: float) -> None:
    """Wait for another question, or so long."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(pause_s):
            item = await heard.queue.get()
            while item is not None and item.kind != _OPENED:
                item = await heard.queue.get()


async def _tell(notifier: Notifier, due: Due, room: asyncio.Semaphore) -> None:
    async with room:
        try:
            await asyncio.to_thread(notifier.tell, due)
        except Exception as error:  # noqa: BLE001 - whatever fails, it is tried again, and others are told
            fields = {"approval": due.approval.id, "channel": due.channel, "error": str(error)}
            _log.warning("no notification of a question could be sent", extra={"fields": fields})


async def archive_what_is_old(desk: Desk) -> None:
    """Archive what the policy does not want to be kept, now and then, until it is cancelled."""
    await asyncio.sleep(_FIRST_S)
    while True:
        try:
            # Away from the threads that answer: a large ledger is looked at for a while.
            for each in await asyncio.to_thread(archive_as_policy_says, desk.governor, Grounds):
                _log.info("archived", extra={"fields": _fields(each)})
        except InterlockError as error:
            _log.warning("nothing was archived", extra={"fields": {"error": str(error)}})
        await asyncio.sleep(_EVERY_S)


def _fields(written: ArchiveWritten) -> dict[str, object]:
    return {"file": written.file, "runs": written.runs, "records": written.records}
