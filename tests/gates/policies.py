"""Gates for the tests about them: a policy as text in, gates made ready out."""

from __future__ import annotations

from functools import cache

from interlock import CompiledPolicy, Finding, Verdict
from interlock.policy.actions.conditions import complaint_about
from interlock.policy.config.layers import Role, merge
from interlock.policy.config.parser import read_layer
from interlock.service.policies.builtin_rules import builtin_layer, known_rules
from interlock.service.policies.policy_files import compile_policy
from policy.files import wrapped


@cache
def gates_with(user: str) -> CompiledPolicy:
    """Return the gates of the defaults with a user's policy on top."""
    known = known_rules()
    layer = read_layer(
        "policy.toml", user, Role.USER, known=known, compile_condition=complaint_about
    )
    return compile_policy(merge([builtin_layer(), layer], known))


def by_gate(verdict: Verdict, gate: str) -> list[Finding]:
    """Return what one gate says."""
    return [finding for finding in verdict.findings if finding.gate == gate]


def rules_of(verdict: Verdict) -> list[str]:
    """Return the rules that spoke, in their order."""
    return [finding.rule for finding in verdict.findings]


def messages_of(verdict: Verdict) -> list[str]:
    """Return what the findings say, in their order."""
    return [finding.message for finding in verdict.findings]


def told(verdict: Verdict) -> str:
    """Lay an answer out for a snapshot: the decision, then what each finding says."""
    said = [f"{finding.rule}: {finding.message}" for finding in verdict.findings]
    return f"{verdict.decision.value}\n{wrapped(said)}"
