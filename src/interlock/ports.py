"""The seams: what the inside asks of the outside, one promise each.

A port is a protocol; whoever keeps its promise fits, in production and in tests alike.
"""

from __future__ import annotations

from typing import Protocol

from interlock.model.action import Action
from interlock.model.verdict import Verdict


class Clock(Protocol):
    """Tells the time; the inside never looks at a clock of its own."""

    def now(self) -> int:
        """Return the time in microseconds since 1970, UTC."""
        ...


class Judge(Protocol):
    """Answers whether an action may happen, as far as the action itself tells.

    The same action gets the same verdict, however often and wherever it is asked; a judge
    that cannot judge denies, and says why. What a run has spent and what a person has said are
    facts that are weighed afterwards, by `policy.actions.answering`.
    """

    def __call__(self, action: Action) -> Verdict:
        """Return the verdict on an action."""
        ...
