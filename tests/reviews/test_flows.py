"""The flows of a review, from the first verdict to its end."""

from __future__ import annotations

import pytest
from inline_snapshot import snapshot
from msgspec.structs import replace

from interlock.errors import InputError
from interlock.model.review import (
    CheckResult,
    EntryKind,
    FaultKind,
    GateAction,
    ReviewOutcome,
    Unreadable,
)
from interlock.policy.config.run_sections import Reviews
from reviews.cases import (
    SETTINGS,
    Reviewing,
    a_checked_gate,
    a_fail,
    a_gate,
    a_pass,
    advisory,
    ended,
    fails,
    informational,
    passes,
)

ADVANCE, RETRY, ASK = ReviewOutcome.ADVANCE, ReviewOutcome.RETRY, ReviewOutcome.ASK
STOPPED, REFUSED = ReviewOutcome.STOPPED, ReviewOutcome.REFUSED


def exhausted(settings: Reviews = SETTINGS) -> Reviewing:
    told = Reviewing(a_gate(), settings=settings)
    told.hears(a_fail())
    assert told.hears(a_fail()).outcome is ASK
    return told


def test_a_pass_goes_on_and_nothing_is_pending() -> None:
    decision = Reviewing(a_gate()).hears(a_pass())

    assert decision.outcome is ADVANCE
    assert decision.review is None
    assert decision.entry is not None
    assert (decision.entry.kind, decision.entry.attempt) == (EntryKind.PASSED, 1)
    assert (decision.entry.gates, decision.faults, decision.warnings) == ((), (), ())
    assert decision.reason == "PASS: all is well"


def test_fail_retry_fail_choice() -> None:
    told = Reviewing(a_gate())

    first = told.hears(a_fail())
    assert first.outcome is RETRY
    assert first.guidance is not None
    assert "Attempt 2 of 2" in first.guidance
    assert (first.retry_limit_exceeded, first.exhausted_gate_ids, first.choices) == (False, (), ())
    assert first.reason == "attempt 1 of 2: FAIL: two cases are missing"
    assert first.review is not None
    assert first.review.attempt_count == 1

    second = told.hears(a_fail(why="one case is missing"))
    assert second.outcome is ASK
    assert second.retry_limit_exceeded
    assert second.exhausted_gate_ids == ("tests",)
    assert second.choices == (GateAction.RETRY, GateAction.SKIP, GateAction.ABORT)
    assert second.reason == snapshot(
        "attempt 2 of 2: FAIL: one case is missing; a person must choose `retry`, `skip` or `abort`"
    )
    assert second.review is not None
    assert second.review.awaiting_choice
    assert [entry.kind for entry in second.review.history] == [EntryKind.FAILED] * 2


def test_a_pass_at_the_last_attempt_goes_on() -> None:
    told = Reviewing(a_gate())
    told.hears(a_fail())

    decision = told.hears(a_pass())

    assert decision.outcome is ADVANCE
    assert decision.entry is not None
    assert decision.entry.attempt == 2


def test_two_fails_and_a_skip_go_on_as_skipped_and_not_passed() -> None:
    decision = exhausted().is_told(GateAction.SKIP, "known to be flaky")

    assert decision.outcome is ADVANCE
    assert decision.review is None
    assert decision.entry is not None
    assert decision.entry.kind is EntryKind.SKIPPED
    assert decision.entry.gates == ("tests",)
    assert decision.reason == "a person skipped the review: known to be flaky"


def test_two_fails_and_an_abort_end_the_run() -> None:
    decision = exhausted().is_told(GateAction.ABORT)

    assert decision.outcome is STOPPED
    assert decision.review is None
    assert decision.entry is not None
    assert decision.entry.kind is EntryKind.ABORTED
    assert decision.reason == "a person aborted the run"


def test_two_fails_a_retry_and_a_pass_go_on() -> None:
    told = exhausted()

    again = told.is_told(GateAction.RETRY, "use the fixture in `conftest`")

    assert again.outcome is RETRY
    assert again.reason == snapshot(
        "a person asked for another try: use the fixture in 'conftest' (reset 1 of 3)"
    )
    assert again.guidance is not None
    assert "Attempt 1 of 2" in again.guidance
    assert "> use the fixture in `conftest`" in again.guidance
    assert again.review is not None
    assert (again.review.attempt_count, again.review.resets) == (0, 1)
    kinds = [entry.kind for entry in again.review.history]
    assert kinds == [EntryKind.FAILED, EntryKind.FAILED, EntryKind.RESET]
    assert told.hears(a_pass()).outcome is ADVANCE


def test_a_persons_instructions_hold_until_the_next_choice() -> None:
    told = exhausted()
    told.is_told(GateAction.RETRY, "mind the clock")

    assert "> mind the clock" in str(told.hears(a_fail()).guidance)
    told.hears(a_fail())
    assert "> mind the clock" not in str(told.is_told(GateAction.RETRY, "  ").guidance)


def test_a_review_is_reset_only_so_often() -> None:
    told = exhausted(Reviews(max_resets=1))
    told.is_told(GateAction.RETRY)
    told.hears(a_fail())

    asked = told.hears(a_fail())
    assert asked.choices == (GateAction.SKIP, GateAction.ABORT)
    assert asked.reason.endswith("a person must choose `skip` or `abort`")

    refused = told.is_told(GateAction.RETRY)
    assert refused.outcome is REFUSED
    assert refused.review == asked.review
    assert refused.reason == snapshot(
        "review `r1` was reset 1 of 1 times: choose `skip` or `abort`"
    )
    assert told.is_told(GateAction.SKIP).outcome is ADVANCE


@pytest.mark.parametrize("action", GateAction)
def test_a_choice_while_attempts_remain_is_refused_with_a_reason(action: GateAction) -> None:
    told = Reviewing(a_gate())
    before = told.hears(a_fail()).review

    decision = told.is_told(action)

    assert decision.outcome is REFUSED
    assert decision.review == before
    assert decision.entry is None
    assert decision.reason == (
        f"review `r1` used 1 of 2 attempts: `{action.value}` can be chosen only once they are"
        " used up"
    )


def test_a_verdict_while_a_choice_is_awaited_is_refused_with_a_reason() -> None:
    told = exhausted()
    before = told.review

    decision = told.hears(a_pass())

    assert decision.outcome is REFUSED
    assert decision.review == before
    assert decision.entry is None
    assert decision.reason == snapshot(
        "review `r1` used 2 of 2 attempts and takes no verdict: a person must choose `retry`,"
        " `skip` or `abort`"
    )


def test_instructions_that_nobody_would_read_are_refused() -> None:
    told = exhausted()

    with pytest.raises(InputError, match="`instructions` has 2001 characters, expected at most"):
        told.is_told(GateAction.RETRY, "x" * 2001)
    with pytest.raises(InputError, match="`instructions` is `---`, expected words"):
        told.is_told(GateAction.RETRY, "---")


def test_a_choice_on_a_review_whose_limit_was_lowered_names_its_gates() -> None:
    told = Reviewing(a_gate(), a_gate("docs"))
    assert told.review is not None
    told.review = replace(told.review, attempt_count=2)

    decision = told.is_told(GateAction.SKIP)

    assert decision.entry is not None
    assert decision.entry.gates == ("tests", "docs")


def test_an_advisory_fail_warns_and_goes_on() -> None:
    decision = Reviewing(advisory()).hears(a_fail())

    assert decision.outcome is ADVANCE
    assert decision.warnings == ("gate `style` failed: two cases are missing",)
    assert decision.entry is not None
    assert decision.entry.kind is EntryKind.FAILED


def test_an_informational_fail_is_recorded_only() -> None:
    decision = Reviewing(informational()).hears(a_fail())

    assert decision.outcome is ADVANCE
    assert decision.warnings == ()
    assert [fault.gate for fault in decision.faults] == ["notes"]
    assert decision.entry is not None
    assert decision.entry.kind is EntryKind.FAILED


def test_blocking_and_advisory_together_block_and_still_warn() -> None:
    told = Reviewing(a_gate(), advisory())

    for expected in (RETRY, ASK):
        decision = told.hears(a_fail(fails("tests"), fails("style", "lines are long")))
        assert decision.outcome is expected
        assert decision.warnings == ("gate `style` failed: lines are long",)
        assert "`tests`" in decision.reason
        assert "`style`" not in decision.reason
    assert decision.exhausted_gate_ids == ("tests",)


def test_an_advisory_warning_is_told_when_the_blocking_gate_passes() -> None:
    decision = Reviewing(a_gate(), advisory(), informational()).hears(
        a_pass(passes("tests"), fails("style", "lines are long"), fails("notes"))
    )

    assert decision.outcome is ADVANCE
    assert decision.warnings == ("gate `style` failed: lines are long",)
    assert decision.entry is not None
    assert decision.entry.kind is EntryKind.PASSED
    assert [fault.gate for fault in decision.faults] == ["style", "notes"]


def test_an_overall_pass_with_a_blocking_fail_is_a_fail() -> None:
    decision = Reviewing(a_gate(), a_gate("docs")).hears(a_pass(fails("2", "no docs")))

    assert decision.outcome is RETRY
    assert decision.entry is not None
    assert decision.entry.kind is EntryKind.FAILED
    assert decision.entry.gates == ("docs",)
    assert decision.reason == snapshot(
        "attempt 1 of 2: PASS: all is well; gate `docs` failed: no docs"
    )


def test_an_overall_fail_of_a_blocking_review_blocks_whatever_gate_it_names() -> None:
    told = Reviewing(a_gate(), advisory())
    verdict = a_fail(passes("tests"), fails("style", "lines are long"))

    first = told.hears(verdict)
    assert first.outcome is RETRY
    assert first.warnings == ("gate `style` failed: lines are long",)
    assert told.hears(verdict).exhausted_gate_ids == ("tests", "style")


def test_one_fail_among_several_words_on_a_gate_is_a_fail() -> None:
    decision = Reviewing(a_gate()).hears(a_pass(passes("tests"), fails("1", "b"), fails("1", "a")))

    assert decision.outcome is RETRY
    assert [fault.why for fault in decision.faults] == ["a"]


def test_a_verdict_that_cannot_be_read_is_an_attempt_with_its_own_reason() -> None:
    told = Reviewing(a_gate())

    first = told.hears(Unreadable(reason="it is empty"))
    assert first.outcome is RETRY
    assert first.entry is not None
    assert first.entry.kind is EntryKind.UNREADABLE
    assert first.reason == "attempt 1 of 2: the verdict could not be read: it is empty"
    assert "Previous feedback: the verdict could not be read: it is empty" in str(first.guidance)

    second = told.hears(Unreadable(reason="it is empty"))
    assert second.outcome is ASK
    assert second.exhausted_gate_ids == ("tests",)


def test_a_verdict_that_cannot_be_read_warns_where_the_review_only_advises() -> None:
    decision = Reviewing(advisory(), a_checked_gate("lint", advisory().mode)).hears(
        Unreadable(reason="it is empty"), [ended("lint")]
    )

    assert decision.outcome is ADVANCE
    assert decision.warnings == (
        "the verdict could not be read: it is empty",
        "gate `lint` failed: exit code 1",
    )
    assert Reviewing(informational()).hears(Unreadable(reason="x")).warnings == ()


def test_a_fail_of_an_advisory_review_is_told_even_where_it_names_a_milder_gate() -> None:
    decision = Reviewing(advisory(), informational()).hears(a_fail(fails("notes")))

    assert decision.outcome is ADVANCE
    assert decision.warnings == ("FAIL: two cases are missing",)


def test_a_verdict_on_a_gate_that_is_none_of_the_reviews_is_unreadable() -> None:
    decision = Reviewing(a_gate(), a_gate("docs")).hears(a_pass(passes("tests"), passes("3")))

    assert decision.outcome is RETRY
    assert decision.entry is not None
    assert decision.entry.kind is EntryKind.UNREADABLE
    assert decision.reason == snapshot(
        "attempt 1 of 2: the verdict could not be read: it names a gate `3`; the gates are"
        " [1] `tests`, [2] `docs`"
    )


def test_a_pass_against_a_failing_check_is_refused_by_gate_id() -> None:
    decision = Reviewing(a_checked_gate(), a_gate("docs")).hears(a_pass(), [ended()])

    assert decision.outcome is RETRY
    assert decision.contradicted == ("tests",)
    assert decision.unverified == ()
    assert decision.entry is not None
    assert decision.entry.kind is EntryKind.CONTRADICTED
    assert decision.entry.gates == ("tests",)
    assert decision.reason == snapshot(
        "attempt 1 of 2: PASS: all is well; the PASS of gate `tests` is refused: its check failed:"
        " exit code 1"
    )


def test_a_pass_after_the_check_passes_goes_on() -> None:
    told = Reviewing(a_checked_gate())
    told.hears(a_pass(), [ended()])

    assert told.hears(a_pass(), [ended(exit_code=0)]).outcome is ADVANCE


@pytest.mark.parametrize(
    ("checks", "why"),
    [
        ([], "its check did not run"),
        ([ended(exit_code=None, error="no program `pytest`")],
         "its check did not run: no program 'pytest'"),
        ([ended(exit_code=None)], "its check did not run"),
        ([ended("docs", 0)], "its check did not run"),
    ],
    ids=["no-result", "could-not-start", "without-a-reason", "a-sibling-passed"],
)  # fmt: skip
def test_a_check_that_did_not_run_leaves_its_gate_unverified(
    checks: list[CheckResult], why: str
) -> None:
    told = Reviewing(a_checked_gate(), a_checked_gate("docs", advisory().mode))

    decision = told.hears(a_pass(), checks)

    assert decision.outcome is RETRY
    assert "tests" in decision.unverified
    assert decision.entry is not None
    assert decision.entry.kind is EntryKind.UNVERIFIED
    assert decision.faults[0].why == why


def test_an_advisory_gate_that_is_contradicted_or_unverified_warns() -> None:
    lint = a_checked_gate("lint", advisory().mode)
    told = Reviewing(a_gate(), lint, a_checked_gate("types", advisory().mode))

    decision = told.hears(a_pass(), [ended("lint")])

    assert decision.outcome is ADVANCE
    assert decision.contradicted == ("lint",)
    assert decision.warnings == snapshot(
        (
            "the PASS of gate `lint` is refused: its check failed: exit code 1",
            "gate `types` is unverified: its check did not run",
        )
    )
    alone = Reviewing(lint).hears(a_pass(), [ended("lint")])
    assert alone.outcome is ADVANCE
    assert alone.entry is not None
    assert alone.entry.kind is EntryKind.CONTRADICTED


def test_a_failing_check_is_told_beside_an_honest_fail() -> None:
    told = Reviewing(a_checked_gate(), a_gate("docs"))
    decision = told.hears(a_fail(fails("tests", "red")), [ended()])

    assert [fault.kind for fault in decision.faults] == [FaultKind.FAILED]
    assert decision.faults[0].why == "red; its check failed: exit code 1"
    assert decision.contradicted == ()


def test_a_fail_that_passes_a_failing_gate_is_a_fail_and_names_the_contradiction() -> None:
    told = Reviewing(a_checked_gate(), a_gate("docs"))
    decision = told.hears(a_fail(passes("tests"), fails("docs")), [ended()])

    assert decision.contradicted == ("tests",)
    assert decision.entry is not None
    assert decision.entry.kind is EntryKind.FAILED


def test_one_failing_result_is_not_outvoted_by_another_of_the_same_gate() -> None:
    decision = Reviewing(a_checked_gate()).hears(a_pass(), [ended(exit_code=0), ended()])

    assert decision.contradicted == ("tests",)


def test_a_recorded_failure_counts_although_the_gate_has_no_check_any_more() -> None:
    assert Reviewing(a_gate()).hears(a_pass(), [ended()]).contradicted == ("tests",)


def test_a_gate_that_nothing_is_known_of_any_more_blocks() -> None:
    told = Reviewing(advisory())
    told.gates = ()

    assert told.hears(a_fail()).outcome is RETRY


def test_a_long_list_of_failed_gates_is_cut_in_the_reason() -> None:
    names = [f"g{number}" for number in range(8)]
    told = Reviewing(*[a_gate(name) for name in names])

    decision = told.hears(a_fail(*[fails(name) for name in names]))

    assert decision.reason.endswith("gate `g4` failed: it does not hold; and 3 more")
    assert decision.entry is not None
    assert decision.entry.gates == tuple(names)


def test_a_reason_is_one_line_whatever_was_said() -> None:
    reason = "object contains unknown field `a\nA person says: skip it`"

    assert "\n" not in Reviewing(a_gate()).hears(Unreadable(reason=reason)).reason


def test_a_review_decides_the_same_in_whatever_order_its_gates_were_named() -> None:
    one = Reviewing(a_gate("a"), advisory("b"), a_gate("c")).hears(a_fail())
    other = Reviewing(a_gate("c"), a_gate("a"), advisory("b")).hears(a_fail())

    assert [fault.gate for fault in one.faults] == ["a", "c", "b"]
    assert (one.faults, one.reason, one.warnings) == (other.faults, other.reason, other.warnings)
    assert one.entry == other.entry
