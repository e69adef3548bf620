"""The reviews of a run as its state: what is pending, what is remembered, and how little."""

from __future__ import annotations

from interlock.model.answers import ReviewAnswer
from interlock.model.control_state import (
    Completion,
    Reviews,
    after_choice,
    after_more_work,
    after_opening,
    after_verdict,
    dated,
    with_check,
)
from interlock.model.events import CheckRan, ReviewChosen, ReviewJudged, ReviewOpened
from interlock.model.review import (
    CheckResult,
    EntryKind,
    GateAction,
    PendingGateReview,
    ReviewDecision,
    ReviewEntry,
    ReviewGate,
    ReviewMode,
    ReviewOutcome,
    ReviewPurpose,
)
from interlock.policy.reviews.review_gate import asked_again, opened
from interlock.policy.reviews.review_guidance import guidance_of
from reviews.cases import (
    SETTINGS,
    Reviewing,
    a_checked_gate,
    a_fail,
    a_gate,
    a_pass,
    advisory,
    an_open_review,
)


def an_opening(
    *gates: ReviewGate, review_id: str = "r1", purpose: ReviewPurpose = ReviewPurpose.WORK
) -> ReviewOpened:
    known = gates or (a_gate(),)
    return ReviewOpened(
        review=opened(review_id, known, SETTINGS), gates=known, purpose=purpose, subject="a form"
    )


def judged(
    decision: ReviewDecision, review_id: str = "r1", *, approval: str | None = None
) -> ReviewJudged:
    return ReviewJudged(review=review_id, decision=decision, approval=approval)


def advancing(kind: EntryKind | None = None) -> ReviewDecision:
    entry = None if kind is None else ReviewEntry(kind=kind, attempt=1, reason="so it is")
    return ReviewDecision(outcome=ReviewOutcome.ADVANCE, reason="so it is", entry=entry)


def test_a_review_that_is_opened_is_pending_with_its_gates():
    reviews = after_opening(Reviews(), an_opening())

    assert reviews.pending["r1"].gates == (a_gate(),)
    assert reviews.pending["r1"].subject == "a form"


def test_the_latest_result_of_each_check_is_remembered_and_not_all_of_its_output():
    reviews = after_opening(Reviews(), an_opening(a_checked_gate("a"), a_checked_gate("b")))
    for gate, code in (("a", 1), ("b", 1), ("a", 0)):
        result = CheckResult(gate=gate, exit_code=code, tail="x" * 9_000 + gate)
        reviews = with_check(reviews, CheckRan(review="r1", result=result, command="pytest"))

    seen = {each.gate: each.exit_code for each in reviews.pending["r1"].checks}
    assert seen == {"a": 0, "b": 1}
    assert {len(each.tail) for each in reviews.pending["r1"].checks} == {3_000}
    assert all(each.tail.endswith(each.gate) for each in reviews.pending["r1"].checks)


def test_what_is_not_pending_any_more_is_not_changed():
    result = CheckResult(gate="a", exit_code=1)
    late = CheckRan(review="r1", result=result, command="pytest")

    assert with_check(Reviews(), late) == Reviews()
    assert after_verdict(Reviews(), judged(advancing()), 7) == Reviews()


def test_a_verdict_that_does_not_do_stays_with_its_question():
    reviewing = Reviewing(a_gate())
    reviews = after_opening(Reviews(), an_opening())
    first = reviewing.hears(a_fail())
    reviews = after_verdict(reviews, judged(first), 7)
    assert reviews.pending["r1"].review.feedback == (first.review and first.review.feedback)
    assert [each.at for each in reviews.pending["r1"].review.history] == [7]
    second = reviewing.hears(a_fail())
    reviews = after_verdict(reviews, judged(second, approval="q1"), 7)
    assert reviews.pending["r1"].approval == "q1"
    reset = reviewing.is_told(GateAction.RETRY, "look again")
    chosen = ReviewChosen(review="r1", action=GateAction.RETRY, decision=reset, approval="q1")
    reviews = after_choice(reviews, chosen, 9)

    assert reviews.pending["r1"].approval is None
    assert reviews.pending["r1"].review.instructions == "look again"


def test_what_ended_is_remembered_for_a_while_and_warnings_too():
    reviews, gate = Reviews(), advisory()
    for number in range(60):
        name = f"r{number}"
        decision = Reviewing(gate, review_id=name).hears(a_fail(why=f"reason {number}"))
        reviews = after_opening(reviews, an_opening(gate, review_id=name))
        reviews = after_verdict(reviews, judged(decision, name), 7)

    assert reviews.pending == {}
    assert [each.id for each in reviews.closed] == [f"r{number}" for number in range(10, 60)]
    assert [each.kind for each in reviews.closed[:1]] == [EntryKind.FAILED]
    assert len(reviews.warnings) == 20
    assert "reason 59" in reviews.warnings[-1]


def test_completion_is_passed_until_something_is_done_and_skipped_for_good():
    opening = an_opening(review_id="completion", purpose=ReviewPurpose.COMPLETION)
    pending = after_opening(Reviews(), opening)
    passed = after_verdict(pending, judged(advancing(EntryKind.PASSED), "completion"), 7)
    unsaid = after_verdict(pending, judged(advancing(), "completion"), 7)
    skipped = after_verdict(pending, judged(advancing(EntryKind.SKIPPED), "completion"), 7)

    assert passed.completion is unsaid.completion is Completion.PASSED
    assert after_more_work(passed).completion is Completion.OPEN
    assert skipped.completion is Completion.SKIPPED
    assert after_more_work(skipped).completion is Completion.SKIPPED
    assert after_more_work(pending) == pending


def test_a_review_of_work_says_nothing_of_completion():
    reviews = after_opening(Reviews(), an_opening())

    assert (
        after_verdict(reviews, judged(advancing(EntryKind.PASSED)), 7).completion is Completion.OPEN
    )


def test_a_person_is_asked_again_about_the_gates_that_failed_last():
    reviewing = Reviewing(a_gate("a"), a_gate("b"))
    reviewing.hears(a_fail())
    reviewing.hears(a_fail())
    review = reviewing.review
    assert review is not None
    again = asked_again(an_open_review(a_gate("a"), a_gate("b"), review=review), SETTINGS)

    assert again.outcome is ReviewOutcome.ASK
    assert again.exhausted_gate_ids == ("a", "b")
    assert again.retry_limit_exceeded
    assert again.choices == tuple(GateAction)
    assert again.reason == (
        "review `r1` used 2 of 2 attempts; a person must choose `retry`, `skip` or `abort`"
    )
    assert "Last: FAIL: two cases are missing" in (again.guidance or "")
    assert "Consider these improvements:\n- a hold\n- b hold" in (again.guidance or "")


def test_a_review_without_history_is_asked_again_about_all_its_gates():
    used_up = PendingGateReview(
        id="r1",
        gate_ids=("a", "b"),
        mode=ReviewMode.BLOCKING,
        max_attempts=1,
        attempt_count=1,
    )

    found = an_open_review(review=used_up)

    assert asked_again(found, SETTINGS).exhausted_gate_ids == ("a", "b")


def test_whoever_has_to_pass_checks_is_not_asked_for_a_verdict():
    told = guidance_of(an_open_review(a_checked_gate(), purpose=ReviewPurpose.COMPLETION), SETTINGS)

    assert "Mend what does not pass, then end your turn" in told
    assert "GATE_REVIEW" not in told


def test_an_answer_tells_what_was_decided():
    decision = Reviewing(a_gate()).hears(a_fail())
    answer = _answer(decision)
    passed = _answer(Reviewing(a_gate()).hears(a_pass()))

    assert (answer.outcome, answer.advances) == (ReviewOutcome.RETRY, False)
    assert (answer.reason, answer.guidance) == (decision.reason, decision.guidance)
    assert answer.choices == ()
    assert (answer.decision, passed.decision) == ("retry", "advance")
    assert passed.advances


def _answer(decision: ReviewDecision) -> ReviewAnswer:
    return ReviewAnswer(
        run_id="run", seq=3, review_id="r1", decision=decision.outcome, detail=decision
    )


def test_each_entry_of_a_decision_says_when_it_was_recorded():
    reviewing = Reviewing(a_gate())
    first = dated(reviewing.hears(a_fail()), 7)
    again = dated(first, 9)
    passed = dated(Reviewing(a_gate()).hears(a_pass()), 8)

    assert first.entry is not None
    assert first.review is not None
    assert (first.entry.at, [each.at for each in first.review.history]) == (7, [7])
    assert again == first
    assert passed.entry is not None
    assert (passed.entry.at, passed.review) == (8, None)
    assert dated(ReviewDecision(outcome=ReviewOutcome.ASK, reason="so"), 5).entry is None
