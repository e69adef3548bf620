"""Every page and every form, by its address."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from interlock.server.console import decision_page, loop_page, policy_page, run_page
from interlock.server.console.page import ActFunction, PageFunction

PAGES: Final[Sequence[tuple[str, PageFunction]]] = (
    *run_page.PAGES,
    *decision_page.PAGES,
    *policy_page.PAGES,
    *loop_page.PAGES,
)
ACTS: Final[Sequence[tuple[str, ActFunction]]] = (
    *run_page.ACTS,
    *decision_page.ACTS,
    *policy_page.ACTS,
    *loop_page.ACTS,
)
