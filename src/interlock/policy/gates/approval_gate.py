"""Was a person asked about exactly this, and said no?"""

from __future__ import annotations

from collections.abc import Iterator

from interlock.model.facts import Facts
from interlock.model.verdict import Decision, Finding, Severity
from interlock.policy.actions.compiled_policy import CompiledPolicy
from interlock.policy.gates.contract import Gate


def _of_facts(facts: Facts, _policy: CompiledPolicy) -> Iterator[Finding]:
    """Refuse what a person has refused, in that person's words."""
    if facts.denied is None:
        return
    note = f": {facts.denied.note}" if facts.denied.note else ""
    yield Finding(
        gate=GATE.name,
        rule=f"{GATE.name}.denied",
        decision=Decision.BLOCK,
        severity=Severity.HIGH,
        message=f"a person was asked and said no{note}",
        remediation=(
            "do not bring the same about another way: go on with something else, or finish and say"
            " what is left"
        ),
    )


GATE = Gate(name="approval", facts=_of_facts, is_binding=True)
