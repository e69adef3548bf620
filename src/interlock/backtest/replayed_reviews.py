"""Reviews decided again: from the recorded words and checks, the gates and the policy of then."""

from __future__ import annotations

from interlock.model.action import CommandAction
from interlock.model.review import (
    PendingGateReview,
    ReviewDecision,
    ReviewOutcome,
    ReviewVerdict,
    Unreadable,
)
from interlock.model.review_events import CheckRan, ReviewChosen, ReviewJudged, ReviewOpened
from interlock.model.run import ReviewEvent, RunState
from interlock.policy.actions.judgement import judge
from interlock.policy.config.compiled import CompiledPolicy
from interlock.policy.reviews.checking import refusing
from interlock.policy.reviews.coverage import coverage_of
from interlock.policy.reviews.gate import asked_again, choose, opened
from interlock.policy.reviews.gate import judge as judge_review

Told = dict[str, object]


def review_then(event: ReviewEvent) -> Told:
    """Return what was decided."""
    match event:
        case ReviewOpened(review=review):
            return {"review": review}
        case CheckRan(findings=findings):
            return {"findings": findings}
        case ReviewJudged(decision=decision, coverage=coverage):
            return {"decision": decision, "coverage": coverage}
        case ReviewChosen(decision=decision):
            return {"decision": decision}


def review_now(event: ReviewEvent, state: RunState, gates: CompiledPolicy) -> Told:
    """Return what would be decided now, given the run as it was before."""
    match event:
        case ReviewOpened(review=review):
            return {"review": opened(review.id, event.gates, gates.reviews)}
        case CheckRan(command=command):
            action = CommandAction(command=command, cwd=state.workspace)
            return {"findings": refusing(judge(action, gates))}
        case ReviewJudged():
            return _verdict_now(event, state, gates)
        case ReviewChosen():
            return _choice_now(event, state, gates)


def _verdict_now(event: ReviewJudged, state: RunState, gates: CompiledPolicy) -> Told:
    found = state.reviews.pending[event.review]
    coverage = coverage_of(found.gates, found.checks)
    if _only_asks_again(event.decision, found.review):
        return {"decision": asked_again(found.review, gates.reviews), "coverage": coverage}
    decision = judge_review(
        found.review,
        _said(event),
        gates=found.gates,
        checks=found.checks,
        settings=gates.reviews,
    )
    return {"decision": decision, "coverage": coverage}


def _only_asks_again(decision: ReviewDecision, review: PendingGateReview) -> bool:
    return review.awaiting_choice and decision.outcome is ReviewOutcome.ASK


def _said(event: ReviewJudged) -> ReviewVerdict | Unreadable:
    return event.verdict or Unreadable(reason=event.unreadable or "")


def _choice_now(event: ReviewChosen, state: RunState, gates: CompiledPolicy) -> Told:
    found = state.reviews.pending[event.review]
    decision = choose(
        found.review,
        event.action,
        instructions=event.instructions,
        gates=found.gates,
        checks=found.checks,
        settings=gates.reviews,
    )
    return {"decision": decision}
