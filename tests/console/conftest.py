"""What every test of the console may ask for."""

from __future__ import annotations

from asyncio import AbstractEventLoop, events, get_running_loop
from collections.abc import Generator

import pytest
from playwright.sync_api import Browser, expect

from console.browsers import PATIENCE_MS, Desktop, chromium, desktop, set_look
from server.served import Served, served, shared

__all__ = ["browser", "served", "shared"]

expect.set_options(timeout=PATIENCE_MS)


@pytest.fixture(scope="session")
def chromium_and_loop() -> Generator[tuple[Browser, AbstractEventLoop]]:
    """The browser of this process, and the event loop that runs while it is open."""
    with chromium() as started:
        loop = get_running_loop()
        events._set_running_loop(None)
        yield started, loop
        events._set_running_loop(loop)


@pytest.fixture(scope="module")
def browser(chromium_and_loop: tuple[Browser, AbstractEventLoop]) -> Generator[Browser]:
    """The browser of this process; its event loop is put aside for modules without a browser."""
    started, loop = chromium_and_loop
    events._set_running_loop(loop)
    yield started
    events._set_running_loop(None)


@pytest.fixture(scope="module")
def shared_desktop(browser: Browser, shared: Served) -> Generator[Desktop]:
    """A page that the tests of a module use one after the other."""
    with desktop(browser, shared) as opened:
        yield opened


@pytest.fixture
def stranger(shared_desktop: Desktop) -> Generator[Desktop]:
    """A page before nobody in particular."""
    shared_desktop.page.context.clear_cookies()
    set_look(shared_desktop.page)
    shared_desktop.complaints.clear()
    yield shared_desktop
    shared_desktop.page.unroute_all()
    shared_desktop.leave()


@pytest.fixture
def ada(stranger: Desktop, shared: Served) -> Generator[Desktop]:
    """An operator in a session of her own, before she has opened any page."""
    stranger.sign_in_by_cookie(shared)
    yield stranger
    assert stranger.complaints == []
