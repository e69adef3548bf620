"""Waits without holding up the event loop: what takes time is done on threads of the server."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final, TypeVar

from interlock.ledger.ledger import Ledger
from interlock.model.approval import Approval
from interlock.ports import Clock
from interlock.server.desk.news import News
from interlock.service.aio import LoopDriver

T = TypeVar("T")

_THREADS: Final = 8


class ServerDriver(LoopDriver):
    """As for every program that awaits; thousands may wait for a person, on no thread at all."""

    def __init__(self, news: News) -> None:
        super().__init__()
        self._news = news
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="interlock-server")

    async def outside(self, perform: Callable[[], T]) -> T:
        """Do it on one of the server's threads."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, perform)

    async def decision(
        self,
        ledger: Ledger,  # noqa: ARG002 - there is one, and its news are known
        approval_id: str,
        *,
        clock: Clock,  # noqa: ARG002 - the same
        timeout_s: float | None,
    ) -> Approval:
        """Wait for the news of it."""
        return await self._news.decision(approval_id, timeout_s)

    def close(self) -> None:
        """Finish what was begun."""
        self._threads.shutdown(wait=True, cancel_futures=True)
