"""Subscribers get news again after an outage of the store."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from interlock.errors import UnavailableError
from interlock.ledger.ledger import Ledger
from interlock.ledger.stores.memory import MemoryStore
from interlock.ports import Listener
from interlock.server.desk.news import News
from interlock.service.records.context import SystemClock
from ledger.events import KEY, a_violation, appending
from patience import LONG_ENOUGH_S


class _Outage:
    """Raises once."""

    def __init__(self) -> None:
        self.is_over = False

    def raise_once(self) -> None:
        if not self.is_over:
            self.is_over = True
            raise UnavailableError("the store does not answer")


class _InterruptedListener:
    def __init__(self, inner: Listener, outage: _Outage) -> None:
        self._inner = inner
        self._outage = outage
        self.stop = inner.stop
        self.close = inner.close

    def wait(self, timeout_s: float | None) -> bool:
        self._outage.raise_once()
        return self._inner.wait(timeout_s)


class _InterruptedStore(MemoryStore):
    """A store whose listener fails once."""

    def __init__(self) -> None:
        super().__init__()
        self.outage = _Outage()

    def listen(self) -> Listener:
        return _InterruptedListener(super().listen(), self.outage)


def test_news_resumes_after_a_failed_wait() -> None:
    store = _InterruptedStore()

    assert heard(store, lambda: None) == ["r1"]
    assert store.outage.is_over


def test_news_resumes_after_a_failed_read() -> None:
    outage = _Outage()

    assert heard(MemoryStore(), outage.raise_once) == ["r1"]
    assert outage.is_over


def heard(store: MemoryStore, when_changed: Callable[[], None]) -> list[str]:
    """Record something in `r1`; return the run that a subscriber hears of."""

    async def hear(ledger: Ledger) -> list[str]:
        news = News(ledger, SystemClock())
        await news.start(when_changed)
        with news.listening() as subscriber:
            await asyncio.to_thread(ledger.execute, appending("r1", a_violation()))
            item = await asyncio.wait_for(subscriber.queue.get(), LONG_ENOUGH_S)
        await news.close()
        return [] if item is None else [item.run_id]

    with Ledger(store, key=KEY) as ledger:
        return asyncio.run(hear(ledger))
