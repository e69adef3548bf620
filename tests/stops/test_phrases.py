from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.policy.config.stop_section import SEED
from interlock.policy.stops.phrases import Late, mentioned, opening, said
from stops.contexts import decided, points

COMPLETE = ("task is complete",)


@pytest.mark.parametrize(
    "sentence",
    [
        "the task is complete only after the tests pass.",
        "the task is complete once it is merged.",
        "i don't think the task is complete.",
        "it is not true that the task is complete.",
        "when the task is complete, the hook runs.",
        "the issue says the task is complete.",
        "until the task is complete nothing is pushed.",
        "multitask is complete",
        "the task is completed",
    ],
)
def test_denied_reported_and_conditional_phrases_are_not_said(sentence: str) -> None:
    assert said(COMPLETE, sentence) is None


@pytest.mark.parametrize(
    "sentence", ["the task is complete.", "so: task is complete!", "(the task is complete)"]
)
def test_a_phrase_that_stands_by_itself_is_said(sentence: str) -> None:
    assert said(COMPLETE, sentence) == "task is complete"


def test_phrases_may_be_written_in_any_case_and_with_any_blanks() -> None:
    assert said(("  Task  IS complete ",), "the task is complete.") == "task is complete"


@pytest.mark.parametrize("phrases", [(), ("",), (" ",)])
def test_no_phrase_is_never_said(phrases: tuple[str, ...]) -> None:
    assert said(phrases, "anything") is None
    assert mentioned(phrases, "anything") is None


def test_a_script_without_blanks_needs_none_around_a_phrase() -> None:
    assert said(("\u7ee7\u7eed",), "\u6211\u4f1a\u7ee7\u7eed\u5de5\u4f5c\u3002") == "\u7ee7\u7eed"


def test_a_phrase_of_signs_is_found_wherever_it_stands() -> None:
    assert mentioned((">>",), "a>>b") == ">>"


@pytest.mark.parametrize(
    ("text", "intent"),
    [
        ("Now I'll fix it.", 25),
        ("Now I\u2019ll fix it.", 25),
        ("Know I'll fix it.", 0),
        ("The log says: now I'll fix it.", 0),
        ('The log reads "now let me go".', 0),
        ("`now let me`", 0),
        ("I'm done. Next step: merge.", 0),
        ("I\u2019m done. Next step: merge.", 0),
        ("Now let me write. I'm done when it is green.", 25),
        ("There are no remaining steps.", 0),
        ("The remaining steps are small. Now I need to merge.", 25),
    ],
)
def test_the_seed_reads_phrases_as_words(text: str, intent: int) -> None:
    assert points(decided(text, SEED))[2] == intent


letters = st.text("abcdefghijklmnopqrstuvwxyz", min_size=1, max_size=5)


@given(before=letters, behind=letters, phrase=st.sampled_from(SEED.continue_phrases))
def test_a_phrase_inside_a_word_never_counts(before: str, behind: str, phrase: str) -> None:
    assert said((phrase,), f"{before}{phrase} done") is None
    assert said((phrase,), f"so {phrase}{behind}") is None
    assert mentioned((phrase,), f"{before}{phrase}{behind}") is None


def test_a_late_pattern_is_compiled_by_whoever_looks_for_it_first():
    pattern = Late("b+", re.IGNORECASE)

    assert vars(pattern).keys() == {"_given"}
    assert pattern.search("aBb") is not None
    assert pattern.match("aBb") is None
    assert vars(pattern).keys() == {"_given", "search", "match"}


@pytest.mark.parametrize(
    ("sentence", "opens"), [("now run it", True), ("nowhere", False), ("and now", False)]
)
def test_an_opening_is_the_first_whole_words(sentence: str, opens: bool):
    assert (opening("now").match(sentence) is not None) is opens
