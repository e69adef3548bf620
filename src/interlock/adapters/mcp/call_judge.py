"""May this be asked of the server? Judges calls, and reports what came of them.

INVARIANT: whatever goes wrong, the call does not reach the server, and its answer says why.
"""

from __future__ import annotations

import contextlib
import enum
import time
from collections.abc import Sequence
from typing import Final, NamedTuple

import msgspec

from interlock.adapters.mcp.client_user import AskClient, ClientUser, OpenQuestion, Said
from interlock.adapters.mcp.governed_call import (
    CALL,
    DECISION_KEY,
    GovernedCall,
    blocked,
    decision_of,
)
from interlock.adapters.mcp.governed_run import GovernedRun
from interlock.adapters.mcp.rpc_message import Id, Message, parts, result_line, table, table_in
from interlock.adapters.mcp.tool_catalogue import AskServer, ToolCatalogue
from interlock.errors import InputError, InterlockError
from interlock.model.answers import Answer
from interlock.model.short_code import code_of
from interlock.model.verdict import Decision
from interlock.service.aio import AsyncRun

_MOST_UNDER_WAY: Final = 1000
_READ_OF_RESULT: Final = 64 * 1024


class Confirm(enum.StrEnum):
    """Who is asked where a person has to agree."""

    INBOX = "inbox"
    """An operator, who proves it: `interlock approve`, or the console."""
    ELICIT = "elicit"
    """The client's own user, through the client, which may answer by itself."""


class Passed(NamedTuple):
    """A call that may be made."""

    call: GovernedCall
    answer: Answer
    line: bytes | None = None
    """What the server is sent, where it is not what the client wrote."""
    begun: float = 0.0
    """When the server was asked, by a clock that only goes on."""


class Manner(NamedTuple):
    """How questions are put."""

    server: str
    """What the server is called in policies."""
    confirm: Confirm | None = None
    """None is the inbox where there is an operator, and otherwise the client's user."""
    wait_s: float | None = None


class CallMemory:
    """What is known between a call and the next: since 2026-07-28 no connection is."""

    def __init__(self) -> None:
        self.questions: dict[str, OpenQuestion] = {}
        self.to_go_on: dict[tuple[str, str | None], Answer] = {}
        """Calls that the server has a question about, by what they are and what it said."""


class CallJudge:
    """Judges the calls of one client of one server."""

    def __init__(
        self,
        manner: Manner,
        run: GovernedRun,
        *,
        catalogue: ToolCatalogue,
        ask_server: AskServer,
        ask_client: AskClient,
        memory: CallMemory,
    ) -> None:
        self._manner = manner
        self._run = run
        self._catalogue = catalogue
        self._ask_server = ask_server
        self._user = ClientUser(ask_client, memory.questions)
        self._to_go_on = memory.to_go_on

    async def judged(self, call: GovernedCall) -> Passed | bytes:
        """Return a call that may be made, or else what the client is told."""
        try:
            return await self._judged(call)
        except InterlockError as error:
            return call.refusal([str(error)], blocked("refused"))
        except Exception as error:  # noqa: BLE001 - whatever breaks the question is a no
            why = f"the question broke: {type(error).__name__}; let a person look at the log"
            return call.refusal([why], blocked("broken"))

    async def _judged(self, call: GovernedCall) -> Passed | bytes:
        known = self._to_go_on.pop((call.digest, call.state), None)
        if known is not None:
            # The server has asked something about a call that it may have: this is the same call.
            return Passed(call, known)
        said = self._user.answer_in(call) if self._user.is_answered(call) else None
        mismatches = await self._mismatches(call)
        run = await self._run.begun(call.client.name)
        answer = await self._ask(run, call)
        if mismatches or answer.decision is Decision.BLOCK:
            return await self._refused(run, call, answer, mismatches)
        doubts = [*self._changes(call), *(answer.reasons if answer.waits_for_person else ())]
        if doubts:
            settled = await self._settled(run, call, answer, doubts, said)
            if isinstance(settled, bytes):
                await self._not_run(run, answer)
                return settled
            answer = settled
        return Passed(call, answer, None if said is None else call.without_answers())

    async def _mismatches(self, call: GovernedCall) -> list[str]:
        """Return what is wrong with a call by the server's own word."""
        if call.method != CALL:
            return []
        tool = await self._catalogue.tool(call.name, call.meta, self._ask_server)
        if tool is None:
            return [f"the server lists no tool `{call.name}`: use one of those that it lists"]
        return [f"{each.message}; {each.remediation}" for each in tool.findings(call.arguments)]

    def _changes(self, call: GovernedCall) -> list[str]:
        if call.method != CALL or not self._catalogue.is_changed(call.name):
            return []
        return [
            f"what `{call.name}` says about itself has changed since it was first seen; a person"
            f" accepts that with `interlock mcp trust {self._manner.server}`"
        ]

    async def _ask(self, run: AsyncRun, call: GovernedCall) -> Answer:
        wait_s = self._manner.wait_s
        if wait_s is not None and await self._asks() is not Confirm.INBOX:
            wait_s = None
        name = call.action_name(self._manner.server)
        return await run.tool(name, call.action_params, wait_s=wait_s)

    async def _asks(self) -> Confirm:
        """Return who is asked; whoever is set up later to look at the inbox is found then."""
        if self._manner.confirm is not None:
            return self._manner.confirm
        return Confirm.INBOX if await self._run.has_operator() else Confirm.ELICIT

    async def _settled(
        self,
        run: AsyncRun,
        call: GovernedCall,
        answer: Answer,
        doubts: Sequence[str],
        said: Said | None,
    ) -> Answer | bytes:
        """Return an answer that lets the call be made once somebody has agreed, or else a no."""
        if await self._asks() is Confirm.INBOX or not call.client.has_forms:
            return call.refusal([*doubts, *self._ways_on(call, answer)], decision_of(answer))
        if said is None and call.client.is_modern:
            return self._user.question_line(call, doubts)
        if said is None:
            said = await self._user.asked(call, doubts)
        if answer.waits_for_person and said is not Said.NOTHING:
            await self._run.client_answered(answer, agreed=said is Said.YES)
        if said is not Said.YES:
            why = "the user was asked, and did not agree: do it another way, or ask them yourself"
            return call.refusal([*doubts, why], decision_of(answer))
        answer = await self._ask(run, call) if answer.waits_for_person else answer
        return answer if answer.allowed else call.refusal(answer.reasons, decision_of(answer))

    def _ways_on(self, call: GovernedCall, answer: Answer) -> list[str]:
        if answer.approval_id is None:
            return []
        inbox = (
            f"a person has to agree, with `interlock approve {code_of(answer.approval_id)}` or in"
            " the console; then make exactly the same call again, once"
        )
        if call.client.has_forms:
            return [inbox]
        return [inbox, "this client does not show its user any questions"]

    async def _refused(
        self, run: AsyncRun, call: GovernedCall, answer: Answer, mismatches: Sequence[str]
    ) -> bytes:
        if answer.decision is Decision.BLOCK:
            return call.refusal([*mismatches, *answer.reasons], decision_of(answer))
        await self._not_run(run, answer)
        return call.refusal(mismatches, blocked("schema", runId=answer.run_id))

    async def _not_run(self, run: AsyncRun, answer: Answer) -> None:
        if answer.allowed:
            await run.observe(answer, outcome="not-run")

    async def came_back(self, passed: Passed, message: Message) -> None:
        """Report what came of a call."""
        seen = _seen(message)
        if seen.is_question:
            self._remember(passed, seen.state)
            return
        run = await self._run.begun()
        took_ms = int(1000 * (time.monotonic() - passed.begun))
        outcome = "failed" if seen.failed else "ok"
        await run.observe(passed.answer, outcome=outcome, output=seen.text, duration_ms=took_ms)

    def _remember(self, passed: Passed, state: str | None) -> None:
        while len(self._to_go_on) >= _MOST_UNDER_WAY:
            self._to_go_on.pop(next(iter(self._to_go_on)))
        self._to_go_on[passed.call.digest, state] = passed.answer


def noted(passed: Passed, message: Message) -> bytes | None:
    """Return the answer to a call with the warning that it passed with, where it did."""
    if passed.answer.decision is not Decision.WARN or message.result is None:
        return None
    with contextlib.suppress(InputError):
        return _with_note(passed, message.request_id, message.result)
    return None


def _with_note(passed: Passed, request_id: Id, told: msgspec.Raw) -> bytes | None:
    result = parts(told)
    if "requestState" in result or "inputRequests" in result:
        # The server asks something first: the warning stands beside what comes of it.
        return None
    meta = {
        **table_in(table(told).get("_meta")),
        DECISION_KEY: decision_of(passed.answer),
    }
    return result_line(request_id, {**result, "_meta": meta})


class _Seen(NamedTuple):
    failed: bool
    text: str
    is_question: bool = False
    state: str | None = None


class _Result(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """As much of a result as is looked at."""

    is_error: bool = False
    result_type: str = "complete"
    request_state: str | None = None
    content: list[dict[str, object]] = []


def _seen(message: Message) -> _Seen:
    if message.result is None:
        return _Seen(failed=True, text=_beginning(message.error))
    try:
        result = msgspec.json.decode(message.result, type=_Result)
    except msgspec.DecodeError:
        # A resource or a prompt, or a result that its client will complain about itself.
        return _Seen(failed=False, text=_beginning(message.result))
    texts = [text for each in result.content if isinstance(text := each.get("text"), str)]
    return _Seen(
        failed=result.is_error,
        text="\n".join(texts)[:_READ_OF_RESULT],
        is_question=result.result_type == "input_required",
        state=result.request_state,
    )


def _beginning(raw: msgspec.Raw) -> str:
    return bytes(memoryview(raw)[:_READ_OF_RESULT]).decode("utf-8", "replace")
