from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from interlock.model.stop import FinishReason, StopOutcome, StopVeto
from interlock.policy.config.stop_section import DEFAULT, SEED, Stops
from stops.contexts import ANNOUNCES, decided, goes_on

QUESTIONS = [
    "All tests pass. Should I commit?",
    "Want me to fix the test?",
    "Which would you prefer: A or B?",
    "Is this right?  ",
    "Shall we go on? \U0001f680",
    "**Do you want both?**",
    "(or should I wait?)",
    "\u8fd9\u6837\u53ef\u4ee5\u5417\uff1f",
    "\u0647\u0644 \u0623\u0643\u0645\u0644\u061f",
    "\u054e\u0561\u055e\u0576",
    "\u039d\u03b1 \u03c3\u03c5\u03bd\u03b5\u03c7\u03af\u03c3\u03c9;",
    "\u1218\u1240\u1320\u120d \u12ed\u127b\u120b\u120d\u1367",
    "\u00bfContin\u00fao con el despliegue?",
    "Soll ich weitermachen?",
    "\u7d9a\u3051\u307e\u3059\u304b\u3002",
    "\u8981\u7ee7\u7eed\u5417\u3002",
]
HAND_OVERS = [
    "Done. Let me know if you'd like changes.",
    "Please review the diff.",
    "The changes are in. Your call.",
    "I am waiting for your answer.",
    "Once you confirm, I'll run the migration.",
    "I'll start as soon as you approve it.",
    "If you want, I can add a test.",
    "Reply with yes and I'll go ahead.",
    "I'll need your user id.",
    "Next steps for you: deploy it.",
    "Bitte gib mir Bescheid.",
    "Dites-moi si cela vous va.",
    "Av\u00edsame cuando quieras seguir.",
    "\u8bf7\u786e\u8ba4\u540e\u6211\u4f1a\u7ee7\u7eed\u3002",
    "\u3054\u78ba\u8a8d\u304f\u3060\u3055\u3044\u3002",
]


@pytest.mark.parametrize("text", [*QUESTIONS, *HAND_OVERS])
@pytest.mark.parametrize("settings", [SEED, DEFAULT], ids=["seed", "default"])
def test_a_message_that_asks_or_hands_over_ends_the_turn(text: str, settings: Stops) -> None:
    decision = decided(text, settings)

    assert decision.veto is StopVeto.AWAITING_USER
    assert decision.outcome is StopOutcome.VETOED
    assert decision.nudge is None


@pytest.mark.parametrize(
    "text",
    [
        "Would you like me to:\n1. Commit the fix\n2. Add a test first",
        "How shall I proceed?\n- Keep it as it is\n- Change it",
        "Two ways are open. Which one do you prefer?\n\n1. **Fast**\n2. **Safe**",
        '{"message": "I found it.\\n\\nHow would you like to proceed?"}',
        "Should I drop the table? The backup is in place.",
        "Do you have a different account? The order is not in this one.",
        "Please tell me the reason. I need to verify the details of the flight.",
    ],
)
def test_a_question_near_the_end_waits_for_its_answer(text: str) -> None:
    assert decided(text).veto is StopVeto.AWAITING_USER


@pytest.mark.parametrize(
    "text",
    [
        "Why does it fail? Let me look at the log.",
        "Are you seeing this in CI? Let me check the last run.",
        'The prompt asks "Are you sure?" Now let me handle it.',
        "It prints `continue?` twice. Let me fix the loop.",
        "Should it be cached?\n\n```\nis it?\n```\nLet me check the docs.",
        "> Could you also fix the typo?\n\nLet me fix the typo as well.",
        "The release-please workflow broke; I need to pin it.",
        "I'd be happy to help with that! Let me look up the order.",
        "Thank you for your confirmation. Let me update the record.",
        "Let me check whether anything else references it.",
        "Please wait while I run the tests.",
        "Let me find out what is up; your tests fail.",
    ],
)
def test_what_is_no_question_to_the_person_does_not_end_the_turn(text: str) -> None:
    decision = decided(text)

    assert decision.veto is None
    assert decision.goes_on


def test_the_policy_may_know_more_hand_overs() -> None:
    settings = replace(DEFAULT, awaiting_phrases=("over and out",))

    assert decided("Let me run it. Over and out!", settings).veto is StopVeto.AWAITING_USER
    assert decided("Let me run it.", settings).veto is None


@pytest.mark.parametrize("state", ["stopped", "paused", "awaiting-person", "over-budget"])
def test_a_hard_state_ends_the_turn(state: str) -> None:
    decision = decided(ANNOUNCES, hard=(state,))

    assert decision.veto is StopVeto.HARD_STOP
    assert state in decision.reason


def test_a_hard_state_is_told_before_everything_else() -> None:
    decision = decided(
        "Should I?", hard=("paused",), finish_reason=FinishReason.CONTENT_FILTER, retries=9
    )

    assert decision.veto is StopVeto.HARD_STOP


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (ANNOUNCES, FinishReason.CONTENT_FILTER),
        (None, FinishReason.CONTENT_FILTER),
        ("I'm sorry, but I can't help with that.", FinishReason.STOP),
        ("I must decline to write this.", FinishReason.TOOL_CALLS),
        ("I cannot assist with this request.", FinishReason.LENGTH),
    ],
)
def test_a_refusal_ends_the_turn(text: str | None, reason: FinishReason) -> None:
    assert decided(text, finish_reason=reason).veto is StopVeto.REFUSED


def test_not_finding_something_is_no_refusal() -> None:
    assert goes_on("I can't find the file here. Let me search the whole tree.")


def test_the_turn_ends_after_as_many_continuations_as_the_policy_grants() -> None:
    assert [goes_on(ANNOUNCES, retries=count) for count in range(5)] == [
        True,
        True,
        True,
        False,
        False,
    ]

    decision = decided(ANNOUNCES, retries=3)
    assert decision.veto is StopVeto.RETRIES_EXHAUSTED
    assert "3 of 3 times in a row" in decision.reason


def test_a_turn_that_was_cut_off_is_resumed_and_no_more_often_than_others() -> None:
    cut: dict[str, Any] = {"finish_reason": FinishReason.LENGTH}

    assert decided("The list is: a, b,", **cut).outcome is StopOutcome.RESUMED
    assert decided("The list is: a, b,", **cut, retries=2).goes_on
    assert decided("The list is: a, b,", **cut, retries=3).veto is StopVeto.RETRIES_EXHAUSTED


def test_calls_that_were_announced_and_never_given_end_as_a_violation() -> None:
    empty: dict[str, Any] = {"finish_reason": FinishReason.TOOL_CALLS, "tool_calls": 0}

    assert [decided(None, **empty, retries=count).goes_on for count in range(4)] == [
        True,
        True,
        True,
        False,
    ]
    assert decided(None, **empty, retries=3).veto is StopVeto.PROTOCOL_VIOLATION


def test_empty_calls_are_nudged_even_where_little_else_speaks_for_it() -> None:
    decision = decided(
        None, finish_reason=FinishReason.TOOL_CALLS, last_event=None, tool_ratio=None
    )

    assert decision.goes_on
    assert decision.score < DEFAULT.continue_at


def test_a_message_with_calls_acts_and_is_sent_nothing() -> None:
    decision = decided(ANNOUNCES, finish_reason=FinishReason.TOOL_CALLS, tool_calls=2, retries=7)

    assert decision.outcome is StopOutcome.ACTS
    assert decision.goes_on
    assert decision.nudge is None
    assert decision.signals[0].points == 0


def test_a_message_with_calls_does_not_act_in_a_run_that_is_held() -> None:
    assert not decided(ANNOUNCES, tool_calls=1, hard=("stopped",)).goes_on


def test_a_question_beside_calls_does_not_keep_them_back() -> None:
    assert decided("Should I look there? I will.", tool_calls=1).goes_on


def test_a_stray_fence_does_not_hide_a_question() -> None:
    assert decided("Ready.\n```\nShould I drop the table?").veto is StopVeto.AWAITING_USER
