"""Which policy counts, on the record: with what it was before, what changed, and who took it.

The ledger's policy is the user's. What a project's file adds can only tighten it, and is recorded
for that project. Where the ledger has an operator, nobody else takes a policy that is looser.
"""

from __future__ import annotations

import hashlib

from msgspec.structs import replace

from interlock.errors import NotPermittedError
from interlock.ledger.ledger import Ledger, Work
from interlock.ledger.transaction import Transaction
from interlock.model.events import PolicyAdopted
from interlock.model.principal import Principal, PrincipalKind
from interlock.model.rows import PolicyRow
from interlock.model.run import LEDGER_RUN, RunState
from interlock.policy.actions.compiled_policy import CompiledPolicy
from interlock.policy.config.document import MergedPolicy
from interlock.policy.config.layers import KnownRules
from interlock.policy.config.policy_changes import (
    held_to,
    loosenings_between,
    policy_changes_between,
)
from interlock.ports import Policies
from interlock.service.policies.builtin_rules import known_rules
from interlock.service.policies.policy_book import known_policy
from interlock.service.policies.policy_files import compile_policy
from interlock.service.records.context import Context, Moment, engine
from interlock.service.records.prices import is_listed

_MOST_SHOWN = 8


def adopt(context: Context, by: Principal, project: str | None = None) -> Work[bool]:
    """Return the work of making the context's policy the ledger's; False if it was already.

    Where it has a project's layer, that counts for the project whose run is asked about.
    """

    def plan(transaction: Transaction) -> bool:
        has_changed = take_user_level(context, transaction, by)
        if not transaction.has_policy(context.policy.hash):
            _take_for(context, transaction, by, project)
        return has_changed

    return Work(plan, locks=(f"run/{LEDGER_RUN}",))


def take_user_level(context: Context, transaction: Transaction, by: Principal) -> bool:
    """Put the user's policy on record as the ledger's; return False if it was already."""
    state, policy = _own_state(transaction), context.policy.merged.user_level
    if state.policy_hash == policy.hash:
        return False
    _refuse_looser(transaction, state, context.policy.merged, by, None)
    event = _adopted(transaction, policy, state.policy_hash)
    transaction.append(LEDGER_RUN, event, at=context.clock.now(), by=by)
    return True


def adopt_for_project(context: Context, project: str, by: Principal) -> Work[bool]:
    """Return the work of recording a project's own policy; False if the ledger knows it."""

    def plan(transaction: Transaction) -> bool:
        state = _own_state(transaction)
        _refuse_looser(transaction, state, context.policy.merged, by, project)
        is_operators = by.kind is PrincipalKind.OPERATOR
        if transaction.has_policy(context.policy.hash) and not is_operators:
            return False
        _take_for(context, transaction, by, project)
        return True

    return Work(plan, locks=(f"run/{LEDGER_RUN}",))


def check_adoption(
    ledger: Ledger, policy: CompiledPolicy, by: Principal, project: str | None
) -> None:
    """Raise NotPermittedError for a policy that only an operator may take."""
    state = ledger.state(LEDGER_RUN)
    if state is not None:
        _refuse_looser(ledger.rows, state, policy.merged, by, project)


def held_policy(
    ledger: Ledger, policy: CompiledPolicy, by: Principal, project: str | None
) -> CompiledPolicy:
    """Return a policy that needs no operator: where it is looser, what counts goes on counting."""
    try:
        check_adoption(ledger, policy, by, project)
    except NotPermittedError:
        state = ledger.state(LEDGER_RUN)
        counts = None if state is None else known_policy(ledger.rows, state.policy_hash)
        if counts is None:
            raise
        known = _known_with(policy.merged.user_level)
        return compile_policy(held_to(counts, policy.merged, known))
    return policy


def adopt_in_run(moment: Moment) -> None:
    """Record that a run goes on under another policy, if it does."""
    before = moment.run.policy_hash
    if before != moment.context.policy.hash:
        moment.append(_adopted(moment.transaction, moment.context.policy.merged, before))


def _own_state(transaction: Transaction) -> RunState:
    if not transaction.has_run(LEDGER_RUN):
        return RunState(id=LEDGER_RUN)
    return transaction.state(LEDGER_RUN)


def _refuse_looser(
    policies: Policies, state: RunState, policy: MergedPolicy, by: Principal, project: str | None
) -> None:
    if not state.has_operator or by.kind is PrincipalKind.OPERATOR:
        return
    own = policy.user_level
    if own.hash == state.policy_hash or policy.hash == state.granted_policies.get(project or ""):
        return
    counts = known_policy(policies, state.policy_hash)
    if counts is None:
        raise NotPermittedError(
            "the policy that counted in this ledger is not known, and whether this one is looser"
            f" cannot be said: {_way(project)}"
        )
    looser = loosenings_between(counts, own.policy, _known_with(own))
    if looser:
        more = len(looser) - _MOST_SHOWN
        shown = "; ".join(looser[:_MOST_SHOWN]) + (f"; and {more} more" if more > 0 else "")
        raise NotPermittedError(
            f"the policy is looser than the one that counts in this ledger: {shown}:"
            f" {_way(project)}"
        )


def _known_with(policy: MergedPolicy) -> KnownRules:
    """Return what comes with Interlock, and which models only this policy has a price for."""
    named = {price.model for price in policy.policy.budgets.prices}
    unpriced = frozenset(model for model in named if not is_listed(model))
    return replace(known_rules(), unpriced_models=unpriced)


def _way(project: str | None) -> str:
    if project is None:
        return "an operator takes it with `interlock policy adopt`, or `adopt(policy, token=...)`"
    return f"an operator takes it with `adopt(policy, project={project!r}, token=...)`"


def _take_for(
    context: Context, transaction: Transaction, by: Principal, project: str | None
) -> None:
    event = _adopted(transaction, context.policy.merged, "", context.clean(project or "default"))
    transaction.append(LEDGER_RUN, event, at=context.clock.now(), by=by)


def _adopted(
    transaction: Transaction, policy: MergedPolicy, before: str, project: str | None = None
) -> PolicyAdopted:
    """Store the policy, if it is new; return that it counts from here."""
    if not transaction.has_policy(policy.hash):
        transaction.put_policy(PolicyRow(policy.hash, policy.stored))
    known = known_policy(transaction, before) if before else None
    return PolicyAdopted(
        policy_hash=policy.hash,
        body_digest=hashlib.sha256(policy.stored).hexdigest(),
        engine=engine(),
        before=before or None,
        changes=() if known is None else policy_changes_between(known, policy.policy),
        project=project,
    )
