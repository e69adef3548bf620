"""The short way of the question that is asked most: "may it do this?".

Whatever waits is taken together by one of a few threads, judged, and committed as one group; the
event loop hears of all the answers at once. It never judges anything itself: a line may take its
time, and others are answered meanwhile.
"""

from __future__ import annotations

import asyncio
import contextlib
import queue
import threading
from collections.abc import Sequence
from typing import Final, NamedTuple, cast

import msgspec

from interlock.ledger.ledger import Outcome, Work
from interlock.model.action import action_given
from interlock.model.answers import Answer
from interlock.model.principal import Principal
from interlock.server.wire.http_message import LARGE, json_bytes
from interlock.service.governor import Governor
from interlock.service.questions.action_question import ActionQuestion
from interlock.service.questions.question import Asking, Decided

_THREADS: Final = 2
_MOST_TOGETHER: Final = 32


class ActionBody(msgspec.Struct, forbid_unknown_fields=True):
    """The body of a plain question: everything else goes the long way."""

    action: dict[str, object]
    key: str | None = None


_BODY: Final = msgspec.json.Decoder(ActionBody)


class LongWay(Exception):  # noqa: N818 - it is no failure
    """The question is not a plain one: it is asked as every other is."""


class Plain(NamedTuple):
    """A question as it arrived: in which run, by whom, and its body unread."""

    run_id: str
    principal: Principal | None
    key: str | None
    body: bytes


class _Asked(NamedTuple):
    question: Plain
    answered: asyncio.Future[bytes]


class QuestionLane:
    """A few threads that answer what waits, a group at a time."""

    def __init__(self, governor: Governor) -> None:
        self._governor = governor
        self._waiting: queue.SimpleQueue[_Asked | None] = queue.SimpleQueue()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._threads: list[threading.Thread] = []

    def start(self) -> None:
        """Begin; on the event loop that asks."""
        self._loop = asyncio.get_running_loop()
        for number in range(_THREADS):
            name = f"interlock-lane-{number}"
            thread = threading.Thread(target=self._serve, name=name, daemon=True)
            thread.start()
            self._threads.append(thread)

    async def close(self) -> None:
        """Answer what waits, and end."""
        for _ in self._threads:
            self._waiting.put(None)
        for thread in self._threads:
            await asyncio.to_thread(thread.join)

    async def answer(self, question: Plain) -> bytes:
        """Return the answer as JSON, once it is on the record; raise LongWay where it is none."""
        answered: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        self._waiting.put(_Asked(question, answered))
        return await answered

    def _serve(self) -> None:
        ledger = self._governor.ledger
        while (first := self._waiting.get()) is not None:
            group = [first]
            with contextlib.suppress(queue.Empty):
                while len(group) < _MOST_TOGETHER:
                    following = self._waiting.get_nowait()
                    if following is None:
                        # It is meant for another thread as well.
                        self._waiting.put(None)
                        break
                    group.append(following)
            works: list[tuple[Work[Decided[Answer]], object]] = []
            for asked in group:
                try:
                    works.append((self._prepared(asked.question), asked.answered))
                except Exception as error:  # noqa: BLE001 - whoever asks gets it
                    self._tell([Outcome(asked.answered, None, error)])
            ledger.execute_together(works, self._tell)

    def _prepared(self, plain: Plain) -> Work[Decided[Answer]]:
        if len(plain.body) > LARGE:
            raise LongWay
        try:
            given = _BODY.decode(plain.body)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            # What is wrong with it is said where everything is read.
            raise LongWay from None
        question = ActionQuestion(
            run_id=plain.run_id, action=action_given(given.action), key=given.key or plain.key
        )
        return question.prepare(Asking(self._governor, plain.principal))

    def _tell(self, outcomes: Sequence[Outcome]) -> None:
        told = [(outcome.ticket, _encoded(outcome)) for outcome in outcomes]
        loop = self._loop
        # A loop that was closed meanwhile has nobody left who waits.
        with contextlib.suppress(RuntimeError):
            if loop is not None:
                loop.call_soon_threadsafe(_settle, told)


def _encoded(outcome: Outcome) -> bytes | BaseException:
    if outcome.error is not None:
        return outcome.error
    if not isinstance(outcome.result, Answer):
        # It takes something that takes time: asked again, it is decided from there on.
        return LongWay()
    return json_bytes(outcome.result)


def _settle(told: Sequence[tuple[object, bytes | BaseException]]) -> None:
    for ticket, result in told:
        future = cast("asyncio.Future[bytes]", ticket)
        if future.done():
            continue
        if isinstance(result, bytes):
            future.set_result(result)
        else:
            future.set_exception(result)
