"""May a check run? The gates that judge an agent's commands judge the policy's own as well."""

from __future__ import annotations

from interlock.model.verdict import Decision, Finding, Verdict


def refusing(verdict: Verdict) -> tuple[Finding, ...]:
    """Return why a check may not run, if it may not: nobody is there to confirm it."""
    least = Decision.REQUIRE_CONFIRMATION.rank
    return tuple(each for each in verdict.findings if each.decision.rank >= least)
