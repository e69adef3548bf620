"""What the policy says about finished work, as reviews want it told."""

from __future__ import annotations

from collections.abc import Mapping

from interlock.model.review import Check, ReviewGate
from interlock.policy.config.run_sections import ReviewGateEntry, Reviews
from interlock.policy.reviews.settings import ReviewSettings


def review_settings(section: Reviews) -> ReviewSettings:
    """Return the limits that every review is held by."""
    return ReviewSettings(
        max_attempts=section.max_attempts,
        max_resets=section.max_resets,
        most_hints=section.most_hints,
        check_timeout_s=section.check_timeout_seconds,
        check_tail_bytes=section.check_tail_bytes,
    )


def review_gates(section: Reviews) -> Mapping[str, ReviewGate]:
    """Return the gates by their ids, in the order of the policy."""
    return {entry.id: review_gate(entry) for entry in section.gates}


def review_gate(entry: ReviewGateEntry) -> ReviewGate:
    """Return one gate; InputError for one that asks nothing, or cannot be asked."""
    argv, timeout_s = entry.check, entry.timeout_seconds
    return ReviewGate(
        id=entry.id,
        criteria=entry.criteria,
        severity=entry.severity,
        mode=entry.mode,
        max_attempts=entry.max_attempts,
        improvement_hints=entry.improvement_hints,
        preserve_context=entry.preserve_context,
        check=None if argv is None else Check(argv=argv, timeout_s=timeout_s),
    )
