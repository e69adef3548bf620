"""Leaving in good order: a ledger is closed when its program ends, also by a signal."""

from __future__ import annotations

import atexit
import signal
import sys
import threading
from collections.abc import Callable
from types import FrameType
from typing import NoReturn

from interlock.ledger.ledger import Ledger

_TOLD_TO_END = 128 + signal.SIGTERM


def close_at_exit(ledger: Ledger) -> Callable[[], None]:
    """Return what closes the ledger; it is called at the latest when the program ends."""
    atexit.register(ledger.close)
    _end_on_sigterm()

    def close() -> None:
        atexit.unregister(ledger.close)
        ledger.close()

    return close


def _end_on_sigterm() -> None:
    """Let a program that has no wish of its own end like any other when it is told to."""
    if threading.current_thread() is not threading.main_thread():
        return
    if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        signal.signal(signal.SIGTERM, _end)


def _end(signum: int, frame: FrameType | None) -> NoReturn:  # noqa: ARG001 - the shape of a handler
    sys.exit(_TOLD_TO_END)
