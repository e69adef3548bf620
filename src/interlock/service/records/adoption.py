"""Which policy counts, on the record: with what it was before, and what changed."""

from __future__ import annotations

import hashlib

from msgspec.structs import replace

from interlock.ledger.ledger import Work
from interlock.ledger.transaction import Transaction
from interlock.model.events import PolicyAdopted
from interlock.model.principal import SYSTEM
from interlock.model.rows import PolicyRow
from interlock.model.run import LEDGER_RUN
from interlock.policy.config.document import stored_bytes
from interlock.policy.config.policy_changes import policy_changes_between
from interlock.service.policies.policy_book import known_policy
from interlock.service.records.context import Context, Moment, engine


def adopt(context: Context) -> Work[bool]:
    """Return the work of making the context's policy the ledger's; False if it was already."""

    def plan(transaction: Transaction) -> bool:
        has_chain = transaction.has_run(LEDGER_RUN)
        before = transaction.state(LEDGER_RUN).policy_hash if has_chain else ""
        if before == context.policy.hash:
            return False
        event = _adopted(transaction, context, before)
        transaction.append(LEDGER_RUN, event, at=context.clock.now(), by=SYSTEM)
        return True

    return Work(plan, locks=(f"run/{LEDGER_RUN}",))


def adopt_for_project(context: Context, project: str) -> Work[bool]:
    """Return the work of recording a project's own policy; False if the ledger knows it."""

    def plan(transaction: Transaction) -> bool:
        if transaction.has_policy(context.policy.hash):
            return False
        event = replace(_adopted(transaction, context, ""), project=context.clean(project))
        transaction.append(LEDGER_RUN, event, at=context.clock.now(), by=SYSTEM)
        return True

    return Work(plan, locks=(f"run/{LEDGER_RUN}",))


def adopt_in_run(moment: Moment) -> None:
    """Record that a run goes on under another policy, if it does."""
    before = moment.run.policy_hash
    if before != moment.context.policy.hash:
        moment.append(_adopted(moment.transaction, moment.context, before), SYSTEM)


def _adopted(transaction: Transaction, context: Context, before: str) -> PolicyAdopted:
    """Store the policy, if it is new; return that it counts from here."""
    policy_hash, body = context.policy.hash, stored_bytes(context.policy.config)
    if not transaction.has_policy(policy_hash):
        transaction.put_policy(PolicyRow(policy_hash, body))
    known = known_policy(context.ledger.rows, before) if before else None
    return PolicyAdopted(
        policy_hash=policy_hash,
        body_digest=hashlib.sha256(body).hexdigest(),
        engine=engine(),
        before=before or None,
        changes=() if known is None else policy_changes_between(known, context.policy.config),
    )
