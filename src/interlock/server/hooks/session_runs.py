"""Which run a session of a client is: begun with its first call, found again by whoever answers."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Final, NamedTuple

from msgspec.structs import replace

from interlock import processes
from interlock.errors import InputError
from interlock.model.hook import HookCall, HookSession
from interlock.model.principal import Principal
from interlock.model.run import RunState, RunStatus
from interlock.service.governor import Driver, Governor
from interlock.service.operations import Operations
from interlock.service.people.run_speaker import check_name, check_own
from interlock.service.questions.run_entries import resuming, starting
from interlock.service.records.runs import ELSEWHERE, NewRun

_MOST_RUNS: Final = 1000
"""So often a session may be taken up again after its end."""
_MOST_KNOWN: Final = 4096


class Asker(NamedTuple):
    """Who calls a hook."""

    process: Callable[[], str]
    """What names the process of the client; it may take long to find."""
    principal: Principal | None = None
    """The agent that showed a token; without one it has the name that its client gives it."""


ANYBODY: Final = Asker(lambda: ELSEWHERE)
"""Whoever asks for a run by its name, as any process of this user may."""


def asker_of(call: HookCall) -> Asker:
    """Return who called a hook that is a process: whatever process that descends from."""

    def process() -> str:
        client = processes.client_above(call.pid)
        return ELSEWHERE if client is None else processes.process_name(client)

    return Asker(process)


class SessionRuns:
    """Knows the runs of sessions."""

    def __init__(self, governor: Governor, driver: Driver) -> None:
        self._governor = governor
        self._driver = driver
        self._operations = Operations(governor, driver, None)
        self._known: dict[tuple[str, str, str | None], str] = {}
        """The run that each session was at last, by client, session and who may ask for it."""

    async def run_of(self, session: HookSession, call: HookCall, asker: Asker) -> str:
        """Return the run that a session is; its first call begins it.

        It has its name from the session: whoever answers, and whenever, finds the same.
        """
        name = _name_of(session, asker)
        known = self._known.get(name)
        if known is not None:
            return known
        if asker.principal is None:
            asked = f"session `{session.id}` says that it is of"
            ledger = self._governor.ledger
            await self._driver.outside(lambda: check_name(ledger, session.agent, asked))
        above = await self._above(session, call, asker)
        folder = Path(session.workspace or call.cwd or "/")
        project = await self._driver.outside(
            lambda: self._governor.project_in(folder, session.project)
        )
        for number in range(_MOST_RUNS):
            run_id = run_of_session(session, number)
            state = await self._driver.outside(lambda run_id=run_id: self._state(run_id))
            if state is None:
                process = await self._driver.outside(asker.process)
                new = _new_run(session, run_id, project, above, call)
                state = await self._operations.ask(starting(replace(new, process=process)))
            if state.status is RunStatus.RUNNING:
                await self.check_may_ask(run_id, asker)
                break
        else:
            raise InputError(f"session `{session.id}` was ended {_MOST_RUNS} times: begin another")
        if len(self._known) >= _MOST_KNOWN:
            self._known.clear()
        self._known[name] = run_id
        return run_id

    async def _above(self, session: HookSession, call: HookCall, asker: Asker) -> str | None:
        """Return the run that a session is a part of: whose agent started it, or its client."""
        if session.above is not None:
            return await self.run_of(session.above, call, asker)
        named = call.env.get("INTERLOCK_RUN")
        state = None if named is None else await self._driver.outside(lambda: self._state(named))
        return named if state is not None and state.status is RunStatus.RUNNING else None

    async def all_of(self, session: HookSession) -> list[str]:
        """Return every run that a session has been, the first one first."""

        def found() -> list[str]:
            names = (run_of_session(session, number) for number in range(_MOST_RUNS))
            rows = self._governor.ledger.rows
            return list(itertools.takewhile(lambda name: rows.run(name) is not None, names))

        return await self._driver.outside(found)

    def forget(self, session: HookSession, asker: Asker) -> None:
        """Look the run of a session up anew next time: it may have been finished elsewhere."""
        self._known.pop(_name_of(session, asker), None)

    async def begun(self, session: HookSession) -> RunState | None:
        """Return the run that a session is by now; None where it is none, or was ended."""

        def found() -> RunState | None:
            for number in range(_MOST_RUNS):
                state = self._state(run_of_session(session, number))
                if state is None or state.status is RunStatus.RUNNING:
                    return state
            return None

        return await self._driver.outside(found)

    async def taken_up(self, session: HookSession, asker: Asker) -> None:
        """Note that a client goes on with a session, where it is another process than before.

        A session that is new is no run yet: it becomes one with what it is asked to do.
        """
        state = await self.begun(session)
        process = ELSEWHERE if state is None else await self._driver.outside(asker.process)
        if state is not None and process != ELSEWHERE:
            question = resuming(state, process)
            if question is not None:
                await self._operations.ask(question)

    async def check_may_ask(self, run_id: str, asker: Asker) -> None:
        """Refuse to ask for a run whose agent has a token to show, and shows none or another's."""
        await self._driver.outside(
            lambda: check_own(self._governor.ledger, self._governor.run(run_id), asker.principal)
        )

    def _state(self, run_id: str) -> RunState | None:
        found = self._governor.ledger.rows.run(run_id)
        return None if found is None else self._governor.state(run_id)


def _name_of(session: HookSession, asker: Asker) -> tuple[str, str, str | None]:
    return session.client, session.id, None if asker.principal is None else asker.principal.name


def run_of_session(session: HookSession, number: int) -> str:
    """Return the name of the run that a session is when it is taken up for that many times."""
    text = "\0".join(("hook session", session.client, session.id, str(number)))
    digits = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    # The shape of every other run's name: a UUID, of the version for names by a digest.
    return f"{digits[:8]}-{digits[8:12]}-8{digits[13:16]}-8{digits[17:20]}-{digits[20:32]}"


def _new_run(
    session: HookSession, run_id: str, project: str, above: str | None, call: HookCall
) -> NewRun:
    return NewRun(
        id=run_id,
        task=session.task or f"{session.client} session {session.id}",
        agent=session.agent,
        client=session.client,
        project=project,
        parent=above,
        workspace=session.workspace or call.cwd or None,
    )
