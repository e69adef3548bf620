"""How strict is a review? Its strictest gate decides."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from interlock.model.review import ReviewGate, ReviewMode
from interlock.model.verdict import Severity
from interlock.policy.reviews.settings import ReviewSettings

_BY_SEVERITY: Final = {
    Severity.CRITICAL: ReviewMode.BLOCKING,
    Severity.HIGH: ReviewMode.ADVISORY,
    Severity.MEDIUM: ReviewMode.ADVISORY,
    Severity.LOW: ReviewMode.INFORMATIONAL,
}


def mode_of(gate: ReviewGate) -> ReviewMode:
    """Return what a gate says of its mode, or else its severity; said nothing, it blocks."""
    if gate.mode is not None:
        return gate.mode
    return ReviewMode.BLOCKING if gate.severity is None else _BY_SEVERITY[gate.severity]


def strictest_mode(gates: Iterable[ReviewGate]) -> ReviewMode:
    """Return the most restrictive mode; where nothing is known of any gate it blocks."""
    return max(map(mode_of, gates), key=lambda mode: mode.rank, default=ReviewMode.BLOCKING)


def fewest_attempts(gates: Iterable[ReviewGate], settings: ReviewSettings) -> int:
    """Return the lowest limit among the gates that block: the others never hold anything up."""
    limits = [
        settings.max_attempts if gate.max_attempts is None else gate.max_attempts
        for gate in gates
        if mode_of(gate) is ReviewMode.BLOCKING
    ]
    return min(limits, default=settings.max_attempts)
