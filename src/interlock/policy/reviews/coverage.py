"""What is known of each gate besides what was said: a passing sibling does not speak for it."""

from __future__ import annotations

from collections.abc import Sequence

from interlock.model.review import CheckResult, GateCoverage, ReviewGate, Witness
from interlock.policy.reviews.evidence import check_in_words
from interlock.policy.reviews.modes import mode_of


def coverage_of(
    gates: Sequence[ReviewGate], checks: Sequence[CheckResult]
) -> tuple[GateCoverage, ...]:
    """Return what speaks for or against each gate, in the order of the review."""
    results = {each.gate: each for each in checks}
    return tuple(_coverage(gate, results.get(gate.id)) for gate in gates)


def _coverage(gate: ReviewGate, result: CheckResult | None) -> GateCoverage:
    return GateCoverage(
        gate=gate.id,
        mode=mode_of(gate),
        witness=_witness(gate, result),
        result="" if result is None else check_in_words(result),
    )


def _witness(gate: ReviewGate, result: CheckResult | None) -> Witness:
    if gate.check is None:
        return Witness.VERDICT
    if result is None or not result.ran:
        return Witness.NOTHING
    return Witness.CHECK if result.passed else Witness.AGAINST
