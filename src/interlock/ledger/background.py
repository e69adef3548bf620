"""Threads that work in the background of somebody else's program."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable


def started(work: Callable[[], None], *, name: str) -> threading.Thread:
    """Start a daemon thread that leaves every signal to the threads of the program."""
    thread = threading.Thread(target=work, name=f"interlock-{name}", daemon=True)
    if not hasattr(signal, "pthread_sigmask"):
        thread.start()
        return thread
    # A thread inherits what its starter blocks.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    try:
        thread.start()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    return thread
