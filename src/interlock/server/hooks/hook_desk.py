"""Who answers hooks: finds the run that a call belongs to, asks for it, has the reply made.

INVARIANT: whatever goes wrong, the reply is a no that the client understands, with a reason.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar, assert_never, cast

from interlock import processes
from interlock.errors import InputError, InterlockError
from interlock.model.hook import (
    REFUSED,
    ActionAsked,
    ActionSeen,
    HookAnswer,
    HookCall,
    HookQuestion,
    HookReply,
    HookRequest,
    HookSession,
    PromptHeard,
    SessionEnded,
    StepAsked,
    StopAsked,
)
from interlock.model.principal import person_at
from interlock.model.run import RunState, RunStatus
from interlock.ports import Dialect
from interlock.service.aio import AsyncInterlock, AsyncRun, LoopDriver
from interlock.service.questions.question import key_of
from interlock.service.questions.run_entries import person_heard, starting
from interlock.service.records.runs import NewRun

T = TypeVar("T")

_MOST_RUNS: Final = 1000
"""So often a session may be taken up again after its end."""
_MOST_KNOWN: Final = 4096


class HookDesk:
    """Answers hooks of every dialect that it was told of."""

    def __init__(self, interlock: AsyncInterlock, dialects: Mapping[str, Dialect]) -> None:
        self._interlock = interlock
        self._governor = interlock.governor
        self._driver = LoopDriver()
        self._dialects = dialects
        self._runs: dict[tuple[str, str], str] = {}
        """The run that each session was at last, by client and session."""

    async def reply(self, call: HookCall) -> HookReply:
        """Return what the hook ends with."""
        dialect = self._dialects.get(call.hook)
        if dialect is None:
            known = ", ".join(f"`{each}`" for each in sorted(self._dialects))
            return refusal(call, f"`{call.hook}` is no dialect of hooks: expected one of {known}")
        try:
            request = dialect.request(call)
            answer = None if request is None else await self._answer(request, call)
            return dialect.reply(call, answer)
        except InterlockError as error:
            return dialect.refusal(call, str(error))
        except Exception as error:  # noqa: BLE001 - a call that breaks the server is refused
            return dialect.refusal(call, f"the question broke: {type(error).__name__}")

    async def _answer(self, request: HookRequest, call: HookCall) -> HookAnswer:
        if isinstance(request.run, str):
            run = await self._interlock.resume(request.run)
            return await self._asked(run, request.question)
        session = request.run
        run = AsyncRun(self._governor, await self._run_of(session, call))
        try:
            return await self._asked(run, request.question)
        except InputError:
            # It may have been finished elsewhere: then the session goes on as another run.
            self._runs.pop((session.client, session.id), None)
            again = await self._run_of(session, call)
            if again == run.id:
                raise
            return await self._asked(AsyncRun(self._governor, again), request.question)

    async def _run_of(self, session: HookSession, call: HookCall) -> str:
        """Return the run that a session is; its first call begins it.

        It has its name from the session: whoever answers, and whenever, finds the same.
        """
        name = session.client, session.id
        known = self._runs.get(name)
        if known is not None:
            return known
        for number in range(_MOST_RUNS):
            run_id = run_of_session(session, number)
            state = await self._outside(lambda run_id=run_id: self._state(run_id))
            if state is None:
                state = await self._interlock.ask(starting(_new_run(session, run_id, call)))
            if state.status is RunStatus.RUNNING:
                break
        else:
            raise InputError(f"session `{session.id}` was ended {_MOST_RUNS} times: begin another")
        if len(self._runs) >= _MOST_KNOWN:
            self._runs.clear()
        self._runs[name] = run_id
        return run_id

    def _state(self, run_id: str) -> RunState | None:
        return None if self._governor.ledger.rows.run(run_id) is None else self._governor.state(run_id)

    async def _asked(self, run: AsyncRun, question: HookQuestion) -> HookAnswer:
        match question:
            case ActionAsked(action=action, key=key, wait_s=wait_s):
                return await run.ask(action, key, None, wait_s)
            case ActionSeen():
                return await self._observed(run, question)
            case StepAsked(said=said, fields=fields):
                return await run.step(said, **_fields(fields))
            case StopAsked(text=text, fields=fields):
                return await run.stopped(text, **_fields(fields))
            case PromptHeard():
                client = self._governor.run(run.id).client
                by = person_at(client)
                await self._governor.answered(person_heard(run.id), by, self._driver)
                return None
            case SessionEnded(outcome=outcome):
                return await run.finish(outcome)
            case _:
                assert_never(question)

    async def _observed(self, run: AsyncRun, question: ActionSeen) -> HookAnswer:
        """Report what came of an action: of the one that was asked about by this name, if any."""
        seen = _fields(question.seen)
        seq = await self._outside(lambda: self._asked_about(run.id, question))
        if seq is None:
            return await run.observe_unasked(question.action, **seen)
        return await run.observe(f"{run.id}:{seq}", **seen)

    def _asked_about(self, run_id: str, question: ActionSeen) -> int | None:
        if question.key is None:
            return None
        context = self._governor.context_of(self._governor.run(run_id).project)
        kind = str(question.action.__struct_config__.tag)
        row = self._governor.ledger.rows.key(run_id, key_of(context, kind, question.key))
        return None if row is None or row.seq <= 0 else row.seq

    async def _outside(self, perform: Callable[[], T]) -> T:
        return await self._driver.outside(perform)


def refusal(call: HookCall, reason: str) -> HookReply:
    """Return a no that every client understands: by the exit code, with the reason on stderr."""
    said = f"interlock: {reason}\n".encode("utf-8", "replace")
    return HookReply(0 if call.is_stop else REFUSED, stderr=said)


def run_of_session(session: HookSession, number: int) -> str:
    """Return the name of the run that a session is when it is taken up for that many times."""
    text = "\0".join(("hook session", session.client, session.id, str(number)))
    digits = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    # The shape of every other run's name: a UUID, of the version for names by a digest.
    return f"{digits[:8]}-{digits[8:12]}-8{digits[13:16]}-8{digits[17:20]}-{digits[20:32]}"


def _new_run(session: HookSession, run_id: str, call: HookCall) -> NewRun:
    return NewRun(
        id=run_id,
        task=session.task or f"{session.client} session {session.id}",
        agent=session.agent,
        client=session.client,
        project=session.project,
        workspace=session.workspace or call.cwd or None,
        process=processes.client_above(call.pid),
    )


def _fields(given: Mapping[str, object]) -> dict[str, Any]:
    """Return named arguments: the entrance checks each of them."""
    return cast("dict[str, Any]", dict(given))
