"""A quiet moment: something that is done once nothing else has been done for a while."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Final

from interlock.ledger.background import started

_PATIENCE_S: Final = 30.0


class Idling:
    """Calls back after each stretch of work, when it has been quiet for so long.

    A thread is started with the first work; between stretches it sleeps until there is work
    again, however long that takes.
    """

    def __init__(self, when_quiet: Callable[[], None], *, after_s: float) -> None:
        self._when_quiet = when_quiet
        self._after_s = after_s
        self._worked = threading.Event()
        self._thread: threading.Thread | None = None
        self._over = threading.Event()

    def note_work(self) -> None:
        """Note that something was done just now; INVARIANT: by one thread at a time."""
        if self._thread is None:
            self._thread = started(self._watch, name="idling")
        if not self._worked.is_set():
            self._worked.set()

    def stop(self) -> None:
        """Call back no more."""
        self._over.set()
        self._worked.set()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(_PATIENCE_S)

    def _watch(self) -> None:
        while self._worked.wait() and not self._over.is_set():
            self._worked.clear()
            if self._over.wait(self._after_s):
                return
            if not self._worked.is_set():
                self._when_quiet()
