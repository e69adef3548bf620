"""Would it be answered the same today? Every judgement of a run, decided again.

Recorded inputs, recorded facts and the recorded policy go through the same pure functions as
then. If an answer differs, something in those functions has changed, and the difference is
shown field by field.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, partial
from typing import Final, cast

import msgspec

from interlock.ledger.chain import read_chain
from interlock.model import events
from interlock.model.action import CommandAction
from interlock.model.arbitration import Ruling
from interlock.model.control_state import meter_with_words
from interlock.model.progress_meter import Meter
from interlock.model.review import (
    PendingGateReview,
    ReviewDecision,
    ReviewOutcome,
    ReviewVerdict,
    Unreadable,
)
from interlock.model.rows import RecordRow
from interlock.model.run import FROM_FACTS, ReviewEvent, RunState, folded
from interlock.model.verdict import Finding
from interlock.policy.actions.compiled_policy import CompiledPolicy
from interlock.policy.arbiter import held_answer, ruling
from interlock.policy.gates.judgement import judge, settle
from interlock.policy.reviews.gate_faults import coverage_of, refusing
from interlock.policy.reviews.review_gate import asked_again, choose, opened
from interlock.policy.reviews.review_gate import judge as judge_review
from interlock.policy.steps.continue_gate import decide as decide_step
from interlock.policy.steps.loop_detector import signs_of
from interlock.policy.stops.stop_gate import decide as decide_stop
from interlock.ports import Rows
from interlock.service.policies.policy_book import stored_gates

_PAGE: Final = 500


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    """A field of an answer that comes out differently."""

    field: str
    recorded: object
    now: object


class Replayed(msgspec.Struct, frozen=True, kw_only=True):
    """One judgement, decided again."""

    seq: int
    differences: tuple[Difference, ...]

    @property
    def is_same(self) -> bool:
        """Whether the answer is the recorded one."""
        return not self.differences


def replay_run(
    rows: Rows, run_id: str, *, gates: Callable[[str], CompiledPolicy] | None = None
) -> Iterator[Replayed]:
    """Decide every judgement of a run again, in order; the chain is verified on the way."""
    gates_by_hash = cache(gates or partial(stored_gates, rows))
    state = RunState(id=run_id)
    for record, _ in read_chain(_all_records(rows, run_id), run_id):
        event = record.event
        match event:
            case events.ActionJudged():
                now = _action_now(event, gates_by_hash(event.verdict.policy_hash))
                yield _compared(record.seq, _action_then(event), now)
            case events.StepJudged():
                now = _step_now(
                    event, meter_with_words(state.control), gates_by_hash(state.policy_hash)
                )
                yield _compared(record.seq, _step_then(event), now)
            case events.StopJudged():
                meter = meter_with_words(state.control, event.context.text)
                now = _stop_now(event, meter, gates_by_hash(state.policy_hash))
                yield _compared(record.seq, _stop_then(event), now)
            case (
                events.ReviewOpened()
                | events.CheckRan()
                | events.ReviewJudged()
                | events.ReviewChosen()
            ):
                now = review_now(event, state, gates_by_hash(state.policy_hash))
                yield _compared(record.seq, review_then(event), now)
            case _:
                pass
        state = folded(state, record)


def _compared(seq: int, then: Mapping[str, object], now: Mapping[str, object]) -> Replayed:
    return Replayed(seq=seq, differences=tuple(_differences("", then, now)))


def _action_then(event: events.ActionJudged) -> dict[str, object]:
    return {"decision": event.decision, "verdict": event.verdict}


def _action_now(event: events.ActionJudged, gates: CompiledPolicy) -> dict[str, object]:
    findings, policy_hash = _findings(event, gates), event.verdict.policy_hash
    settled = settle(findings, event.facts, gates, policy_hash)
    return {"decision": settled.decision, "verdict": settled.verdict}


def _step_then(event: events.StepJudged) -> dict[str, object]:
    return {
        "signs": event.context.signs,
        "decision": event.decision,
        "ruling": _unbound(event.ruling),
    }


def _step_now(event: events.StepJudged, meter: Meter, gates: CompiledPolicy) -> dict[str, object]:
    decision = (
        held_answer(event.hard)
        if event.hard
        else decide_step(
            event.context,
            gates.config.steps,
            throttled_before=event.throttled_before,
            short=event.decision.short,
        )
    )
    ruled = ruling(event.hard, decision, credit=event.credit, waiting=event.waiting)
    return {
        "signs": signs_of(meter, gates.config.loops),
        "decision": decision,
        "ruling": _unbound(ruled),
    }


def _stop_then(event: events.StopJudged) -> dict[str, object]:
    return {
        "signs": event.facts.signs,
        "step": event.step,
        "decision": event.decision,
        "ruling": _unbound(event.ruling),
    }


def _stop_now(event: events.StopJudged, meter: Meter, gates: CompiledPolicy) -> dict[str, object]:
    step = decide_step(event.facts, gates.config.steps, throttled_before=event.throttled_before)
    decision = decide_stop(event.context, gates.config.stops)
    ruled = ruling(
        event.hard,
        step,
        decision,
        credit=event.credit,
        waiting=event.waiting,
        completion=event.completion,
    )
    return {
        "signs": signs_of(meter, gates.config.loops),
        "step": step,
        "decision": decision,
        "ruling": _unbound(ruled),
    }


def _unbound(ruled: Ruling) -> Ruling:
    """Return a ruling without the question to a person, whose id is nobody's decision."""
    return msgspec.structs.replace(ruled, approval=None)


def _findings(event: events.ActionJudged, gates: CompiledPolicy) -> tuple[Finding, ...]:
    """Return what the gates find now, on the action as it was recorded."""
    now = judge(event.action, gates).findings
    withheld = event.facts.withheld
    if withheld is not None and now == withheld.instead:
        # What was recorded is judged as it was then, so what was taken out would be as well.
        return tuple(each for each in event.verdict.findings if each.gate not in FROM_FACTS)
    return now


def _differences(place: str, then: object, now: object) -> Iterator[Difference]:
    """Yield every place where two answers differ, as deep as both go."""
    yield from _between(place, msgspec.to_builtins(then), msgspec.to_builtins(now))


def _between(place: str, then: object, now: object) -> Iterator[Difference]:
    if then == now:
        return
    if isinstance(then, dict) and isinstance(now, dict):
        before, after = cast("dict[str, object]", then), cast("dict[str, object]", now)
        for name in sorted(before.keys() | after.keys()):
            inner = f"{place}.{name}" if place else name
            yield from _between(inner, before.get(name), after.get(name))
    elif isinstance(then, list | tuple) and isinstance(now, list | tuple):
        earlier, later = cast("Sequence[object]", then), cast("Sequence[object]", now)
        for index in range(max(len(earlier), len(later))):
            yield from _between(f"{place}[{index}]", _at(earlier, index), _at(later, index))
    else:
        yield Difference(field=place, recorded=cast("object", then), now=now)


def _at(items: Sequence[object], index: int) -> object:
    return items[index] if index < len(items) else None


def _all_records(rows: Rows, run_id: str) -> Iterator[RecordRow]:
    after = 0
    while page := rows.records(run_id, after=after, limit=_PAGE):
        yield from page
        after = page[-1].seq


Told = dict[str, object]


def review_then(event: ReviewEvent) -> Told:
    """Return what was decided."""
    match event:
        case events.ReviewOpened(review=review):
            return {"review": review}
        case events.CheckRan(findings=findings):
            return {"findings": findings}
        case events.ReviewJudged(decision=decision, coverage=coverage):
            return {"decision": decision, "coverage": coverage}
        case events.ReviewChosen(decision=decision):
            return {"decision": decision}


def review_now(event: ReviewEvent, state: RunState, gates: CompiledPolicy) -> Told:
    """Return what would be decided now, given the run as it was before."""
    match event:
        case events.ReviewOpened(review=review):
            return {"review": opened(review.id, event.gates, gates.config.reviews)}
        case events.CheckRan(command=command):
            action = CommandAction(command=command, cwd=state.workspace)
            return {"findings": refusing(judge(action, gates))}
        case events.ReviewJudged():
            return _verdict_now(event, state, gates)
        case events.ReviewChosen():
            return _choice_now(event, state, gates)


def _verdict_now(event: events.ReviewJudged, state: RunState, gates: CompiledPolicy) -> Told:
    found = state.reviews.pending[event.review]
    coverage = coverage_of(found)
    if _only_asks_again(event.decision, found.review):
        return {"decision": asked_again(found.review, gates.config.reviews), "coverage": coverage}
    decision = judge_review(found, _said(event), gates.config.reviews)
    return {"decision": decision, "coverage": coverage}


def _only_asks_again(decision: ReviewDecision, review: PendingGateReview) -> bool:
    return review.awaiting_choice and decision.outcome is ReviewOutcome.ASK


def _said(event: events.ReviewJudged) -> ReviewVerdict | Unreadable:
    return event.verdict or Unreadable(reason=event.unreadable or "")


def _choice_now(event: events.ReviewChosen, state: RunState, gates: CompiledPolicy) -> Told:
    found = state.reviews.pending[event.review]
    decision = choose(found, event.action, gates.config.reviews, instructions=event.instructions)
    return {"decision": decision}
