"""Would it be answered the same today? Every judgement of a run, decided again.

Recorded inputs, recorded facts and the recorded policy go through the same pure functions as
then. If an answer differs, something in those functions has changed, and the difference is
shown field by field.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from itertools import zip_longest
from typing import assert_never, cast

import msgspec

from interlock.backtest.cycle_replay import cycle_then_and_now
from interlock.ledger.chain import read_chain, records_of
from interlock.model import events
from interlock.model.action import CommandAction
from interlock.model.arbitration import Ruling
from interlock.model.control_state import meter_with_words
from interlock.model.loop_events import CycleDecided
from interlock.model.review import ReviewDecision, ReviewOutcome, Unreadable
from interlock.model.run import ReviewEvent, RunState, folded
from interlock.policy.actions.compiled_policy import CompiledPolicy
from interlock.policy.arbiter import ruling
from interlock.policy.gates.judgement import judge, settle
from interlock.policy.reviews.gate_faults import coverage_of, refusing
from interlock.policy.reviews.review_gate import asked_again, choose, opened
from interlock.policy.reviews.review_gate import judge as judge_review
from interlock.policy.steps.loop_detector import signs_of
from interlock.ports import Rows
from interlock.service.policies.policy_book import recompiled_policy
from interlock.service.policies.recorded_answer import findings_again, step_again, stop_again
from interlock.views import units
from interlock.views.check_results import AnswerDifference, ReplayResult

Values = dict[str, object]
Judgement = events.ActionJudged | events.StepJudged | events.StopJudged | ReviewEvent | CycleDecided


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
    rows: Rows, run_id: str, *, policies: Callable[[str], CompiledPolicy] | None = None
) -> Iterator[Replayed]:
    """Decide every judgement of a run again, in order; the chain is verified on the way."""
    policy_by_hash = cache(policies or partial(recompiled_policy, rows))
    state = RunState(id=run_id)
    for record, _ in read_chain(records_of(rows, run_id), run_id):
        event = record.event
        if isinstance(event, Judgement):
            policy = policy_by_hash(_policy_hash(event, state)).placed(state.own_places)
            then, now = _then_and_now(event, state, policy)
            differences = _between("", msgspec.to_builtins(then), msgspec.to_builtins(now))
            yield Replayed(seq=record.seq, differences=tuple(differences))
        state = folded(state, record)


def replay_result(rows: Rows, run_id: str, at: int) -> ReplayResult:
    """Decide every judgement of a run again; return what that came to, for people to look at."""
    row = rows.run(run_id)
    replayed = list(replay_run(rows, run_id))
    return ReplayResult(
        run=run_id,
        at=at,
        records=0 if row is None else row.seq,
        answers=len(replayed),
        differences={
            each.seq: tuple(map(_told, each.differences)) for each in replayed if not each.is_same
        },
    )


def _told(difference: Difference) -> AnswerDifference:
    return AnswerDifference(
        field=difference.field,
        recorded=units.json_text(difference.recorded),
        now=units.json_text(difference.now),
    )


def _policy_hash(event: Judgement, state: RunState) -> str:
    """Return the policy that something was decided under."""
    match event:
        case events.ActionJudged(verdict=verdict):
            return verdict.policy_hash
        case CycleDecided(policy_hash=policy_hash):
            return policy_hash
        case _:
            return state.policy_hash


def _then_and_now(
    event: Judgement, state: RunState, policy: CompiledPolicy
) -> tuple[Values, Values]:
    """Return what was decided, and what would be decided now of the run as it was before."""
    match event:
        case events.ActionJudged():
            findings, facts = findings_again(event, policy), event.facts
            settled = settle(findings, facts, policy, event.verdict.policy_hash)
            then: Values = {"decision": event.decision, "verdict": event.verdict}
            return then, {"decision": settled.decision, "verdict": settled.verdict}
        case events.StepJudged():
            then = {"signs": event.context.signs, "decision": event.decision}
            return then | _ruled(event.ruling), _step_now(event, state, policy)
        case events.StopJudged():
            then = {"signs": event.facts.signs, "step": event.step, "decision": event.decision}
            return then | _ruled(event.ruling), _stop_now(event, state, policy)
        case events.ReviewOpened(review=review):
            now = opened(review.id, event.gates, policy.config.reviews)
            return {"review": review}, {"review": now}
        case events.CheckRan(command=command, findings=findings):
            action = CommandAction(command=command, cwd=state.workspace)
            return {"findings": findings}, {"findings": refusing(judge(action, policy))}
        case events.ReviewJudged(decision=decision, coverage=coverage):
            then = {"decision": decision, "coverage": coverage}
            return then, _verdict_now(event, state, policy)
        case events.ReviewChosen(decision=decision):
            return {"decision": decision}, {"decision": _choice_now(event, state, policy)}
        case CycleDecided():
            return cycle_then_and_now(event, state.loop, policy.config.loop)
        case _:
            assert_never(event)


def _step_now(event: events.StepJudged, state: RunState, policy: CompiledPolicy) -> Values:
    decision = step_again(event, policy)
    ruled = ruling(event.hard, decision, credit=event.credit, waiting=event.waiting)
    signs = signs_of(meter_with_words(state.control), policy.config.loops)
    return {"signs": signs, "decision": decision, **_ruled(ruled)}


def _stop_now(event: events.StopJudged, state: RunState, policy: CompiledPolicy) -> Values:
    decision, step, ruled = stop_again(event, policy)
    meter = meter_with_words(state.control, event.context.text)
    signs = signs_of(meter, policy.config.loops)
    return {"signs": signs, "step": step, "decision": decision, **_ruled(ruled)}


def _ruled(ruled: Ruling) -> Values:
    """Return a ruling without the question to a person, whose id is nobody's decision."""
    return {"ruling": msgspec.structs.replace(ruled, approval=None)}


def _verdict_now(event: events.ReviewJudged, state: RunState, policy: CompiledPolicy) -> Values:
    found, settings = state.reviews.pending[event.review], policy.config.reviews
    if found.review.awaiting_choice and event.decision.outcome is ReviewOutcome.ASK:
        decision = asked_again(found, settings)
    else:
        said = event.verdict
        if said is None:
            said = Unreadable(reason=event.unreadable or "")
        decision = judge_review(found, said, settings)
    return {"decision": decision, "coverage": coverage_of(found)}


def _choice_now(
    event: events.ReviewChosen, state: RunState, policy: CompiledPolicy
) -> ReviewDecision:
    found, settings = state.reviews.pending[event.review], policy.config.reviews
    return choose(found, event.action, settings, instructions=event.instructions)


def _between(place: str, then: object, now: object) -> Iterator[Difference]:
    """Yield every place where two answers differ, as deep as both go."""
    if then == now:
        return
    if isinstance(then, dict) and isinstance(now, dict):
        before, after = cast("dict[str, object]", then), cast("dict[str, object]", now)
        for name in sorted(before.keys() | after.keys()):
            inner = f"{place}.{name}" if place else name
            yield from _between(inner, before.get(name), after.get(name))
    elif isinstance(then, list | tuple) and isinstance(now, list | tuple):
        earlier, later = cast("Sequence[object]", then), cast("Sequence[object]", now)
        for index, (one, other) in enumerate(zip_longest(earlier, later)):
            yield from _between(f"{place}[{index}]", one, other)
    else:
        yield Difference(field=place, recorded=cast("object", then), now=now)
