"""The policies that a ledger holds, by the hash that decisions name."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from interlock.errors import LedgerError
from interlock.policy.actions.compiled_policy import CompiledPolicy
from interlock.policy.config.document import MergedPolicy, Policy, policy_from_stored
from interlock.ports import Policies, Rows
from interlock.service.policies.policy_files import compile_policy, default_policy

_MOST_READ: Final = 16


def stored_policy(rows: Rows, policy_hash: str) -> Policy:
    """Return the policy that a decision names."""
    found = known_policy(rows, policy_hash)
    if found is None:
        raise LedgerError(f"policy `{policy_hash}` is not in the ledger: run `interlock verify`")
    return found


def known_policy(rows: Policies, policy_hash: str) -> Policy | None:
    """Return a policy by its hash; None where the ledger does not know it."""
    row = rows.policy(policy_hash)
    return None if row is None else _read(row.body)


@lru_cache(_MOST_READ)
def _read(body: bytes) -> Policy:
    """Return the policy that was stored: every run of a day names the same few."""
    return policy_from_stored(body, default_policy().config)


def recompiled_policy(rows: Rows, policy_hash: str) -> CompiledPolicy:
    """Return the policy that a decision names, ready to judge by."""
    policy = stored_policy(rows, policy_hash)
    return compile_policy(MergedPolicy(policy=policy, hash=policy_hash))
