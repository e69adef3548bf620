"""The governor: every question goes through here, and is answered once it is on the record."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Final, TypeVar, cast

from interlock import settings
from interlock.errors import InputError
from interlock.ledger.ledger import Ledger, Outcome, OutcomeCallback, Work
from interlock.model.action import Action
from interlock.model.answers import Answer
from interlock.model.approval import Approval, ApprovalState
from interlock.model.budget import NOTHING, Amounts
from interlock.model.principal import SYSTEM
from interlock.model.run import RunState
from interlock.policy.actions.compiled_policy import CompiledPolicy
from interlock.ports import Clock
from interlock.service.policies import adopt
from interlock.service.questions.action import LapsedFirstError, Question
from interlock.service.questions.question import DoFirstError
from interlock.service.records.budgets import policy_limits, take_back
from interlock.service.records.context import Context, context_of

T = TypeVar("T")

_MOST_KNOWN: Final = 4096


class Governor:
    """Puts questions to the ledger; the same for callers who wait and callers who await."""

    def __init__(
        self, ledger: Ledger, gates: CompiledPolicy, clock: Clock, *, undo_store: Path | None = None
    ) -> None:
        self._clock = clock
        self._ledger = ledger
        self._undo_store = undo_store or settings.current_ledger_places().undo
        self._context = self._context_of(gates)
        self._known: dict[str, RunState] = {}
        """Runs as they were when last looked up, for what never changes in them."""
        self.done(adopt(self._context, SYSTEM))

    @property
    def ledger(self) -> Ledger:
        """Where everything is recorded."""
        return self._ledger

    @property
    def clock(self) -> Clock:
        """What tells the time."""
        return self._clock

    @property
    def context(self) -> Context:
        """Everything a question is asked in."""
        return self._context

    def _context_of(self, gates: CompiledPolicy) -> Context:
        limits = policy_limits(gates.config)
        return context_of(
            self._ledger,
            gates,
            clock=self._clock,
            policy_limits=limits,
            undo_store=self._undo_store,
        )

    def adopt(self, gates: CompiledPolicy) -> bool:
        """Judge by another policy from now on; return False if it is the same."""
        self._context = self._context_of(gates)
        return self.done(adopt(self._context, SYSTEM))

    def ask(
        self, run_id: str, action: Action, *, key: str | None = None, expects: Amounts = NOTHING
    ) -> Work[Answer]:
        """Return the work of answering whether an action may happen."""
        # Before anything else: in a forked process even judging may wait for a lost thread.
        self._ledger.check_process()
        run = self.run(run_id)
        return Question(self._context, run, action, key=key, expects=expects).work()

    def run(self, run_id: str) -> RunState:
        """Return a run as it was started; its figures may be old."""
        known = self._known.get(run_id)
        if known is None:
            known = self._ledger.state(run_id)
            if known is None:
                raise unknown_run(run_id)
            if len(self._known) >= _MOST_KNOWN:
                self._known.clear()
            self._known[run_id] = known
        return known

    def state(self, run_id: str) -> RunState:
        """Return a run as it is on record now."""
        state = self._ledger.state(run_id)
        if state is None:
            raise unknown_run(run_id)
        return state

    def approvals(self, state: str | None) -> Sequence[Approval]:
        """Return questions to people; `pending` are only those that can still be answered."""
        now = self._clock.now()
        found = self._ledger.rows.approvals(state=state)
        is_pending = ApprovalState.PENDING.value
        return [each for each in found if state != is_pending or each.is_open_at(now)]

    def done(self, work: Work[T]) -> T:
        """Do the work; return its result once that is durable."""
        while True:
            try:
                return self._ledger.execute(work)
            except LapsedFirstError as first:
                self._ledger.execute(take_back(self._context, first.rows))
            except DoFirstError as first:
                first.do()

    async def awaited(self, work: Work[T]) -> T:
        """Do the work without blocking the event loop."""
        while True:
            try:
                return await self._later(work)
            except LapsedFirstError as first:
                await self._later(take_back(self._context, first.rows))
            except DoFirstError as first:
                await asyncio.to_thread(first.do)

    def _later(self, work: Work[T]) -> asyncio.Future[T]:
        """Return a future of the running loop that holds the work's result once it is durable."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()
        self._ledger.submit_grouped(work, _teller_of(loop), future)
        return future


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


def unknown_run(run_id: str) -> InputError:
    """Return the error for an id that names no run."""
    return InputError(f"there is no run `{run_id}`: look at `interlock runs`")
