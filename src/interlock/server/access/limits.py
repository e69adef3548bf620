"""How often anybody may ask: enough for any agent, too few to drown others, or to guess."""

from __future__ import annotations

import time
from typing import Final

from interlock.ports import Clock

PER_SECOND: Final = 2_000
_BURST_S: Final = 2.0
_MOST_KNOWN: Final = 10_000
_TRIES: Final = 10
_WITHIN_S: Final = 60


class RateLimit:
    """A bucket of requests for each credential, filled steadily."""

    def __init__(self, per_second: float = PER_SECOND) -> None:
        self._per_second = per_second
        self._left: dict[str, tuple[float, float]] = {}

    def wait_s(self, key: str) -> float:
        """Take one request; return 0, or how long there is none to take."""
        now, most = time.monotonic(), self._per_second * _BURST_S
        left, at = self._left.get(key, (most, now))
        left = min(most, left + (now - at) * self._per_second)
        if left < 1:
            self._left[key] = (left, now)
            return (1 - left) / self._per_second
        if len(self._left) >= _MOST_KNOWN:
            self._left.clear()
        self._left[key] = (left - 1, now)
        return 0.0


class Attempts:
    """Who tried to sign in lately; whoever guesses has to wait."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._at: list[int] = []

    def is_crowded(self) -> bool:
        """Note one more try; return whether there were too many within a minute."""
        now = self._clock.now()
        self._at = [each for each in self._at if now - each < _WITHIN_S * 1_000_000]
        if len(self._at) >= _TRIES:
            return True
        self._at.append(now)
        return False
