"""Who answers hooks: has a call read, asks for the run that it belongs to, has the reply made.

INVARIANT: whatever goes wrong, the reply is a no that the client understands, with a reason.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from typing import Any, Final, assert_never, cast

from msgspec.structs import replace

from interlock import processes
from interlock.errors import InputError, InterlockError, KeyConflictError, UnfinishedError
from interlock.ledger.chain import decoded
from interlock.model.answers import StepAnswer
from interlock.model.events import ActionJudged, ActionObserved, StopJudged
from interlock.model.hook import (
    REFUSED,
    ActionAsked,
    ActionSeen,
    CallAnswer,
    CallAsked,
    HookAnswer,
    HookCall,
    HookQuestion,
    HookReply,
    HookRequest,
    HookSession,
    ModelCall,
    PromptHeard,
    SessionBegan,
    SessionEnded,
    StepAsked,
    StopAsked,
    WorkKept,
)
from interlock.model.principal import person_at
from interlock.model.run import RunState
from interlock.model.turn_report import StepReport
from interlock.policy.reviews.review_gate import is_claim
from interlock.ports import Dialect
from interlock.server.hooks.session_runs import Asker, SessionRuns, asker_of
from interlock.service.governor import Driver, Governor
from interlock.service.questions.question import Entry, key_of
from interlock.service.questions.run_entries import person_heard
from interlock.service.records.run_checkpoints import keep_work
from interlock.service.run_operations import RunOperations

_LONGEST_DELAY_S: Final = 15.0
"""A step may be slowed down by so much: less than clients wait for their hooks."""
_LOOKED_BACK: Final = 500
"""So many records back an action is looked for that its client gave no name."""
_ENDS_WITH: Final = 16
"""Within so many records from the end a turn was judged that nothing followed."""
_COMPLETED: Final = "completed"
_STOPPED: Final = "stopped"


class HookDesk:
    """Answers hooks of every dialect that it was told of."""

    def __init__(self, governor: Governor, driver: Driver, dialects: Mapping[str, Dialect]) -> None:
        self._governor = governor
        self._driver = driver
        self._dialects = dialects
        self._sessions = SessionRuns(governor, driver)

    async def reply(self, call: HookCall, asker: Asker | None = None) -> HookReply:
        """Return what the hook ends with."""
        asker = asker or asker_of(call)
        dialect = self._dialects.get(call.hook)
        if dialect is None:
            return self.refusal(call, "")
        try:
            # What a turn ended with may have to be waited for.
            request = (
                await self._driver.outside(lambda: dialect.request(call))
                if call.is_stop
                else dialect.request(call)
            )
            answer = None if request is None else await self._answer(request, call, dialect, asker)
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

    async def named_run(self, run_id: str, asker: Asker) -> RunOperations:
        """Return what can be asked of a run by its name; an agent that has a token shows it."""
        await self._sessions.check_may_ask(run_id, asker)
        return self._words(run_id, asker)

    async def _answer(
        self, request: HookRequest, call: HookCall, dialect: Dialect, asker: Asker
    ) -> HookAnswer:
        if isinstance(request.run, str):
            run = await self.named_run(request.run, asker)
            if await self._is_agents_own(request.question, await run.state(), asker):
                return None
            return await self._asked(run, request.question)
        session = _session_of(request.run, asker)
        if isinstance(request.question, SessionBegan):
            return await self._sessions.taken_up(session, asker)
        if isinstance(request.question, SessionEnded | PromptHeard):
            state = await self._sessions.begun(session)
            is_ended = state is None and isinstance(request.question, SessionEnded)
            if is_ended or await self._is_agents_own(request.question, state, asker):
                return None
        run = self._words(await self._sessions.run_of(session, call, asker), asker)
        try:
            await self._note_usage(run, request, call, dialect)
            return await self._asked(run, request.question)
        except InputError:
            # It may have been finished elsewhere: then the session goes on as another run.
            self._sessions.forget(session, asker)
            again = await self._sessions.run_of(session, call, asker)
            if again == run.id:
                raise
            return await self._asked(self._words(again, asker), request.question)
        finally:
            if isinstance(request.question, SessionEnded | StopAsked):
                self._sessions.forget(session, asker)

    async def _is_agents_own(
        self, question: HookQuestion, state: RunState | None, asker: Asker
    ) -> bool:
        """Whether what a person does was done by something that the run's own agent started.

        It could go on with its session in a shell, and each time would be counted anew.
        """
        if state is None or not isinstance(question, PromptHeard | SessionEnded):
            return False
        return await self._driver.outside(
            lambda: processes.descends(asker.process(), state.process)
        )

    def _words(self, run_id: str, asker: Asker) -> RunOperations:
        return RunOperations(self._governor, run_id, self._driver, asker.principal)

    async def _note_usage(
        self, run: RunOperations, request: HookRequest, call: HookCall, dialect: Dialect
    ) -> None:
        """Put on record what models were used for since the last time."""
        if isinstance(request.run, str) or isinstance(request.question, PromptHeard):
            return
        used = await self._driver.outside(lambda: dialect.used(call))
        if used:
            runs = await self._sessions.all_of(request.run)
            for each in await self._driver.outside(lambda: self._untold(run.id, runs, used)):
                with contextlib.suppress(KeyConflictError):
                    # It was told while it was still being written: what it came to then counts.
                    await run.usage(each.usage, model=each.model, key=each.key)

    def _untold(
        self, run_id: str, runs: Sequence[str], used: Sequence[ModelCall]
    ) -> list[ModelCall]:
        """Return the calls behind the last one that any run of the session has on record."""
        context = self._governor.context_of(self._governor.run(run_id).project)
        rows, untold = self._governor.ledger.rows, list[ModelCall]()
        for each in reversed(used):
            key = key_of(context, "usage", each.key)
            if any(rows.key(name, key) is not None for name in reversed(runs)):
                break
            untold.append(each)
        return untold[::-1]

    async def _asked(self, run: RunOperations, question: HookQuestion) -> HookAnswer:  # noqa: C901, PLR0911, PLR0912 - one line per question
        match question:
            case ActionAsked(action=action, key=key, wait_s=wait_s):
                return await run.ask(action, key, None, wait_s)
            case CallAsked():
                return await self._call_asked(run, question)
            case ActionSeen():
                return await self._observed(run, question)
            case StepAsked(said=said, fields=fields):
                return await run.step(said, **_fields(fields))
            case StopAsked():
                return await self._stopped(run, question)
            case PromptHeard():
                by = person_at(self._governor.run(run.id).client)
                await self._governor.answered(person_heard(run.id), by, self._driver)
                return None
            case SessionBegan():
                return None
            case WorkKept():
                return await self._keep_work(run)
            case SessionEnded(outcome=str(outcome)):
                return await run.finish(outcome)
            case SessionEnded():
                return await self._left(run)
            case _:
                assert_never(question)

    async def _call_asked(self, run: RunOperations, question: CallAsked) -> CallAnswer:
        report = StepReport(key=question.key)
        step = await run.before_step(report, question.wait_s)
        if not step.goes_on:
            return CallAnswer(step=step)
        await self._slow_down(step)
        action = await run.ask(question.action, question.key, None, question.wait_s)
        return CallAnswer(step=step, action=action)

    async def _slow_down(self, step: StepAnswer) -> None:
        if step.delay_ms:
            delay_s = min(step.delay_ms / 1000, _LONGEST_DELAY_S)
            await self._driver.delay(self._governor.clock, delay_s)

    async def _observed(self, run: RunOperations, question: ActionSeen) -> HookAnswer:
        """Report what came of an action: of the one that was asked about by this name, if any."""
        seen = _fields(question.seen)
        seq = await self._driver.outside(lambda: self._asked_about(run.id, question))
        if seq is None:
            return await run.observe_unasked(question.action, **seen)
        if question.is_attended:
            run = RunOperations(
                self._governor, run.id, self._driver, person_at(self._governor.run(run.id).client)
            )
        return await run.observe(f"{run.id}:{seq}", **seen)

    def _asked_about(self, run_id: str, question: ActionSeen) -> int | None:
        state = self._governor.run(run_id)
        context = self._governor.context_of(state.project)
        if question.key is None:
            wanted = context.digest(run_id, context.judgements.of(question.action).canonical)
            return self._oldest_unseen(state, wanted)
        kind = str(question.action.__struct_config__.tag)
        row = self._governor.ledger.rows.key(run_id, key_of(context, kind, question.key))
        return None if row is None or row.seq <= 0 else row.seq

    def _oldest_unseen(self, state: RunState, digest: str) -> int | None:
        """Return the first of the latest calls of this very kind that nobody has reported on."""
        asked: list[int] = []
        after = max(0, state.seq - _LOOKED_BACK)
        for row in self._governor.ledger.rows.records(state.id, after=after, limit=_LOOKED_BACK):
            match decoded(row.body).event:
                case ActionJudged(digest=each) if each == digest:
                    asked.append(row.seq)
                case ActionObserved(of=int(of)) if of in asked:
                    asked.remove(of)
                case _:
                    pass
        return asked[0] if asked else None

    async def _stopped(self, run: RunOperations, question: StopAsked) -> HookAnswer:
        answer = await run.stopped(question.text, **_fields(question.fields))
        if question.is_last and not answer.goes_on and not answer.waits_for_person:
            await self._left(run)
        return answer

    async def _keep_work(self, run: RunOperations) -> None:
        step = (await run.state()).control.steps
        question = Entry(lambda asking: keep_work(asking.of_run(run.id), step))
        await self._governor.answered(question, None, self._driver)

    async def _left(self, run: RunOperations) -> HookAnswer:
        """Close a run whose client has left it, as what it came to.

        One that a person has to decide about is left open: it goes on from there.
        """
        state = await run.state()
        if state.control.hold is not None or state.pending_approvals:
            return None
        ended_well = await self._driver.outside(lambda: self._is_done(state))
        try:
            return await run.finish(_COMPLETED if ended_well else _STOPPED)
        except UnfinishedError:
            return await run.finish(_STOPPED)

    def _is_done(self, state: RunState) -> bool:
        """Whether the last thing that was asked of a run is whether it is done, and it was."""
        after = max(0, state.seq - _ENDS_WITH)
        rows = self._governor.ledger.rows.records(state.id, after=after, limit=_ENDS_WITH)
        for row in reversed(rows):
            match decoded(row.body).event:
                case StopJudged() as event:
                    return is_claim(event.ruling, event.decision)
                case ActionJudged() | ActionObserved():
                    return False
                case _:
                    pass
        return False


def _session_of(session: HookSession, asker: Asker) -> HookSession:
    """Return a session with the name of the agent who showed a token, in place of the client's."""
    if asker.principal is None:
        return session
    above = None if session.above is None else _session_of(session.above, asker)
    return replace(session, agent=asker.principal.name, above=above)


def refusal(call: HookCall, reason: str) -> HookReply:
    """Return a no that every client understands: by the exit code, with the reason on stderr."""
    said = f"interlock: {reason}\n".encode("utf-8", "replace")
    return HookReply(0 if call.fails_open else REFUSED, stderr=said)


def _fields(given: Mapping[str, object]) -> dict[str, Any]:
    """Return named arguments: the entrance checks each of them."""
    return cast("dict[str, Any]", dict(given))
