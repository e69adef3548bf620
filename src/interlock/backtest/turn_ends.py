"""Where the turns of a past run ended, and what was known there."""

from __future__ import annotations

import re
from collections import deque
from typing import Final, NamedTuple

from interlock.model.past_run import PastStep
from interlock.model.progress_meter import Kind, Observation
from interlock.model.review import TestCounts
from interlock.model.stop import (
    EvidenceKind,
    LastEvent,
    StopContext,
    StopEvidence,
    finish_reason_from,
)

_CLOSING: Final = 4_000
"""The end of a message is what is read of it."""
_RECENT_TURNS: Final = 10
_BROKEN_OFF: Final = re.compile(
    r"\s*(?:\[Request interrupted|<turn_aborted>|This session is being continued from a previous)"
)
"""How clients write down that a turn was broken off, by a person or for want of room."""


class TurnEnd(NamedTuple):
    """The message that ended a turn, and what the stop gate would have been given."""

    step: PastStep
    place: int
    """Which of the agent's steps it was, from 1 on."""
    context: StopContext
    tests: TestCounts | None
    """What the last tests came to that ran in this very turn."""


class TurnEnds:
    """Follows a run; what it keeps does not grow."""

    def __init__(self, model: str | None) -> None:
        self._model = model
        self._place = self._said_at = 0
        self._said: PastStep | None = None
        """What the agent said last, where nothing came of it yet."""
        self._before = LastEvent.NONE
        """What came right before that."""
        self._acted: deque[bool] = deque(maxlen=_RECENT_TURNS)
        self._todos: tuple[str, ...] = ()
        self._tests: TestCounts | None = None
        self._tests_of_turn: TestCounts | None = None

    def add(self, step: PastStep, seen: Observation | None) -> TurnEnd | None:
        """Take the next step, as the meter saw it; return the turn that it shows to have ended."""
        self._model = step.model or self._model
        ended = None
        self._place += seen is not None and seen.kind is not Kind.PERSON
        is_broken_off = step.role != "assistant" and _BROKEN_OFF.match(step.text) is not None
        if is_broken_off or (seen is not None and seen.kind is Kind.PERSON):
            ended = None if is_broken_off else self.end()
            self._said, self._tests_of_turn = None, None
            self._before = LastEvent.USER_MESSAGE
        elif step.tool is not None:
            self._said, self._before = None, LastEvent.TOOL_RESULT
            self._acted.append(True)
            self._todos = self._todos if step.todos is None else step.todos
        elif seen is not None and step.text.strip():
            self._before = self._before if self._said is None else LastEvent.ASSISTANT_MESSAGE
            self._said, self._said_at = step, self._place
        if seen is not None and seen.tests is not None and seen.tests.executed:
            self._tests = self._tests_of_turn = seen.tests
        return ended

    def end(self) -> TurnEnd | None:
        """Return the turn that ends here; None where it did not end with words."""
        said, self._said = self._said, None
        if said is None:
            return None
        context = StopContext(
            text=said.text[-_CLOSING:],
            last_event=self._before,
            finish_reason=finish_reason_from(said.finish_reason) if said.finish_reason else None,
            tool_ratio=sum(self._acted) / len(self._acted) if self._acted else None,
            n_prev_turns=len(self._acted),
            model=said.model or self._model,
            evidence=self._evidence(),
        )
        self._acted.append(False)
        return TurnEnd(said, self._said_at, context, self._tests_of_turn)

    def _evidence(self) -> tuple[StopEvidence, ...]:
        found = [StopEvidence(kind=EvidenceKind.OPEN_TODO, text=each) for each in self._todos]
        if self._tests is not None and self._tests.failed:
            counted = failed_tests(self._tests)
            found.append(StopEvidence(kind=EvidenceKind.FAILING_CHECK, text=counted))
        return tuple(found)


def failed_tests(counts: TestCounts) -> str:
    """Return how many of how many tests failed, in words."""
    return f"{counts.failed} of {counts.executed} tests failed"
