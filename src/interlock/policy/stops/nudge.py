"""What an agent is told that stopped too early.

It goes as a message from the user's side, says that it is automatic, and names what is left:
never a bare "continue".
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from interlock.model.stop import EvidenceKind, FinishReason, StopContext, StopEvidence
from interlock.policy.config.wording import one_line
from interlock.policy.stops.announcing import Announcement

_LABEL: Final = "[automatic message, not from a person]"
_MOST_NAMED: Final = 3
_MOST_SHOWN: Final = 80
_HEADINGS: Final = {
    EvidenceKind.OPEN_TODO: ("to-do item is open", "to-do items open"),
    EvidenceKind.FAILING_CHECK: ("check failed last", "checks failed last"),
    EvidenceKind.PENDING_REVIEW: ("review is pending", "reviews are pending"),
    EvidenceKind.UNTOUCHED_FILE: (
        "file of the plan was never touched",
        "files of the plan were never touched",
    ),
}
_CLOSE: Final = (
    "Do that now. If it is done, or cannot be done, say so and why; if a person must decide,"
    " ask them."
)


def nudge_of(context: StopContext, intent: Announcement | None) -> str:
    """Return the message for an agent whose turn goes on."""
    return " ".join([_LABEL, *_what_happened(context, intent), _CLOSE])


def evidence_in_words(evidence: Sequence[StopEvidence]) -> str:
    """Return what is left, counted and named, whatever the order of the evidence."""
    parts: list[str] = []
    for kind, (one, many) in _HEADINGS.items():
        texts = sorted({one_line(each.text, _MOST_SHOWN) for each in evidence if each.kind is kind})
        if texts:
            named = ", ".join([f"`{text}`" for text in texts[:_MOST_NAMED]])
            more = len(texts) - _MOST_NAMED
            rest = f" and {more} more" if more > 0 else ""
            parts.append(f"{len(texts)} {one if len(texts) == 1 else many}: {named}{rest}")
    return "; ".join(parts)


def _what_happened(context: StopContext, intent: Announcement | None) -> list[str]:
    told: list[str] = []
    if context.finish_reason is FinishReason.LENGTH:
        told.append("Your last message was cut off at its length limit: go on where it broke off.")
    if context.finish_reason is FinishReason.TOOL_CALLS:
        told.append("Your last message announced tool calls and held none: make the calls.")
    if intent is not None:
        told.append(_what_was_announced(intent))
    if context.evidence:
        told.append(f"What the record says is left: {evidence_in_words(context.evidence)}.")
    return told or ["Your turn ended without an act or an answer."]


def _what_was_announced(intent: Announcement) -> str:
    if not intent.said:
        return f"Your turn ended without an act, although {intent.because}."
    return f"Your turn ended without the act that you announced (`{one_line(intent.said)}`)."
