"""All that is logged meanwhile, for the few tests that look at it.

Pytest's own plugin sets up three handlers for each phase of each test, which takes longer than many
of our tests: it is switched off.
"""

from __future__ import annotations

import io
import logging
from collections.abc import Generator
from contextlib import contextmanager


class Unprinted(logging.Handler):
    """Puts each message together and prints none: without a handler, warnings would be printed."""

    def emit(self, record: logging.LogRecord) -> None:
        record.getMessage()


@contextmanager
def logged() -> Generator[io.StringIO]:
    """Collect what any logger tells, from the lowest level on."""
    text = io.StringIO()
    handler = logging.StreamHandler(text)
    root = logging.getLogger()
    before = root.level
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    try:
        yield text
    finally:
        root.setLevel(before)
        root.removeHandler(handler)
