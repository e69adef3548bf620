"""May a run that no longer holds together do this? Privileges shrink before it stops."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from interlock.model.facts import Band, Facts
from interlock.model.verdict import Decision, Finding, Severity
from interlock.policy.actions.compiled_policy import CompiledPolicy
from interlock.policy.actions.risk_class import RiskClass
from interlock.policy.config.run_sections import Steps
from interlock.policy.gates.contract import Gate

_DOES: Final = {
    RiskClass.READS: "only reads",
    RiskClass.WRITES: "may change something",
    RiskClass.REACHES_OUT: "reaches other machines",
    RiskClass.DESTROYS: "may destroy something",
}
_IS: Final = {
    Band.FULL: "free",
    Band.RESTRICTED: "restricted",
    Band.READ_ONLY: "read-only",
    Band.STOP: "about to be stopped",
}
_FREE_IN: Final = {
    Band.FULL: RiskClass.DESTROYS,
    Band.RESTRICTED: RiskClass.WRITES,
    Band.READ_ONLY: RiskClass.READS,
    Band.STOP: RiskClass.READS,
}
"""The most dangerous thing that a run may do unasked."""


def _of_facts(facts: Facts, policy: CompiledPolicy) -> Iterator[Finding]:
    known = facts.privilege
    if known is not None:
        band, risk_class = Band(known.band), RiskClass(known.risk_class)
        yield from privilege_gate(band, known.coherence, risk_class, policy.config.steps)


def privilege_gate(
    band: Band, coherence: float, risk_class: RiskClass, settings: Steps
) -> Iterator[Finding]:
    """Ask a person about what the run's band does not leave to the run itself.

    In the lowest band the run is stopped, which is not this gate's doing; until then it is as
    free as in the band above.
    """
    if risk_class.rank <= _FREE_IN[band].rank:
        return
    limit = _needed_for(risk_class, settings)
    yield Finding(
        gate=GATE.name,
        rule=f"{GATE.name}.{band.value}",
        decision=Decision.REQUIRE_CONFIRMATION,
        severity=Severity.MEDIUM,
        message=(
            f"this {_DOES[risk_class]}, and the run is {_IS[band]}: its coherence is"
            f" {coherence:.3g}, and from {limit:.3g} on no approval is needed"
        ),
        remediation=_remediation(band),
    )


def _needed_for(risk_class: RiskClass, settings: Steps) -> float:
    """Return the coherence from which on a run may do such a thing unasked."""
    if risk_class.rank > _FREE_IN[Band.RESTRICTED].rank:
        return settings.restricted_below
    return settings.read_only_below


def _remediation(band: Band) -> str:
    if band is Band.RESTRICTED:
        return (
            "do not repeat what did not work, and do not rewrite your own lines once more; verify"
            " the last change with the tests, which raises the coherence, or have a person confirm"
        )
    return (
        "read what the last failures say before the next attempt, and have a person confirm it,"
        " or ask a person to look at the run"
    )


GATE = Gate(name="privilege", facts=_of_facts)
