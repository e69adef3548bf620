"""Every page and every form, by its address."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from interlock.server.console import (
    decision_page,
    inbox_page,
    loop_status_page,
    overview_page,
    policy_page,
    run_detail_page,
    runs_page,
    search_page,
)
from interlock.server.console.page import ActFunction, PageFunction

PAGES: Final[Sequence[tuple[str, PageFunction]]] = (
    *overview_page.PAGES,
    *inbox_page.PAGES,
    *runs_page.PAGES,
    *run_detail_page.PAGES,
    *decision_page.PAGES,
    *policy_page.PAGES,
    *loop_status_page.PAGES,
    *search_page.PAGES,
)
ACTS: Final[Sequence[tuple[str, ActFunction]]] = (
    *inbox_page.ACTS,
    *run_detail_page.ACTS,
    *decision_page.ACTS,
    *policy_page.ACTS,
    *loop_status_page.ACTS,
)
