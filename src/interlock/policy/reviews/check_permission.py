"""May a check run, and what may it see? What the policy names, and never a credential.

The gates that judge an agent's commands judge the policy's own as well.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from interlock.model.verdict import Decision, Finding, Verdict
from interlock.policy.actions.name_patterns import listing
from interlock.secrets.credential_rules import names_credential


def environment_of_checks(environment: Mapping[str, str], allowed: Sequence[str]) -> dict[str, str]:
    """Return the variables that a check may see, by the list of the policy."""
    return {
        name: value
        for name, value in environment.items()
        if listing(name, allowed) is not None and not names_credential(name)
    }


def refusing(verdict: Verdict) -> tuple[Finding, ...]:
    """Return why a check may not run, if it may not: nobody is there to confirm it."""
    least = Decision.REQUIRE_CONFIRMATION.rank
    return tuple(each for each in verdict.findings if each.decision.rank >= least)
