"""Who reads which history: a file is of the first format that knows its own."""

from __future__ import annotations

from collections.abc import Sequence

from interlock.adapters.histories.claude_history import ClaudeHistory
from interlock.adapters.histories.own_rows import OwnRows
from interlock.ports import HistoryReader


def known_readers() -> Sequence[HistoryReader]:
    """Return a reader for every format that is known."""
    return (ClaudeHistory(), OwnRows())
