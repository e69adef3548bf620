"""Does a condition hold that the user wrote in the policy?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from interlock.model.verdict import Finding
from interlock.policy.actions.conditions import Condition
from interlock.policy.config.action_sections import UserRule

GATE: Final = "rules"


def user_rules_gate(
    facts: Mapping[str, object], rules: Sequence[tuple[UserRule, Condition]]
) -> Iterator[Finding]:
    """Yield a finding per rule whose condition holds, or cannot be evaluated."""
    for rule, condition in rules:
        answer = condition.ask(facts)
        if answer.holds:
            because = f" (the condition failed: {answer.error})" if answer.error else ""
            yield Finding(
                gate=GATE,
                rule=rule.id,
                decision=rule.decision,
                severity=rule.severity,
                message=f"{rule.message}{because}",
                remediation=rule.remediation
                or "do it another way, or ask the person who wrote this rule",
            )
