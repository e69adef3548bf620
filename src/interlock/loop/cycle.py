"""One cycle, from what started it to what came of it: SENSE, ORIENT, DECIDE, ACT.

A cycle is two steps: what is thought can be thought again, what is done is done in one
transaction of the ledger. Between any two steps the process may die.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from interlock.errors import UnavailableError
from interlock.loop.deciders import Deciders
from interlock.loop.senses import Senses
from interlock.model.loop_events import CycleDecided
from interlock.model.system_loop import Trigger
from interlock.policy.loop.orientation import answered_together
from interlock.service.cycles.cycle_decision import OUTDATED, Findings, decide_cycle
from interlock.service.cycles.loop_chain import LoopChain

_MOST_ROUNDS: Final = 8


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
        groups = answered_together(rest, self._chain.settings)
        found += [self._thought(scope, together) for together in groups]
        return [msgspec.structs.replace(each, began_at=began_at) for each in found]

    def _thought(self, scope: str, triggers: Sequence[Trigger], spent: int = 0) -> Findings:
        loop = self._chain.state
        unasked = self._deciders.unasked(scope, triggers)
        if unasked is not None:
            return unasked
        found = self._deciders.decided(scope, triggers, self._senses.snapshot(), loop, spent)
        return msgspec.structs.replace(found, emitted_before=loop.emitted)

    def act(self, findings: Sequence[Findings]) -> Sequence[CycleDecided]:
        """Put decisions on record, with what they emit; what was answered meanwhile stays so."""
        decided = [self._decided(each) for each in findings]
        return [each for each in decided if each is not None]

    def _decided(self, findings: Findings) -> CycleDecided | None:
        for _ in range(_MOST_ROUNDS):
            decided = decide_cycle(self._chain, findings)
            if decided is not OUTDATED:
                return decided
            # Another cycle has acted meanwhile: the state is not what it was.
            waiting = self._chain.state.triggers
            triggers = [waiting[each] for each in findings.triggers if each in waiting]
            if not triggers:
                return None
            spent = findings.cost_micros
            findings = msgspec.structs.replace(
                self._thought(findings.scope, triggers, spent), began_at=findings.began_at
            )
            findings = msgspec.structs.replace(
                findings, cost_micros=max(spent, findings.cost_micros)
            )
        raise UnavailableError(
            f"scope `{findings.scope}`: others acted {_MOST_ROUNDS} times while the state was"
            " looked at: it is tried again"
        )
