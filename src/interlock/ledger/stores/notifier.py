"""Wakes the threads that wait for a commit, in every process on this machine.

A listener compares the version of the store with the one it has seen. A commit of this process
wakes it; if other processes may write too, it also polls.

Only plain locks are used: an interrupt inside a condition variable can leave it locked for good.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable
from typing import Final


class Notifier:
    """Wakes the threads of this process that wait for a commit."""

    def __init__(self, version: Callable[[], int], *, poll_s: float | None = None) -> None:
        """Watch `version`; poll it every `poll_s` seconds if other processes may change it."""
        self.version: Final = version
        """Returns the current version of the store."""
        self.poll_s: Final = poll_s
        self.waiting: Final[set[threading.Lock]] = set()
        """One lock for each waiting thread; releasing it wakes the thread."""

    def notify(self) -> None:
        """Wake every waiting thread: there was a commit."""
        for woken in self.waiting.copy():
            release(woken)

    def listen(self) -> VersionListener:
        """Return a new listener."""
        return VersionListener(self)


def release(lock: threading.Lock) -> None:
    """Release a lock if it is held."""
    with contextlib.suppress(RuntimeError):
        lock.release()


class VersionListener:
    """Waits until the store has a version it has not seen; only one thread may wait."""

    def __init__(self, notifier: Notifier) -> None:
        self._notifier = notifier
        self._seen = notifier.version()
        self._is_stopped = False
        self._woken = threading.Lock()
        self._woken.acquire()

    def wait(self, timeout_s: float | None) -> bool:
        """Return True on a new version, False after the timeout or `stop`."""
        notifier = self._notifier
        until = None if timeout_s is None else time.monotonic() + timeout_s
        # Register before reading the version: a later commit or `stop` then cuts the wait short.
        notifier.waiting.add(self._woken)
        try:
            while not self._is_stopped:
                version = notifier.version()
                if version != self._seen:
                    self._seen = version
                    return True
                left_s = None if until is None else until - time.monotonic()
                if left_s is not None and left_s <= 0:
                    return False
                limits = [each for each in (left_s, notifier.poll_s) if each is not None]
                self._woken.acquire(timeout=min(limits, default=-1))
            return False
        finally:
            notifier.waiting.discard(self._woken)

    def stop(self) -> None:
        """End the current wait and every later one, from any thread."""
        self._is_stopped = True
        release(self._woken)

    def close(self) -> None:
        """Stop listening."""
        self.stop()
