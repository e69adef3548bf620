"""Where a text stands, and which keys there are: the two pages that lead elsewhere."""

from __future__ import annotations

from typing import Final

from interlock.server.console.page import Page, Visit
from interlock.views.search_view import found_in

_LONGEST: Final = 200
KEYS: Final = (
    (
        "Everywhere",
        (
            ("?", "these keys"),
            ("g o", "overview"),
            ("g i", "inbox"),
            ("g r", "runs"),
            ("g p", "policy"),
            ("g l", "loop"),
            ("g a", "audit"),
            ("/", "search, or the try-it box"),
            ("Esc", "leave a field, close, cancel"),
        ),
    ),
    (
        "Lists",
        (
            ("j", "next"),
            ("k", "previous"),
            ("Enter", "open"),
            ("u", "back to the list"),
            (".", "show what is new"),
        ),
    ),
    (
        "A question",
        (
            ("a", "approve or resume, then Enter to confirm"),
            ("d", "deny or stop: write a note, then Enter"),
            ("n", "write a note"),
            ("Enter", "confirm"),
            ("t", "open its run"),
        ),
    ),
    (
        "A review",
        (
            ("r", "retry: write the instructions, then Enter"),
            ("s", "skip"),
            ("x", "abort"),
            ("Enter", "confirm the choice"),
        ),
    ),
    (
        "A run",
        (
            ("j", "next step"),
            ("k", "previous step"),
            ("e", "open or close all groups of steps"),
            ("l", "first repeated step"),
            ("f", "follow the newest"),
        ),
    ),
)
"""What each key does, by where."""


def search_page(visit: Visit) -> Page:
    """Return where a text stands."""
    q = visit.query.get("q", "")[:_LONGEST]
    found = found_in(visit.desk.ledger, q, visit.desk.now())
    return Page(template="search.html", title="Search", values={"found": found})


def keys_page(_visit: Visit) -> Page:
    """Return the keys."""
    return Page(template="keys.html", title="Keys", values={"groups": KEYS})


PAGES: Final = (("/search", search_page), ("/keys", keys_page))
