"""What is said to whoever tries again, to the person who is asked, and in the answer's footer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from interlock.model.arbitration import AUTOMATIC
from interlock.model.control_state import OpenReview
from interlock.model.review import (
    CheckResult,
    GateAction,
    PendingGateReview,
    ReviewGate,
    ReviewPurpose,
    mode_of,
)
from interlock.policy.config.complaints import one_line
from interlock.policy.config.run_sections import Reviews
from interlock.policy.reviews.gate_faults import check_in_words, failing
from interlock.policy.reviews.verdict_grammar import EXPECTED

_MOST_LINES: Final = 15
"""How many lines of a check's output are shown, from its end."""
_LONGEST_LINE: Final = 200
_MEANINGS: Final = {
    GateAction.RETRY: "the attempts begin anew, with your instructions if you give some",
    GateAction.SKIP: "the work goes on; the review is recorded as skipped, not as passed",
    GateAction.ABORT: "the run ends",
}


def guidance_of(found: OpenReview, settings: Reviews, *, all_hints: bool = False) -> str:
    """Return what whoever tries again has to know; `all_hints` shows every criterion."""
    review = found.review
    own = _own_gates(found)
    most = None if all_hints else settings.most_hints
    parts = [
        f"{AUTOMATIC} Attempt {review.attempt_count + 1} of {review.max_attempts}",
        *_hints_shown(_hints(review, own), most),
        *_feedback_shown(review, own),
        *_checks_shown(failing(found)),
        *_instructions_shown(review),
        _how_to_answer(found),
    ]
    return "\n\n".join(parts)


def question_of(found: OpenReview, failed: Sequence[str], settings: Reviews) -> str:
    """Return what a person is asked once the attempts are used up."""
    review = found.review
    named = ", ".join([f"`{gate_id}`" for gate_id in failed])
    feedback = f"\nLast: {review.feedback}" if review.feedback else ""
    options = [
        f"- `{action.value}`: {_MEANINGS[action]}" for action in choices_of(review, settings)
    ]
    return "\n".join(
        [
            f"Review `{review.id}` used {review.attempt_count} of {review.max_attempts} attempts"
            f" (reset {review.resets} of {settings.max_resets} times); failed: {named}{feedback}",
            "A person chooses how it goes on, the agent cannot:",
            *options,
            *_hints_shown(_hints(review, _own_gates(found)), settings.most_hints),
        ]
    )


def _own_gates(found: OpenReview) -> list[ReviewGate]:
    return [gate for gate in found.gates if gate.id in found.review.gate_ids]


def choices_of(review: PendingGateReview, settings: Reviews) -> tuple[GateAction, ...]:
    """Return what a person may choose: no retry once the resets are used up."""
    if review.resets >= settings.max_resets:
        return (GateAction.SKIP, GateAction.ABORT)
    return tuple(GateAction)


def footer_of(warnings: Iterable[str]) -> str:
    """Return the footer of an answer; empty where there is no warning."""
    lines = [f"- {warning}" for warning in warnings]
    return "\n".join(["Advisory gate warnings:", *lines]) if lines else ""


def _hints(review: PendingGateReview, gates: Sequence[ReviewGate]) -> list[str]:
    """Return the criteria, those of the gates that failed last first."""
    blamed = next((entry.gates for entry in reversed(review.history) if entry.gates), ())
    in_order = sorted(
        [gate for gate in gates if gate.improvement_hints],
        key=lambda gate: (gate.id not in blamed, -mode_of(gate).rank, gate.id, gate.criteria),
    )
    criteria = [one_line(text, _LONGEST_LINE) for gate in in_order for text in gate.criteria]
    return list(dict.fromkeys(criteria))


def _hints_shown(hints: Sequence[str], most: int | None) -> Iterator[str]:
    shown = hints[:most]
    if shown:
        more = len(hints) - len(shown)
        rest = [f"({more} more if asked for)"] if more else []
        bullets = [f"- {hint}" for hint in shown]
        yield "\n".join(["Consider these improvements:", *bullets, *rest])


def _feedback_shown(review: PendingGateReview, gates: Sequence[ReviewGate]) -> Iterator[str]:
    wanted = not gates or any(gate.preserve_context for gate in gates)
    if review.feedback and wanted:
        yield f"Previous feedback: {review.feedback}"


def _checks_shown(checks: Sequence[CheckResult]) -> Iterator[str]:
    if checks:
        lines = [line for check in checks for line in _check_shown(check)]
        yield "\n".join(["Checks that do not pass:", *lines])


def _check_shown(check: CheckResult) -> list[str]:
    lines = [_legible(line) for line in check.tail.splitlines() if line.strip()]
    # Each line is marked: what a program prints must not pass for a message of ours.
    marked = [f"  | {line}" for line in lines[-_MOST_LINES:]]
    return [f"- `{check.gate}`: {check_in_words(check)}", *marked]


def _legible(line: str) -> str:
    cut = line.rstrip()[:_LONGEST_LINE]
    return "".join([character if character.isprintable() else " " for character in cut])


def _instructions_shown(review: PendingGateReview) -> Iterator[str]:
    if review.instructions:
        lines = [f"> {_legible(line)}" for line in review.instructions.splitlines()]
        yield "\n".join(["A person who saw the failed attempts says:", *lines])


def _how_to_answer(found: OpenReview) -> str:
    if found.purpose is ReviewPurpose.COMPLETION:
        return "Mend what does not pass, then end your turn: the checks are run again"
    listed = " ".join([f"[{place}] {name}" for place, name in enumerate(found.review.gate_ids, 1)])
    return (
        f"Then report the verdict: {EXPECTED}, and below it, where gates differ,"
        f" `GATE_VERDICTS:` with a line such as `[1] PASS - why` for each. The gates: {listed}"
    )
