"""An interrupt in the middle of a commit leaves a ledger in memory whole."""

from __future__ import annotations

import sys
from collections.abc import Callable
from itertools import count
from linecache import getline
from types import FrameType
from typing import Any

from interlock.ledger.stores import memory
from service.ledgers import in_memory
from service.stepping_runs import check_record


def _is_interrupted(work: Callable[[], object], *, at: int) -> bool:
    """Interrupt work at a line of the store's code, if it comes to so many."""
    lines = count(1)

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        if frame.f_code.co_filename != memory.__file__:
            return None
        # Python itself lets no signal in between a lock and what it guards.
        is_lock = "with " in getline(memory.__file__, frame.f_lineno)
        if event == "line" and not is_lock and next(lines) == at:
            raise KeyboardInterrupt
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        work()
    except KeyboardInterrupt:
        return True
    finally:
        sys.settrace(before)
    return False


def test_an_interrupt_at_any_line_of_a_commit_leaves_it_whole() -> None:
    at, interrupted = 0, True
    while interrupted:
        at += 1
        with in_memory() as interlock:
            run = interlock.run("t", budget={"tool_calls": 9})
            interrupted = _is_interrupted(
                lambda: run.command("git push --force", expects={"tool_calls": 1}),  # noqa: B023 - used at once
                at=at,
            )
            run.observe_unasked({"command": "ls"})
            run.belief("it holds", supporting=1)
            check_record(interlock)

    assert at > 40
