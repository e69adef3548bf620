"""Was it good enough? Asked with each verdict on the work, and with each choice of a person.

Every verdict counts as an attempt, readable or not, so that no review goes round for ever; and
only a person moves a review whose attempts are used up.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, assert_never

from msgspec.structs import replace

from interlock.model.arbitration import Authority, Course, Ruling
from interlock.model.control_state import OpenReview
from interlock.model.review import (
    EntryKind,
    FaultKind,
    GateAction,
    GateFault,
    Overall,
    PendingGateReview,
    ReviewDecision,
    ReviewEntry,
    ReviewGate,
    ReviewMode,
    ReviewOutcome,
    ReviewVerdict,
    Unreadable,
    refuse_text,
)
from interlock.model.stop import StopDecision, StopVeto
from interlock.policy.config.complaints import one_line, one_of
from interlock.policy.config.key import OBSERVE
from interlock.policy.config.run_sections import Reviews
from interlock.policy.reviews.gate_faults import (
    fault_in_words,
    faults_of,
    fewest_attempts,
    strictest_mode,
)
from interlock.policy.reviews.review_guidance import choices_of, guidance_of, question_of
from interlock.policy.reviews.spoken_failures import NamedGate
from interlock.policy.reviews.verdict_grammar import ReadVerdict, with_ids

COMPLETION: Final = "completion"
"""The name of the review that the policy itself asks for before a run may finish."""

_MOST_SHOWN: Final = 5
_SHOWN: Final = 300


def opened(review_id: str, gates: Sequence[ReviewGate], settings: Reviews) -> PendingGateReview:
    """Return a new review of these gates; InputError for none, or for one that comes twice."""
    return PendingGateReview(
        id=review_id,
        gate_ids=tuple(gate.id for gate in gates),
        mode=strictest_mode(gates),
        max_attempts=fewest_attempts(gates, settings),
    )


def judge(found: OpenReview, verdict: ReadVerdict, settings: Reviews) -> ReviewDecision:
    """Return what a verdict comes to, with the results of the checks that were run for it."""
    review = found.review
    if review.awaiting_choice:
        return _refused(
            review,
            f"{_used(review)} and takes no verdict: a person must choose"
            f" {_choices(review, settings)}",
        )
    said = with_ids(verdict, _named_gates(found))
    faults = faults_of(found, said)
    entry = _entry(review, said, faults)
    answer = ReviewDecision(
        outcome=ReviewOutcome.ADVANCE,
        reason=entry.reason,
        entry=entry,
        faults=faults,
        warnings=_warnings(review, said, faults),
    )
    if not _is_held(review, said, faults):
        return answer
    if settings.mode == OBSERVE:
        told = f"would have been held up: {entry.reason}"
        warnings = (*answer.warnings, told)
        return replace(answer, reason=told, warnings=warnings, would_have=ReviewOutcome.RETRY)
    held = replace(
        review,
        attempt_count=entry.attempt,
        history=(*review.history, entry),
        feedback=entry.reason,
    )
    reason = f"attempt {entry.attempt} of {review.max_attempts}: {entry.reason}"
    answer = replace(answer, outcome=ReviewOutcome.RETRY, reason=reason, review=held)
    if held.awaiting_choice:
        return _asking(answer, replace(found, review=held), entry.gates, settings)
    return replace(answer, guidance=guidance_of(replace(found, review=held), settings))


def asked_again(found: OpenReview, settings: Reviews) -> ReviewDecision:
    """Return that a person still has to choose, for a review whose attempts are used up."""
    review = found.review
    answer = ReviewDecision(outcome=ReviewOutcome.ASK, reason=_used(review), review=review)
    return _asking(answer, found, _failed_last(review), settings)


def choose(
    found: OpenReview, action: GateAction, settings: Reviews, *, instructions: str | None = None
) -> ReviewDecision:
    """Return what a person's choice comes to; whoever calls has made sure that it is a person's.

    The instructions go into the guidance of a retry, and on the record of anything else.
    InputError for instructions that nobody would read.
    """
    review, said = found.review, _instructions(instructions)
    if not review.awaiting_choice:
        return _refused(
            review,
            f"{_used(review)}: `{action.value}` can be chosen only once they are used up",
        )
    if action not in choices_of(review, settings):
        return _refused(
            review,
            f"review `{review.id}` was reset {review.resets} of {settings.max_resets} times:"
            f" choose {_choices(review, settings)}",
        )
    match action:
        case GateAction.RETRY:
            return _reset(found, said, settings)
        case GateAction.SKIP:
            entry = _chosen(review, EntryKind.SKIPPED, "a person skipped the review", said)
            return ReviewDecision(outcome=ReviewOutcome.ADVANCE, reason=entry.reason, entry=entry)
        case GateAction.ABORT:
            entry = _chosen(review, EntryKind.ABORTED, "a person aborted the run", said)
            return ReviewDecision(outcome=ReviewOutcome.STOPPED, reason=entry.reason, entry=entry)
        case _:
            assert_never(action)


def _named_gates(found: OpenReview) -> list[NamedGate]:
    criteria = {gate.id: gate.criteria for gate in found.gates}
    return [NamedGate(name, criteria.get(name, ())) for name in found.review.gate_ids]


def _is_held(review: PendingGateReview, said: ReadVerdict, faults: Sequence[GateFault]) -> bool:
    """Whether the work stays where it is: the review blocks and fails, or one of its gates does."""
    blocking = any(fault.mode is ReviewMode.BLOCKING for fault in faults)
    return blocking or (review.mode is ReviewMode.BLOCKING and not _passes(said))


def _passes(said: ReadVerdict) -> bool:
    return isinstance(said, ReviewVerdict) and said.overall is Overall.PASS


def _warnings(
    review: PendingGateReview, said: ReadVerdict, faults: Sequence[GateFault]
) -> tuple[str, ...]:
    """Return the warnings of the gates that only advise, and of a review that only advises."""
    warnings = [fault_in_words(fault) for fault in faults if fault.mode is ReviewMode.ADVISORY]
    names_nothing = isinstance(said, Unreadable) or not warnings
    if review.mode is ReviewMode.ADVISORY and not _passes(said) and names_nothing:
        warnings.insert(0, _in_words(said))
    return tuple(warnings)


def _entry(
    review: PendingGateReview, said: ReadVerdict, faults: Sequence[GateFault]
) -> ReviewEntry:
    """Return the line of history: milder gates than the review itself do not make it fail."""
    counted = [fault for fault in faults if fault.mode.rank >= review.mode.rank]
    others = [fault for fault in counted if fault.why != _rationale(said)]
    words = [fault_in_words(fault) for fault in others[:_MOST_SHOWN]]
    more = len(others) - len(words)
    if more:
        words.append(f"and {more} more")
    kind = _kind(said, counted)
    gates = tuple(fault.gate for fault in counted)
    return ReviewEntry(
        kind=kind,
        attempt=review.attempt_count + 1,
        reason=" ".join("; ".join([_in_words(said), *words]).split()),
        gates=gates if gates or kind is EntryKind.PASSED else review.gate_ids,
    )


def _kind(said: ReadVerdict, faults: Sequence[GateFault]) -> EntryKind:
    if isinstance(said, Unreadable):
        return EntryKind.UNREADABLE
    kinds = {fault.kind for fault in faults}
    if said.overall is Overall.FAIL:
        return EntryKind.FAILED
    if FaultKind.CONTRADICTED in kinds:
        return EntryKind.CONTRADICTED
    if FaultKind.FAILED in kinds:
        return EntryKind.FAILED
    return EntryKind.UNVERIFIED if kinds else EntryKind.PASSED


def _in_words(said: ReadVerdict) -> str:
    if isinstance(said, Unreadable):
        return f"the verdict could not be read: {said.reason}"
    return f"{said.overall.value}: {_rationale(said)}"


def _rationale(said: ReadVerdict) -> str | None:
    return one_line(said.rationale, _SHOWN) if isinstance(said, ReviewVerdict) else None


def _asking(
    answer: ReviewDecision,
    found: OpenReview,
    failed: tuple[str, ...],
    settings: Reviews,
) -> ReviewDecision:
    review = found.review
    return replace(
        answer,
        outcome=ReviewOutcome.ASK,
        reason=f"{answer.reason}; a person must choose {_choices(review, settings)}",
        guidance=question_of(found, failed, settings),
        retry_limit_exceeded=True,
        exhausted_gate_ids=failed,
        choices=choices_of(review, settings),
    )


def _choices(review: PendingGateReview, settings: Reviews) -> str:
    return one_of([action.value for action in choices_of(review, settings)])


def _refused(review: PendingGateReview, reason: str) -> ReviewDecision:
    return ReviewDecision(outcome=ReviewOutcome.REFUSED, reason=reason, review=review)


def _instructions(given: str | None) -> str | None:
    if given is None or not given.strip():
        return None
    refuse_text("choice", "instructions", given)
    return given.strip()


def _chosen(review: PendingGateReview, kind: EntryKind, what: str, said: str | None) -> ReviewEntry:
    return ReviewEntry(
        kind=kind,
        attempt=review.attempt_count,
        reason=f"{what}: {one_line(said, _SHOWN)}" if said else what,
        gates=_failed_last(review),
    )


def _failed_last(review: PendingGateReview) -> tuple[str, ...]:
    return review.history[-1].gates if review.history else review.gate_ids


def _used(review: PendingGateReview) -> str:
    return f"review `{review.id}` used {review.attempt_count} of {review.max_attempts} attempts"


def _reset(found: OpenReview, said: str | None, settings: Reviews) -> ReviewDecision:
    review = found.review
    entry = _chosen(review, EntryKind.RESET, "a person asked for another try", said)
    again = replace(
        review,
        attempt_count=0,
        resets=review.resets + 1,
        history=(*review.history, entry),
        instructions=said,
    )
    return ReviewDecision(
        outcome=ReviewOutcome.RETRY,
        reason=f"{entry.reason} (reset {again.resets} of {settings.max_resets})",
        review=again,
        entry=entry,
        guidance=guidance_of(replace(found, review=again), settings),
    )


_UNSUCCESSFUL: Final = frozenset(
    "abandoned aborted blocked canceled cancelled crashed error exhausted failed failure halted"
    " incomplete interrupted killed partial stopped terminated timed-out timeout unfinished"
    " unsuccessful".split()
)
_CLAIMS_NOTHING: Final = _UNSUCCESSFUL | {"applied"}
"""That edits were applied says of no work that it is done, or that it failed."""
_NOT_A_CLAIM: Final = (StopVeto.AWAITING_USER, StopVeto.REFUSED, StopVeto.HARD_STOP)
_ENDING: Final = (Authority.STOP, Authority.CREDIT)


def claims_success(outcome: str) -> bool:
    """Whether a run that ends so says that its work is done; any word that nobody knows does."""
    return outcome.strip().lower().replace(" ", "-").replace("_", "-") not in _CLAIMS_NOTHING


def is_claim(ruled: Ruling, stop: StopDecision) -> bool:
    """Whether a turn that ends so leaves the work as done: not where it asks, or was refused."""
    ends = ruled.course is Course.FINISH and ruled.by in _ENDING
    return ends and stop.veto not in _NOT_A_CLAIM


def claim(outcome: str | None = None) -> ReviewVerdict:
    """Return the verdict that whoever ends the work gives by ending it."""
    how = "ended its turn" if outcome is None else f"finished as `{outcome}`"
    return ReviewVerdict(overall=Overall.PASS, rationale=f"the agent {how}")
