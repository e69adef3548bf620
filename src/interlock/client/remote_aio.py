"""The same for programs that await: requests go out on threads, the event loop goes on."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final, Self, TypeVar, Unpack

from interlock.client.connection import Connection
from interlock.client.remote_interlock import RemoteInterlock
from interlock.client.remote_run import RemoteRun
from interlock.model.entrance import Amount, FilePath, entrance
from interlock.model.question_fields import RunFields
from interlock.model.step_loop import AsyncStepLoop

T = TypeVar("T")

_THREADS: Final = ThreadPoolExecutor(64, thread_name_prefix="interlock-client")


class LoopWire:
    """Gives the event loop back while it waits for a server."""

    async def outside(self, perform: Callable[[], T]) -> T:
        """Do it on a thread of the client's: some of it waits for a person."""
        return await asyncio.get_running_loop().run_in_executor(_THREADS, perform)

    async def delay(self, seconds: float) -> None:
        """Give the loop back for so long."""
        await asyncio.sleep(seconds)

    def now(self) -> int:
        """Return the time since some moment, in microseconds."""
        return time.monotonic_ns() // 1000


_ON_LOOP: Final = LoopWire()


class AsyncClient(RemoteInterlock):
    """A server of Interlock, for whoever asks from a coroutine: the words of `AsyncInterlock`."""

    @entrance
    def __init__(self, place: FilePath | None = None, *, token: str | None = None) -> None:
        super().__init__(Connection(place, token), _ON_LOOP)

    @entrance
    async def run(self, task: str, **fields: Unpack[RunFields]) -> AsyncClientRun:
        """Start a run."""
        return AsyncClientRun(self._connection, await self.start(task, fields))

    @entrance
    async def resume(self, run_id: str, *, process: int | None = None) -> AsyncClientRun:
        """Go on with a run that was started earlier, by its id or the beginning of that."""
        return AsyncClientRun(self._connection, await self.resumed(run_id, process))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, _kind: object, _error: object, _trace: object) -> None:
        await self.close()


class AsyncClientRun(RemoteRun):
    """One run of a server: the words of `AsyncRun`."""

    def __init__(self, connection: Connection, run_id: str) -> None:
        super().__init__(connection, _ON_LOOP, run_id)

    @entrance
    async def child(self, task: str, **fields: Unpack[RunFields]) -> AsyncClientRun:
        """Start a run below this one; what it spends counts here as well."""
        return AsyncClientRun(self._connection, await self.start_below(task, fields))

    @entrance
    def steps(self, *, wait_s: Amount | None = None) -> AsyncStepLoop:
        """Return the loop of an agent: it asks before each step and really waits."""
        return AsyncStepLoop(self, wait_s)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, _kind: object, error: object, _trace: object) -> None:
        await self.leave(failed=error is not None)
