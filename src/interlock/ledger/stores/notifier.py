"""Who waits for a commit, and how are they woken, in whatever process of this machine?

A listener compares a version of the store with the one it has seen. A commit of this process
wakes it at once; where others may write as well, it looks every so often by itself.

Only plain locks are used: an interrupt in the middle of a condition may leave it taken for ever.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Final


class Notifier:
    """Wakes the threads of this process that wait for a commit."""

    def __init__(self, version: Callable[[], int], *, poll_s: float | None = None) -> None:
        """Listen for changes of `version`, looked at every `poll_s` if others may change it."""
        self.version: Final = version
        """Returns the version of the store as it is now."""
        self.commits = 0
        """How many commits of this process there were."""
        self._poll_s = poll_s
        self._waiting: deque[threading.Lock] = deque()

    def notify(self) -> None:
        """Wake whoever waits: there was a commit; INVARIANT: by one thread at a time."""
        self.commits += 1
        while self._waiting:
            # In this order: whoever an interrupt in between leaves behind is awake already.
            release(self._waiting[0])
            with contextlib.suppress(IndexError):
                self._waiting.popleft()

    def listen(self) -> VersionListener:
        """Return a new listener."""
        return VersionListener(self)

    def pause(self, commits: int, left_s: float | None) -> None:
        """Wait for more commits than so many, or until it is time to look."""
        limits = [each for each in (left_s, self._poll_s) if each is not None]
        woken = threading.Lock()
        woken.acquire()
        self._waiting.append(woken)
        try:
            if self.commits <= commits:
                woken.acquire(timeout=min(limits, default=-1))
        finally:
            with contextlib.suppress(ValueError):
                self._waiting.remove(woken)


def release(lock: threading.Lock) -> None:
    """Release a lock that somebody waits for; once is as good as twice."""
    with contextlib.suppress(RuntimeError):
        lock.release()


class VersionListener:
    """Knows the last version that it was woken for; for one thread at a time."""

    def __init__(self, notifier: Notifier) -> None:
        self._notifier = notifier
        self._seen = notifier.version()

    def wait(self, timeout_s: float | None) -> bool:
        """Return True when there is a new version, False when there was none in time."""
        until = None if timeout_s is None else time.monotonic() + timeout_s
        while True:
            # In this order: a commit after the look cuts the pause short.
            commits = self._notifier.commits
            version = self._notifier.version()
            if version != self._seen:
                self._seen = version
                return True
            left_s = None if until is None else until - time.monotonic()
            if left_s is not None and left_s <= 0:
                return False
            self._notifier.pause(commits, left_s)

    def close(self) -> None:
        """Nothing is held."""
