"""The socket that hooks ask at: a line of JSON each, from processes of the same user.

A line with `hook` is answered by a head `CODE STDOUT_BYTES STDERR_BYTES` and then these bytes: what
the hook ends with. A line with `question`, such as

    {"question": "action", "run": "0198...", "action": {"command": "ls"}}

names a word of a run with its arguments; it is answered by a line `{"answer": ...}`, or
`{"error": ...}` with the problem as HTTP tells it.
"""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, cast

import msgspec

from interlock import processes
from interlock.errors import InputError
from interlock.model.hook import HookCall, HookReply
from interlock.server.access.peer import Peer, peer_of_socket
from interlock.server.hooks.hook_desk import HookDesk, refusal
from interlock.server.hooks.session_runs import ANYBODY
from interlock.server.wire.http_message import json_bytes
from interlock.server.wire.problem import problem_of
from interlock.service.run_operations import RunOperations

LARGEST_LINE: Final = 8 * 2**20
"""More than any client sends for one action: what is larger is refused, unread."""
_LONGEST_HEAD: Final = 64 * 1024
_LINE_S: Final = 20.0
"""So long a line may take to arrive."""
_QUIET_S: Final = 300.0
"""So long a connection may be kept without a question."""
_PAYLOAD: Final = b',"payload":'
_NO_CALL: Final = HookCall(hook="")

_WORDS: Final[Mapping[str, Callable[[RunOperations], Callable[..., Awaitable[object]]]]] = {
    "action": lambda run: run.ask,
    "edit": lambda run: run.apply_edits,
    "observation": lambda run: run.observe,
    "usage": lambda run: run.usage,
    "violation": lambda run: run.violation,
    "step": lambda run: run.step,
    "stop": lambda run: run.stopped,
    "belief": lambda run: run.belief,
    "review": lambda run: run.review,
    "verdict": lambda run: run.verdict,
    "finish": lambda run: run.finish,
}
"""What can be asked of a run in one line: the words of Python, with their arguments."""


class HookSocket:
    """Listens for hooks."""

    def __init__(self, desk: HookDesk) -> None:
        self.desk: Final = desk
        self.asked = 0
        """How many questions have come: who looks again later sees whether anybody asks."""
        self.busy = 0
        """How many of them are still to be answered."""
        self.connections: Final = set[asyncio.BaseTransport]()
        self._server: asyncio.Server | None = None

    async def start(self, listening: socket.socket) -> None:
        """Begin to listen at a socket that is bound already."""
        loop = asyncio.get_running_loop()
        self._server = await loop.create_unix_server(lambda: _Connection(self), sock=listening)

    async def close(self) -> None:
        """Listen no longer; what was asked is answered to its end by then, or nobody hears it."""
        if self._server is not None:
            self._server.close()
        for each in tuple(self.connections):
            each.close()


class _Connection(asyncio.Protocol):
    """Somebody who asks, one question after the other."""

    def __init__(self, door: HookSocket) -> None:
        self._door = door
        self._loop = asyncio.get_running_loop()
        self._buffer = bytearray()
        self._is_too_large = False
        self._task: asyncio.Task[None] | None = None
        self._timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Let nobody in but processes of the same user, and root."""
        self._transport = cast("asyncio.Transport", transport)
        found = peer_of_socket(transport.get_extra_info("socket"))
        self._peer = found or Peer(0, os.getuid())
        if self._peer.uid not in (os.getuid(), 0):
            self._write(_head_and_body(refusal(_NO_CALL, _other_user(self._peer))))
            self._transport.close()
            return
        self._door.connections.add(transport)
        self._wait(_LINE_S)

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait for nobody any more: what was asked is on record all the same."""
        del exc
        self._door.connections.discard(self._transport)
        self._stop_timer()
        if self._task is not None:
            self._task.cancel()

    def data_received(self, data: bytes) -> None:
        """Gather a line; what follows it waits until that is answered."""
        if self._is_too_large:
            # Read to its end and forgotten: whoever still writes would not hear the answer.
            if b"\n" in data:
                self._refuse_large()
            return
        self._buffer += data
        if self._task is None:
            self._take_line()

    def eof_received(self) -> bool:
        """Answer what was asked: only the asking is over."""
        return self._task is not None

    def _take_line(self) -> None:
        end = self._buffer.find(b"\n")
        if end < 0 and len(self._buffer) <= LARGEST_LINE:
            return
        self._stop_timer()
        if end < 0 or end > LARGEST_LINE:
            self._is_too_large = True
            del self._buffer[_LONGEST_HEAD:]
            self._wait(_LINE_S)
            if end >= 0:
                self._refuse_large()
            return
        line = bytes(self._buffer[:end])
        del self._buffer[: end + 1]
        self._transport.pause_reading()
        self._door.asked += 1
        self._door.busy += 1
        self._task = self._loop.create_task(self._answer(line))
        self._task.add_done_callback(self._answered)

    def _refuse_large(self) -> None:
        head = bytes(self._buffer)
        reason = f"the question is larger than {LARGEST_LINE:,} bytes: ask about less at a time"
        if head.lstrip().startswith(b'{"hook"'):
            self._write(_head_and_body(self._door.desk.refusal(_call(head), reason)))
        else:
            self._write(_told(InputError(reason)))
        self._transport.close()

    async def _answer(self, line: bytes) -> None:
        if line.startswith(b'{"hook"'):
            self._write(_head_and_body(await self._replied(line)))
        else:
            self._write(await self._told(line))

    async def _replied(self, line: bytes) -> HookReply:
        call = _call(line)
        payload = line.partition(_PAYLOAD)[2].strip()
        try:
            # On its own: whatever it holds, it cannot speak for the rest of the line.
            raw = msgspec.json.decode(payload[:-1], type=msgspec.Raw)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return self._door.desk.refusal(call, "what the client wrote to the hook is not JSON")
        whole = msgspec.structs.replace(call, payload=raw, pid=_hook_of(self._peer.pid, call.pid))
        return await self._door.desk.reply(whole)

    async def _told(self, line: bytes) -> bytes:
        try:
            table = msgspec.json.decode(line, type=dict[str, Any])
            word = _WORDS.get(str(table.pop("question", "")))
            if word is None:
                known = ", ".join(f"`{each}`" for each in _WORDS)
                raise InputError(f"`question` is none of {known}")  # noqa: TRY301 - told as all others
            run = await self._door.desk.named_run(str(table.pop("run", "")), ANYBODY)
            return json_bytes({"answer": await word(run)(**table)}) + b"\n"
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            return _told(InputError(f"the line is not a JSON object: {error}"))
        except Exception as error:  # noqa: BLE001 - whatever fails is answered
            return _told(error)

    def _answered(self, task: asyncio.Task[None]) -> None:
        self._task = None
        self._door.busy -= 1
        if task.cancelled() or self._transport.is_closing():
            return
        if task.exception() is not None:
            self._transport.close()
            return
        self._transport.resume_reading()
        self._wait(_QUIET_S)
        self._take_line()

    def _write(self, data: bytes) -> None:
        if not self._transport.is_closing():
            self._transport.write(data)

    def _wait(self, seconds: float) -> None:
        self._stop_timer()
        self._timer = self._loop.call_later(seconds, self._transport.close)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()


def _call(line: bytes) -> HookCall:
    """Return who calls and how; nobody, where that cannot be read."""
    try:
        return msgspec.json.decode(line.partition(_PAYLOAD)[0] + b"}", type=HookCall)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return _NO_CALL


def _hook_of(peer: int, said: int) -> int:
    """Return the process that the hook is: what is at the other end, or what waits for that.

    Where no server ran yet, a hook has `interlock hook` start one and ask. The run is not for the
    hook, which is over at once: whatever its client starts could then pass for a person.
    """
    if not peer or (said != peer and processes.is_child(peer, said)):
        return said
    return peer


def _head_and_body(reply: HookReply) -> bytes:
    head = b"%d %d %d\n" % (reply.code, len(reply.stdout), len(reply.stderr))
    return head + reply.stdout + reply.stderr


def _told(error: Exception) -> bytes:
    return json_bytes({"error": problem_of(error, "")}) + b"\n"


def _other_user(peer: Peer) -> str:
    return f"this socket is of user {os.getuid()}, not of user {peer.uid}"
