"""How long a test waits for something before it takes it for dead."""

from __future__ import annotations

from typing import Final

LONG_ENOUGH_S: Final = 300.0
"""For what would wait for ever: however busy the machine is, nothing takes as long as this."""
