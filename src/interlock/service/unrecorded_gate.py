"""The continue gate without a ledger."""

from __future__ import annotations

from typing import cast

from interlock.model.entrance import Count, Given, entrance
from interlock.model.step import ContinueDecision, StepContext
from interlock.model.step_history import History, entry_from_decision
from interlock.model.step_statistics import StepStatistics
from interlock.policy.config.run_sections import Steps
from interlock.policy.steps.continue_gate import decide, is_within_cooldown
from interlock.service.policies.policy_files import AnyPolicy, policy_given


class ContinueGate:
    """The gate for whoever asks without a ledger: it remembers its own answers.

    A governed run needs none: there the record says what was answered before. Without settings
    it goes by those of `policy`, or of the one that every door finds.
    """

    @entrance
    def __init__(self, settings: Steps | None = None, *, policy: AnyPolicy | None = None) -> None:
        self._settings = policy_given(policy).config.steps if settings is None else settings
        self._history = History()
        self._full_at_ms: int | None = None
        self._throttled = 0

    @entrance
    def evaluate(self, context: Given[StepContext], *, at_ms: Count) -> ContinueDecision:
        """Return whether the run goes on; within the cooldown only the hard checks are made."""
        settings, context = self._settings, cast("StepContext", context)
        short = is_within_cooldown(settings, full_at_ms=self._full_at_ms, at_ms=at_ms)
        answer = decide(context, settings, throttled_before=self._throttled, short=short)
        if not short:
            self._full_at_ms = at_ms
            self._throttled = self._throttled + 1 if answer.delay_ms is not None else 0
        self._history.add(entry_from_decision(context, answer))
        return answer

    def statistics(self) -> StepStatistics:
        """Return what the latest 10,000 answers come to."""
        return self._history.statistics()
