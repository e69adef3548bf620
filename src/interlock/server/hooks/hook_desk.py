"""Who answers hooks: finds the run that a call belongs to, asks for it, has the reply made.

INVARIANT: whatever goes wrong, the reply is a no that the client understands, with a reason.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, assert_never, cast

from interlock import processes, settings
from interlock.errors import InputError, InterlockError, NotPermittedError
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
from interlock.service.governor import Driver, Governor
from interlock.service.operations import Operations
from interlock.service.people.operators import token_names
from interlock.service.policies.policy_files import load_policy
from interlock.service.questions.question import key_of
from interlock.service.questions.run_entries import person_heard, starting
from interlock.service.records.runs import ELSEWHERE, NewRun
from interlock.service.run_operations import RunOperations

_MOST_RUNS: Final = 1000
"""So often a session may be taken up again after its end."""
_MOST_KNOWN: Final = 4096
_NO_PROJECT: Final = "default"


class HookDesk:
    """Answers hooks of every dialect that it was told of."""

    def __init__(self, governor: Governor, driver: Driver, dialects: Mapping[str, Dialect]) -> None:
        self._governor = governor
        self._driver = driver
        self._operations = Operations(governor, driver, None)
        self._dialects = dialects
        self._runs: dict[tuple[str, str], str] = {}
        """The run that each session was at last, by client and session."""

    async def reply(self, call: HookCall) -> HookReply:
        """Return what the hook ends with."""
        dialect = self._dialects.get(call.hook)
        if dialect is None:
            return self.refusal(call, "")
        try:
            request = dialect.request(call)
            answer = None if request is None else await self._answer(request, call)
            return dialect.reply(call, answer)
        except InterlockError as error:
            return dialect.refusal(call, str(error))
        except Exception as error:  # noqa: BLE001 - a call that breaks the server is refused
            return dialect.refusal(call, f"the question broke: {type(error).__name__}")

    def refusal(self, call: HookCall, reason: str) -> HookReply:
        """Return a no in the dialect of a call."""
        dialect = self._dialects.get(call.hook)
        if dialect is not None:
            return dialect.refusal(call, reason)
        known = ", ".join(f"`{each}`" for each in sorted(self._dialects))
        return refusal(call, f"`{call.hook}` is no dialect of hooks: expected one of {known}")

    async def _answer(self, request: HookRequest, call: HookCall) -> HookAnswer:
        if isinstance(request.run, str):
            return await self._asked(await self.named_run(request.run), request.question)
        session = request.run
        run = self._words(await self._run_of(session, call))
        try:
            return await self._asked(run, request.question)
        except InputError:
            # It may have been finished elsewhere: then the session goes on as another run.
            self._runs.pop((session.client, session.id), None)
            again = await self._run_of(session, call)
            if again == run.id:
                raise
            return await self._asked(self._words(again), request.question)

    async def named_run(self, run_id: str) -> RunOperations:
        """Return what can be asked of a run by its name; an agent that has a token shows it."""
        await self._driver.outside(lambda: self._check_has_no_token(run_id))
        return self._words(run_id)

    def _check_has_no_token(self, run_id: str) -> None:
        self._check_name(self._governor.run(run_id).agent, f"run `{run_id}` is one of")

    def _check_name(self, agent: str, asked: str) -> None:
        if agent in token_names(self._governor.ledger):
            raise NotPermittedError(
                f"{asked} `{agent}`, who has a token: ask over HTTP, and show it"
            )

    def _words(self, run_id: str) -> RunOperations:
        return RunOperations(self._governor, run_id, self._driver, None)

    async def _run_of(self, session: HookSession, call: HookCall) -> str:
        """Return the run that a session is; its first call begins it.

        It has its name from the session: whoever answers, and whenever, finds the same.
        """
        name = session.client, session.id
        known = self._runs.get(name)
        if known is not None:
            return known
        asked = f"session `{session.id}` says that it is of"
        await self._driver.outside(lambda: self._check_name(session.agent, asked))
        project = await self._driver.outside(lambda: self._project_of(session, call))
        for number in range(_MOST_RUNS):
            run_id = run_of_session(session, number)
            state = await self._driver.outside(lambda run_id=run_id: self._state(run_id))
            if state is None:
                new = _new_run(session, run_id, project, call)
                state = await self._operations.ask(starting(new))
            if state.status is RunStatus.RUNNING:
                break
        else:
            raise InputError(f"session `{session.id}` was ended {_MOST_RUNS} times: begin another")
        if len(self._runs) >= _MOST_KNOWN:
            self._runs.clear()
        self._runs[name] = run_id
        return run_id

    def _project_of(self, session: HookSession, call: HookCall) -> str:
        """Return the project that a session works in; by its policy it is judged from here on.

        A project is named after its folder: another one of that name has another policy.

        INVARIANT: no folder's policy counts for a project that is elsewhere, whatever it is called.
        """
        folder = Path(session.workspace or call.cwd or "/")
        found = settings.places(settings.environment(), home=Path.home(), cwd=folder)
        if not found.project:
            return session.project
        policy = load_policy(user=found.user, project=found.project)
        root = found.project_file.parent
        digest = hashlib.sha256(os.fsencode(root)).hexdigest()[:8]
        name = root.name if session.project == _NO_PROJECT else session.project
        project = f"{name}-{digest}"
        self._governor.adopt(policy, project)
        return project

    def _state(self, run_id: str) -> RunState | None:
        found = self._governor.ledger.rows.run(run_id)
        return None if found is None else self._governor.state(run_id)

    async def _asked(self, run: RunOperations, question: HookQuestion) -> HookAnswer:
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

    async def _observed(self, run: RunOperations, question: ActionSeen) -> HookAnswer:
        """Report what came of an action: of the one that was asked about by this name, if any."""
        seen = _fields(question.seen)
        seq = await self._driver.outside(lambda: self._asked_about(run.id, question))
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


def _new_run(session: HookSession, run_id: str, project: str, call: HookCall) -> NewRun:
    client = processes.client_above(call.pid)
    return NewRun(
        id=run_id,
        task=session.task or f"{session.client} session {session.id}",
        agent=session.agent,
        client=session.client,
        project=project,
        workspace=session.workspace or call.cwd or None,
        process=ELSEWHERE if client is None else processes.process_name(client),
    )


def _fields(given: Mapping[str, object]) -> dict[str, Any]:
    """Return named arguments: the entrance checks each of them."""
    return cast("dict[str, Any]", dict(given))
