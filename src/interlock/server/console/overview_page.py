"""The first page: what waits for a person, what is at work, what was answered last."""

from __future__ import annotations

import time
from functools import lru_cache
from pathlib import Path
from typing import Final

from interlock import settings
from interlock.server.console.page import Page, Visit
from interlock.service.audits import AuditFolder
from interlock.views.audit_view import went_on
from interlock.views.overview_view import Overview, overview
from interlock.views.units import counted


def overview_page(visit: Visit) -> Page:
    """Return the first page."""
    desk, now = visit.desk, visit.desk.now()
    is_all = visit.query.get("tail") != "not-allowed"
    view = overview(desk.ledger, now, is_all=is_all)
    return Page(
        template="overview.html",
        title="Overview",
        values={
            "view": view,
            "news": _news(view),
            "date": time.strftime("%A %-d %B %Y, %H:%M UTC", time.gmtime(now // 1_000_000)),
            "is_all": is_all,
            "went_on": _went_on(),
        },
    )


def _news(view: Overview) -> str:
    """Return the heading: what there is to know, as sentences."""
    asked = len(view.waiting) + view.more_waiting
    waits = f"{counted(asked, 'question')} {'waits' if asked == 1 else 'wait'} for you."
    parts = [
        _part(view.at_work, "agent is at work", "agents are at work"),
        _part(view.asking, "waits for an answer", "wait for an answer"),
        _part(view.paused, "is paused", "are paused"),
        _part(view.stopped, "is stopped", "are stopped"),
    ]
    known = [part for part in parts if part]
    first = waits if asked else "Nothing waits for you."
    return f"{first} {', '.join(known)}." if known else f"{first} No agent is at work."


def _went_on() -> int:
    """Return how many steps held runs would have gone on for; 0 where no audit tells."""
    folder = settings.current_audit_folder()
    try:
        return _went_on_by(folder, folder.stat().st_mtime_ns)
    except OSError:
        return 0


@lru_cache(maxsize=1)
def _went_on_by(folder: Path, _changed_ns: int) -> int:
    # An audit is renamed into its folder, which tells when: the page is asked for every second.
    latest = AuditFolder(folder).latest()
    return 0 if latest is None else went_on(latest)


def _part(number: int, one: str, many: str) -> str:
    return f"{number:,} {one if number == 1 else many}" if number else ""


PAGES: Final = (("/", overview_page),)
