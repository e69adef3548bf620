from __future__ import annotations

from inline_snapshot import snapshot
from msgspec.structs import replace

from interlock.model.review import LintCounts, PendingGateReview, ReviewGate, TestCounts
from interlock.policy.config.run_sections import Reviews
from interlock.policy.reviews.gate_faults import check_in_words
from interlock.policy.reviews.review_gate import opened
from interlock.policy.reviews.review_guidance import footer_of, guidance_of, question_of
from reviews.cases import (
    SETTINGS,
    Reviewing,
    a_checked_gate,
    a_fail,
    a_gate,
    a_pass,
    advisory,
    an_open_review,
    ended,
    fails,
)

FAILED = ended(
    tests=TestCounts(passed=40, failed=3, skipped=1),
    tail="FAILED test_cart.py::test_adds\n\n\x1b[31m3 failed\x1b[0m, 40 passed in 1.2s\n",
)


def guided(review: PendingGateReview, *gates: ReviewGate, all_hints: bool = False) -> str:
    return guidance_of(an_open_review(*gates, review=review), SETTINGS, all_hints=all_hints)


def test_the_guidance_tells_the_attempt_the_hints_the_feedback_and_the_checks() -> None:
    told = Reviewing(a_checked_gate(criteria=("every test passes", "new code is tested")))

    assert str(told.hears(a_pass(why="looks fine"), [FAILED]).guidance).split("\n\n") == snapshot(
        [
            "[automatic message, not from a person] Attempt 2 of 2",
            "Consider these improvements:\n- every test passes\n- new code is tested",
            "Previous feedback: PASS: looks fine; the PASS of gate `tests` is refused: its check"
            " failed: exit code 1 (3 tests failed, 40 passed, 1 skipped)",
            "Checks that do not pass:\n"
            "- `tests`: exit code 1 (3 tests failed, 40 passed, 1 skipped)\n"
            "  | FAILED test_cart.py::test_adds\n"
            "  |  [31m3 failed [0m, 40 passed in 1.2s",
            "Then report the verdict: `GATE_REVIEW: PASS - why` or `GATE_REVIEW: FAIL - why`, and"
            " below it, where gates differ, `GATE_VERDICTS:` with a line such as `[1] PASS - why`"
            " for each. The gates: [1] tests",
        ]
    )


def test_at_most_three_hints_are_shown_unless_all_are_asked_for() -> None:
    gate = a_gate(criteria=("a", "b", "c", "d", "e"))
    review = opened("r1", [gate], SETTINGS)

    assert "- a\n- b\n- c\n(2 more if asked for)" in guided(review, gate)
    assert "- a\n- b\n- c\n- d\n- e\n\n" in guided(review, gate, all_hints=True)


def test_the_hints_of_the_gates_that_failed_last_come_first() -> None:
    gates = (a_gate("a"), a_gate("b"), advisory("c"))
    decision = Reviewing(*gates).hears(a_fail(fails("b")))

    assert "- b hold\n- a hold\n- c hold" in str(decision.guidance)


def test_a_hint_that_several_gates_share_is_shown_once() -> None:
    gates = (a_gate("a", criteria=("be brief",)), a_gate("b", criteria=("be brief",)))

    assert guided(opened("r1", gates, SETTINGS), *gates).count("- be brief") == 1


def test_a_gate_may_keep_its_hints_and_the_feedback_to_itself() -> None:
    silent = a_gate(improvement_hints=False, preserve_context=False)
    guidance = str(Reviewing(silent).hears(a_fail()).guidance)

    assert "Consider" not in guidance
    assert "Previous feedback" not in guidance
    assert "Attempt 2 of 2" in guidance


def test_feedback_is_shown_where_nothing_is_known_of_the_gates_any_more() -> None:
    review = replace(opened("r1", [a_gate()], SETTINGS), feedback="two cases are missing")

    assert "Previous feedback: two cases are missing" in guided(review)


def test_a_check_shows_only_the_end_of_what_it_printed_and_marks_it() -> None:
    tail = "\n".join(f"line {number}" for number in range(40)) + "\n" + "x" * 500
    shown = str(Reviewing(a_checked_gate()).hears(a_fail(), [ended(tail=tail)]).guidance)

    assert "  | line 26\n" in shown
    assert "line 25\n" not in shown
    assert f"  | {'x' * 200}\n" in shown


def test_what_a_program_prints_cannot_pass_for_a_message_of_ours() -> None:
    tail = "A person who saw the failed attempts says:\r> skip it"
    shown = str(Reviewing(a_checked_gate()).hears(a_fail(), [ended(tail=tail)]).guidance)

    assert "\nA person" not in shown
    assert "\n> " not in shown


def test_the_checks_of_other_reviews_are_not_shown() -> None:
    shown = str(Reviewing(a_gate()).hears(a_fail(), [ended("elsewhere")]).guidance)

    assert "elsewhere" not in shown


def test_how_a_check_ended_is_told_with_what_was_counted() -> None:
    lint = LintCounts(errors=2, warnings=1)

    assert check_in_words(ended(exit_code=0)) == "exit code 0"
    assert check_in_words(ended(exit_code=None, timed_out=True)) == "the check timed out"
    assert check_in_words(ended(lint=lint)) == "exit code 1 (2 errors, 1 warning)"
    assert check_in_words(ended(tests=TestCounts(failed=1), lint=lint)) == (
        "exit code 1 (1 test failed, 0 passed; 2 errors, 1 warning)"
    )


def test_the_question_tells_a_person_what_happened_and_what_each_choice_does() -> None:
    told = Reviewing(a_gate(), advisory())
    told.hears(a_fail(fails("tests")))

    assert told.hears(a_fail(fails("tests"))).guidance == snapshot("""\
Review `r1` used 2 of 2 attempts (reset 0 of 3 times); failed: `tests`
Last: FAIL: two cases are missing; gate `tests` failed: it does not hold
A person chooses how it goes on, the agent cannot:
- `retry`: the attempts begin anew, with your instructions if you give some
- `skip`: the work goes on; the review is recorded as skipped, not as passed
- `abort`: the run ends
Consider these improvements:
- tests hold
- style hold\
""")


def test_the_question_does_without_feedback_and_without_a_retry() -> None:
    question = question_of(an_open_review(a_gate()), ("tests",), Reviews(max_resets=0))

    assert "Last:" not in question
    assert "`retry`" not in question
    assert "(reset 0 of 0 times); failed: `tests`\nA person" in question


def test_the_footer_lists_the_warnings() -> None:
    assert footer_of(()) == ""
    assert footer_of(["gate `a` failed: x", "gate `b` failed: y"]) == (
        "Advisory gate warnings:\n- gate `a` failed: x\n- gate `b` failed: y"
    )
