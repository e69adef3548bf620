"""What every test of the console may ask for."""

from __future__ import annotations

from collections.abc import Generator

import pytest
from playwright.sync_api import Browser, expect

from console.browsers import PATIENCE_MS, chromium
from server.served import served

__all__ = ["browser", "served"]

expect.set_options(timeout=PATIENCE_MS)


@pytest.fixture(scope="session")
def browser() -> Generator[Browser]:
    """The browser of the machine, one for all tests."""
    with chromium() as started:
        yield started
