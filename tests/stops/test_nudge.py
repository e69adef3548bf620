from __future__ import annotations

from inline_snapshot import snapshot

from interlock.model.stop import EvidenceKind, FinishReason, StopOutcome
from interlock.policy.config.stop_section import SEED
from interlock.policy.stops.stop_gate import evidence_in_words
from stops.contexts import ANNOUNCES, IS_DONE, a_stop, decided, some_evidence

TODOS = some_evidence("write the docs", "run the linter")
FAILED = some_evidence("3 of 40 tests failed", kind=EvidenceKind.FAILING_CHECK)


def test_one_kind_of_evidence_warns_and_two_go_on() -> None:
    assert decided(IS_DONE).outcome is StopOutcome.FINISHED
    assert decided(IS_DONE, evidence=TODOS).outcome is StopOutcome.FINISHED_WITH_WARNING
    assert decided(IS_DONE, evidence=(*TODOS, *FAILED)).outcome is StopOutcome.NUDGED


def test_more_of_the_same_evidence_speaks_no_louder() -> None:
    many = some_evidence(*[f"item {number}" for number in range(50)])

    assert decided(IS_DONE, evidence=many).score == decided(IS_DONE, evidence=TODOS[:1]).score


def test_evidence_stands_beside_the_signals() -> None:
    decision = decided(IS_DONE, evidence=(*FAILED, *TODOS))

    assert [(each.signal, each.points) for each in decision.signals[6:]] == [
        ("open-todo", 20),
        ("failing-check", 20),
    ]


def test_evidence_tips_nothing_in_the_seed_profile() -> None:
    assert decided(IS_DONE, SEED, evidence=(*TODOS, *FAILED)).score == decided(IS_DONE, SEED).score


def test_evidence_never_answers_a_question_for_the_person() -> None:
    assert not decided("Should I stop here?", evidence=(*TODOS, *FAILED)).goes_on


def test_the_nudge_names_the_evidence() -> None:
    assert decided(IS_DONE, evidence=(*FAILED, *TODOS)).nudge == snapshot(
        "[automatic message, not from a person] What the record says is left: 2 to-do items open:"
        " `run the linter`, `write the docs`; 1 check failed last: `3 of 40 tests failed`."
        " Do that now. If it is done, or cannot be done, say so and why; if a person must decide,"
        " ask them."
    )


def test_the_nudge_quotes_what_was_announced() -> None:
    assert decided(ANNOUNCES).nudge == snapshot(
        "[automatic message, not from a person] Your turn ended without the act that you announced"
        " (`Now let me run the linter.`). Do that now. If it is done, or cannot be done, say so and"
        " why; if a person must decide, ask them."
    )


def test_the_nudge_after_a_cut_says_where_to_go_on() -> None:
    nudge = decided("and then", finish_reason=FinishReason.LENGTH).nudge

    assert nudge is not None
    assert "cut off at its length limit: go on where it broke off" in nudge


def test_the_nudge_after_empty_calls_asks_for_the_calls() -> None:
    nudge = decided(None, finish_reason=FinishReason.TOOL_CALLS).nudge

    assert nudge is not None
    assert "announced tool calls and held none: make the calls" in nudge


def test_the_nudge_tells_of_a_call_that_was_only_written() -> None:
    nudge = decided("<function=list_files>{}</function>").nudge

    assert nudge is not None
    assert "it ends with a tool call written as text" in nudge


def test_a_nudge_without_anything_to_name_still_says_what_happened() -> None:
    nudge = decided("Answer: 42", SEED, finish_reason=None).nudge

    assert nudge is not None
    assert "Your turn ended without an act or an answer" in nudge


def test_a_nudge_is_one_line_whatever_the_agent_wrote() -> None:
    text = "Now let me `run` " + "very " * 100 + "many tests\nand more."

    nudge = decided(text).nudge

    assert nudge is not None
    assert "\n" not in nudge
    assert "\u2026`" in nudge
    assert len(nudge) < 500


def test_long_lists_of_evidence_are_counted_and_cut() -> None:
    told = evidence_in_words(
        [
            *some_evidence("a", "b", "c", "d", "d"),
            *some_evidence("x" * 200, kind=EvidenceKind.UNTOUCHED_FILE),
            *some_evidence("r1", "r2", kind=EvidenceKind.PENDING_REVIEW),
        ]
    )

    assert told == snapshot(
        "4 to-do items open: `a`, `b`, `c` and 1 more; 2 reviews are pending: `r1`, `r2`;"
        f" 1 file of the plan was never touched: `{'x' * 79}\u2026`"
    )


def test_the_reason_gives_both_numbers_and_what_counted() -> None:
    assert decided(ANNOUNCES).reason == snapshot(
        "work seems to be left: it comes right after a tool result; its end announces the next act;"
        " it does not sum up; 0.75 of the recent turns had calls, more than 0.5; it is a short"
        " and plain note (score 90; from 60 on it is sent on)"
    )
    some = decided("Fixed it.", evidence=some_evidence("a", "b"))
    assert some.reason == snapshot(
        "it ends, but work may be left: it comes right after a tool result; it does not sum up;"
        " 0.75 of the recent turns had calls, more than 0.5; it is a short and plain note; 2 to-do"
        " items open (score 55; from 60 on it is sent on)"
    )
    few = decided("The tests pass now.")
    assert few.reason == snapshot(
        "taken as done: few signs of unfinished work (score 35; from 60 on it is sent on)"
    )
    nothing = decided("In summary, all is well.", last_event=None, tool_ratio=None)
    assert nothing.reason == (
        "taken as done: no sign of unfinished work (score 0; from 60 on it is sent on)"
    )


def test_a_context_without_anything_finishes() -> None:
    assert decided(None, last_event=None, finish_reason=None, tool_ratio=None).goes_on is False
    assert a_stop(None).text is None
