"""How long a test waits for something before it takes it for dead."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final, TypeVar

_Result = TypeVar("_Result")

LONG_ENOUGH_S: Final = 300.0
"""For what would wait for ever: however busy the machine is, nothing takes as long as this."""


def wait_until(is_so: Callable[[], bool], state: Callable[[], str] = str) -> None:
    """Wait for something that another thread or process is about to do.

    If it never comes about, the failure shows the state.
    """
    deadline = time.monotonic() + LONG_ENOUGH_S
    while not is_so():
        assert time.monotonic() < deadline, state()
        time.sleep(0.005)


def in_time(attempt: Callable[[int], _Result | None]) -> _Result:
    """Return what comes of an attempt under a limit in seconds, once it is not None.

    What a limit is to put an end to must have begun by then. A machine that is too busy for that
    gets a longer one.
    """
    for limit_s in (1, 10, 100):
        result = attempt(limit_s)
        if result is not None:
            return result
    raise AssertionError("it did not begin within 100 s")
