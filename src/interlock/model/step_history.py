"""The latest answers of a run: how often each, why, and what was spent after a warning."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable
from typing import Final

import msgspec

from interlock.model.step import ContinueDecision, StepContext, StepDecision
from interlock.model.step_statistics import SIGNALS, StepStatistics, mean_of, whole

MOST_ENTRIES: Final = 10_000
"""How many answers a view of a run keeps in memory; the ledger keeps all."""


class HistoryEntry(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What is remembered of one answer."""

    step: int | None = None
    decision: StepDecision
    codes: tuple[str, ...] = ()
    """Why, each once, the most severe first."""
    slope: float | None = None
    rework_ratio: float | None = None
    tokens_used: int | None = None
    """All tokens of the run so far."""


def entry_from_decision(context: StepContext, decision: ContinueDecision) -> HistoryEntry:
    """Return what is remembered of an answer."""
    return HistoryEntry(
        step=context.step_number,
        decision=decision.decision,
        codes=tuple(dict.fromkeys(reason.code for reason in decision.reasons)),
        slope=decision.metrics.budget_slope,
        rework_ratio=decision.metrics.rework_ratio,
        tokens_used=context.total_tokens_used,
    )


class History:
    """The latest answers of a run, and when it was first paused or stopped."""

    def __init__(self) -> None:
        self._entries: deque[HistoryEntry] = deque(maxlen=MOST_ENTRIES)
        self._signal: HistoryEntry | None = None
        self._tokens_at_signal: int | None = None
        self._tokens: int | None = None

    @property
    def entries(self) -> tuple[HistoryEntry, ...]:
        """The answers that are remembered, the oldest first."""
        return tuple(self._entries)

    def add(self, entry: HistoryEntry) -> None:
        """Take in one more answer, and forget the oldest when there are too many."""
        self._entries.append(entry)
        if entry.tokens_used is not None:
            self._tokens = entry.tokens_used
        if self._signal is None and entry.decision in SIGNALS:
            self._signal, self._tokens_at_signal = entry, self._tokens

    def statistics(self) -> StepStatistics:
        """Return the figures of the answers that are remembered."""
        entries = self.entries
        decisions = Counter(entry.decision for entry in entries)
        codes = Counter(code for entry in entries for code in entry.codes)
        return StepStatistics(
            evaluations=len(entries),
            decisions={each.value: decisions[each] for each in StepDecision},
            mean_slope=_mean(entry.slope for entry in entries),
            mean_rework_ratio=_mean(entry.rework_ratio for entry in entries),
            reason_shares={code: count / len(entries) for code, count in sorted(codes.items())},
            first_signal_step=None if self._signal is None else self._signal.step,
            tokens_after_signal=self._tokens_after_signal(),
        )

    def _tokens_after_signal(self) -> int | None:
        if self._tokens is None or self._tokens_at_signal is None:
            return None
        return self._tokens - self._tokens_at_signal


def _mean(figures: Iterable[float | None]) -> float | None:
    known = [whole(figure) for figure in figures if figure is not None]
    return mean_of(sum(known), len(known))
