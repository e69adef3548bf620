"""What every test of the console may ask for."""

from __future__ import annotations

from collections.abc import Generator

import pytest
from playwright.sync_api import Browser, expect

from console.browsers import PATIENCE_MS, chromium
from server.served import served

__all__ = ["browser", "served"]

expect.set_options(timeout=PATIENCE_MS)


@pytest.fixture(scope="module")
def browser() -> Generator[Browser]:
    """The browser of the machine, one for a module: while it is open, an event loop runs here."""
    with chromium() as started:
        yield started
