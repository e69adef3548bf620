"""What the gates say of an action, and what of it may be kept: found out once, then remembered.

The gates are pure, so the same action gets the same verdict under the same policy; agents ask
for the same few commands again and again.
"""

from __future__ import annotations

from typing import Final

import msgspec

from interlock.model.action import Action, CommandAction
from interlock.model.events import Withheld
from interlock.model.verdict import Verdict
from interlock.policy.actions.decide import judge
from interlock.policy.actions.keeping import kept_action
from interlock.policy.config.compiled import CompiledPolicy

_MOST: Final = 4096
_LONGEST: Final = 512


class Judgement(msgspec.Struct, frozen=True, kw_only=True):
    """A verdict, and the action as it may be kept."""

    verdict: Verdict
    kept: Action
    withheld: Withheld | None
    """What hangs on the part that is not kept, if any."""


class Judgements:
    """Judges by one policy, and remembers short commands that hold no secret."""

    def __init__(self, gates: CompiledPolicy) -> None:
        self._gates = gates
        self._known: dict[CommandAction, Judgement] = {}

    def of(self, action: Action) -> Judgement:
        """Return the judgement on an action."""
        if not isinstance(action, CommandAction) or len(action.command) > _LONGEST:
            return self._judged(action)
        known = self._known.get(action)
        if known is None:
            known = self._judged(action)
            if known.withheld is None:
                if len(self._known) >= _MOST:
                    self._known.clear()
                self._known[action] = known
        return known

    def _judged(self, action: Action) -> Judgement:
        verdict = judge(action, self._gates)
        kept = kept_action(action, verdict, self._gates)
        withheld = None
        if not kept.is_whole:
            withheld = Withheld(instead=judge(kept.action, self._gates).findings)
        return Judgement(verdict=verdict, kept=kept.action, withheld=withheld)
