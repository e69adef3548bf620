"""The documentation as its readers have it: built, served, and opened in a browser."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Generator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import NamedTuple

import pytest
from playwright.sync_api import Page, Route

from console.browsers import PATIENCE_MS, PHONE, chromium
from house.repository import ROOT

FOUND = {
    "install": "install",
    "claude code": "protect-coding-agents",
    "audit log": "audit-log",
    "verify": "audit-log",
    "replay": "audit-log",
    "kill switch": "kill-switch",
    "rate limit": "budgets",
    "budget": "budgets",
    "approve": "approvals",
    "console": "approvals",
    "mcp": "govern-mcp-servers",
    "undo": "edit-and-undo",
    "token": "http-api",
    "sandbox": "run-any-command",
    "postgres": "run-for-a-team",
    "write a rule": "write-a-rule",
    "threat model": "threat-model",
    "langchain": "govern-framework-agents",
    "python": "govern-a-python-agent",
    "comparison": "comparison",
}
"""What somebody types into the search, and the page that must come among the first three."""

_SEARCH = """term => {
  document.getElementById("search-results").replaceChildren();
  Search.performSearch(term);
}"""
_LINKS = """[...document.querySelectorAll("#search-results ul.search > li > a")].map(
  (link) => link.getAttribute("href"))"""


class Site(NamedTuple):
    folder: Path
    url: str


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class names it
        """Say nothing."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Generator[Site]:
    """Build the pages, of which none may draw a warning, and serve them to this machine."""
    folder = tmp_path_factory.mktemp("docs")
    command = "-m sphinx --quiet --nitpicky --fail-on-warning --builder html docs".split()
    subprocess.run([sys.executable, *command, str(folder)], cwd=ROOT, check=True)
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=folder)) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield Site(folder, f"http://127.0.0.1:{server.server_port}")
        server.shutdown()
        thread.join()


@pytest.fixture(scope="module")
def phone() -> Generator[Page]:
    """A page as wide as a phone."""
    with chromium() as browser:
        page = browser.new_page(viewport=PHONE)  # pyright: ignore[reportArgumentType] - a size is a size
        page.set_default_timeout(PATIENCE_MS)
        yield page


def test_the_search_finds_each_task(site: Site, phone: Page) -> None:
    # The excerpts below the results are the found pages, each fetched again for every term.
    phone.route("**/*.html", _skip_excerpt)
    first, *others = FOUND

    # The index is loaded once, by the first search.
    phone.goto(f"{site.url}/search.html?q={first}")
    found = {first: _found(phone)}
    for term in others:
        phone.evaluate(_SEARCH, term)
        found[term] = _found(phone)

    missed = {term: pages for term, pages in found.items() if FOUND[term] not in pages}

    assert missed == {}


def test_every_page_fits_a_phone_and_asks_nobody_else(site: Site, phone: Page) -> None:
    phone.unroute_all()  # a page with routes keeps nothing: it would ask for each script every time
    asked: list[str] = []
    phone.on("request", lambda request: asked.append(request.url))

    wide = []
    for file in sorted(site.folder.glob("*.html")):
        phone.goto(f"{site.url}/{file.name}")
        if phone.evaluate("document.documentElement.scrollWidth") > PHONE["width"]:
            wide.append(file.name)

    assert wide == []
    assert [url for url in asked if not url.startswith((site.url, "data:"))] == []


def _skip_excerpt(route: Route) -> None:
    if route.request.resource_type == "fetch":
        route.abort()
    else:
        route.continue_()


def _found(page: Page) -> list[str]:
    """Return the names of the first three pages that the search shows."""
    page.locator("#search-results p.search-summary").get_by_text("found").wait_for()
    links = page.evaluate(_LINKS)
    pages = [Path(link.partition("#")[0].partition("?")[0]).stem for link in links]
    return list(dict.fromkeys(pages))[:3]
