"""The limits that loops and lack of progress are judged by."""

from __future__ import annotations

from typing import Final

import msgspec

from interlock.errors import InputError

VOLATILE: Final = (
    "timestamp",
    "*_timestamp",
    "request_id",
    "requestid",
    "correlation_id",
    "trace_id",
    "span_id",
    "nonce",
    "idempotency_key",
    "tool_call_id",
    "call_id",
    "attempt",
    "attempts",
    "retry",
    "retries",
    "retry_count",
    "iteration",
)
"""Arguments that differ every time by their nature, whatever the tool."""


class ProgressSettings(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Every limit of the stuck-run detector, with what holds where nobody says otherwise."""

    volatile: tuple[str, ...] = VOLATILE
    """Names of arguments that do not tell two calls apart; `*` stands for any letters."""
    polling: tuple[str, ...] = ()
    """Tools that look how far something is, and may look again; `*` stands for any letters."""
    pause_repeats: int = 3
    """So often the same round of calls with the same results pauses a run."""
    stop_repeats: int = 5
    """So often it stops the run."""
    patience: int = 30
    """So often it may look at something outside that does not change."""
    pause_score: float = 1.0
    """So much evidence of being stuck pauses a run: one clear sign is 1.0."""

    def __post_init__(self) -> None:
        """Refuse limits that no run can be held against."""
        if not 2 <= self.pause_repeats <= self.stop_repeats:
            raise InputError(
                f"`pause_repeats` is {self.pause_repeats} and `stop_repeats` is"
                f" {self.stop_repeats}: expected at least 2, and to stop no sooner than to pause"
            )
        if self.patience < 1:
            raise InputError(f"`patience` is {self.patience}, expected at least 1")
        if not 0 < self.pause_score <= 10:
            raise InputError(
                f"`pause_score` is {self.pause_score}, expected more than 0, at most 10"
            )
