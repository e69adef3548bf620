"""Every run: filtered by links, found by a text."""

from __future__ import annotations

from typing import Final
from urllib.parse import urlencode

from interlock.server.console.page import Page, Visit
from interlock.views.run_list_view import MOST_PAGES, STATES, RunFilter, run_list


def runs_page(visit: Visit) -> Page:
    """Return a page of runs."""
    wanted = _wanted(visit)
    return Page(
        template="runs.html",
        title="Runs",
        values={
            "view": run_list(visit.desk.ledger, wanted),
            "wanted": wanted,
            "states": [(state, _address(wanted, state=state)) for state in STATES],
            "next": _address(wanted, page=wanted.page + 1),
            "previous": _address(wanted, page=wanted.page - 1),
            "without": _address(RunFilter(state=wanted.state)),
        },
    )


def _wanted(visit: Visit) -> RunFilter:
    """Return what is asked for; what nobody can have meant is left out."""
    query = visit.query
    state, page = query.get("state", "all"), query.get("page", "1")
    number = int(page) if page.isascii() and page.isdecimal() and len(page) < 4 else 1
    return RunFilter(
        state=state if state in STATES else "all",
        agent=query.get("agent") or None,
        project=query.get("project") or None,
        q=query.get("q", "").strip()[:200],
        page=min(max(number, 1), MOST_PAGES),
    )


def _address(wanted: RunFilter, *, state: str | None = None, page: int = 1) -> str:
    fields = {
        "state": state or wanted.state,
        "agent": wanted.agent,
        "project": wanted.project,
        "q": wanted.q,
        "page": "" if page == 1 else str(page),
    }
    given = {name: value for name, value in fields.items() if value and value != "all"}
    return f"/runs?{urlencode(given)}" if given else "/runs"


PAGES: Final = (("/runs", runs_page),)
