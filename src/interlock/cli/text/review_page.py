"""Reviews for people: what speaks for each gate, where a review stands, and who moves it on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, assert_never

from interlock.cli.text.render import Line, Span, Tone, labelled_rows, text_width, wrapped_lines
from interlock.cli.text.tables import cut
from interlock.model.control_state import Completion
from interlock.model.review import (
    EntryKind,
    FaultKind,
    GateAction,
    GateCoverage,
    GateFault,
    ReviewDecision,
    ReviewPurpose,
    Witness,
)
from interlock.views.review_view import PendingReview, RunReviews, WaitsFor
from interlock.views.units import counted, moment

_EVIDENCE: Final = {
    Witness.CHECK: ("check passed", Tone.GOOD),
    Witness.AGAINST: ("check failed", Tone.BAD),
    Witness.NOTHING: ("unverified", Tone.CAREFUL),
    Witness.VERDICT: ("only the verdict", Tone.FAINT),
}
"""What speaks for or against a gate, in a word or two."""
_ENDS: Final = {
    EntryKind.PASSED: Tone.GOOD,
    EntryKind.FAILED: Tone.CAREFUL,
    EntryKind.UNREADABLE: Tone.CAREFUL,
    EntryKind.CONTRADICTED: Tone.CAREFUL,
    EntryKind.UNVERIFIED: Tone.CAREFUL,
    EntryKind.RESET: Tone.ASKING,
    EntryKind.SKIPPED: Tone.CAREFUL,
    EntryKind.ABORTED: Tone.BAD,
}
_COMPLETIONS: Final = {
    Completion.OPEN: ("the checks of the policy have yet to pass", Tone.CAREFUL),
    Completion.PASSED: ("the checks of the policy passed", Tone.GOOD),
    Completion.SKIPPED: ("a person lets the run finish without the checks", Tone.CAREFUL),
}
_WAITS: Final = {
    WaitsFor.VERDICT: "waits for a verdict",
    WaitsFor.END_OF_TURN: "checked again when the agent says that it is done",
    WaitsFor.CHOICE: "waits for a person's choice",
}
_EFFECTS: Final = {
    GateAction.RETRY: "begins the attempts anew",
    GateAction.SKIP: "goes on without it",
    GateAction.ABORT: "ends the run",
}
_SHORTEST_NAME: Final = 7
_LONGEST_NAME: Final = 24
_MOST_CLOSED: Final = 5


def text_lines(text: str) -> Iterator[Line]:
    """Yield a text of several lines; what is marked or indented in it stays so."""
    for line in text.splitlines():
        body = line.lstrip()
        mark = next((mark for mark in ("| ", "- ", "> ") if body.startswith(mark)), "")
        head = f"  {line[: len(line) - len(body)]}{mark}"
        yield from wrapped_lines((Span(head),), body[len(mark) :])


def gate_lines(
    gates: Sequence[GateCoverage],
    decision: ReviewDecision | None = None,
    *,
    width: int | None = None,
    indent: str = "  ",
) -> Iterator[Line]:
    """Yield each gate: how strict it is, what was decided of it, and what speaks for it."""
    longest = max((len(each.gate) for each in gates), default=0)
    room = max(_SHORTEST_NAME, min(_LONGEST_NAME, longest))
    faults = {} if decision is None else {fault.gate: fault for fault in decision.faults}
    for each in gates:
        head = Span(f"{indent}{cut(each.gate, room):<{room}}  ", Tone.STRONG)
        text, tone = _evidence(each, faults.get(each.gate))
        yield from wrapped_lines((head,), f"{each.mode.value}, {text}", tone, width=width)


def _evidence_text(each: GateCoverage) -> str:
    word, _ = _EVIDENCE[each.witness]
    if each.witness is Witness.NOTHING and not each.result:
        return "not checked yet"
    return f"{word}: {each.result}" if each.result else word


def standing_text(review: PendingReview) -> str:
    """Return how far a review is, and whom it waits for."""
    used, most = review.attempts_used, review.max_attempts
    if review.waits_for is WaitsFor.CHOICE:
        tried = f"{used} of {most} attempts used"
    else:
        tried = f"attempt {used + 1} of {most}"
    resets = f", reset {counted(review.resets, 'time')}" if review.resets else ""
    return f"{review.mode.value}, {tried}{resets}, {_WAITS[review.waits_for]}"


def _pending_lines(review: PendingReview) -> Iterator[Line]:
    """Yield a review that is pending: where it stands, its gates, and what moves it."""
    head = (Span(f"  {cut(review.id, _LONGEST_NAME)}  ", Tone.STRONG),)
    tone = Tone.ASKING if review.waits_for is WaitsFor.CHOICE else Tone.PLAIN
    yield from wrapped_lines(head, standing_text(review), tone)
    yield from labelled_rows(
        ("subject", review.subject),
        ("history", _history(review)),
        ("last", review.feedback or ""),
        ("person", review.instructions or ""),
        indent="    ",
    )
    yield from gate_lines(review.gates, indent="    ")
    yield from choice_lines(review)


def _history(review: PendingReview) -> str:
    """Return what came of the latest attempts, and when."""
    latest = review.history[-_MOST_CLOSED:]
    known = [f"{each.kind.value} {moment(each.at)}" for each in latest if each.at is not None]
    earlier = len(review.history) - len(known)
    return ", ".join([*([f"{earlier} earlier"] if known and earlier else []), *known])


def choice_lines(review: PendingReview, *, indent: str = "    ") -> Iterator[Line]:
    """Yield what a person may type, each with what it does."""
    for action, command in zip(review.choices, review.commands, strict=True):
        typed = f"{indent}{command}"
        effect = f"{'' if action is not GateAction.SKIP else ' '}  {_EFFECTS[action]}"
        if len(typed) + len(effect) <= text_width():
            yield (Span(typed, Tone.CODE), Span(effect, Tone.FAINT))
        else:
            # What is typed is never cut: it must be possible to copy it.
            yield (Span(typed, Tone.CODE),)
            yield (Span(f"{indent}  "), Span(_EFFECTS[action], Tone.FAINT))


def reviews_lines(reviews: RunReviews) -> Iterator[Line]:
    """Yield the reviews of a run: what is pending, and how the latest ended."""
    for review in reviews.pending:
        yield from _pending_lines(review)
    for closed in reviews.closed[-_MOST_CLOSED:]:
        name = Span(f"  {cut(closed.id, _LONGEST_NAME)}  ", Tone.STRONG)
        head = (name, Span(f"{closed.kind.value}  ", _ENDS[closed.kind]))
        yield from wrapped_lines(head, f"{moment(closed.at)}: {closed.reason}", Tone.FAINT)
    left_out = len(reviews.closed) - _MOST_CLOSED
    if left_out > 0:
        yield (Span(f"  {left_out} earlier: `--json` shows them", Tone.FAINT),)
    for warning in reviews.warnings[-_MOST_CLOSED:]:
        yield from wrapped_lines((Span("  warned  ", Tone.CAREFUL),), warning)
    checked = any(each.purpose is ReviewPurpose.COMPLETION for each in reviews.pending)
    if checked or reviews.completion is not Completion.OPEN:
        # The policy asks for checks before the run may finish.
        text, tone = _COMPLETIONS[reviews.completion]
        yield from wrapped_lines((Span("  to finish  ", Tone.LABEL),), text, tone)


def _evidence(each: GateCoverage, fault: GateFault | None) -> tuple[str, Tone]:
    """Return what was decided of a gate and what speaks for it, in words."""
    _, tone = _EVIDENCE[each.witness]
    if fault is None:
        return _evidence_text(each), tone
    match fault.kind:
        case FaultKind.CONTRADICTED:
            return f"PASS refused, {_evidence_text(each)}", Tone.BAD
        case FaultKind.UNVERIFIED:
            return _evidence_text(each), Tone.CAREFUL
        case FaultKind.FAILED:
            return _failed(each, fault), Tone.BAD
        case _:
            assert_never(fault.kind)


def _failed(each: GateCoverage, fault: GateFault) -> str:
    if fault.why == each.result:
        # No verdict could be read: only the check speaks.
        return _evidence_text(each)
    if each.witness is Witness.AGAINST:
        # What the check showed stands behind what was said already.
        return f"failed: {fault.why}"
    return f"failed: {fault.why}; {_evidence_text(each)}"
