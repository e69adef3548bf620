"""The answer: what the gates say, what the run's budget says, and what a person has said.

What can be put back goes ahead where the rules that ask for a person allow it with undo.

A pure function of the recorded facts, so that replay gives the recorded answer.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from interlock.model.events import Facts
from interlock.model.verdict import Decision, Finding, Severity, Verdict, aggregate
from interlock.policy.actions.gates.budget import budget_gate
from interlock.policy.actions.gates.hold import hold_gate
from interlock.policy.actions.gates.privilege import privilege_gate
from interlock.policy.actions.gates.undo import undo_gate
from interlock.policy.actions.risk_class import RiskClass
from interlock.policy.actions.undoing import is_undoable
from interlock.policy.config.compiled import CompiledPolicy
from interlock.policy.steps.step_figures import Band


class Settled(NamedTuple):
    """Every finding, and the decision that is told."""

    verdict: Verdict
    decision: Decision


def settled_answer(
    findings: Sequence[Finding], facts: Facts, gates: CompiledPolicy, policy_hash: str
) -> Settled:
    """Return the answer to an action, given what the gates found and what is known of its run."""
    every = (*findings, *_from_facts(facts, gates))
    verdict = Verdict(decision=aggregate(every), findings=every, policy_hash=policy_hash)
    if verdict.decision is Decision.REQUIRE_CONFIRMATION and facts.granted is not None:
        # A person has seen exactly this: it goes ahead, and the reasons stay on the record.
        return Settled(verdict, Decision.WARN)
    can_undo = facts.undo is not None and facts.undo.snapshot is not None
    if can_undo and is_undoable(every, gates.policy):
        # What it will touch was copied away: it goes ahead, and the reasons stay on the record.
        return Settled(verdict, Decision.WARN)
    return Settled(verdict, verdict.decision)


def _from_facts(facts: Facts, gates: CompiledPolicy) -> Iterator[Finding]:
    yield from hold_gate(facts.hold)
    if (known := facts.privilege) is not None:
        band, nature = Band(known.band), RiskClass(known.risk_class)
        yield from privilege_gate(band, known.coherence, nature, gates.steps)
    unpriced = gates.policy.budgets.unpriced
    yield from budget_gate(facts.balances, facts.asked, unpriced=unpriced)
    yield from undo_gate(facts.undo)
    if facts.denied is not None:
        yield Finding(
            gate="approval",
            rule="approval.denied",
            decision=Decision.BLOCK,
            severity=Severity.HIGH,
            message=f"a person was asked and said no{_quoted(facts.denied.note)}",
            remediation="do it another way, or finish and say what is left",
        )


def _quoted(note: str | None) -> str:
    return f": {note}" if note else ""
