"""The sums of a day: what was answered and spent since midnight, UTC.

The records of the day are read once, a few thousand at a time, and then only what is new.
"""

from __future__ import annotations

import threading
import weakref
from typing import Final

import msgspec

from interlock.ledger.ledger import Ledger
from interlock.model.budget import NOTHING, Amounts, TokenUsage
from interlock.model.rows import RecordRow
from interlock.ports import Rows

DAY: Final = 86_400_000_000
"""In the unit of the clock."""
_PAGE: Final = 500
_MOST_AT_ONCE: Final = 2_000
_OF_PROJECTS: Final = "project-day/"


class Today(msgspec.Struct, frozen=True, kw_only=True):
    """The sums of one day, so far."""

    answers: int = 0
    asked: int = 0
    blocked: int = 0
    tokens: int = 0
    cost_micros: int = 0
    unpriced_tokens: int = 0
    """Tokens whose price is not known: the cost is higher than `cost_micros`."""
    projects: int = 0
    """How many have spent something."""
    held: int = 0
    """How many runs were paused or stopped by the continue gate."""
    held_pace: int = 0
    """How many tokens a step took them until then, all of them added up; of some it is unknown."""
    is_whole: bool = True
    """Whether every record of the day was counted already."""


class _Answer(msgspec.Struct):
    decision: str


class _Answered(msgspec.Struct):
    event: _Answer


class _Spent(msgspec.Struct):
    spent: Amounts = NOTHING
    scopes: tuple[str, ...] = ()
    usage: TokenUsage | None = None
    cost_micros: int | None = None


class _Spending(msgspec.Struct):
    event: _Spent


class _Pace(msgspec.Struct, frozen=True):
    total_tokens_used: int | None = None
    step_number: int | None = None


class _Stepped(msgspec.Struct):
    decision: _Answer
    context: _Pace = _Pace()


class _Step(msgspec.Struct):
    event: _Stepped


# Only what is added up is read: a day may have very many records.
_ANSWERED: Final = msgspec.json.Decoder(_Answered)
_SPENDING: Final = msgspec.json.Decoder(_Spending)
_STEP: Final = msgspec.json.Decoder(_Step)


class _Counts:
    """What was counted of one day."""

    def __init__(self, day: int) -> None:
        self.day = day
        self.answers: dict[str, int] = {}
        self.spent = NOTHING
        self.unpriced = 0
        self.projects: set[str] = set()
        self.held: dict[str, int] = {}

    def take(self, row: RecordRow) -> None:
        match row.kind:
            case "action-judged":
                decision = _ANSWERED.decode(row.body).event.decision
                self.answers[decision] = self.answers.get(decision, 0) + 1
            case "action-observed" | "usage-reported":
                event = _SPENDING.decode(row.body).event
                self.spent += event.spent
                if event.usage is not None and event.cost_micros is None:
                    self.unpriced += event.usage.total
                self.projects.update(each for each in event.scopes if each.startswith(_OF_PROJECTS))
            case "step-judged":
                step = _STEP.decode(row.body).event
                if step.decision.decision in _HOLDING:
                    pace = (step.context.total_tokens_used or 0) // (step.context.step_number or 1)
                    self.held.setdefault(row.run_id, pace)
            case _:
                pass


_HOLDING: Final = ("pause", "stop")


class DayTally:
    """Adds up the days of one ledger, as they come."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._position: int | None = None
        self._counts = _Counts(0)

    def today(self, rows: Rows, now: int) -> Today:
        """Return the sums of today; of very many records not yet all of them."""
        with self._lock:
            day = now // DAY
            if self._position is None:
                self._position = _begin_of(rows, day * DAY)
            if day != self._counts.day:
                self._counts = _Counts(day)
            is_whole = self._catch_up(rows, self._position)
            return self._sums(is_whole=is_whole)

    def _catch_up(self, rows: Rows, position: int) -> bool:
        for _ in range(_MOST_AT_ONCE // _PAGE):
            page = rows.written(after=position, limit=_PAGE)
            for written in page:
                if written.record.at // DAY == self._counts.day:
                    self._counts.take(written.record)
            if page:
                self._position = position = page[-1].position
            if len(page) < _PAGE:
                return True
        return False

    def _sums(self, *, is_whole: bool) -> Today:
        counts = self._counts
        return Today(
            answers=sum(counts.answers.values()),
            asked=counts.answers.get("require-confirmation", 0),
            blocked=counts.answers.get("block", 0),
            tokens=counts.spent.tokens,
            cost_micros=counts.spent.cost_micros,
            unpriced_tokens=counts.unpriced,
            projects=len(counts.projects),
            held=len(counts.held),
            held_pace=sum(counts.held.values()),
            is_whole=is_whole,
        )


def _begin_of(rows: Rows, since: int) -> int:
    """Return the place behind which the first record of a time stands, found by halving."""
    low, high = 0, rows.head().records
    while low < high:
        middle = (low + high) // 2
        found = rows.written(after=middle, limit=1)
        if not found or found[0].record.at >= since:
            high = middle
        else:
            low = found[0].position
    return low


_KNOWN: Final = weakref.WeakKeyDictionary[Ledger, DayTally]()
_LOCK: Final = threading.Lock()


def today_at(ledger: Ledger, now: int) -> Today:
    """Return the sums of today in a ledger."""
    with _LOCK:
        found = _KNOWN.get(ledger)
        if found is None:
            found = _KNOWN[ledger] = DayTally()
    return found.today(ledger.rows, now)
