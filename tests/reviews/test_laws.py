"""What holds for every review, whatever is said to it."""

from __future__ import annotations

from random import Random

import msgspec
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from interlock.model.review import (
    Check,
    CheckResult,
    EntryKind,
    GateAction,
    GateVerdict,
    Overall,
    PendingGateReview,
    ReviewDecision,
    ReviewGate,
    ReviewMode,
    ReviewOutcome,
    ReviewVerdict,
    Unreadable,
)
from interlock.model.verdict import Severity
from interlock.policy.config.run_sections import Reviews
from interlock.policy.reviews.review_gate import judge, opened
from reviews.cases import SETTINGS, Reviewing, a_pass, an_open_review, ended, fails

NAMES = ("tests", "style", "docs", "lint")
_STRICTNESS = [ReviewOutcome.ADVANCE, ReviewOutcome.RETRY, ReviewOutcome.ASK]

modes = st.sampled_from(ReviewMode)
words = st.sampled_from(["it holds", "two cases are missing", "x"])


def compile_policy(mode: st.SearchStrategy[ReviewMode | None]) -> st.SearchStrategy[ReviewGate]:
    return st.builds(
        ReviewGate,
        id=st.sampled_from(NAMES),
        criteria=st.just(("it is so",)),
        severity=st.none() | st.sampled_from(Severity),
        mode=mode,
        max_attempts=st.none() | st.integers(1, 4),
        check=st.none() | st.just(Check(argv=("pytest",))),
    )


def lists_of(gates: st.SearchStrategy[ReviewGate]) -> st.SearchStrategy[list[ReviewGate]]:
    return st.lists(gates, min_size=1, max_size=4, unique_by=lambda gate: gate.id)


gate_lists = lists_of(compile_policy(st.none() | modes))
verdicts = st.builds(
    ReviewVerdict,
    overall=st.sampled_from(Overall),
    rationale=words,
    per_gate=st.lists(
        st.builds(
            GateVerdict,
            gate=st.sampled_from([*NAMES, "1", "2"]),
            passed=st.booleans(),
            rationale=words,
        ),
        max_size=4,
    ).map(tuple),
) | st.just(Unreadable(reason="it is empty"))
results = st.builds(
    CheckResult,
    gate=st.sampled_from(NAMES),
    exit_code=st.none() | st.sampled_from([0, 1]),
    timed_out=st.booleans(),
)
result_lists = st.lists(results, max_size=4)


def judged(
    review: PendingGateReview,
    verdict: ReviewVerdict | Unreadable,
    gates: list[ReviewGate],
    checks: list[CheckResult],
) -> ReviewDecision:
    found = an_open_review(*gates, review=review, checks=tuple(checks))
    return judge(found, verdict, SETTINGS)


@given(
    gate_lists,
    st.lists(st.tuples(verdicts, result_lists), min_size=1, max_size=40),
    st.integers(0, 3),
)
def test_no_review_goes_round_for_ever(
    gates: list[ReviewGate],
    told: list[tuple[ReviewVerdict | Unreadable, list[CheckResult]]],
    max_resets: int,
) -> None:
    reviewing = Reviewing(*gates, settings=Reviews(max_resets=max_resets))
    assert reviewing.review is not None
    max_attempts, retries, alone = reviewing.review.max_attempts, 0, 0
    for verdict, checks in told:
        decision = reviewing.hears(verdict, checks)
        alone = alone + 1 if decision.outcome is ReviewOutcome.RETRY else 0
        retries += decision.outcome is ReviewOutcome.RETRY
        assert alone < max_attempts
        if decision.outcome is ReviewOutcome.ASK:
            retries += reviewing.is_told(GateAction.RETRY).outcome is ReviewOutcome.RETRY
        if reviewing.is_over:
            break

    assert retries <= max_attempts * (max_resets + 1)


@given(gate_lists, verdicts, result_lists)
def test_every_verdict_counts_as_one_attempt(
    gates: list[ReviewGate], verdict: ReviewVerdict | Unreadable, checks: list[CheckResult]
) -> None:
    review = opened("r1", gates, SETTINGS)

    decision = judged(review, verdict, gates, checks)

    assert decision.entry is not None
    assert decision.entry.attempt == 1
    if decision.review is not None:
        assert decision.review.attempt_count == 1
        assert decision.review.history == (decision.entry,)


@given(gate_lists, verdicts, result_lists, st.randoms(use_true_random=False))
def test_the_order_of_gates_and_checks_is_irrelevant(
    gates: list[ReviewGate],
    verdict: ReviewVerdict | Unreadable,
    checks: list[CheckResult],
    random: Random,
) -> None:
    review = opened("r1", gates, SETTINGS)
    shuffled, mixed = random.sample(gates, len(gates)), random.sample(checks, len(checks))
    other = opened("r1", shuffled, SETTINGS)

    assert replace(other, gate_ids=review.gate_ids) == review
    assert judged(review, verdict, shuffled, mixed) == judged(review, verdict, gates, checks)


@given(gate_lists, verdicts, result_lists, modes, st.booleans(), st.integers(0, 1))
def test_one_more_gate_that_fails_never_loosens(
    gates: list[ReviewGate],
    verdict: ReviewVerdict | Unreadable,
    checks: list[CheckResult],
    mode: ReviewMode,
    by_check: bool,
    attempts: int,
) -> None:
    more = ReviewGate(id="more", criteria=("it is so",), mode=mode)
    before = opened("r1", gates, SETTINGS)
    after = opened("r1", [*gates, more], SETTINGS)
    attempts = min(attempts, before.max_attempts - 1, after.max_attempts - 1)
    without = judged(replace(before, attempt_count=attempts), verdict, gates, checks)
    if by_check:
        checks = [*checks, ended("more")]
    elif isinstance(verdict, ReviewVerdict):
        verdict = replace(verdict, per_gate=(*verdict.per_gate, fails("more")))
    with_more = judged(replace(after, attempt_count=attempts), verdict, [*gates, more], checks)

    assert _STRICTNESS.index(with_more.outcome) >= _STRICTNESS.index(without.outcome)


@given(
    lists_of(compile_policy(st.sampled_from([ReviewMode.INFORMATIONAL, ReviewMode.ADVISORY]))),
    verdicts,
    result_lists,
)
def test_what_only_advises_or_informs_never_blocks(
    gates: list[ReviewGate], verdict: ReviewVerdict | Unreadable, checks: list[CheckResult]
) -> None:
    decision = judged(opened("r1", gates, SETTINGS), verdict, gates, checks)

    assert decision.outcome is ReviewOutcome.ADVANCE
    if all(gate.mode is ReviewMode.INFORMATIONAL for gate in gates):
        assert decision.warnings == ()


@given(gate_lists, verdicts, result_lists)
def test_what_goes_on_as_passed_has_nothing_against_it(
    gates: list[ReviewGate], verdict: ReviewVerdict | Unreadable, checks: list[CheckResult]
) -> None:
    review = opened("r1", gates, SETTINGS)
    decision = judged(review, verdict, gates, checks)

    assert decision.entry is not None
    if decision.entry.kind is EntryKind.PASSED:
        assert decision.outcome is ReviewOutcome.ADVANCE
        assert isinstance(verdict, ReviewVerdict)
        assert verdict.overall is Overall.PASS
        assert all(fault.mode.rank < review.mode.rank for fault in decision.faults)


@given(gate_lists, result_lists)
def test_no_pass_outvotes_a_failing_check_of_a_blocking_gate(
    gates: list[ReviewGate], checks: list[CheckResult]
) -> None:
    blocking = replace(gates[0], mode=ReviewMode.BLOCKING, max_attempts=2)
    all_gates = [blocking, *[replace(gate, max_attempts=2) for gate in gates[1:]]]
    review = opened("r1", all_gates, SETTINGS)

    decision = judged(review, a_pass(), all_gates, [*checks, ended(blocking.id)])

    assert decision.outcome is ReviewOutcome.RETRY
    assert blocking.id in decision.contradicted


@given(gate_lists, st.lists(st.tuples(verdicts, result_lists), max_size=6))
def test_a_review_read_back_from_its_record_goes_on_the_same(
    gates: list[ReviewGate],
    told: list[tuple[ReviewVerdict | Unreadable, list[CheckResult]]],
) -> None:
    kept, restarted = Reviewing(*gates), Reviewing(*gates)
    for verdict, checks in told:
        first, second = kept.hears(verdict, checks), restarted.hears(verdict, checks)
        stored = msgspec.json.encode(second)
        assert msgspec.json.decode(stored, type=ReviewDecision) == first
        if kept.is_over:
            break
        stored_review = msgspec.json.encode(restarted.review)
        restarted.review = msgspec.json.decode(stored_review, type=PendingGateReview)
