"""The run that a proxy asks in: one that is named, or its own for as long as it lives."""

from __future__ import annotations

import asyncio
import contextlib
import os
from typing import Final

from interlock import processes, settings
from interlock.errors import InterlockError
from interlock.model.answers import Answer
from interlock.model.principal import person_at
from interlock.model.run import RunState
from interlock.service.aio import AsyncInterlock, AsyncRun, LoopDriver
from interlock.service.people.credentials import has_operator
from interlock.service.people.operators import token_names
from interlock.service.questions.run_entries import client_answered

CLIENT: Final = "mcp"
"""What the record calls the client of such a run."""
_NO_NAME: Final = "agent"
_MOST_LOOKED_AT: Final = 100


class GovernedRun:
    """Opens the ledger and begins the run when the first question is asked."""

    def __init__(self, *, task: str, run_id: str | None) -> None:
        self._task = task
        self._named = run_id or settings.current_run()
        self._interlock: AsyncInterlock | None = None
        self._run: AsyncRun | None = None
        self._lock = asyncio.Lock()

    async def begun(self, agent: str = "") -> AsyncRun:
        """Return the run; whoever asks first begins it, in the name of an agent."""
        if self._run is None:
            async with self._lock:
                if self._run is None:
                    self._run = await self._begin(agent)
        return self._run

    async def _begin(self, agent: str) -> AsyncRun:
        interlock = await self.opened()
        # Nothing that the client runs decides, so the run is the client's.
        process = processes.client_above(os.getpid())
        if self._named is not None:
            return await interlock.resume(self._named, process=process)
        # Whoever has a token shows it: a name alone is nobody's but the client's.
        taken = await asyncio.to_thread(token_names, interlock.ledger)
        name = agent if agent and agent not in taken else _NO_NAME
        own = processes.own_name() if process is None else processes.process_name(process)
        left = await asyncio.to_thread(self._left_open, interlock, name, own)
        if left is not None:
            return await interlock.resume(left, process=process)
        return await interlock.run(
            self._task,
            agent=name,
            client=CLIENT,
            workspace=settings.working_folder(),
            process=process,
        )

    def _left_open(self, interlock: AsyncInterlock, agent: str, own: str) -> str | None:
        """Return the run of an earlier proxy for the same server here that a person was asked in.

        What they agreed to since then is let through there, and nowhere else.
        """
        folder = str(settings.working_folder().absolute())
        rows = interlock.ledger.rows.runs(limit=_MOST_LOOKED_AT, status="running", agent=agent)
        for row in rows:
            state = interlock.governor.state(row.id)
            is_same = (state.client, state.task, state.workspace) == (CLIENT, self._task, folder)
            is_left = state.process == own or not processes.is_alive(state.process)
            if is_same and is_left and _waits(state):
                return row.id
        return None

    async def opened(self) -> AsyncInterlock:
        """Return the ledger that counts here."""
        if self._interlock is None:
            self._interlock = await AsyncInterlock.open()
        return self._interlock

    async def has_operator(self) -> bool:
        """Whether there is somebody who looks at the inbox."""
        interlock = await self.opened()
        return await asyncio.to_thread(has_operator, interlock.ledger)

    async def client_answered(self, answer: Answer, *, agreed: bool) -> None:
        """Record what the client's user said to a question, for this one action."""
        if answer.approval_id is not None:
            interlock = await self.opened()
            question = client_answered(answer.approval_id, agreed=agreed)
            await interlock.governor.answered(question, person_at(CLIENT), LoopDriver())

    async def close(self) -> None:
        """End the run, if it is this one's own, and leave the ledger in good order."""
        if self._interlock is None:
            return
        try:
            if self._run is not None and self._named is None:
                with contextlib.suppress(InterlockError):
                    # What its agent still had to do is for its client to say, not for a server.
                    if not _waits(await self._run.state()):
                        await self._run.finish("stopped")
        finally:
            await self._interlock.close()


def _waits(state: RunState) -> bool:
    """Whether a person was asked in a run, and what they say has not let anything through yet."""
    return bool(state.pending_approvals or state.granted)
