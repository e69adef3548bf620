"""The seams: what the inside asks of the outside, one promise each.

A port is a protocol; whoever keeps its promise fits, in production and in tests alike.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from interlock.model.action import Action
from interlock.model.verdict import Verdict


class Judge(Protocol):
    """Answers whether an action may happen.

    The same action gets the same verdict, however often and wherever it is asked; a judge
    that cannot judge denies, and says why. What a run has spent, and how far it is trusted,
    are facts that whoever keeps the run hands in: the gates `budget` and `privilege` read
    them and nothing else.
    """

    def __call__(self, action: Action, facts: Mapping[str, object]) -> Verdict:
        """Return the verdict on an action, given what is known of its run."""
        ...
