"""How a caller waits: said once for those who block, so that everything else is said once."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Final, Protocol, TypeVar

from interlock.errors import LedgerError
from interlock.ledger.ledger import Ledger, Work
from interlock.model.approval import Approval
from interlock.ports import Clock
from interlock.service.records.approvals import wait_for_decision

T = TypeVar("T")


class Driver(Protocol):
    """Waits for what takes time: by blocking a thread, or by giving an event loop back."""

    async def outside(self, perform: Callable[[], T]) -> T:
        """Do something that takes time, outside of the ledger."""
        ...

    async def committed(self, ledger: Ledger, work: Work[T]) -> T:
        """Do work in a transaction; return its result once that is durable."""
        ...

    async def decision(
        self, ledger: Ledger, approval_id: str, *, clock: Clock, timeout_s: float | None
    ) -> Approval:
        """Wait for a person, so long; return the approval as it then is."""
        ...


class BlockingDriver:
    """Waits on the caller's own thread; its coroutines never suspend."""

    async def outside(self, perform: Callable[[], T]) -> T:
        """Do it here and now."""
        return perform()

    async def committed(self, ledger: Ledger, work: Work[T]) -> T:
        """Do it here and now, together with what others wait for."""
        return ledger.execute(work)

    async def decision(
        self, ledger: Ledger, approval_id: str, *, clock: Clock, timeout_s: float | None
    ) -> Approval:
        """Wait here."""
        return wait_for_decision(ledger, approval_id, clock=clock, timeout_s=timeout_s)


BLOCKING: Final = BlockingDriver()


def completed(coroutine: Coroutine[object, object, T]) -> T:
    """Return what a coroutine comes to that waits by blocking, and so never suspends."""
    try:
        coroutine.send(None)
    except StopIteration as end:
        return end.value
    coroutine.close()
    raise LedgerError("a coroutine was suspended where nobody awaits it")
