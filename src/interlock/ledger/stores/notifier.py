"""Who waits for a commit, and how are they woken, in whatever process of this machine?

A listener compares a version of the store with the one it has seen. A commit of this process
wakes it at once; where others may write as well, it looks every so often by itself.
"""

from __future__ import annotations

import threading
import time
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
        self._condition = threading.Condition()

    def notify(self) -> None:
        """Wake whoever waits: there was a commit."""
        with self._condition:
            self.commits += 1
            self._condition.notify_all()

    def listen(self) -> VersionListener:
        """Return a new listener."""
        return VersionListener(self)

    def pause(self, commits: int, left_s: float | None) -> None:
        """Wait for more commits than so many, or until it is time to look."""
        limits = [each for each in (left_s, self._poll_s) if each is not None]
        with self._condition:
            self._condition.wait_for(lambda: self.commits > commits, min(limits, default=None))


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
