"""The loop as its page in the console shows it: how it stands, its last cycle, what it decided."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import Final

import msgspec

from interlock.ledger.ledger import Ledger
from interlock.model.loop_state import LoopState
from interlock.model.recommendation import Recommendation, RecommendationState
from interlock.model.system_loop import CycleOutcome, LoopAction, LoopMode, Reading, Snapshot
from interlock.policy.config.loop_section import SystemLoop
from interlock.views import units
from interlock.views.loop_view import (
    CycleView,
    LoopStatus,
    SlogEntry,
    loop_state,
    loop_status,
    slog_page,
)

PAGE: Final = 50
_SAYINGS: Final = {
    LoopMode.OFF.value: "The loop is off.",
    LoopMode.SHADOW.value: "The loop observes: it records what it would do.",
    LoopMode.ENFORCE.value: "The loop acts within its rails.",
}
_MODES: Final = {
    LoopMode.OFF.value: "Mode off: it decides nothing",
    LoopMode.SHADOW.value: "Mode shadow: it decides and records, and does nothing else",
    LoopMode.ENFORCE.value: "Mode enforce: it does what passes its rails (its limits)",
}
_CAME_TO: Final = {
    CycleOutcome.EMITTED: "emitted",
    CycleOutcome.NOTHING: "nothing",
    CycleOutcome.SHADOW: "nothing: shadow",
    CycleOutcome.OFF: "nothing: it is off",
    CycleOutcome.FROZEN: "nothing: it is frozen",
    CycleOutcome.CANCELLED: "cancelled by a person",
    CycleOutcome.APPROVAL_REQUIRED: "waits for a person",
    CycleOutcome.APPROVAL_DENIED: "nothing: a person denied it",
}


class Logged(enum.StrEnum):
    """Which decisions somebody wants to see."""

    ALL = "all"
    ACTS = "acts"
    """Whatever is not nothing."""
    RAILS = "rails"


class CycleStage(msgspec.Struct, frozen=True):
    """One of the five stages of a cycle, and what it came to."""

    name: str
    text: str
    more: str
    is_code: bool = False


class SlogLine(msgspec.Struct, frozen=True, kw_only=True):
    """One decision in the list."""

    seq: int
    at: int
    because: str
    action: str
    reasoning: str
    word: str
    tone: str
    rails: tuple[str, ...]
    approval: str | None
    cost_micros: int


class LoopPage(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that the page of the loop shows."""

    heading: str
    mode: str
    status: LoopStatus
    stages: tuple[CycleStage, ...]
    lines: tuple[SlogLine, ...]
    before: int | None
    recommendations: tuple[Recommendation, ...]
    """Those that wait for a person, then those that were settled last."""
    readings: tuple[tuple[str, Reading], ...]
    """What the last cycle saw: each source by its name."""
    snapshot_at: int
    retrospectives: int


def loop_page(
    ledger: Ledger, settings: SystemLoop, now: int, *, logged: Logged, before: int | None
) -> LoopPage:
    """Look at the loop."""
    loop = loop_state(ledger)
    status = loop_status(ledger, settings, now)
    slog = slog_page(ledger, limit=PAGE, before=before)
    last = status.last
    decision = None if last is None else last.entry.decision
    return LoopPage(
        heading=_SAYINGS[status.mode],
        mode=_MODES[status.mode],
        status=status,
        stages=() if last is None else _stages(last, status, loop),
        lines=tuple(_line(each) for each in slog.entries if _is_wanted(each, logged)),
        before=slog.before,
        recommendations=_settled_last(tuple(loop.recommendations.values())),
        readings=() if decision is None else _named(decision.snapshot),
        snapshot_at=0 if last is None else last.entry.at,
        retrospectives=loop.retrospectives,
    )


def _named(snapshot: Snapshot | None) -> tuple[tuple[str, Reading], ...]:
    readings = () if snapshot is None else snapshot.readings
    return tuple((reading_name(each), each) for each in readings)


def _settled_last(known: Sequence[Recommendation]) -> tuple[Recommendation, ...]:
    pending = [each for each in known if each.state is RecommendationState.PENDING]
    settled = [each for each in known if each.state is not RecommendationState.PENDING]
    return (*pending, *reversed(settled))


def _is_wanted(entry: SlogEntry, logged: Logged) -> bool:
    decision = entry.decision
    if logged is Logged.ACTS:
        return decision.choice.action is not LoopAction.DO_NOTHING
    return logged is Logged.ALL or bool(decision.rails)


def _line(entry: SlogEntry) -> SlogLine:
    decision = entry.decision
    return SlogLine(
        seq=entry.seq,
        at=entry.at,
        because=decision.trigger_source,
        action=decision.choice.action.value,
        reasoning=decision.reasoning or (decision.short_circuit or "").replace("_", " "),
        word=decision.outcome.value.replace("_", " "),
        tone=entry.accent.tone,
        rails=tuple(f"{hit.rail.value}: {hit.reason}" for hit in decision.rails),
        approval=decision.approval,
        cost_micros=decision.cost_micros,
    )


def _stages(cycle: CycleView, status: LoopStatus, loop: LoopState) -> tuple[CycleStage, ...]:
    decision = cycle.entry.decision
    return (
        _sensed(decision.snapshot, decision.state_hash),
        CycleStage("ORIENT", _oriented(decision.snapshot), _because(cycle)),
        CycleStage("DECIDE", decision.choice.action.value, _decided_by(cycle), is_code=True),
        CycleStage("ACT", _came_to(cycle), _rails_text(cycle)),
        CycleStage(
            "LEARN",
            units.counted(loop.retrospectives, "retrospective"),
            f"{units.counted(status.recommendations, 'recommendation')} waiting",
        ),
    )


def _sensed(snapshot: Snapshot | None, state_hash: str) -> CycleStage:
    if snapshot is None:
        return CycleStage("SENSE", "not needed", "the answer was known already")
    count = len(snapshot.readings)
    failed = [each.source for each in snapshot.readings if each.error is not None]
    text = (
        f"{count - len(failed)} of {count} sources answered"
        if failed
        else f"{units.counted(count, 'source')}, all answered"
    )
    more = f"failed: {', '.join(failed)}" if failed else f"state {state_hash[:12]}"
    return CycleStage("SENSE", text, more)


def _oriented(snapshot: Snapshot | None) -> str:
    known = () if snapshot is None else snapshot.readings
    found = [f"{each.value:,} {reading_name(each)}" for each in known if each.value]
    return ", ".join(found) or "nothing to act on"


_SOURCES: Final = {
    "note_queue_length": "notes waiting",
    "recent_slog_entries": "recent decisions",
    "pending_retro_recommendations": "recommendations",
    "active_loop_runs": "runs of the loop",
    "half_done_inventory": "half done",
}


def reading_name(reading: Reading) -> str:
    """Return what a source counts, in words."""
    return _SOURCES.get(reading.source, reading.source.replace("_", " "))


def _because(cycle: CycleView) -> str:
    decision = cycle.entry.decision
    depth = f", caused by the loop {decision.depth} deep" if decision.depth else ""
    return f"because of {decision.trigger_source}{depth}"


def _decided_by(cycle: CycleView) -> str:
    decision = cycle.entry.decision
    if decision.short_circuit is not None:
        return f"no decider was called: {decision.short_circuit.replace('_', ' ')}"
    if decision.degraded is not None:
        return f"by {decision.decider}, instead of the model: {decision.degraded}"
    cost = f", {units.dollars(decision.cost_micros)}" if decision.cost_micros else ""
    return f"by {decision.decider}{cost}"


def _came_to(cycle: CycleView) -> str:
    outcome = cycle.entry.decision.outcome
    return _CAME_TO.get(outcome, f"nothing: {outcome.value.replace('_', ' ')}")


def _rails_text(cycle: CycleView) -> str:
    decision = cycle.entry.decision
    if decision.rails:
        return "; ".join(f"{hit.rail.value}: {hit.reason}" for hit in decision.rails)
    if cycle.waiting:
        return f"waits for {', '.join(each.sink for each in cycle.waiting)}"
    return "no rail held it" if decision.emitted is None else f"{decision.emitted.type}"
