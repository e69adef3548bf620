"""The rails: whatever a decider says, only this lets an action out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec

from interlock.model.loop_state import BREAKER_OPEN, LoopState
from interlock.model.system_loop import (
    MOST_HELD,
    MOST_OUTGOING,
    Choice,
    CycleOutcome,
    LoopAction,
    LoopMode,
    Rail,
    RailFacts,
    RailHit,
)
from interlock.policy.config.loop_section import SystemLoop

_OUTCOMES: Final = {
    Rail.FROZEN: CycleOutcome.FROZEN,
    Rail.CAUSATION: CycleOutcome.TOO_DEEP,
    Rail.VALIDATION: CycleOutcome.VALIDATION_ERROR,
    Rail.COST: CycleOutcome.BUDGET_DENIED,
    Rail.BACKLOG: CycleOutcome.BACKLOGGED,
    Rail.RATE: CycleOutcome.RATE_LIMITED,
}
"""What a rail that holds makes of a cycle, the strictest first."""


class CycleVerdict(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a choice."""

    outcome: CycleOutcome
    rails: tuple[RailHit, ...] = ()

    @property
    def is_emitted(self) -> bool:
        """Whether the action goes out."""
        return self.outcome is CycleOutcome.EMITTED


def ruled(
    choice: Choice,
    facts: RailFacts,
    settings: SystemLoop,
    *,
    depth: int,
    invalid: str | None = None,
    unpaid: str | None = None,
) -> CycleVerdict:
    """Return what becomes of a choice; `unpaid` says why no model could be paid for it."""
    hits = (
        *_hits_of_cycle(facts, settings, depth),
        *_hits_of_decider(invalid, unpaid),
        *_hits_of_action(choice.action, facts, settings),
    )
    for rail, outcome in _OUTCOMES.items():
        if any(hit.rail is rail for hit in hits):
            return CycleVerdict(outcome=outcome, rails=hits)
    return CycleVerdict(outcome=_outcome(choice, facts, settings), rails=hits)


def _outcome(choice: Choice, facts: RailFacts, settings: SystemLoop) -> CycleOutcome:
    """Return what becomes of a choice that no rail keeps back for good."""
    if settings.mode == LoopMode.OFF:
        return CycleOutcome.OFF
    if choice.action is LoopAction.DO_NOTHING:
        return CycleOutcome.NOTHING
    if settings.mode == LoopMode.SHADOW:
        return CycleOutcome.SHADOW
    if settings.may(choice.action) == "allow" or facts.granted is not None:
        return CycleOutcome.EMITTED
    return CycleOutcome.APPROVAL_REQUIRED if facts.denied is None else CycleOutcome.APPROVAL_DENIED


def _hits_of_cycle(facts: RailFacts, settings: SystemLoop, depth: int) -> Iterator[RailHit]:
    if facts.frozen is not None:
        yield RailHit(rail=Rail.FROZEN, reason=f"the loop is frozen: {facts.frozen}")
    if depth > settings.max_depth:
        reason = f"{depth} decisions led to one another, `loop.max-depth` is {settings.max_depth}"
        yield RailHit(rail=Rail.CAUSATION, reason=reason)


def _hits_of_decider(invalid: str | None, unpaid: str | None) -> Iterator[RailHit]:
    if invalid is not None:
        yield RailHit(rail=Rail.VALIDATION, reason=invalid)
    if unpaid is not None:
        yield RailHit(rail=Rail.COST, reason=unpaid)


def _hits_of_action(
    action: LoopAction, facts: RailFacts, settings: SystemLoop
) -> Iterator[RailHit]:
    if action is LoopAction.DO_NOTHING:
        return
    may, most = settings.may(action), settings.per_hour(action)
    if may == "off":
        reason = f"`loop.{action.value.replace('_', '-')}` is off"
        yield RailHit(rail=Rail.VALIDATION, reason=reason)
    if facts.outgoing >= MOST_OUTGOING:
        reason = f"{facts.outgoing} events wait for their delivery, {MOST_OUTGOING} are the most"
        yield RailHit(rail=Rail.BACKLOG, reason=reason)
    if may == "require-confirmation" and facts.granted is None and facts.held >= MOST_HELD:
        reason = f"{facts.held} actions wait for a person, {MOST_HELD} are the most"
        yield RailHit(rail=Rail.BACKLOG, reason=reason)
    if facts.acted >= most:
        reason = f"{facts.acted} of `{action.value}` within the last hour, {most} are the most"
        yield RailHit(rail=Rail.RATE, reason=reason)
    if may == "require-confirmation" and facts.granted is None:
        what = "a person refused it" if facts.denied else "a person has to agree first"
        yield RailHit(rail=Rail.APPROVAL, reason=what)
    if settings.mode != LoopMode.ENFORCE:
        yield RailHit(rail=Rail.MODE, reason=f"`loop.mode` is {settings.mode}")


def is_open(loop: LoopState, decider: str, now: int) -> bool:
    """Whether a decider is not asked for now: it failed too often, or somebody probes it."""
    breaker = loop.breakers.get(decider)
    if breaker is None or not breaker.open_until:
        return False
    return now < breaker.open_until or any(
        each.decider == decider and now - each.at < BREAKER_OPEN for each in loop.promised.values()
    )
