"""Should it go on? read → decide → record → answer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from interlock.ledger.ledger import Work
from interlock.ledger.transaction import Transaction
from interlock.model.answers import StepAnswer
from interlock.model.belief import Belief, Evidence
from interlock.model.control_state import ControlState
from interlock.model.events import BeliefHeld, PersonSpoke, StepJudged
from interlock.model.ruling import Hard, Waiting
from interlock.model.run import RunState
from interlock.model.step import ContinueDecision, StepContext
from interlock.policy.arbiter import held_answer, ruling
from interlock.policy.steps.continue_gate import decide, is_within_cooldown
from interlock.service.budgets import locks_of
from interlock.service.context import Context, checked_name
from interlock.service.holding import (
    agent_of,
    hard_states,
    question_to_resume,
    running,
    settle_hold,
    still_counts,
)
from interlock.service.policies import adopt_in_run
from interlock.service.request_keys import answered_before, kept_key
from interlock.service.standings import charged_scopes, limited_standings
from interlock.service.step_facts import kept_waiting, kept_words, step_facts

_LONGEST_NOTE: Final = 400


class StepReport(msgspec.Struct, frozen=True, kw_only=True):
    """What a client says before a step; what it does not know it leaves out."""

    key: str | None = None
    """Its own name for this question: asked again, it gets the same answer."""
    said: str | None = None
    told: StepContext = StepContext()
    waiting: Waiting | None = None


def judge_step(context: Context, state: RunState, report: StepReport) -> Work[StepAnswer]:
    """Return the work of answering whether a run may take its next step."""
    key = None if report.key is None else kept_key(context, report.key)
    digest = "" if key is None else context.digest("step", msgspec.json.encode(report))
    said = kept_words(context, report.said)
    waiting = kept_waiting(context, report.waiting)
    scopes = charged_scopes(state, context.clock.now())

    def plan(transaction: Transaction) -> StepAnswer:
        run, now = running(transaction, state.id), context.clock.now()
        earlier = answered_before(transaction, run.id, key, digest, StepJudged)
        if earlier is not None and still_counts(transaction, run, earlier[1]):
            return _told(run.id, *earlier, repeated=True)
        adopt_in_run(transaction, run, context, now)
        run = settle_hold(transaction, transaction.state(run.id), now)
        standings = limited_standings(
            context.policy_limits, transaction, run, charged=scopes, now=now
        )
        facts = step_facts(context, run, report.told, standings=standings, now=now)
        hard = hard_states(transaction, run)
        decision = step_decision(context, run.going, facts, hard, now)
        credit = credit_left(context, run.going)
        ruled = ruling(hard, decision, credit=credit, waiting=waiting)
        event = StepJudged(
            key=key,
            digest=digest,
            said=said,
            context=facts,
            throttled_before=run.going.throttled,
            hard=hard,
            waiting=waiting,
            credit=credit,
            decision=decision,
            ruling=ruled,
            approval=question_to_resume(context, transaction, run, ruled, decision, now),
        )
        record = transaction.append(run.id, event, at=now, by=agent_of(run))
        return _told(run.id, record.seq, event, repeated=False)

    return Work(plan, locks=locks_of(state, scopes))


def step_decision(
    context: Context, going: ControlState, facts: StepContext, hard: Sequence[Hard], now: int
) -> ContinueDecision:
    """Return what the continue gate says, or what holds the run anyway."""
    if hard:
        return held_answer(hard)
    settings = context.gates.steps
    full_at = None if going.evaluated_at is None else going.evaluated_at // 1000
    short = is_within_cooldown(settings, full_at_ms=full_at, at_ms=now // 1000)
    return decide(facts, settings, throttled_before=going.throttled, short=short)


def credit_left(context: Context, going: ControlState) -> int:
    """Return how many continuations a run has left that nobody asked it for."""
    return max(0, context.gates.credit - going.credit_used)


def hold_belief(
    context: Context, state: RunState, name: str, evidence: Sequence[Evidence], because: str
) -> Work[Belief]:
    """Return the work of noting what an agent takes to be true, with what speaks for or against."""
    name = checked_name("belief", context.clean(name))
    because = context.clean(because)[:_LONGEST_NOTE]

    def plan(transaction: Transaction) -> Belief:
        run = running(transaction, state.id)
        belief = run.going.beliefs.get(name, Belief(name=name))
        for each in evidence:
            belief = belief.with_evidence(each)
        event = BeliefHeld(belief=belief, because=because)
        transaction.append(run.id, event, at=context.clock.now(), by=agent_of(run))
        return belief

    return Work(plan, locks=(f"run/{state.id}",))


def note_person(context: Context, state: RunState) -> Work[RunState]:
    """Return the work of noting that a person spoke to the agent: it counts anew from here."""

    def plan(transaction: Transaction) -> RunState:
        run = running(transaction, state.id)
        transaction.append(run.id, PersonSpoke(), at=context.clock.now(), by=agent_of(run))
        return transaction.state(run.id)

    return Work(plan, locks=(f"run/{state.id}",))


def _told(run_id: str, seq: int, event: StepJudged, *, repeated: bool) -> StepAnswer:
    return StepAnswer(
        run_id=run_id,
        seq=seq,
        step=event.context.step_number or 0,
        decision=event.decision.decision,
        facts=event.context,
        detail=event.decision,
        ruling=event.ruling,
        approval_id=event.approval or event.ruling.approval,
        repeated=repeated,
    )
