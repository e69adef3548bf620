"""A review whose attempts are used up, as whoever chooses how it goes on reads it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import msgspec

from interlock.ledger.chain import decoded
from interlock.ledger.ledger import Ledger
from interlock.model import events
from interlock.model.approval import Approval
from interlock.model.review import FaultKind, GateAction, ReviewMode
from interlock.model.rows import RunRow
from interlock.policy.reviews.gate_faults import check_in_words
from interlock.views.review_view import asked_about
from interlock.views.run_glance import LOOK_BACK

_OF_REVIEWS: Final = frozenset(("review-judged", "check-ran"))
_OF_ATTEMPTS: Final = {
    FaultKind.CONTRADICTED: "PASS refused",
    FaultKind.FAILED: "said FAIL",
    FaultKind.UNVERIFIED: "not verified",
}


class Attempt(msgspec.Struct, frozen=True):
    """What became of a gate in one attempt."""

    text: str
    tone: str = ""


class GateRow(msgspec.Struct, frozen=True, kw_only=True):
    """One gate of a review, through all attempts."""

    gate: str
    mode: str
    attempts: tuple[Attempt, ...]
    command: str
    """What Interlock ran itself; empty where the gate has no check."""
    seen: str


class Way(msgspec.Struct, frozen=True, kw_only=True):
    """One way on for a review."""

    action: GateAction
    meaning: str
    is_open: bool


class ReviewQuestion(msgspec.Struct, frozen=True, kw_only=True):
    """A review that its attempts did not get through."""

    id: str
    attempts: tuple[int, ...]
    gates: tuple[GateRow, ...]
    said: str
    """What the last verdict says."""
    against: tuple[str, ...]
    """What speaks against it."""
    output: str
    """The end of what the check printed that failed last."""
    ways: tuple[Way, ...]
    """Empty where nobody waits for a choice any more."""


def review_question(
    ledger: Ledger, approval: Approval, run: RunRow | None, now: int
) -> ReviewQuestion | None:
    """Return a review as its attempts went, from the latest records of its run."""
    if run is None:
        return None
    rows = ledger.rows
    found = rows.records(run.id, after=max(0, run.seq - LOOK_BACK), limit=LOOK_BACK)
    told = [decoded(row.body).event for row in found if row.kind in _OF_REVIEWS]
    every = [each for each in told if isinstance(each, events.ReviewJudged)]
    named = next((each.review for each in every if each.approval == approval.id), None)
    if named is None:
        return None
    judged = _since_reset([each for each in every if each.review == named])
    checks = {
        each.result.gate: each
        for each in told
        if isinstance(each, events.CheckRan) and each.review == named
    }
    last = judged[-1]
    failed = [each for each in checks.values() if not each.result.passed]
    return ReviewQuestion(
        id=named,
        attempts=tuple(range(1, len(judged) + 1)),
        gates=tuple(_gate_rows(judged, checks)),
        said="" if last.verdict is None else last.verdict.rationale,
        against=tuple(f"{each.gate}: {each.why}" for each in last.decision.faults),
        output=failed[-1].result.tail.strip() if failed else "",
        ways=_ways(ledger, approval, now),
    )


def _since_reset(judged: Sequence[events.ReviewJudged]) -> Sequence[events.ReviewJudged]:
    """Return the attempts that are counted: a reset begins anew with the first one."""
    begin = 0
    for at, each in enumerate(judged):
        entry = each.decision.entry
        if entry is not None and entry.attempt == 1:
            begin = at
    return [each for each in judged[begin:] if each.decision.entry is not None] or judged[-1:]


def _gate_rows(
    judged: Sequence[events.ReviewJudged], checks: Mapping[str, events.CheckRan]
) -> Iterable[GateRow]:
    for covered in judged[-1].coverage:
        ran = checks.get(covered.gate)
        yield GateRow(
            gate=covered.gate,
            mode=covered.mode.value,
            attempts=tuple(_attempt(each, covered.gate, covered.mode) for each in judged),
            command="" if ran is None else ran.command,
            seen="no check: only what was said" if ran is None else check_in_words(ran.result),
        )


def _attempt(event: events.ReviewJudged, gate: str, mode: ReviewMode) -> Attempt:
    if event.verdict is None:
        return Attempt("not readable", "warn")
    fault = next((each for each in event.decision.faults if each.gate == gate), None)
    if fault is None:
        return Attempt("said PASS")
    return Attempt(_OF_ATTEMPTS[fault.kind], "block" if mode is ReviewMode.BLOCKING else "warn")


def _ways(ledger: Ledger, approval: Approval, now: int) -> tuple[Way, ...]:
    pending = asked_about(ledger, approval, now)
    if pending is None:
        return ()
    anew = f"{pending.max_attempts} more attempts; your instructions go to the agent"
    meanings = {
        GateAction.RETRY: f"{anew}. {pending.resets} times reset so far"
        if GateAction.RETRY in pending.choices
        else f"no resets are left: {pending.resets} were used",
        GateAction.SKIP: "the run continues; recorded as skipped, not as passed",
        GateAction.ABORT: "the run ends and cannot be resumed",
    }
    return tuple(
        Way(action=each, meaning=meanings[each], is_open=each in pending.choices)
        for each in GateAction
    )
