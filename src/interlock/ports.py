"""The seams: what the inside asks of the outside, one promise each.

A port is a protocol; whoever keeps its promise fits, in production and in tests alike.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from interlock.model.budget import Account
from interlock.model.report import Evaluation
from interlock.model.run import RunState


class Clock(Protocol):
    """Tells the time; the inside never looks at a clock of its own."""

    def now(self) -> int:
        """Return the time in microseconds since 1970, UTC."""
        ...


Evaluator = Callable[[RunState], Evaluation]
"""Somebody else's judgement on a finished run: a pure function of its state."""


class Accounts(Protocol):
    """Whoever knows accounts and runs: the desk while it writes, the record afterwards."""

    def account(self, scope: str) -> Account:
        """Return an account; one that nothing was ever charged to is empty."""
        ...

    def state(self, run_id: str) -> RunState:
        """Return a run's state; raise InputError if there is no such run."""
        ...
