"""Interlock for programs that await: the same words, without blocking the event loop."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable, Coroutine, Mapping, Sequence
from concurrent.futures import Future
from functools import lru_cache, partial
from typing import Final, Self, TypeVar, Unpack, cast

from interlock.ledger.ledger import Ledger, Outcome, OutcomeCallback, Work
from interlock.model.approval import Approval
from interlock.model.entrance import Amount, FilePath, entrance
from interlock.model.principal import Principal
from interlock.model.question_fields import RunFields
from interlock.model.step_loop import AsyncStepLoop
from interlock.ports import Clock, PatientClock
from interlock.service.governor import Governor
from interlock.service.ledgers import open_governor
from interlock.service.operations import Operations
from interlock.service.policies.policy_files import AnyPolicy
from interlock.service.records.approvals import wait_for_decision
from interlock.service.records.runs import named_process
from interlock.service.run_operations import RunOperations

T = TypeVar("T")


class LoopDriver:
    """Gives the event loop back while it waits; what takes time is done on other threads."""

    def __init__(self) -> None:
        self._under_way: set[asyncio.Task[object]] = set()
        """Held here, because a loop forgets tasks that nobody else holds."""

    async def unbroken(self, way: Callable[[], Coroutine[object, object, T]]) -> T:
        """Go it to its end: what was asked for is recorded, whoever still listens."""
        task = asyncio.get_running_loop().create_task(way())
        self._under_way.add(cast("asyncio.Task[object]", task))
        task.add_done_callback(self._under_way.discard)
        return await asyncio.shield(task)

    async def outside(self, perform: Callable[[], T]) -> T:
        """Do it on one of the loop's threads."""
        return await asyncio.get_running_loop().run_in_executor(None, perform)

    async def committed(self, ledger: Ledger, work: Work[T]) -> T:
        """Have it done on the ledger's thread, together with what others wait for."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()
        ledger.submit(work, _teller_of(loop), future)
        return await future

    async def decision(
        self, ledger: Ledger, approval_id: str, *, clock: Clock, timeout_s: float | None
    ) -> Approval:
        """Wait on a thread of its own: the loop's few threads are not for hours of waiting."""
        has_given_up = threading.Event()
        decision: Future[Approval] = Future()
        decision.set_running_or_notify_cancel()

        def wait() -> None:
            try:
                decision.set_result(
                    wait_for_decision(
                        ledger,
                        approval_id,
                        clock=clock,
                        timeout_s=timeout_s,
                        is_wanted=lambda: not has_given_up.is_set(),
                    )
                )
            except BaseException as error:  # noqa: BLE001 - whoever awaits gets it
                decision.set_exception(error)

        threading.Thread(target=wait, name="interlock-wait", daemon=True).start()
        try:
            return await asyncio.wrap_future(decision)
        finally:
            has_given_up.set()

    async def delay(self, clock: Clock, seconds: float) -> None:
        """Give the loop back for so long."""
        if isinstance(clock, PatientClock):
            await self.outside(partial(clock.sleep, seconds))
        else:
            await asyncio.sleep(seconds)


_ON_LOOP: Final = LoopDriver()


class AsyncInterlock(Operations):
    """A ledger and its policies: the way in for whoever asks from a coroutine."""

    @entrance
    def __init__(self, governor: Governor, principal: Principal | None = None) -> None:
        super().__init__(governor, _ON_LOOP, principal)

    @classmethod
    @entrance
    async def open(
        cls,
        place: FilePath | None = None,
        *,
        policy: AnyPolicy | None = None,
        projects: Mapping[str, AnyPolicy] | None = None,
        principal: Principal | None = None,
        clock: Clock | None = None,
        keys: FilePath | None = None,
        undo_store: FilePath | None = None,
    ) -> Self:
        """Open the ledger at a path or URL, `:memory:`, or where the environment says."""
        governor = await _ON_LOOP.outside(
            lambda: open_governor(
                place,
                policy=policy,
                projects=projects,
                clock=clock,
                keys=keys,
                undo_store=undo_store,
                principal=principal,
            )
        )
        return cls(governor, governor.asker)

    @entrance
    async def run(self, task: str, **fields: Unpack[RunFields]) -> AsyncRun:
        """Start a run."""
        started = await self.start(task, fields)
        return AsyncRun(self.governor, started.id, self._principal)

    @entrance
    async def resume(self, run_id: str, *, process: int | None = None) -> AsyncRun:
        """Go on with a run that was started earlier, by its id or the beginning of that.

        Where the process that it was started for has ended, it is this one's from now on, or
        that of `process`: nothing that descends from it decides.
        """
        found = await self.resumed(run_id, named_process(process))
        return AsyncRun(self.governor, found.id, self._principal)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, _kind: object, _error: object, _trace: object) -> None:
        await self.close()


class AsyncRun(RunOperations):
    """One run: ask before acting, report afterwards, finish at the end."""

    @entrance
    def __init__(self, governor: Governor, run_id: str, principal: Principal | None = None) -> None:
        super().__init__(governor, run_id, _ON_LOOP, principal)

    @entrance
    async def child(self, task: str, **fields: Unpack[RunFields]) -> AsyncRun:
        """Start a run below this one; what it spends counts here as well."""
        started = await self.start_below(task, fields)
        return AsyncRun(self._governor, started.id, self._principal)

    @entrance
    def steps(self, *, wait_s: Amount | None = None) -> AsyncStepLoop:
        """Return the loop of an agent: it asks before each step and really waits.

        Throttles and approvals are waited for, each so long; without `wait_s`, as long as it
        takes. It ends when the agent is done or the run may not go on.
        """
        return AsyncStepLoop(self, wait_s)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, _kind: object, error: object, _trace: object) -> None:
        await self.leave(failed=error is not None)


@lru_cache(maxsize=8)
def _teller_of(loop: asyncio.AbstractEventLoop) -> OutcomeCallback:
    """Return what wakes a loop once for a whole group, not once for each that waits."""

    def tell(outcomes: Sequence[Outcome]) -> None:
        # A loop that was closed meanwhile has nobody left who waits.
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(_settle, outcomes)

    return tell


def _settle(outcomes: Sequence[Outcome]) -> None:
    for ticket, result, error in outcomes:
        future = cast("asyncio.Future[object]", ticket)
        if future.done():
            continue
        if error is None:
            future.set_result(result)
        else:
            future.set_exception(error)
