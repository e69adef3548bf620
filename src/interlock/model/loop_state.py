"""The state of the system loop: its records, folded forward one at a time.

Nothing here grows with the number of cycles: what waits is bounded at the door, what happened is
counted within the hour or the day that a rail looks at.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, TypeVar, assert_never

import msgspec
from msgspec.structs import replace

from interlock.model.loop_events import (
    CycleDecided,
    DeliveryAttempted,
    LoopCancelled,
    LoopEvent,
    LoopFrozen,
    LoopThawed,
    ModelAnswered,
    ModelAsked,
    NoteAdded,
    NotesProcessed,
    RecommendationSettled,
    RetrospectiveWritten,
    TriggerReceived,
)
from interlock.model.recommendation import Recommendation, RecommendationState
from interlock.model.system_loop import Choice, CloudEvent, CycleOutcome, LoopAction, Note, Trigger

_T = TypeVar("_T")

HOUR: Final = 3_600_000_000
"""In the unit of the clock."""
DAY: Final = 24 * HOUR
BREAKER_OPEN: Final = HOUR // 2
"""How long a decider is left alone that failed too often."""

_BREAKER_FAILURES: Final = 3
_BREAKER_WINDOW: Final = HOUR // 4

_SETTLED: Final = frozenset(
    (
        CycleOutcome.NOTHING,
        CycleOutcome.EMITTED,
        CycleOutcome.SHADOW,
        CycleOutcome.APPROVAL_REQUIRED,
        CycleOutcome.APPROVAL_DENIED,
    )
)
"""The outcomes after which the same state needs no second thought."""
_MOST_ACTED: Final = 20
_MOST_JOBS: Final = 200
_MOST_REVOKED: Final = 200
_MOST_SCOPES: Final = 200
_MOST_SETTLED: Final = 50
_MOST_RECOMMENDATIONS: Final = 100


class Acted(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A decision that emitted something, as later ones remember it."""

    decision_id: str
    scope: str
    choice: Choice
    at: int


class Held(msgspec.Struct, frozen=True, kw_only=True):
    """An action that waits for a person's word."""

    scope: str
    decision_id: str
    approval: str
    choice: Choice
    reasoning: str
    state_hash: str


class ScopeState(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What the next cycle of a scope has to know of the last one."""

    state_hash: str = ""
    """The state that needs no second thought; empty where it does."""
    policy_hash: str = ""
    """The policy that this was thought under."""
    decision_id: str = ""
    at: int = 0

    def thought_under(self, policy_hash: str) -> str:
        """Return the state that needs no second thought under a policy."""
        return self.state_hash if policy_hash == self.policy_hash else ""


class Delivery(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How one sink gets on with an event."""

    sink: str
    attempts: int = 0
    next_at: int = 0
    error: str | None = None


class Outgoing(msgspec.Struct, frozen=True, kw_only=True):
    """An event that some sink does not have yet."""

    event: str
    decision_id: str
    choice: Choice
    seq: int
    """The record that holds it."""
    deliveries: tuple[Delivery, ...]


class Breaker(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How a decider got on lately."""

    failures: tuple[int, ...] = ()
    """When it failed lately; a success forgets everything."""
    open_until: int = 0
    """Until when it is left alone; then one call shows whether it is better."""


class Promise(msgspec.Struct, frozen=True, kw_only=True):
    """What a call of a model can cost at most, and whose day pays for it."""

    micros: int
    day: int
    decider: str
    at: int


class Freeze(msgspec.Struct, frozen=True, kw_only=True):
    """The loop stands still because a person said so."""

    reason: str
    since: int


class LoopState(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What is known of the loop after its records so far."""

    cycles: int = 0
    emitted: int = 0
    outcomes: Mapping[str, int] = {}
    last_seq: int = 0
    """The record of the last decision."""
    triggers: Mapping[str, Trigger] = {}
    """Those that no cycle has answered yet, the oldest first."""
    notes: Mapping[str, Note] = {}
    """Those that wait, the oldest first."""
    scopes: Mapping[str, ScopeState] = {}
    held: Mapping[str, Held] = {}
    """What waits for a person's word, by the question; the oldest first."""
    revoked: tuple[str, ...] = ()
    """Questions whose action was cancelled: whatever is answered to them lets nothing out."""
    acted: Mapping[str, tuple[int, ...]] = {}
    """When each action was emitted within the last hour."""
    recent: tuple[Acted, ...] = ()
    """The last decisions that emitted something, the latest last."""
    outgoing: Mapping[str, Outgoing] = {}
    jobs: Mapping[str, str] = {}
    """The runs that were started and not looked at yet, each with its decision."""
    frozen: Freeze | None = None
    day: int = 0
    """The day that `spent_micros` is about, in days since 1970."""
    spent_micros: int = 0
    promised: Mapping[str, Promise] = {}
    """What is promised to calls of models that nobody has heard of yet."""
    breakers: Mapping[str, Breaker] = {}
    recommendations: Mapping[str, Recommendation] = {}
    """Those that wait for a person, and the last ones that were settled."""
    retrospectives: int = 0

    def acted_within_hour(self, action: LoopAction, now: int) -> int:
        """Return how many of these were emitted within the last hour."""
        return len([at for at in self.acted.get(action.value, ()) if at > now - HOUR])

    def acted_since(self, emitted: int) -> tuple[Acted, ...] | None:
        """Return what was emitted since there were so many; None where that is not known."""
        count = self.emitted - emitted
        if count > len(self.recent):
            return None
        return self.recent[len(self.recent) - count :]

    def spent_on(self, day: int) -> int:
        """Return what models cost on a day, with what is promised to them."""
        # A clock that went back gives nobody a second budget.
        return self.spent_micros if day <= self.day else 0

    @property
    def pending_recommendations(self) -> tuple[Recommendation, ...]:
        """The recommendations that nobody has settled, the oldest first."""
        pending = RecommendationState.PENDING
        return tuple(each for each in self.recommendations.values() if each.state is pending)


def after_loop_event(loop: LoopState, event: LoopEvent, seq: int, at: int) -> LoopState:  # noqa: C901, PLR0911, PLR0912 - one line per event
    """Return the loop after one more record."""
    match event:
        case NoteAdded(note=note):
            return replace(loop, notes={**loop.notes, note.id: note})
        case NotesProcessed(notes=notes):
            return replace(loop, notes=_without(loop.notes, notes))
        case TriggerReceived(trigger=trigger):
            return replace(loop, triggers={**loop.triggers, trigger.id: trigger})
        case ModelAsked():
            return _after_question(loop, event, at)
        case ModelAnswered():
            return _after_answer(loop, event, at)
        case CycleDecided():
            return _after_decision(loop, event, seq, at)
        case DeliveryAttempted():
            return _after_delivery(loop, event)
        case LoopFrozen(reason=reason):
            return replace(loop, frozen=loop.frozen or Freeze(reason=reason, since=at))
        case LoopThawed():
            return replace(loop, frozen=None)
        case LoopCancelled(id=cancelled):
            return _after_cancel(loop, cancelled)
        case RetrospectiveWritten(retrospective=retrospective, recommendations=new):
            known = {**loop.recommendations, **{each.id: each for each in new}}
            return replace(
                loop,
                retrospectives=loop.retrospectives + 1,
                jobs=_without(loop.jobs, (retrospective.run,)),
                recommendations=_bounded_recommendations(known),
            )
        case RecommendationSettled(id=settled, state=state, patch=patch):
            found = loop.recommendations.get(settled)
            if found is None:
                return loop
            others = _without(loop.recommendations, (settled,))
            known = {**others, settled: replace(found, state=state, patch=patch or found.patch)}
            return replace(loop, recommendations=_bounded_recommendations(known))
        case _:
            assert_never(event)


def _without(table: Mapping[str, _T], names: tuple[str, ...]) -> Mapping[str, _T]:
    gone = frozenset(names)
    return {name: each for name, each in table.items() if name not in gone}


def _after_question(loop: LoopState, event: ModelAsked, at: int) -> LoopState:
    day = max(event.day, loop.day)
    new = Promise(micros=event.reserved_micros, day=day, decider=event.decider, at=at)
    # Whoever was promised something on an earlier day and never said what became of it is gone.
    promised = {call: each for call, each in loop.promised.items() if each.day == day}
    return replace(
        loop,
        day=day,
        spent_micros=loop.spent_on(event.day) + event.reserved_micros,
        promised={**promised, event.call: new},
    )


def _after_answer(loop: LoopState, event: ModelAnswered, at: int) -> LoopState:
    """Give back what was promised beyond what it cost, and remember how the model got on."""
    promised = loop.promised.get(event.call)
    if promised is None:
        return loop
    return replace(
        loop,
        spent_micros=loop.spent_micros - max(0, promised.micros - event.cost_micros),
        promised=_without(loop.promised, (event.call,)),
        breakers={**loop.breakers, event.decider: _breaker_after(loop, event, at)},
    )


def _breaker_after(loop: LoopState, event: ModelAnswered, at: int) -> Breaker:
    before = loop.breakers.get(event.decider, Breaker())
    if event.asks_again:
        return before
    return Breaker() if event.failure is None else _broken(before, at)


def _broken(breaker: Breaker, at: int) -> Breaker:
    """Return a breaker after one more failure: a probe that fails opens it anew."""
    failures = (*[each for each in breaker.failures if each > at - _BREAKER_WINDOW], at)
    is_open = breaker.open_until > 0 or len(failures) >= _BREAKER_FAILURES
    return Breaker(
        failures=failures[-_BREAKER_FAILURES:], open_until=at + BREAKER_OPEN if is_open else 0
    )


def _after_decision(loop: LoopState, event: CycleDecided, seq: int, at: int) -> LoopState:
    loop = replace(
        loop,
        cycles=loop.cycles + 1,
        outcomes={
            **loop.outcomes,
            event.outcome.value: loop.outcomes.get(event.outcome.value, 0) + 1,
        },
        last_seq=seq,
        triggers=_without(loop.triggers, event.triggers),
        scopes=_bounded_scopes(
            {**_without(loop.scopes, (event.scope,)), event.scope: _scope_after(loop, event, at)}
        ),
        held=_held_after(loop.held, event),
    )
    return loop if event.emitted is None else _after_emission(loop, event, event.emitted, seq, at)


def _scope_after(loop: LoopState, event: CycleDecided, at: int) -> ScopeState:
    before = loop.scopes.get(event.scope, ScopeState())
    if not event.state_hash:
        # It was answered before anything was looked at: the next one knows what it would know.
        return before
    # What was kept back by a rail is looked at again, although nothing else has changed.
    settled = event.state_hash if event.outcome in _SETTLED else ""
    return ScopeState(
        state_hash=settled,
        policy_hash=event.policy_hash,
        decision_id=event.decision_id,
        at=at,
    )


def _held_after(held: Mapping[str, Held], event: CycleDecided) -> Mapping[str, Held]:
    """Return what waits for a person: what they decided is over, what is asked anew takes over."""
    if event.approval is None:
        return held
    if event.outcome is not CycleOutcome.APPROVAL_REQUIRED:
        return _without(held, (event.approval,))
    new = Held(
        scope=event.scope,
        decision_id=event.decision_id,
        approval=event.approval,
        choice=event.choice,
        reasoning=event.reasoning,
        state_hash=event.state_hash,
    )
    others = {
        name: each
        for name, each in held.items()
        if (each.scope, each.choice) != (new.scope, new.choice)
    }
    return {**others, new.approval: new}


def _after_emission(
    loop: LoopState, event: CycleDecided, emitted: CloudEvent, seq: int, at: int
) -> LoopState:
    action = event.action
    times = (*[each for each in loop.acted.get(action.value, ()) if each > at - HOUR], at)
    acted = Acted(decision_id=event.decision_id, scope=event.scope, choice=event.choice, at=at)
    new = Outgoing(
        event=emitted.id,
        decision_id=event.decision_id,
        choice=event.choice,
        seq=seq,
        deliveries=tuple(Delivery(sink=sink, next_at=at) for sink in event.sinks),
    )
    return replace(
        loop,
        emitted=loop.emitted + 1,
        acted={**loop.acted, action.value: times},
        recent=(*loop.recent, acted)[-_MOST_ACTED:],
        outgoing={**loop.outgoing, new.event: new} if new.deliveries else loop.outgoing,
    )


def _after_delivery(loop: LoopState, event: DeliveryAttempted) -> LoopState:
    found = loop.outgoing.get(event.event)
    if found is None:
        return loop
    left = tuple(
        each
        if each.sink != event.sink
        else Delivery(
            sink=each.sink, attempts=event.attempt, next_at=event.next_at or 0, error=event.error
        )
        for each in found.deliveries
        if each.sink != event.sink or event.next_at is not None
    )
    others = _without(loop.outgoing, (event.event,))
    kept = {**others, event.event: replace(found, deliveries=left)} if left else others
    return replace(loop, outgoing=kept, jobs=_jobs_after(loop, found, event))


def _jobs_after(loop: LoopState, found: Outgoing, event: DeliveryAttempted) -> Mapping[str, str]:
    if (
        found.choice.action is not LoopAction.START_LOOP
        or event.error is not None
        or not event.result
    ):
        return loop.jobs
    jobs = {**loop.jobs, event.result: found.decision_id}
    return _without(jobs, tuple(jobs)[: max(0, len(jobs) - _MOST_JOBS)])


def _after_cancel(loop: LoopState, cancelled: str) -> LoopState:
    """Return the loop without what was cancelled: an event, or an action that waits."""
    events = tuple(
        each.event for each in loop.outgoing.values() if cancelled in (each.event, each.decision_id)
    )
    taken = tuple(name for name, held in loop.held.items() if held.decision_id == cancelled)
    return replace(
        loop,
        outgoing=_without(loop.outgoing, events),
        held=_without(loop.held, taken),
        revoked=(*loop.revoked, *taken)[-_MOST_REVOKED:],
    )


def _bounded_scopes(scopes: Mapping[str, ScopeState]) -> Mapping[str, ScopeState]:
    """Return the scopes that were active last."""
    return _without(scopes, tuple(scopes)[: max(0, len(scopes) - _MOST_SCOPES)])


def _bounded_recommendations(
    known: Mapping[str, Recommendation],
) -> Mapping[str, Recommendation]:
    """Return those that wait, as many as a person can look at, and the last that were settled."""
    pending = RecommendationState.PENDING
    waiting = [name for name, each in known.items() if each.state is pending]
    settled = [name for name, each in known.items() if each.state is not pending]
    gone = (
        *waiting[: max(0, len(waiting) - _MOST_RECOMMENDATIONS)],
        *settled[: max(0, len(settled) - _MOST_SETTLED)],
    )
    return _without(known, gone)
