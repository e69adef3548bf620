"""The seams: what the inside asks of the outside, one promise each.

A port is a protocol; whoever keeps its promise fits, in production and in tests alike.
"""

from __future__ import annotations

from typing import Protocol


class Clock(Protocol):
    """Tells the time; the inside never looks at a clock of its own."""

    def now(self) -> int:
        """Return the time in microseconds since 1970, UTC."""
        ...
