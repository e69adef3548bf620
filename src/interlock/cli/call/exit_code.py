"""What the exit code of every command means."""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from interlock.model.verdict import Decision


class ExitCode(enum.IntEnum):
    """How a command ended."""

    ALLOWED = 0
    """Allow or warn; for commands that judge nothing, success."""
    FAILED = 1
    """The policy or the environment is at fault."""
    MISUSED = 2
    """The call is wrong, or its input cannot be read."""
    CONFIRM = 3
    """A person must agree first."""
    BLOCKED = 4
    """It must not happen."""
    UNFINISHED = 5
    """The work is not done: the agent is sent on."""
    CHANGED = 6
    """An answer changes, where none was to."""
    INTERRUPTED = 130
    """Somebody pressed Ctrl-C."""


def exit_code_of(decision: Decision) -> ExitCode:
    """Return the exit code that stands for a decision."""
    by_rank = (ExitCode.ALLOWED, ExitCode.ALLOWED, ExitCode.CONFIRM, ExitCode.BLOCKED)
    return by_rank[decision.rank]
