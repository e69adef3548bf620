"""The loop as a person looks at it: how it stands, and what it decided, stage by stage."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, assert_never

import msgspec

from interlock.errors import UnknownError
from interlock.ledger.abbreviations import ambiguous
from interlock.ledger.chain import decoded
from interlock.ledger.ledger import Ledger
from interlock.ledger.projection import answer_key, decision_key, trigger_key
from interlock.model.approval import Approval
from interlock.model.loop_events import CycleDecided, DeliveryAttempted, TriggerReceived
from interlock.model.loop_state import DAY, Breaker, Delivery, Freeze, Held, LoopState
from interlock.model.recommendation import Recommendation, RecommendationState
from interlock.model.rows import KeyRow, RecordRow
from interlock.model.short_code import code_typed, is_meant
from interlock.model.system_loop import (
    LOOP_RUN,
    ApplyRecommendation,
    Choice,
    DoNothing,
    EmitAlert,
    LoopAction,
    Note,
    ProcessNotes,
    Reading,
    StartLoop,
    Trigger,
)
from interlock.policy.config.loop_section import SystemLoop
from interlock.ports import Rows
from interlock.views import units
from interlock.views.loop_timeline import OUTCOMES, choice_text
from interlock.views.run_view import all_halted
from interlock.views.timeline_entry import Accent

MOST_ENTRIES: Final = 500
"""How many decisions one page can have."""
_WINDOW: Final = 200
_MOST_BEHIND: Final = 500
"""So many records behind a decision are looked through for its deliveries."""
_MOST_NAMED: Final = 6
_MINUTE: Final = 60_000_000


class SlogEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One decision of the loop, with where it stands on record."""

    seq: int
    at: int
    decision: CycleDecided

    @property
    def accent(self) -> Accent:
        """How it looks."""
        return OUTCOMES.get(self.decision.outcome, Accent.CAREFUL)


class SlogPage(msgspec.Struct, frozen=True, kw_only=True):
    """A few decisions, the newest first."""

    entries: tuple[SlogEntry, ...]
    before: int | None
    """Where the next page begins; None where this is the last one."""


class Stage(msgspec.Struct, frozen=True):
    """One stage of a cycle, in words."""

    name: str
    accent: Accent
    text: str
    more: tuple[str, ...] = ()
    """What else is known of it, one line each."""


class CycleView(msgspec.Struct, frozen=True, kw_only=True):
    """A decision with everything that led to it and came of it."""

    entry: SlogEntry
    triggers: tuple[Trigger, ...]
    approval: Approval | None
    attempts: tuple[DeliveryAttempted, ...]
    """Every attempt to deliver what it emitted, in order."""
    waiting: tuple[Delivery, ...]
    """The deliveries that are still to be made."""
    stages: tuple[Stage, ...]


class WaitingDelivery(msgspec.Struct, frozen=True, kw_only=True):
    """An event that a sink does not have yet."""

    event: str
    decision_id: str
    action: LoopAction
    delivery: Delivery


class HeldAction(msgspec.Struct, frozen=True, kw_only=True):
    """An action that waits for a person's word."""

    held: Held
    is_open: bool
    """Whether they can still give it."""
    expires_at: int | None


class Rate(msgspec.Struct, frozen=True, kw_only=True):
    """How often an action was emitted within the last hour, and how often it may be."""

    action: LoopAction
    may: str
    acted: int
    per_hour: int


class LoopStatus(msgspec.Struct, frozen=True, kw_only=True):
    """How the loop stands."""

    mode: str
    decider: str
    model: str | None
    frozen: Freeze | None
    standstill: str | None
    """Why nothing is let out: it is frozen, or its run is held."""
    heartbeat_minutes: int
    next_heartbeat: int
    """When a worker looks around next."""
    triggers: tuple[Trigger, ...]
    notes: tuple[Note, ...]
    deliveries: tuple[WaitingDelivery, ...]
    held: tuple[HeldAction, ...]
    jobs: Mapping[str, str]
    """The runs that it started and has not looked at yet, each with its decision."""
    recommendations: int
    """How many of them wait for a person."""
    rates: tuple[Rate, ...]
    spent_micros: int
    """What deciding cost today, with what is promised to models."""
    day_cost_micros: int
    breakers: Mapping[str, Breaker]
    cycles: int
    emitted: int
    outcomes: Mapping[str, int]
    last: CycleView | None


def loop_state(ledger: Ledger) -> LoopState:
    """Return the loop as it is on record; empty where it never did anything."""
    run = ledger.state(LOOP_RUN)
    return LoopState() if run is None else run.loop


def loop_status(ledger: Ledger, settings: SystemLoop, now: int) -> LoopStatus:
    """Return how the loop stands under these settings."""
    run = ledger.state(LOOP_RUN)
    loop = LoopState() if run is None else run.loop
    return LoopStatus(
        mode=settings.mode,
        decider=settings.decider,
        model=settings.model,
        frozen=loop.frozen,
        standstill=(None if run is None else run.standstill) or all_halted(ledger),
        heartbeat_minutes=settings.heartbeat_minutes,
        next_heartbeat=next_heartbeat(now, settings.heartbeat_minutes),
        triggers=tuple(loop.triggers.values()),
        notes=tuple(loop.notes.values()),
        deliveries=_deliveries(loop),
        held=_held(ledger.rows, loop, now),
        jobs=loop.jobs,
        recommendations=len(loop.pending_recommendations),
        rates=_rates(loop, settings, now),
        spent_micros=loop.spent_on(now // DAY),
        day_cost_micros=settings.day_cost_micro_usd,
        breakers=loop.breakers,
        cycles=loop.cycles,
        emitted=loop.emitted,
        outcomes=loop.outcomes,
        last=_last(ledger, loop),
    )


def next_heartbeat(now: int, minutes: int) -> int:
    """Return when the heart beats next: every so many minutes of each hour, from its first."""
    minute = now // _MINUTE + 1
    while minute % 60 % minutes:
        minute += 1
    return minute * _MINUTE


def _deliveries(loop: LoopState) -> tuple[WaitingDelivery, ...]:
    return tuple(
        WaitingDelivery(
            event=each.event,
            decision_id=each.decision_id,
            action=each.choice.action,
            delivery=delivery,
        )
        for each in loop.outgoing.values()
        for delivery in each.deliveries
    )


def _held(rows: Rows, loop: LoopState, now: int) -> tuple[HeldAction, ...]:
    found = [(held, rows.approval(held.approval)) for held in loop.held.values()]
    return tuple(
        HeldAction(
            held=held,
            is_open=approval is not None and approval.is_open_at(now),
            expires_at=None if approval is None else approval.expires_at,
        )
        for held, approval in found
    )


def _rates(loop: LoopState, settings: SystemLoop, now: int) -> tuple[Rate, ...]:
    return tuple(
        Rate(
            action=action,
            may=settings.may(action),
            acted=loop.acted_within_hour(action, now),
            per_hour=settings.per_hour(action),
        )
        for action in LoopAction
        if action is not LoopAction.DO_NOTHING
    )


def _last(ledger: Ledger, loop: LoopState) -> CycleView | None:
    row = ledger.rows.record(LOOP_RUN, loop.last_seq) if loop.last_seq else None
    entry = None if row is None else _entry(row)
    return None if entry is None else _cycle(ledger, loop, entry)


def slog_page(ledger: Ledger, *, limit: int, before: int | None = None) -> SlogPage:
    """Return so many decisions from before a record, the newest first.

    The chain is read from its end: what happened long ago costs nothing.
    """
    rows = ledger.rows
    run = rows.run(LOOP_RUN)
    end = 0 if run is None else run.seq + 1
    end = end if before is None else min(end, before)
    found: list[SlogEntry] = []
    while end > 1:
        start = max(0, end - 1 - _WINDOW)
        window = rows.records(LOOP_RUN, after=start, limit=end - 1 - start)
        for row in reversed(window):
            entry = _entry(row)
            if entry is not None and len(found) == limit:
                return SlogPage(entries=tuple(found), before=found[-1].seq)
            if entry is not None:
                found.append(entry)
        end = start + 1
    return SlogPage(entries=tuple(found), before=None)


def cycle_view(ledger: Ledger, text: str) -> CycleView:
    """Return a decision by its id, or that of an event it emitted or answered."""
    row = ledger.rows.record(LOOP_RUN, _found_seq(ledger.rows, text))
    entry = None if row is None else _entry(row)
    if entry is None:
        raise UnknownError(f"there is no decision `{text}`: `interlock loop log` lists them")
    return _cycle(ledger, loop_state(ledger), entry)


def _found_seq(rows: Rows, text: str) -> int:
    """Return where the decision stands that an id, its beginning or its code names; 0 for none."""
    for key_of in (decision_key, answer_key):
        exact = rows.key(LOOP_RUN, key_of(text))
        if exact is not None:
            return exact.seq
        begins = key_of(text)
        behind = rows.keys(LOOP_RUN, after=begins, limit=_MOST_NAMED) if text else ()
        begun = [row for row in behind if row.key.startswith(begins)]
        found = {row.seq: row.key for row in (*begun, *_keys_by_code(rows, key_of(""), text))}
        if len(found) > 1:
            ids = [key.partition(":")[2] for key in found.values()]
            raise ambiguous("decision", text, ids)
        if found:
            return next(iter(found))
    return 0


def _keys_by_code(rows: Rows, kind: str, text: str) -> Iterator[KeyRow]:
    """Yield the keys of a kind whose id has this code."""
    after = kind if code_typed(text) else ""
    while after:
        page = rows.keys(LOOP_RUN, after=after)
        same = [row for row in page if row.key.startswith(kind)]
        yield from (row for row in same if is_meant(row.key.removeprefix(kind), text))
        after = same[-1].key if same and len(same) == len(page) else ""


def _entry(row: RecordRow) -> SlogEntry | None:
    event = decoded(row.body).event
    if not isinstance(event, CycleDecided):
        return None
    return SlogEntry(seq=row.seq, at=row.at, decision=event)


def _cycle(ledger: Ledger, loop: LoopState, entry: SlogEntry) -> CycleView:
    rows, decision = ledger.rows, entry.decision
    approval = None if decision.approval is None else rows.approval(decision.approval)
    attempts = _attempts(rows, entry)
    outgoing = None if decision.emitted is None else loop.outgoing.get(decision.emitted.id)
    waiting = () if outgoing is None else outgoing.deliveries
    triggers = tuple(_trigger(rows, each) for each in decision.triggers)
    known = tuple(each for each in triggers if each is not None)
    return CycleView(
        entry=entry,
        triggers=known,
        approval=approval,
        attempts=attempts,
        waiting=waiting,
        stages=_stages(entry, known, approval, attempts, waiting),
    )


def _trigger(rows: Rows, trigger_id: str) -> Trigger | None:
    key = rows.key(LOOP_RUN, trigger_key(trigger_id))
    row = None if key is None else rows.record(LOOP_RUN, key.seq)
    event = None if row is None else decoded(row.body).event
    return event.trigger if isinstance(event, TriggerReceived) else None


def _attempts(rows: Rows, entry: SlogEntry) -> tuple[DeliveryAttempted, ...]:
    emitted = entry.decision.emitted
    if emitted is None:
        return ()
    behind = rows.records(LOOP_RUN, after=entry.seq, limit=_MOST_BEHIND)
    events = [decoded(row.body).event for row in behind]
    return tuple(
        each for each in events if isinstance(each, DeliveryAttempted) and each.event == emitted.id
    )


def _stages(
    entry: SlogEntry,
    triggers: Sequence[Trigger],
    approval: Approval | None,
    attempts: Sequence[DeliveryAttempted],
    waiting: Sequence[Delivery],
) -> tuple[Stage, ...]:
    return (
        _trigger_stage(entry.decision, triggers),
        _snapshot_stage(entry.decision),
        _decider_stage(entry.decision),
        _rails_stage(entry.decision),
        _outcome_stage(entry, approval),
        *_event_stages(entry.decision, attempts, waiting),
    )


def _trigger_stage(decision: CycleDecided, triggers: Sequence[Trigger]) -> Stage:
    count = len(decision.triggers)
    others = f", with {units.counted(count - 1, 'other')}" if count > 1 else ""
    depth = f", caused by this loop {decision.depth} deep" if decision.depth else ""
    data = tuple(f"{each.source} {each.data}" for each in triggers if each.data)
    return Stage("trigger", Accent.STRONG, f"{decision.trigger_source}{others}{depth}", data)


def _snapshot_stage(decision: CycleDecided) -> Stage:
    snapshot = decision.snapshot
    if snapshot is None:
        return Stage("snapshot", Accent.FAINT, "nothing was looked at")
    failed = len([each for each in snapshot.readings if each.error is not None])
    read = units.counted(len(snapshot.readings) - failed, "source")
    text = f"{read} read" + (f", {failed} failed: partial" if failed else "")
    accent = Accent.CAREFUL if failed else Accent.FAINT
    lines = tuple(map(_reading_text, snapshot.readings))
    return Stage("snapshot", accent, f"{text}, state {decision.state_hash[:12]}", lines)


def _reading_text(reading: Reading) -> str:
    if reading.error is not None:
        return f"{reading.source}: failed: {reading.error}"
    return f"{reading.source}: {reading.value}"


def _decider_stage(decision: CycleDecided) -> Stage:
    about = choice_text(decision.choice)
    cost = f", {units.dollars(decision.cost_micros)}" if decision.cost_micros else ""
    text = f"{decision.decider} chose {about}{cost}"
    more = [decision.reasoning]
    if decision.short_circuit is not None:
        text = f"no decider was called: {decision.short_circuit.replace('_', ' ')}"
    if decision.degraded is not None:
        more.append(f"in place of the model: {decision.degraded}")
    if decision.invalid is not None:
        more.append(f"refused: {decision.invalid}")
    accent = Accent.CAREFUL if decision.degraded or decision.invalid else Accent.STRONG
    return Stage("decider", accent, text, tuple(filter(None, more)))


def _rails_stage(decision: CycleDecided) -> Stage:
    if not decision.rails:
        return Stage("rails", Accent.FAINT, "none held")
    names = ", ".join(hit.rail.value for hit in decision.rails)
    why = tuple(f"{hit.rail.value}: {hit.reason}" for hit in decision.rails)
    return Stage("rails", Accent.CAREFUL, f"{names} held", why)


def _outcome_stage(entry: SlogEntry, approval: Approval | None) -> Stage:
    decision = entry.decision
    outcome = decision.outcome.value.replace("_", " ")
    took = units.duration(decision.duration_ms)
    asked = () if approval is None else (f"approval {approval.id}: {approval.state.value}",)
    return Stage("outcome", entry.accent, f"{outcome}, after {took}", asked)


def _event_stages(
    decision: CycleDecided, attempts: Sequence[DeliveryAttempted], waiting: Sequence[Delivery]
) -> tuple[Stage, ...]:
    emitted = decision.emitted
    if emitted is None:
        return (Stage("event", Accent.FAINT, "none was emitted"),)
    sent = Stage("event", Accent.GOOD, f"{emitted.type} {emitted.id}")
    lines = tuple(map(_attempt_text, attempts))
    if waiting:
        names = ", ".join(each.sink for each in waiting)
        return sent, Stage("delivery", Accent.CAREFUL, f"waits for {names}", lines)
    arrived = {each.sink for each in attempts if each.error is None}
    lost = ", ".join(sink for sink in decision.sinks if sink not in arrived)
    if lost:
        return sent, Stage("delivery", Accent.BAD, f"given up or cancelled: {lost}", lines)
    return sent, Stage("delivery", Accent.GOOD, "everybody has it", lines)


def _attempt_text(attempt: DeliveryAttempted) -> str:
    tried = f"{attempt.sink}, try {attempt.attempt}"
    if attempt.error is None:
        return f"{tried}: delivered" + (f": {attempt.result}" if attempt.result else "")
    return f"{tried}: {attempt.error}"


def effect_text(choice: Choice, settings: SystemLoop, loop: LoopState) -> str:
    """Return what would happen if an action were let through, under these settings."""
    match choice:
        case StartLoop(job=name):
            job = next((each for each in settings.jobs if each.name == name), None)
            if job is None:
                return f"nothing: the policy has no job `{name}`"
            where = "" if job.workspace is None else f" in {job.workspace}"
            return f"runs `{' '.join(job.command)}`{where}, as a governed run"
        case ProcessNotes(notes=notes):
            return f"takes {units.counted(len(notes), 'note')} from the queue"
        case ApplyRecommendation(recommendation=recommendation):
            found = loop.recommendations.get(recommendation)
            return "nothing" if found is None else f"changes the policy: {found.title}"
        case EmitAlert(message=message, severity=severity):
            return f"tells people ({severity.value}): {message}"
        case DoNothing():
            return "nothing"
        case _:
            assert_never(choice)


def recommendations(ledger: Ledger, *, everything: bool = False) -> Sequence[Recommendation]:
    """Return the recommendations that wait for a person, or all that are remembered."""
    known = loop_state(ledger).recommendations.values()
    pending = RecommendationState.PENDING
    return [each for each in known if everything or each.state is pending]
