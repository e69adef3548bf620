"""A real browser before a real server, and what a page must never do."""

from __future__ import annotations

import os
import shutil
from collections.abc import Generator
from contextlib import contextmanager, suppress
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple, cast
from urllib.parse import urlencode

import pytest
from axe_playwright_python.base import AXE_SCRIPT
from playwright.sync_api import Browser, BrowserContext, Error, Page, expect, sync_playwright

from effort import SOAK
from server.served import Served
from service.ledgers import PASSPHRASE

PATIENCE_MS = 60_000
"""For what hangs; a busy machine is no reason to fail."""
WIDE = {"width": 1440, "height": 900}
PHONE = {"width": 390, "height": 844}
_PROGRAMS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")


class Look(NamedTuple):
    """A color scheme and a size."""

    scheme: str
    phone: bool


LOOKS = (Look("light", False), Look("light", True), Look("dark", True), Look("dark", False))
"""Every look; the one two places further is the opposite in both respects."""


class Desktop(NamedTuple):
    """A signed-in page, and everything that it complained of."""

    page: Page
    url: str
    complaints: list[str]

    def go(self, path: str) -> None:
        """Open a page of the console."""
        self.page.goto(f"{self.url}{path}")

    def sign_in(self, name: str = "ada", passphrase: str = PASSPHRASE) -> None:
        """Come in as a person does."""
        self.go("/login")
        self.page.get_by_label("Name").fill(name)
        self.page.get_by_label("Passphrase").fill(passphrase)
        self.page.get_by_role("button", name="Sign in", exact=True).click()
        expect(self.page.locator("header.top")).to_be_visible()

    def sign_in_by_cookie(self, served: Served, name: str = "ada") -> None:
        """Begin a session without the page for it."""
        fields = urlencode({"token": served.tokens[name]}).encode()
        form = {"content-type": "application/x-www-form-urlencoded"}
        answer = served.ask("POST", "/login", fields, headers=form)
        cookie, _, value = answer.headers["set-cookie"].partition(";")[0].partition("=")
        self.page.context.add_cookies([{"name": cookie, "value": value, "url": self.url}])

    def leave(self) -> None:
        """Open a page that hears no news; `about:blank` would cost the browser another process."""
        while True:
            try:
                self.go("/login")
            except Error as error:
                # The page was about to open another one itself, which takes precedence.
                if "net::ERR_ABORTED" not in error.message:
                    raise
            else:
                return

    def is_live(self) -> None:
        """Wait until news arrive."""
        expect(self.page.locator("[data-live]")).to_have_text("live")


@contextmanager
def chromium() -> Generator[Browser]:
    """Start the browser of the machine."""
    program = next(filter(None, map(shutil.which, _PROGRAMS)), None)
    if program is None:
        missing = "there is no Chromium on this machine: `apt-get install chromium` brings one"
        (pytest.fail if os.environ.get("CI") else pytest.skip)(missing)
    with TemporaryDirectory() as home, sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=program, args=["--no-sandbox"], env={**os.environ, "HOME": home}
        )
        try:
            yield browser
        finally:
            browser.close()


def fresh(
    browser: Browser, *, phone: bool = False, scheme: str = "light", script: bool = True
) -> BrowserContext:
    """Return a browser that knows of no other, of one size and colour."""
    context = browser.new_context(
        viewport=PHONE if phone else WIDE,  # pyright: ignore[reportArgumentType] - a size is a size
        color_scheme=scheme,  # pyright: ignore[reportArgumentType] - one of two words
        reduced_motion="reduce",  # drawing sixty frames a second keeps a core busy
        java_script_enabled=script,
    )
    context.set_default_timeout(PATIENCE_MS)
    return context


@contextmanager
def desktop(
    browser: Browser,
    served: Served,
    *,
    phone: bool = False,
    scheme: str = "light",
    script: bool = True,
) -> Generator[Desktop]:
    """Open a page before the server, with nothing kept from any other."""
    context = fresh(browser, phone=phone, scheme=scheme, script=script)
    complaints: list[str] = []
    page = context.new_page()
    page.on(
        "console",
        lambda said: (
            complaints.append(f"{said.text} {said.location} {page.url}")
            if said.type == "error"
            else None
        ),
    )
    page.on("pageerror", lambda error: complaints.append(str(error)))
    try:
        yield Desktop(page, served.listening.url or "", complaints)
    finally:
        # What still loads, or listens for news, ends first: closing may wait for it for ever.
        with suppress(Error):
            page.goto("about:blank")
        context.close()


def set_look(page: Page, *, phone: bool = False, scheme: str = "light") -> None:
    """Show a page as on another device."""
    page.set_viewport_size(PHONE if phone else WIDE)  # pyright: ignore[reportArgumentType] - a size is a size
    page.emulate_media(color_scheme=scheme)  # pyright: ignore[reportArgumentType] - one of two words


def barriers(page: Page, *, contrast: bool = True) -> list[str]:
    """Return what keeps somebody from using a page, as it looks now."""
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE_SCRIPT)
    rules = {"color-contrast": {"enabled": contrast}}
    options = {"resultTypes": ["violations"], "rules": rules}
    run = page.evaluate("options => axe.run(options)", options)
    found = cast("list[dict[str, Any]]", run["violations"])
    return [f"{each['id']}: {each['nodes'][0]['html'][:200]}" for each in found]


def barriers_in_looks(page: Page, turn: int = 0) -> list[str]:
    """Return what keeps somebody from using a page in different looks, and where it is too wide.

    Contrast takes three quarters of the time. The short round checks it in one look, which `turn`
    chooses, and everything else there and in the opposite look.
    """
    first, *others = LOOKS[turn % 4 :] + LOOKS[: turn % 4]
    found: list[str] = []
    for look in (first, *(others if SOAK else others[1:2])):
        set_look(page, phone=look.phone, scheme=look.scheme)
        problems = barriers(page, contrast=SOAK or look is first) + overhang(page)
        found += [f"{look}: {each}" for each in problems]
    return found


def overhang(page: Page) -> list[str]:
    """Return by how many pixels a page is wider than its window, if it is."""
    root = "document.documentElement"
    width = page.evaluate(f"{root}.scrollWidth - {root}.clientWidth")
    return [f"{width} pixels too wide"] if width else []
