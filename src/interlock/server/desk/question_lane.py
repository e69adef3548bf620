"""The short way of the question that is asked most: "may it do this?".

Whatever waits is taken together by one thread, judged, and committed as one group; the event loop
hears of all the answers at once. It never judges anything itself: a line may take its time, and
others are then answered by other threads.
"""

from __future__ import annotations

import asyncio
import contextlib
import queue
import threading
import time
from collections.abc import Callable, Sequence
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

_THREADS: Final = 4
_MOST_TOGETHER: Final = 64
_STUCK_S: Final = 0.05
"""From so long on what comes is not kept waiting behind one long line."""


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


class _Worker:
    """A thread with a queue of its own."""

    def __init__(self, number: int, perform: Callable[[list[_Asked]], None]) -> None:
        self.waiting: queue.SimpleQueue[list[_Asked] | None] = queue.SimpleQueue()
        self.busy_since = 0.0
        """When it took up what it is at; 0 while it waits."""
        self._perform = perform
        name = f"interlock-lane-{number}"
        self.thread = threading.Thread(target=self._serve, name=name, daemon=True)

    @property
    def is_stuck(self) -> bool:
        """Whether it has been at the same group for long."""
        since = self.busy_since
        return bool(since) and time.monotonic() - since > _STUCK_S

    def _serve(self) -> None:
        while (group := self.waiting.get()) is not None:
            is_last = False
            with contextlib.suppress(queue.Empty):
                while len(group) < _MOST_TOGETHER:
                    following = self.waiting.get_nowait()
                    if following is None:
                        is_last = True
                        break
                    group.extend(following)
            self.busy_since = time.monotonic()
            self._perform(group)
            self.busy_since = 0.0
            if is_last:
                return


class QuestionLane:
    """A thread that answers what waits, a group at a time; others while it is at something long."""

    def __init__(self, governor: Governor) -> None:
        self._governor = governor
        self._workers = [_Worker(number, self._answer) for number in range(_THREADS)]
        self._asked: list[_Asked] = []
        """What was asked in this turn of the event loop: a thread is woken once for all of it."""
        self._loop: asyncio.AbstractEventLoop | None = None

    def start(self) -> None:
        """Begin; on the event loop that asks."""
        self._loop = asyncio.get_running_loop()
        for worker in self._workers:
            worker.thread.start()

    async def close(self) -> None:
        """Answer what waits, and end."""
        for worker in self._workers:
            worker.waiting.put(None)
        for worker in self._workers:
            await asyncio.to_thread(worker.thread.join)

    async def answer(self, question: Plain) -> bytes:
        """Return the answer as JSON, once it is on the record; raise LongWay where it is none."""
        loop = asyncio.get_running_loop()
        answered: asyncio.Future[bytes] = loop.create_future()
        if not self._asked:
            loop.call_soon(self._hand_over)
        self._asked.append(_Asked(question, answered))
        return await answered

    def _hand_over(self) -> None:
        asked, self._asked = self._asked, []
        free = next((each for each in self._workers if not each.is_stuck), self._workers[-1])
        free.waiting.put(asked)

    def _answer(self, group: list[_Asked]) -> None:
        works: list[tuple[Work[Decided[Answer]], object]] = []
        for asked in group:
            try:
                works.append((self._prepared(asked.question), asked.answered))
            except Exception as error:  # noqa: BLE001 - whoever asks gets it
                self._tell([Outcome(asked.answered, None, error)])
        try:
            self._governor.ledger.execute_together(works, self._tell)
        except Exception as error:  # noqa: BLE001 - the same: a ledger that was closed
            self._tell([Outcome(answered, None, error) for _, answered in works])

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
