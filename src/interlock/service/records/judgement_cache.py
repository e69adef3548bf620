"""What the gates say of an action: found out once, then remembered.

The gates are pure, so the same action gets the same verdict under the same policy; agents ask
for the same few commands again and again.
"""

from __future__ import annotations

from typing import Final

from interlock.model.action import CommandAction
from interlock.policy.actions.inspection import Inspection
from interlock.policy.gates.judgement import Judgement

_MOST: Final = 4096
_LONGEST: Final = 512


class JudgementCache:
    """Judges by one policy, and remembers short commands that hold no secret."""

    def __init__(self) -> None:
        self._known: dict[CommandAction, Judgement] = {}

    def of(self, inspection: Inspection) -> Judgement:
        """Return the judgement on what was inspected."""
        action = inspection.action
        if not isinstance(action, CommandAction) or len(action.command) > _LONGEST:
            return Judgement(inspection)
        known = self._known.get(action)
        if known is None:
            known = Judgement(inspection)
            if known.withheld is None:
                if len(self._known) >= _MOST:
                    self._known.clear()
                self._known[action] = known
        return known
