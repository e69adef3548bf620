"""What is recorded, told to whoever listens: one look at the ledger for all of them.

A thread waits for commits, of this process or another one. Whoever listens gets the place in the
order of writing, the kind and the ids: what it says is read by whoever wants to know.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import AsyncGenerator, Callable, Generator
from typing import Final, NamedTuple

from interlock.errors import LedgerError
from interlock.ledger.ledger import Ledger
from interlock.model.approval import Approval, ApprovalState
from interlock.model.rows import WrittenRow
from interlock.ports import Clock, Listener
from interlock.service.records.approvals import unknown_approval

_PAGE: Final = 500
_LOOK_AGAIN_S: Final = 30.0
_RETRY_S: Final = 0.5
_BREATH_S: Final = 0.02
"""So long news are gathered before they are told: a busy ledger is looked at once for many."""
_MOST_UNHEARD: Final = 1_000


class Item(NamedTuple):
    """One record, by its place and its ids."""

    position: int
    kind: str
    run_id: str
    seq: int


class Subscriber:
    """Somebody who listens; one who does not keep up is let go."""

    def __init__(self) -> None:
        self.queue: asyncio.Queue[Item | None] = asyncio.Queue(_MOST_UNHEARD)
        self.is_behind = False

    def tell(self, item: Item | None) -> None:
        """Hand over an item, or that there will be no more."""
        try:
            self.queue.put_nowait(item)
        except asyncio.QueueFull:
            self.is_behind = True


class News:
    """Tells many what one thread hears."""

    def __init__(self, ledger: Ledger, clock: Clock) -> None:
        self._ledger = ledger
        self._clock = clock
        self._loop: asyncio.AbstractEventLoop | None = None
        self._over = threading.Event()
        self._woken = asyncio.Event()
        self._subscribers: set[Subscriber] = set()
        self._waiting: dict[str, set[asyncio.Event]] = {}
        """Who waits for anything in a run."""
        self._position = 0
        self._when_changed: Callable[[], None] = _nothing
        self._task: asyncio.Task[None] | None = None
        self._listener: Listener | None = None
        self._thread: threading.Thread | None = None

    @property
    def position(self) -> int:
        """The place up to which everything was told."""
        return self._position

    async def start(self, when_changed: Callable[[], None]) -> None:
        """Begin to listen; whenever anything was recorded, call back on another thread."""
        self._when_changed = when_changed
        self._loop = asyncio.get_running_loop()
        self._listener = await asyncio.to_thread(self._ledger.listen)
        head = await asyncio.to_thread(self._ledger.rows.head)
        self._position = head.records

        self._thread = threading.Thread(
            target=self._listen, args=(self._listener,), name="interlock-news", daemon=True
        )
        self._thread.start()
        self._task = self._loop.create_task(self._tell())

    async def close(self) -> None:
        """Tell everybody that there will be no more."""
        self._over.set()
        self._woken.set()
        for each in tuple(self._subscribers):
            each.tell(None)
        for event in [event for waiting in self._waiting.values() for event in waiting]:
            event.set()
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task
        if self._listener is not None and self._thread is not None:
            self._listener.stop()
            await asyncio.to_thread(self._thread.join)
            self._listener.close()

    @contextlib.contextmanager
    def listening(self) -> Generator[Subscriber]:
        """Return somebody who hears everything from now on."""
        subscriber = Subscriber()
        self._subscribers.add(subscriber)
        try:
            yield subscriber
        finally:
            self._subscribers.discard(subscriber)

    async def since(self, after: int) -> AsyncGenerator[Item]:
        """Yield what was recorded behind a place, and then whatever is; it ends with the server."""
        with self.listening() as subscriber:
            last = after
            while page := await asyncio.to_thread(self._page, last):
                for item in page:
                    last = item.position
                    yield item
            while not self._over.is_set() and not subscriber.is_behind:
                item = await subscriber.queue.get()
                if item is None:
                    return
                if item.position > last:
                    last = item.position
                    yield item

    async def decision(self, approval_id: str, timeout_s: float | None) -> Approval:
        """Wait until an approval is decided, runs out or patience does; return it as it then is."""
        asked_at, rows = self._clock.now(), self._ledger.rows
        event = asyncio.Event()
        run_id = ""
        try:
            while True:
                event.clear()
                approval = await asyncio.to_thread(rows.approval, approval_id)
                if approval is None:
                    raise unknown_approval(approval_id)
                if not run_id:
                    # Looked at once more from here on: it may be decided just now.
                    run_id = approval.run_id
                    self._waiting.setdefault(run_id, set()).add(event)
                    continue
                ends = approval.expires_at
                if timeout_s is not None:
                    ends = min(ends, asked_at + int(timeout_s * 1_000_000))
                left_s = (ends - self._clock.now()) / 1_000_000
                is_pending = approval.state is ApprovalState.PENDING
                if not is_pending or left_s <= 0 or self._over.is_set():
                    return approval
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(min(left_s, _LOOK_AGAIN_S)):
                        await event.wait()
        finally:
            self._forget(run_id, event)

    def _listen(self, listener: Listener) -> None:
        while not self._over.is_set():
            try:
                if listener.wait(None):
                    self._wake()
            except Exception:  # noqa: BLE001 - a store that is gone for a while comes back
                self._over.wait(_RETRY_S)

    def _forget(self, run_id: str, event: asyncio.Event) -> None:
        waiting = self._waiting.get(run_id, set())
        waiting.discard(event)
        if not waiting:
            self._waiting.pop(run_id, None)

    def _wake(self) -> None:
        loop = self._loop
        # A loop that was closed meanwhile has nobody left who listens.
        with contextlib.suppress(RuntimeError):
            if loop is not None:
                loop.call_soon_threadsafe(self._woken.set)

    async def _tell(self) -> None:
        while not self._over.is_set():
            await self._woken.wait()
            self._woken.clear()
            try:
                while page := await asyncio.to_thread(self._heard):
                    for item in page:
                        self._hand_out(item)
                    self._position = page[-1].position
                await asyncio.sleep(_BREATH_S)
            except LedgerError:
                # The store cannot be read now. Retry, since no further commit may come to wake us.
                self._woken.set()
                await asyncio.sleep(_RETRY_S)

    def _heard(self) -> list[Item]:
        """Return what is new; nothing of it is read while nobody listens."""
        self._when_changed()
        if self._subscribers or self._waiting:
            return self._page(self._position)
        self._position = self._ledger.rows.head().records
        return []

    def _hand_out(self, item: Item) -> None:
        for subscriber in self._subscribers:
            subscriber.tell(item)
        for event in self._waiting.get(item.run_id, ()):
            event.set()

    def _page(self, after: int) -> list[Item]:
        return [_item(row) for row in self._ledger.rows.written(after=after, limit=_PAGE)]


def _nothing() -> None:
    pass


def _item(written: WrittenRow) -> Item:
    record = written.record
    return Item(written.position, record.kind, record.run_id, record.seq)
