"""Every history that can be read: what clients leave on this computer, and public formats.

Whoever adds a client writes one reader and names it here; one for runs of a benchmark or a
framework, which are kept anywhere, stands among the public ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from interlock.adapters.histories.claude_history import ClaudeHistory
from interlock.adapters.histories.codex_history import CodexHistory
from interlock.adapters.histories.copilot_history import CopilotHistory
from interlock.adapters.histories.gemini_history import GeminiHistory
from interlock.adapters.histories.opencode_history import OpencodeHistory
from interlock.adapters.public_runs import PUBLIC_READERS
from interlock.ports import HistoryReader

CLIENT_READERS: Final[Sequence[HistoryReader]] = (
    ClaudeHistory(),
    CodexHistory(),
    GeminiHistory(),
    OpencodeHistory(),
    CopilotHistory(),
)
"""The clients', each of which says where it keeps its own."""


def known_readers() -> Sequence[HistoryReader]:
    """Return all of them; the first that knows a file reads it."""
    return (*CLIENT_READERS, *PUBLIC_READERS)
