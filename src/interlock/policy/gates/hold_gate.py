"""The gate `continue`: whatever a run wants to do while it is held, it has to wait."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from interlock.model.facts import Facts, HoldKind
from interlock.model.verdict import Decision, Finding, Severity
from interlock.policy.actions.compiled_policy import CompiledPolicy
from interlock.policy.gates.contract import Gate

_WORDS: Final = {
    HoldKind.PAUSE: "the run is paused until a person decides",
    HoldKind.STOP: "the run was stopped",
    HoldKind.PERSON_STOP: "a person stopped the run",
}


def _of_facts(facts: Facts, _policy: CompiledPolicy) -> Iterator[Finding]:
    """Refuse everything while a run is held, and say who can lift it."""
    hold = facts.hold
    if hold is None:
        return
    yield Finding(
        gate=GATE.name,
        rule=f"{GATE.name}.{hold.kind.value}",
        decision=Decision.BLOCK,
        severity=Severity.HIGH,
        message=f"{_WORDS[hold.kind]}: {hold.reason}",
        remediation="end the turn and say what is left: only a person can resume the run",
    )


GATE = Gate(name="continue", facts=_of_facts, is_binding=True)
