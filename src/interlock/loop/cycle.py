"""One cycle, from what started it to what came of it: SENSE, ORIENT, DECIDE, ACT.

A cycle is two steps: what is thought can be thought again, what is done is done in one
transaction of the ledger. Between any two steps the process may die.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from interlock.loop.deciders import Deciders
from interlock.loop.senses import Senses
from interlock.model.loop_events import CycleDecided
from interlock.model.system_loop import Trigger
from interlock.service.cycles.cycle_decision import Findings, decide_cycle
from interlock.service.cycles.loop_chain import LoopChain


class Cycle:
    """What answers the triggers of a scope."""

    def __init__(self, chain: LoopChain, senses: Senses, deciders: Deciders) -> None:
        self._chain = chain
        self._senses = senses
        self._deciders = deciders

    def run(self, scope: str) -> Sequence[CycleDecided]:
        """Answer everything that waits in a scope, here and now."""
        return self.act(self.think(scope))

    def think(self, scope: str) -> Sequence[Findings]:
        """Return what to do about everything that waits in a scope; nothing is changed by it.

        What the loop itself caused too often is answered apart: it must not drag down the rest.
        """
        began_at = self._chain.governor.clock.now()
        loop, most = self._chain.state, self._chain.settings.max_depth
        waiting = [each for each in loop.triggers.values() if each.scope == scope]
        deep = [each for each in waiting if each.depth > most]
        rest = [each for each in waiting if each.depth <= most]
        found = [self._deciders.refused(scope, deep)] if deep else []
        if rest:
            found.append(self._thought(scope, rest))
        return [msgspec.structs.replace(each, began_at=began_at) for each in found]

    def _thought(self, scope: str, triggers: Sequence[Trigger]) -> Findings:
        unasked = self._deciders.unasked(scope, triggers, self._chain.state)
        if unasked is not None:
            return unasked
        snapshot = self._senses.snapshot()
        # Read again: what was decided meanwhile counts.
        return self._deciders.decided(scope, triggers, snapshot, self._chain.state)

    def act(self, findings: Sequence[Findings]) -> Sequence[CycleDecided]:
        """Put decisions on record, with what they emit; whatever was answered meanwhile is not."""
        decided = [decide_cycle(self._chain, each) for each in findings]
        return [each for each in decided if each is not None]
