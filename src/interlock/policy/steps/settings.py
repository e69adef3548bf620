"""The limits that steps are judged by."""

from __future__ import annotations

from typing import Final

import msgspec

from interlock.errors import InputError


class StepSettings(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Every limit of the continue gate, with what holds where nobody says otherwise."""

    max_consecutive_steps: int = 100
    """Steps without a person that are too many once a checkpoint is overdue."""
    max_total_steps: int | None = None
    """Steps that are too many whatever happened; None is no limit."""
    checkpoint_interval: int = 25
    min_coherence: float = 0.4
    """Below this a run stops; at least this it may read."""
    restricted_coherence: float = 0.5
    """At least this it may act, but asks before anything destructive or on the network."""
    full_coherence: float = 0.7
    """At least this nothing is taken from it."""
    max_rework_ratio: float = 0.30
    max_uncertainty: float = 0.80
    max_slope: float = 0.02
    """By how much of their average the tokens per step may grow with each step."""
    delay_ms: int = 5_000
    """The first wait of a throttle; each one after it in a row is twice as long."""
    max_delay_ms: int = 60_000
    cooldown_ms: int = 5_000
    """For how long after a full answer only the hard checks are made."""

    def __post_init__(self) -> None:
        """Refuse limits that no run can be held against."""
        for name in ("max_consecutive_steps", "max_total_steps", "checkpoint_interval"):
            _check_whole(getattr(self, name), name, least=1)
        for name in ("delay_ms", "max_delay_ms", "cooldown_ms"):
            _check_whole(getattr(self, name), name, least=0)
        for name in _SHARES:
            _check_share(getattr(self, name), name)
        self._check_order()

    def _check_order(self) -> None:
        bands = (self.min_coherence, self.restricted_coherence, self.full_coherence)
        if bands != tuple(sorted(bands)):
            raise InputError(
                f"`min_coherence` is {bands[0]}, `restricted_coherence` {bands[1]} and"
                f" `full_coherence` {bands[2]}: each must be at least the one before"
            )
        if self.delay_ms > self.max_delay_ms:
            raise InputError(
                f"`delay_ms` is {self.delay_ms}, expected at most `max_delay_ms`,"
                f" which is {self.max_delay_ms}"
            )


_SHARES: Final = (
    "min_coherence",
    "restricted_coherence",
    "full_coherence",
    "max_rework_ratio",
    "max_uncertainty",
    "max_slope",
)


def _check_whole(number: int | None, name: str, *, least: int) -> None:
    if number is not None and (type(number) is not int or number < least):
        raise InputError(f"`{name}` is `{number}`, expected a whole number from {least} on")


def _check_share(share: float, name: str) -> None:
    # No comparison with NaN holds, so that it is refused here as well.
    if type(share) not in (float, int) or not 0 <= share <= 1:
        raise InputError(f"`{name}` is `{share}`, expected 0 to 1")
