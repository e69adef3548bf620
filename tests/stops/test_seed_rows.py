from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from interlock.model.stop import (
    FinishReason,
    LastEvent,
    StopContext,
    StopDecision,
    StopOutcome,
    StopVeto,
)
from interlock.policy.config.stop_section import DEFAULT, PROFILES, SEED, Stops
from interlock.policy.stops.stop_gate import decide
from stops.contexts import points

STOP, CALLS, LENGTH = FinishReason.STOP, FinishReason.TOOL_CALLS, FinishReason.LENGTH

# text, finish reason, after a tool result, ratio, points of S1..S5, goes on
TABLE: dict[str, tuple[Any, ...]] = {
    "says-continue-after-a-tool-result": (
        "I've written the file. Let me continue with the next step.",
        STOP, True, 0.75, [0, 25, 25, 10, 10], True,
    ),
    "tool-calls-and-an-empty-list": (None, CALLS, True, 0.8, [30, 25, 0, 10, 10], True),
    "no-finish-reason-after-a-tool-result": (
        "Now I need to fix the imports.", None, True, 0.6, [15, 25, 25, 10, 10], True,
    ),
    "task-is-complete-summarize": (
        "The task is complete. Let me summarize what I did.",
        STOP, True, 0.8, [0, 25, 0, 0, 10], False,
    ),
    "please-review-my-changes": (
        "Please review my changes.", STOP, False, 0.8, [0, 0, 0, 0, 10], False,
    ),
    "continue-without-tool-history": (
        "Let me continue with the implementation.", STOP, False, 0.2, [0, 0, 25, 10, 0], False,
    ),
}  # fmt: skip


def the_stop(
    text: str | None, reason: FinishReason | None, after_tool: bool, ratio: float
) -> StopContext:
    event = LastEvent.TOOL_RESULT if after_tool else LastEvent.USER_MESSAGE
    return StopContext(text=text, finish_reason=reason, last_event=event, tool_ratio=ratio)


@pytest.mark.parametrize("row", TABLE.values(), ids=TABLE)
def test_the_seed_profile_gives_the_table_to_the_point(row: tuple[Any, ...]) -> None:
    text, reason, after_tool, ratio, expected, goes_on = row

    decision = decide(the_stop(text, reason, after_tool, ratio), SEED)

    assert points(decision) == expected
    assert decision.score == sum(expected)
    assert decision.goes_on is goes_on


@pytest.mark.parametrize("row", TABLE.values(), ids=TABLE)
def test_the_default_profile_decides_the_table_alike(row: tuple[Any, ...]) -> None:
    text, reason, after_tool, ratio, _, goes_on = row

    assert decide(the_stop(text, reason, after_tool, ratio), DEFAULT).goes_on is goes_on


# text, finish reason, after a tool result, ratio, seed score, goes on in seed, in default, veto
PROBES: dict[str, tuple[Any, ...]] = {
    "ratio-of-exactly-one-half": (
        "The implementation is complete. To summarize, I fixed the bug by...",
        STOP, True, 0.5, 25, False, False, None,
    ),
    "let-me-know": (
        "Let me know if you'd like me to make any changes.",
        STOP, False, 0.3, 0, False, False, StopVeto.AWAITING_USER,
    ),
    "the-bug-is-fixed": (
        "The bug is fixed. All changes have been made successfully.",
        STOP, True, 0.6, 45, False, False, None,
    ),
    "nothing-said": (None, STOP, True, 0.5, 35, False, False, None),
    "continues-with-a-summary": (
        "Let me continue with a summary", STOP, True, 0.75, 35, False, False, None,
    ),
    "asks-to-delete-the-database": (
        "Should I proceed with deleting the database?",
        STOP, True, 0.75, 70, False, False, StopVeto.AWAITING_USER,
    ),
    "next-steps-for-the-person": (
        "Next steps for you: restart the server.",
        STOP, True, 0.75, 45, False, False, StopVeto.AWAITING_USER,
    ),
    "the-next-step-is-yours": (
        "All tests pass. The next step is yours: deploy.",
        STOP, True, 0.8, 70, False, False, StopVeto.AWAITING_USER,
    ),
    "curly-apostrophe": (
        "I\u2019ll continue with the tests.", STOP, True, 0.75, 70, True, True, None,
    ),
    "complete-only-after-something": (
        "So the task is complete only after tests pass. Now I need to run them.",
        STOP, True, 0.75, 70, True, True, None,
    ),
    "an-answer-without-finish-reason": (
        "Answer: 42", None, True, 0.9, 60, True, False, None,
    ),
    "empty-without-finish-reason": ("", None, True, 0.9, 60, True, True, None),
    "none-without-finish-reason": (None, None, True, 0.9, 60, True, False, None),
    "partial-with-tool-calls": ("partial", CALLS, True, 0.9, 75, True, True, None),
    "cut-off": ("", LENGTH, True, 0.9, 45, True, True, None),
}  # fmt: skip


@pytest.mark.parametrize("row", PROBES.values(), ids=PROBES)
def test_the_probes_of_the_original_come_out_as_specified(row: tuple[Any, ...]) -> None:
    text, reason, after_tool, ratio, score, in_seed, in_default, veto = row
    context = the_stop(text, reason, after_tool, ratio)

    by_seed, by_default = decide(context, SEED), decide(context, DEFAULT)

    assert by_seed.score == score
    assert (by_seed.goes_on, by_default.goes_on) == (in_seed, in_default)
    assert (by_seed.veto, by_default.veto) == (veto, veto)


def seed_decision(**changes: int) -> StopDecision:
    """Return the decision on a score of 59: one point less for a tool result than usual."""
    context = StopContext(
        text="Now I need to fix it.", last_event=LastEvent.TOOL_RESULT, finish_reason=STOP
    )
    return decide(context, with_points(SEED, **changes))


def with_points(settings: Stops, **changes: int) -> Stops:
    return replace(settings, **changes)


@pytest.mark.parametrize(
    ("score", "outcome"),
    [
        (60, StopOutcome.NUDGED),
        (59, StopOutcome.FINISHED_WITH_WARNING),
        (40, StopOutcome.FINISHED_WITH_WARNING),
        (39, StopOutcome.FINISHED),
    ],
)
def test_the_thresholds_count_from_their_own_value_on(score: int, outcome: StopOutcome) -> None:
    decision = seed_decision(points_last_event=score - 35)

    assert decision.score == score
    assert decision.outcome is outcome
    assert decision.warned is (outcome is StopOutcome.FINISHED_WITH_WARNING)
    assert decision.goes_on is (outcome is StopOutcome.NUDGED)


@pytest.mark.parametrize(
    ("ratio", "expected"), [(0.5, 0), (0.5000001, 10), (0.0, 0), (1.0, 10), (3.5, 10), (None, 0)]
)
def test_more_than_half_of_the_turns_must_have_had_calls(
    ratio: float | None, expected: int
) -> None:
    decision = decide(StopContext(text="hello", tool_ratio=ratio), SEED)

    assert points(decision)[4] == expected


@pytest.mark.parametrize("settings", PROFILES.values(), ids=PROFILES)
def test_evidence_is_worth_nothing_in_the_seed_profile_alone(settings: Stops) -> None:
    worth = (
        settings.points_open_todo
        + settings.points_failing_check
        + settings.points_pending_review
        + settings.points_untouched_file
    )

    assert (worth == 0) is (settings is SEED)


def test_a_missing_finish_reason_tips_nothing_in_the_default_profile() -> None:
    for text in ("Answer: 42", "", None, "Done.", "Let me continue with the implementation."):
        known = StopContext(text=text, finish_reason=STOP, last_event=LastEvent.USER_MESSAGE)
        unknown = StopContext(text=text, last_event=LastEvent.USER_MESSAGE)

        assert decide(known, DEFAULT).score == decide(unknown, DEFAULT).score
