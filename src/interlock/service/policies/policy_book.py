"""Which policy counts: for each project its own or the default, and those that decisions name."""

from __future__ import annotations

from collections.abc import Mapping

from interlock.errors import LedgerError
from interlock.policy.actions.compiled_policy import CompiledPolicy
from interlock.policy.config.document import MergedPolicy, Policy, policy_from_stored
from interlock.ports import Rows
from interlock.service.policies.policy_files import compile_policy, default_policy


class PolicyBook:
    """The policies that count now: one for every project that has none of its own."""

    def __init__(
        self, default: CompiledPolicy, projects: Mapping[str, CompiledPolicy] | None = None
    ) -> None:
        self._default = default
        self._projects = dict(projects or {})

    def of(self, project: str | None) -> CompiledPolicy:
        """Return the policy of a project, or the default."""
        return self._default if project is None else self._projects.get(project, self._default)

    def has_own(self, project: str) -> bool:
        """Whether a project has a policy of its own."""
        return project in self._projects

    def replace(self, policy: CompiledPolicy, project: str | None = None) -> None:
        """Let another policy count for a project from now on, or by default."""
        if project is None:
            self._default = policy
        else:
            self._projects[project] = policy


def stored_policy(rows: Rows, policy_hash: str) -> Policy:
    """Return the policy that a decision names."""
    found = known_policy(rows, policy_hash)
    if found is None:
        raise LedgerError(f"policy `{policy_hash}` is not in the ledger: run `interlock verify`")
    return found


def known_policy(rows: Rows, policy_hash: str) -> Policy | None:
    """Return a policy by its hash; None where the ledger does not know it."""
    row = rows.policy(policy_hash)
    return None if row is None else policy_from_stored(row.body, default_policy().config)


def recompiled_policy(rows: Rows, policy_hash: str) -> CompiledPolicy:
    """Return the policy that a decision names, ready to judge by."""
    policy = stored_policy(rows, policy_hash)
    return compile_policy(MergedPolicy(policy=policy, hash=policy_hash))
