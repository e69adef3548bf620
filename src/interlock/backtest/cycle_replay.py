"""Would the loop decide the same today? A recorded cycle, decided again."""

from __future__ import annotations

from collections.abc import Sequence

from interlock.model.loop_events import CycleDecided
from interlock.model.loop_state import LoopState, ScopeState
from interlock.model.system_loop import CycleOutcome, LoopAction, Rail, Trigger
from interlock.policy.config.loop_section import SystemLoop
from interlock.policy.loop.orientation import short_circuit, state_hash
from interlock.policy.loop.rails import ruled
from interlock.policy.loop.rules_decider import RULES, by_rules

Values = dict[str, object]


def cycle_then_and_now(
    event: CycleDecided, loop: LoopState, settings: SystemLoop
) -> tuple[Values, Values]:
    """Return what a cycle came to, and what it would come to now of the loop as it was before.

    What a model or a person said is taken as it was recorded; everything else is found again.
    """
    then: Values = {
        "state_hash": event.state_hash,
        "short_circuit": event.short_circuit,
        "choice": event.choice,
        "outcome": event.outcome,
        "rails": event.rails,
        "action": event.action,
    }
    unpaid = [hit.reason for hit in event.rails if hit.rail is Rail.COST]
    verdict = ruled(
        event.choice,
        event.facts,
        settings,
        depth=event.depth,
        invalid=event.invalid,
        unpaid=unpaid[0] if unpaid else None,
    )
    if event.outcome is CycleOutcome.CANCELLED:
        # A person's word is nobody else's decision.
        return then, then
    triggers = [loop.triggers[each] for each in event.triggers if each in loop.triggers]
    now: Values = {
        "outcome": verdict.outcome,
        "rails": verdict.rails,
        "action": event.choice.action if verdict.is_emitted else LoopAction.DO_NOTHING,
    }
    return then, {**then, **now, **_oriented(event, triggers, loop, settings)}


def _oriented(
    event: CycleDecided, triggers: Sequence[Trigger], loop: LoopState, settings: SystemLoop
) -> Values:
    """Return what the snapshot comes to, and what the rules make of it where they were asked."""
    snapshot = event.snapshot
    if snapshot is None:
        return {}
    found: Values = {"state_hash": state_hash(snapshot)}
    if event.short_circuit is not None:
        before = loop.scopes.get(event.scope, ScopeState()).thought_under(event.policy_hash)
        found["short_circuit"] = short_circuit(snapshot, triggers, settings, before=before)
    if event.decider == RULES:
        found["choice"] = by_rules(snapshot, triggers, settings).choice
    return found
