"""Carries messages between a client and a server, and has the judged ones judged first.

Everything is passed on as it came, byte for byte, but for the few messages that this is about:
calls wait for their answer, a changed tool is not shown, and what the proxy asks by itself is kept
from the other side. So the two ends agree with each other on everything else, as without it.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import secrets
import time
from collections.abc import Coroutine, Mapping
from typing import Final, Protocol

import msgspec

from interlock.adapters.mcp.call_judge import CallJudge, CallMemory, Manner, Passed, noted
from interlock.adapters.mcp.governed_call import (
    GOVERNED,
    Client,
    GovernedCall,
    blocked,
    client_from_initialize,
    governed_call,
)
from interlock.adapters.mcp.governed_run import GovernedRun
from interlock.adapters.mcp.rpc_message import (
    INVALID_REQUEST,
    PARSE_ERROR,
    Id,
    Message,
    client_message,
    error_line,
    notification_line,
    request_line,
    result_line,
    server_message,
    table,
    whole_line,
)
from interlock.adapters.mcp.tool_catalogue import LIST, ToolCatalogue
from interlock.errors import InputError, InterlockError, UnavailableError

_LOG: Final = logging.getLogger("interlock.mcp")
_CANCELLED: Final = "notifications/cancelled"
_LIST_CHANGED: Final = "notifications/tools/list_changed"
_ANSWER_S: Final = 600.0
"""So long an end may take to answer what the proxy asks it; people think before they agree."""


class Channel(Protocol):
    """One end: messages come from it, and go to it."""

    async def read(self) -> bytes | None:
        """Return the next message; None where no more will come."""
        ...

    async def write(self, message: bytes) -> None:
        """Send a message."""
        ...

    async def end(self) -> None:
        """Say that no more will be sent."""
        ...


class MessageProxy:
    """Stands between one client and one server."""

    def __init__(
        self,
        client: Channel,
        server: Channel,
        *,
        manner: Manner,
        run: GovernedRun,
        catalogue: ToolCatalogue,
        memory: CallMemory | None = None,
    ) -> None:
        self._client = client
        self._server = server
        self._catalogue = catalogue
        self._judge = CallJudge(
            manner,
            run,
            catalogue=catalogue,
            ask_server=self._ask_server,
            ask_client=self._ask_client,
            memory=memory or CallMemory(),
        )
        self._greeted = Client()
        self._mark = f"interlock-{secrets.token_hex(8)}-"
        self._count = 0
        self._asked: dict[tuple[Channel, Id], asyncio.Future[Message]] = {}
        """What the proxy itself waits for, of either end: the other one cannot answer it."""
        self._calls: dict[Id, GovernedCall] = {}
        """Every judged call that the client waits for."""
        self._judging: dict[Id, asyncio.Task[None]] = {}
        self._under_way: dict[Id, Passed] = {}
        self._open: dict[Id, str] = {}
        """What the client has asked, by the names of its requests."""
        self._reports: set[asyncio.Task[None]] = set()

    async def carry(self) -> None:
        """Carry messages until both ends are done, or the server is."""
        from_client = asyncio.create_task(self._carry_from_client())
        from_server = asyncio.create_task(self._carry_from_server())
        try:
            await asyncio.wait((from_client, from_server), return_when=asyncio.FIRST_COMPLETED)
            if from_client.done():
                from_client.result()
                await from_server
            else:
                from_server.result()
        finally:
            tasks = (from_client, from_server, *self._judging.values())
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await self._give_up()
            await asyncio.gather(*self._reports, return_exceptions=True)

    async def _carry_from_client(self) -> None:
        # An end that is gone is an end: the other one is told by that.
        with contextlib.suppress(ConnectionError):
            while (line := await self._client.read()) is not None:
                await self._from_client(line)
        # What was asked is still answered: whoever pipes a file in has ended by now.
        await asyncio.gather(*self._judging.values(), return_exceptions=True)
        await self._server.end()

    async def _carry_from_server(self) -> None:
        with contextlib.suppress(ConnectionError):
            while (line := await self._server.read()) is not None:
                await self._from_server(line)

    async def _from_client(self, line: bytes) -> None:
        line = whole_line(line)
        try:
            if not self._is_kept(client_message(line), line):
                await self._server.write(line)
        except InputError as error:
            known = server_message(line)
            code = PARSE_ERROR if known is None else INVALID_REQUEST
            await self._client.write(
                error_line(None if known is None else known.request_id, code, str(error))
            )

    def _is_kept(self, message: Message, line: bytes) -> bool:
        """Look at a message of the client; return whether it does not go on by itself."""
        match message.method:
            case None:
                return self._settle(self._client, message)
            case "initialize":
                self._greeted = client_from_initialize(message.params)
            case "notifications/cancelled":
                return self._is_cancelled(message)
            case method if method in GOVERNED:
                self._begin_judging(message, line)
                return True
            case _:
                pass
        if message.request_id is not None:
            self._open[message.request_id] = message.method
        return False

    def _is_cancelled(self, message: Message) -> bool:
        """Let go of a call; a server that has not heard of it is not told of that either."""
        named = table(message.params).get("requestId")
        request_id = named if isinstance(named, int | str | float) else None
        self._open.pop(request_id, None)
        if self._calls.pop(request_id, None) is None:
            return False
        passed = self._under_way.pop(request_id, None)
        if passed is not None:
            self._report(self._judge.came_back(passed, Message()))
            return False
        self._judging[request_id].cancel()
        return True

    def _begin_judging(self, message: Message, line: bytes) -> None:
        request_id = message.request_id
        if request_id is None:
            raise InputError(f"`{message.method}` has no `id`: nothing was done")
        if request_id in self._calls:
            raise InputError(f"request `{request_id}` is still under way: use another `id`")
        self._calls[request_id] = call = governed_call(message, self._greeted)
        self._open[request_id] = call.method
        judging = self._judging[request_id] = asyncio.create_task(self._judged(call, line))
        judging.add_done_callback(lambda _: self._judging.pop(request_id, None))

    async def _judged(self, call: GovernedCall, line: bytes) -> None:
        verdict = await self._judge.judged(call)
        if isinstance(verdict, bytes):
            del self._calls[call.id], self._open[call.id]
            await self._client.write(verdict)
        else:
            self._under_way[call.id] = verdict._replace(begun=time.monotonic())
            with contextlib.suppress(ConnectionError):
                await self._server.write(line if verdict.line is None else verdict.line)

    async def _from_server(self, line: bytes) -> None:
        message = server_message(line)
        if message is None:
            _LOG.warning("the server wrote what is no message: dropped", extra={"bytes": len(line)})
            return
        if message.method is not None:
            if message.is_answer:
                # Some clients would take it for one: nobody would have looked at that.
                _LOG.warning("the server asked and answered in one message: dropped")
                return
            if message.method == _LIST_CHANGED:
                self._catalogue.forget()
            await self._client.write(line)
            return
        if self._settle(self._server, message):
            return
        request_id = message.request_id
        method = self._open.pop(request_id, None)
        if method is None and message.result is not None:
            # Some clients take `"1"` for the answer to `1`: nobody would have looked at it.
            _LOG.warning("the server sent an answer without a request: dropped")
            return
        if method == LIST:
            line = await self._listed(message, line)
        passed = self._under_way.pop(request_id, None)
        if passed is not None:
            self._calls.pop(request_id, None)
            line = noted(passed, message) or line
            self._report(self._judge.came_back(passed, message))
        await self._client.write(line)

    async def _listed(self, message: Message, line: bytes) -> bytes:
        """Return a list of tools as the client may see it."""
        if message.result is None:
            return line
        try:
            shown = await asyncio.to_thread(self._catalogue.learn, message.result)
        except InterlockError as error:
            return error_line(message.request_id, INVALID_REQUEST, f"interlock: {error}")
        return line if shown is None else result_line(message.request_id, msgspec.Raw(shown))

    def _report(self, report: Coroutine[object, object, None]) -> None:
        async def reported() -> None:
            try:
                await report
            except InterlockError as error:
                _LOG.warning("what came of a call is not on record: %s", error)

        task = asyncio.create_task(reported())
        self._reports.add(task)
        task.add_done_callback(self._reports.discard)

    def _settle(self, end: Channel, message: Message) -> bool:
        """Take an answer to what the proxy itself has asked this end; return whether it is one."""
        asked = self._asked.get((end, message.request_id))
        if asked is None:
            return False
        if not asked.done():
            asked.set_result(message)
        return True

    async def _ask_server(self, method: str, params: Mapping[str, object]) -> Message:
        return await self._ask(self._server, method, params)

    async def _ask_client(self, method: str, params: Mapping[str, object]) -> Message:
        return await self._ask(self._client, method, params)

    async def _ask(self, end: Channel, method: str, params: Mapping[str, object]) -> Message:
        self._count += 1
        request_id = f"{self._mark}{self._count}"
        asked = self._asked[end, request_id] = asyncio.get_running_loop().create_future()
        try:
            await end.write(request_line(request_id, method, params))
            return await asyncio.wait_for(asked, _ANSWER_S)
        except TimeoutError as error:
            raise UnavailableError(
                f"`{method}` was not answered within {_ANSWER_S:.0f} s"
            ) from error
        finally:
            if not asked.done() or asked.cancelled():
                with contextlib.suppress(OSError):
                    await end.write(notification_line(_CANCELLED, {"requestId": request_id}))
            del self._asked[end, request_id]

    async def _give_up(self) -> None:
        """Tell the client of every call that will not be answered any more."""
        for request_id, call in self._calls.items():
            passed = self._under_way.get(request_id)
            why = "the server ended before the call reached it"
            if passed is not None:
                why = "the server ended before it answered; whether it did anything is not known"
                self._report(self._judge.came_back(passed, Message()))
            with contextlib.suppress(OSError):
                await self._client.write(call.refusal([why], blocked("server-ended")))
