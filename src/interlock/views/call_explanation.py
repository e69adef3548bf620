"""Why a call on record was answered as it was, under the policy of that time."""

from __future__ import annotations

import msgspec

from interlock.ledger.chain import decoded
from interlock.ledger.ledger import Ledger
from interlock.model.action import Action
from interlock.model.events import ActionJudged
from interlock.model.short_code import code_of
from interlock.model.verdict import Decision, Explanation
from interlock.service.policies.policy_book import recompiled_policy
from interlock.views.action_explanation import explain


class ExplainedCall(msgspec.Struct, frozen=True, kw_only=True):
    """An answer about a call, and how it came about."""

    run: str
    code: str
    """What people type for the run."""
    record: int
    at: int
    """Microseconds since 1970, UTC."""
    action: Action
    decision: Decision
    short: str
    approval: str | None
    """The question to a person, if one was asked."""
    explanation: Explanation
    """What was found then, and how the call is read."""


def explained_call(ledger: Ledger, run_id: str, seq: int) -> ExplainedCall | None:
    """Explain the answer of a record; None where it is none about a call."""
    row = ledger.rows.record(run_id, seq)
    event = None if row is None else decoded(row.body).event
    if row is None or not isinstance(event, ActionJudged):
        return None
    state = ledger.state(run_id)
    policy = recompiled_policy(ledger.rows, event.verdict.policy_hash)
    placed = policy if state is None else policy.placed(state.own_places)
    return ExplainedCall(
        run=run_id,
        code=code_of(run_id),
        record=seq,
        at=row.at,
        action=event.action,
        decision=event.decision,
        short=event.decision.short,
        approval=event.approval,
        explanation=Explanation(verdict=event.verdict, steps=explain(event.action, placed).steps),
    )
