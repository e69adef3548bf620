"""Which policy counts, on the record: kept by hash, adopted with who and what changed."""

from __future__ import annotations

import hashlib

from interlock.errors import LedgerError
from interlock.ledger.ledger import Work
from interlock.ledger.transaction import Transaction
from interlock.model.events import PolicyAdopted
from interlock.model.principal import SYSTEM, Principal
from interlock.model.rows import PolicyRow
from interlock.model.run import LEDGER_RUN, RunState
from interlock.policy.actions.compiled_policy import CompiledPolicy
from interlock.policy.config.changes import policy_changes_between
from interlock.policy.config.document import Policy
from interlock.policy.config.merge import MergedPolicy
from interlock.policy.config.storage import policy_from_stored, stored_bytes
from interlock.ports import Rows
from interlock.service.policy_files import compile_policy, default_policy
from interlock.service.records.context import Context, engine


def adopt(context: Context, by: Principal) -> Work[bool]:
    """Return the work of making the context's policy the ledger's; False if it was already."""
    body = stored_bytes(context.gates.config)
    policy_hash = context.gates.hash

    def plan(transaction: Transaction) -> bool:
        before = (
            transaction.state(LEDGER_RUN).policy_hash if transaction.has_run(LEDGER_RUN) else ""
        )
        if before == policy_hash:
            return False
        if not transaction.has_policy(policy_hash):
            transaction.put_policy(PolicyRow(policy_hash, body))
        event = _adopted(context, before, body)
        transaction.append(LEDGER_RUN, event, at=context.clock.now(), by=by)
        return True

    return Work(plan, locks=(f"run/{LEDGER_RUN}",))


def adopt_in_run(transaction: Transaction, state: RunState, context: Context, now: int) -> None:
    """Record that a run goes on under another policy, if it does."""
    if state.policy_hash == context.gates.hash:
        return
    body = stored_bytes(context.gates.config)
    if not transaction.has_policy(context.gates.hash):
        transaction.put_policy(PolicyRow(context.gates.hash, body))
    event = _adopted(context, state.policy_hash, body)
    transaction.append(state.id, event, at=now, by=SYSTEM)


def stored_policy(rows: Rows, policy_hash: str) -> Policy:
    """Return the policy that a decision names."""
    row = rows.policy(policy_hash)
    if row is None:
        raise LedgerError(f"policy `{policy_hash}` is not in the ledger: run `interlock verify`")
    return policy_from_stored(row.body, default_policy().config)


def stored_gates(rows: Rows, policy_hash: str) -> CompiledPolicy:
    """Return the gates of a policy that a decision names."""
    policy = stored_policy(rows, policy_hash)
    return compile_policy(MergedPolicy(policy=policy, origins={}, hash=policy_hash, values={}))


def _adopted(context: Context, before: str, body: bytes) -> PolicyAdopted:
    rows = context.ledger.rows
    changes: tuple[str, ...] = ()
    if before and rows.policy(before) is not None:
        changes = policy_changes_between(stored_policy(rows, before), context.gates.config)
    return PolicyAdopted(
        policy_hash=context.gates.hash,
        body_digest=hashlib.sha256(body).hexdigest(),
        engine=engine(),
        before=before or None,
        changes=changes,
    )
