"""Runs at a glance: how each stands, and what it did last, without reading it whole.

What was read of a run is remembered until it has another record.
"""

from __future__ import annotations

import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Final, Generic, TypeVar

import msgspec

from interlock.errors import LedgerError, PolicyError
from interlock.ledger.chain import decoded
from interlock.ledger.ledger import Ledger
from interlock.model import events
from interlock.model.budget import Dimension
from interlock.model.rows import RunRow
from interlock.model.run import RunState
from interlock.model.verdict import Decision
from interlock.service.policies.policy_book import stored_policy
from interlock.service.policies.policy_files import default_policy
from interlock.service.records.budgets import policy_limits
from interlock.views import units
from interlock.views.run_curves import StepBar, run_curves
from interlock.views.run_page_view import Standing, standing_of
from interlock.views.run_timeline import Fold, Show, TimelineRow, run_timeline

LOOK_BACK: Final = 240
"""So many of the latest records of a run are looked at."""
_BARS: Final = 24
_MOST_REMEMBERED: Final = 1_000
_MOST_ACTIONS: Final = 5
_LONGEST_SAID: Final = 600

K = TypeVar("K")
V = TypeVar("V")


class Spending(msgspec.Struct, frozen=True):
    """What of a budget was used, in the dimension that counts most."""

    used: str
    limit: str | None
    """None where no limit is set."""
    share: float
    unpriced_tokens: int
    """Tokens whose price is not known."""


class RunGlance(msgspec.Struct, frozen=True, kw_only=True):
    """How a run stands."""

    id: str
    task: str
    agent: str
    client: str
    project: str
    parent: str | None
    standing: Standing
    step: int | None
    """The number of the step that it is taking; None before the first one."""
    steps: int
    answers: int
    asked: int
    blocked: int
    tokens: int
    cost_micros: int
    unpriced_tokens: int
    spending: Spending
    coherence: float | None
    updated_at: int


class LatestDeeds(msgspec.Struct, frozen=True, kw_only=True):
    """What a run did last."""

    actions: tuple[TimelineRow, ...]
    """The latest actions, the oldest first."""
    said: str | None
    """Its last words."""
    bars: tuple[StepBar, ...]
    """Tokens and answers of the last steps."""


class Glances:
    """Looks at the runs of one ledger."""

    def __init__(self, ledger: Ledger) -> None:
        # The ledger remembers these by itself: a reference back would keep it for ever.
        self._ledger = weakref.ref(ledger)
        self._glances = _Memory[tuple[str, int], RunGlance]()
        self._limits = _Memory[str, int | None]()
        self._deeds = _Memory[tuple[str, int], LatestDeeds]()

    def of(self, row: RunRow) -> RunGlance:
        """Return how a run stands."""
        return self._glances.get((row.id, row.seq), lambda: self._glance(row))

    def deeds_of(self, row: RunRow) -> LatestDeeds:
        """Return what a run did last."""
        ledger = self._open()
        return self._deeds.get(
            (row.id, row.seq), lambda: latest_deeds(ledger, row.id, upto=row.seq)
        )

    def _open(self) -> Ledger:
        ledger = self._ledger()
        if ledger is None:
            raise LedgerError("the ledger was closed: open it again")
        return ledger

    def _glance(self, row: RunRow) -> RunGlance:
        ledger = self._open()
        state = ledger.state(row.id) or RunState(id=row.id)
        limit = self._limits.get(state.policy_hash, lambda: _cost_limit(ledger, state.policy_hash))
        decisions = state.decisions
        return RunGlance(
            id=state.id,
            task=state.task,
            agent=state.agent,
            client=state.client,
            project=state.project,
            parent=row.parent,
            standing=standing_of(state),
            step=state.control.turn,
            steps=state.control.steps,
            answers=sum(decisions.values()),
            asked=decisions.get(Decision.REQUIRE_CONFIRMATION.value, 0),
            blocked=decisions.get(Decision.BLOCK.value, 0),
            tokens=state.spent.tokens,
            cost_micros=state.spent.cost_micros,
            unpriced_tokens=state.unpriced_tokens,
            spending=_spending(state, limit),
            coherence=state.control.coherence,
            updated_at=state.updated_at,
        )


_KNOWN: Final = weakref.WeakKeyDictionary[Ledger, Glances]()
_LOCK: Final = threading.Lock()


def glances_at(ledger: Ledger) -> Glances:
    """Return who looks at the runs of a ledger: one for all pages."""
    with _LOCK:
        found = _KNOWN.get(ledger)
        if found is None:
            found = _KNOWN[ledger] = Glances(ledger)
        return found


def latest_deeds(ledger: Ledger, run_id: str, *, upto: int) -> LatestDeeds:
    """Return what a run did last, up to a record and without reading it whole."""
    rows = ledger.rows
    found = rows.records(run_id, after=max(0, upto - LOOK_BACK), limit=min(LOOK_BACK, upto))
    records = [decoded(row.body) for row in found]
    timeline = run_timeline(rows, records, Show.EVERYTHING, page=LOOK_BACK)
    blocks = [
        block
        for each in timeline.blocks
        for block in (each.blocks if isinstance(each, Fold) else (each,))
    ]
    acted = [
        row
        for block in reversed(blocks)
        for row in block.rows
        if row.deed is not None and row.is_decision
    ]
    # The bars are the same under any limits.
    curves = run_curves(RunState(id=run_id), records, default_policy().config.steps, None)
    return LatestDeeds(
        actions=tuple(acted[-_MOST_ACTIONS:]), said=_said(records), bars=curves.bars[-_BARS:]
    )


def _said(records: Sequence[events.Record]) -> str | None:
    for record in reversed(records):
        said = None
        if isinstance(record.event, events.StepJudged):
            said = record.event.said
        elif isinstance(record.event, events.StopJudged):
            said = record.event.context.text
        if said and said.strip():
            text = said.strip()
            return text if len(text) <= _LONGEST_SAID else f"{text[:_LONGEST_SAID]}…"
    return None


def _cost_limit(ledger: Ledger, policy_hash: str) -> int | None:
    """Return what a policy lets a run spend; None where it cannot be read any more."""
    try:
        return policy_limits(stored_policy(ledger.rows, policy_hash))["run"].of(Dimension.COST)
    except (LedgerError, PolicyError):
        return None


def _spending(state: RunState, by_policy: int | None) -> Spending:
    """Return what was spent of the money, or of what else is limited where money is not."""
    limits = state.limits
    dimension = Dimension.COST
    limit = limits.of(dimension)
    limit = by_policy if limit is None else limit
    if limit is None:
        limited = [each for each in Dimension if limits.of(each)]
        shares = {each: state.spent.of(each) / (limits.of(each) or 1) for each in limited}
        dimension = max(shares, key=lambda each: shares[each], default=Dimension.COST)
        limit = limits.of(dimension)
    used = state.spent.of(dimension)
    share = 0.0 if limit is None else used / limit if limit else 1.0
    unit = "" if dimension is Dimension.COST else f" {dimension.label}"
    return Spending(
        _amount(dimension, used),
        None if limit is None else f"{_amount(dimension, limit)}{unit}",
        share,
        state.unpriced_tokens,
    )


def _amount(dimension: Dimension, value: int) -> str:
    if dimension is Dimension.COST and (not value or value >= 10_000):
        return f"${value / 1_000_000:,.2f}"
    return units.amount(dimension, value)


class _Memory(Generic[K, V]):
    """Remembers what was looked at last; two may look at the same thing at once."""

    def __init__(self) -> None:
        self._known = OrderedDict[K, V]()
        self._lock = threading.Lock()

    def get(self, key: K, made: Callable[[], V]) -> V:
        with self._lock:
            if key in self._known:
                self._known.move_to_end(key)
                return self._known[key]
        value = made()
        with self._lock:
            self._known[key] = value
            while len(self._known) > _MOST_REMEMBERED:
                self._known.popitem(last=False)
        return value
