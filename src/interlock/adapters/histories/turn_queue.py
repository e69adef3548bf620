"""The steps of a past run in order, each call with its result, though results come when they like.

A model is called, says something and calls tools: that is a turn. Clients write it in pieces, and
what came of the calls later, in any order or never. A turn is given once it is over and every
call of it is answered; one that waits too long is given without.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator, Mapping
from typing import Final

import msgspec

from interlock.adapters.clients.model_usage import believed
from interlock.model.action import Action
from interlock.model.budget import TokenUsage
from interlock.model.past_run import PastStep

_MOST_WAITING: Final = 64
"""So many turns wait for the answer of an older one; what they hold does not grow further."""
_MOST_KNOWN: Final = 1_000
"""So many turns and calls are known by name after they were given, so that none is given twice."""


_DECLINED: Final = re.compile(
    r".{0,80}(?:by (?:the )?user\b|\buser (?:did not allow|denied|cancelled|reject|doesn't want))",
    re.IGNORECASE,
)


def tells_of_person(result: str | None) -> bool:
    """Return whether the words about a call that did not run say that a person refused it."""
    return result is not None and _DECLINED.match(result) is not None


class Call(msgspec.Struct, kw_only=True):
    """A call of a tool, before anybody knows what came of it."""

    id: str
    tool: str
    action: Action | None
    arguments: str
    todos: tuple[str, ...] | None = None
    at: int | None = None
    line: int | None = None
    is_answered: bool = False
    result: str | None = None
    failed: bool | None = None
    ran: bool = True
    declined: bool = False


class Turn(msgspec.Struct, kw_only=True):
    """One call of a model: what it said, and which tools it called."""

    key: str
    number: int
    role: str = "assistant"
    at: int | None = None
    line: int | None = None
    texts: list[str] = msgspec.field(default_factory=list[str])
    calls: list[Call] = msgspec.field(default_factory=list[Call])
    usage: TokenUsage | None = None
    model: str | None = None
    finish_reason: str | None = None
    waiting: int = 1
    """How many calls are not answered yet, and one more as long as it is not over."""

    def counts(self, usage: TokenUsage) -> None:
        """Note what it used; a client that says so several times gets to know more of it."""
        if self.usage is None or usage.total >= self.usage.total:
            self.usage = usage


class TurnQueue:
    """Takes what a client wrote line by line, and gives steps."""

    def __init__(self) -> None:
        self._turns: deque[Turn] = deque()
        self._open: Turn | None = None
        self._calls: dict[str, tuple[Turn, Call]] = {}
        self._given: dict[str, None] = {}
        self._number = 0
        self._owed: TokenUsage | None = None
        """What models used that said nothing and called nothing."""

    @property
    def latest(self) -> Turn | None:
        """The turn that was begun last, whether or not it is over."""
        return self._turns[-1] if self._turns and self._turns[-1].role == "assistant" else None

    def turn(self, key: str, *, at: int | None, line: int | None) -> Turn:
        """Return the turn of this name; whichever was open before is over then."""
        if self._open is not None and self._open.key == key:
            return self._open
        for turn in reversed(self._turns):
            if turn.key == key:
                return turn
        self.end_turn()
        self._number += 1
        turn = self._open = Turn(key=key, number=self._number, at=at, line=line)
        self._turns.append(turn)
        return turn

    def end_turn(self) -> None:
        """Note that nothing is added to the latest turn any more."""
        if self._open is not None:
            self._open.waiting -= 1
            self._open = None

    def person(self, text: str, *, at: int | None, line: int | None) -> None:
        """Note that a person spoke."""
        self.end_turn()
        said = Turn(key="", number=0, role="user", at=at, line=line, texts=[text], waiting=0)
        self._turns.append(said)

    def call(self, turn: Turn, call: Call) -> None:
        """Note a call; one that is known already is the same."""
        if call.id not in self._calls and call.id not in self._given:
            self._calls[call.id] = turn, call
            turn.calls.append(call)
            turn.waiting += 1

    def answered(
        self,
        id_: str,
        result: str | None,
        *,
        failed: bool | None,
        ran: bool,
        declined: bool = False,
    ) -> None:
        """Note what came of a call; of one that nobody knows any more nothing did.

        Who refused one that did not run is read from the words, unless a client says it.
        """
        turn, call = self._calls.get(id_, (None, None))
        if turn is not None and call is not None and not call.is_answered:
            turn.waiting -= 1
            call.is_answered = True
            call.result, call.failed, call.ran = result, failed, ran
            call.declined = declined or (not ran and tells_of_person(result))

    @property
    def is_ready(self) -> bool:
        """Whether the next turn can be given."""
        turns = self._turns
        return bool(turns) and (turns[0].waiting == 0 or len(turns) > _MOST_WAITING)

    def ready(self) -> Iterator[PastStep]:
        """Yield every step that is complete, and whose turn it is."""
        while self.is_ready:
            yield from self._steps(self._turns.popleft())

    def rest(self) -> Iterator[PastStep]:
        """Yield what is left at the end, as far as it is known."""
        while self._turns:
            yield from self._steps(self._turns.popleft())
        if self._owed is not None:
            yield PastStep(usage=self._owed)

    def _steps(self, turn: Turn) -> Iterator[PastStep]:
        for call in turn.calls:
            del self._calls[call.id]
            self._remember(call.id)
        text = "\n".join(each for each in turn.texts if each)
        if turn.role != "assistant":
            yield PastStep(role=turn.role, text=text, at=turn.at, line=turn.line)
            return
        usage = self._charged(turn)
        if not turn.calls and not text:
            self._owed = usage
            return
        self._owed = None
        if not turn.calls:
            yield PastStep(
                text=text,
                usage=usage,
                model=turn.model,
                finish_reason=turn.finish_reason,
                turn=turn.number,
                at=turn.at,
                line=turn.line,
            )
        for call in turn.calls:
            yield PastStep(
                text=text,
                tool=call.tool,
                action=call.action,
                arguments=call.arguments,
                result=call.result,
                failed=call.failed,
                ran=call.ran,
                declined=call.declined,
                todos=call.todos if call.ran else None,
                usage=usage,
                model=turn.model,
                finish_reason=turn.finish_reason if call is turn.calls[-1] else None,
                turn=turn.number,
                at=call.at,
                line=call.line,
            )
            text, usage = "", None

    def _charged(self, turn: Turn) -> TokenUsage | None:
        """Return what a turn used, and what is owed from before; of each turn once."""
        used = None if turn.key in self._given else turn.usage
        self._remember(turn.key)
        if used is None or self._owed is None:
            return used or self._owed
        return believed(
            input_tokens=used.input_tokens + self._owed.input_tokens,
            output_tokens=used.output_tokens + self._owed.output_tokens,
            cache_read_tokens=used.cache_read_tokens + self._owed.cache_read_tokens,
            cache_write_tokens=used.cache_write_tokens + self._owed.cache_write_tokens,
        )

    def _remember(self, name: str) -> None:
        self._given[name] = None
        if len(self._given) > _MOST_KNOWN:
            del self._given[next(iter(self._given))]


def outcome_of(seen: Mapping[str, object]) -> tuple[str, bool]:
    """Return what a live hook would have told of a call: its output, and whether it failed."""
    output, code = seen.get("output"), seen.get("exit_code")
    failed = seen.get("outcome") == "failed" if code is None else code != 0
    return output if isinstance(output, str) else "", failed
