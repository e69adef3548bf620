from __future__ import annotations

import pytest

from interlock.errors import InputError
from interlock.model.entrance import checked
from interlock.model.review import Check, ReviewGate, ReviewMode, ReviewOutcome, mode_of
from interlock.model.verdict import Severity
from interlock.policy.config.run_sections import Reviews
from interlock.policy.reviews.gate_faults import fewest_attempts, strictest_mode
from interlock.policy.reviews.review_gate import opened
from reviews.cases import (
    SETTINGS,
    Reviewing,
    a_fail,
    a_gate,
    a_pass,
    advisory,
    informational,
)

BLOCKING, ADVISORY = ReviewMode.BLOCKING, ReviewMode.ADVISORY
INFORMATIONAL = ReviewMode.INFORMATIONAL


@pytest.mark.parametrize(
    ("severity", "mode", "expected"),
    [
        (Severity.CRITICAL, None, BLOCKING),
        (Severity.HIGH, None, ADVISORY),
        (Severity.MEDIUM, None, ADVISORY),
        (Severity.LOW, None, INFORMATIONAL),
        (None, None, BLOCKING),
        (Severity.CRITICAL, INFORMATIONAL, INFORMATIONAL),
        (Severity.LOW, BLOCKING, BLOCKING),
    ],
)
def test_the_severity_gives_the_mode_where_none_is_stated(
    severity: Severity | None, mode: ReviewMode | None, expected: ReviewMode
) -> None:
    assert mode_of(a_gate(mode=mode, severity=severity)) is expected


def test_of_several_gates_the_most_restrictive_mode_wins() -> None:
    assert strictest_mode([informational(), a_gate(), advisory()]) is BLOCKING
    assert strictest_mode([informational(), advisory()]) is ADVISORY
    assert strictest_mode([informational()]) is INFORMATIONAL
    assert strictest_mode([]) is BLOCKING
    assert BLOCKING.rank > ADVISORY.rank > INFORMATIONAL.rank


def test_the_lowest_limit_among_the_blocking_gates_wins() -> None:
    patient, strict = a_gate("a", max_attempts=5), a_gate("b", max_attempts=3)
    hasty = a_gate("c", ADVISORY, max_attempts=1)

    assert fewest_attempts([patient, strict, hasty], SETTINGS) == 3
    assert fewest_attempts([patient, a_gate("d")], SETTINGS) == 2
    assert fewest_attempts([hasty], SETTINGS) == 2
    assert fewest_attempts([], Reviews(max_attempts=4)) == 4


def test_a_review_opens_with_the_mode_and_limit_of_its_gates() -> None:
    review = opened("r1", [advisory(), a_gate(max_attempts=3)], SETTINGS)

    assert (review.mode, review.max_attempts, review.attempt_count) == (BLOCKING, 3, 0)
    assert review.gate_ids == ("style", "tests")
    assert not review.awaiting_choice


def test_a_review_of_nothing_or_of_one_gate_twice_does_not_open() -> None:
    with pytest.raises(InputError, match="review `r1` has no gates: name at least one"):
        opened("r1", [], SETTINGS)
    with pytest.raises(InputError, match="review `r1` names gate `tests` twice: name it once"):
        opened("r1", [a_gate(), advisory(), a_gate()], SETTINGS)


def test_a_gate_is_read_from_plain_values() -> None:
    table = {
        "id": "unit-tests",
        "criteria": ["the tests pass", "new code is tested"],
        "severity": "Critical",
        "mode": "advisory",
        "max_attempts": 3,
        "improvement_hints": False,
        "preserve_context": False,
        "check": {"argv": ["pytest", "-q"], "timeout_s": 60},
    }

    assert checked(table, ReviewGate, "gates[0]") == ReviewGate(
        id="unit-tests",
        criteria=("the tests pass", "new code is tested"),
        severity=Severity.CRITICAL,
        mode=ADVISORY,
        max_attempts=3,
        improvement_hints=False,
        preserve_context=False,
        check=Check(argv=("pytest", "-q"), timeout_s=60),
    )
    bare = ReviewGate(id="docs", criteria=("it is documented",))
    assert (bare.severity, bare.mode, bare.max_attempts, bare.check) == (None, None, None, None)


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (
            {"severity": "urgent"},
            "`gates[2].severity` is `urgent`, expected one of `low`, `medium`, `high`, `critical`",
        ),
        ({"severity": ""}, "`gates[2].severity` is a text of 0 characters, expected one of `low`"),
        (
            {"mode": "blockingg"},
            "`gates[2].mode` is `blockingg`, expected one of `informational`, `advisory`,"
            " `blocking`; did you mean `blocking`?",
        ),
        ({"max_attempts": 0}, "gate `docs`: `max_attempts` is `0`, expected a whole number from 1"),
        (
            {"max_attempts": "2"},
            "`gates[2].max_attempts` is the text `2`, expected a whole",
        ),
        ({"retries": 2}, "`gates[2]` takes no `retries`"),
        ({"id": "7"}, "gate: `id` is `7`, expected 1 to 64 of letters, digits and `._/-`"),
        ({"criteria": []}, "gate `docs` has no criteria and no check: it would ask nothing"),
        ({"check": {"argv": []}}, "check: `argv` names no program, expected such as `pytest`"),
        ({"check": {"argv": ["a"], "timeout_s": 601}}, "check: `timeout_s` is `601`, expected a"),
        ({"check": {"argv": "pytest"}}, "`gates[2].check.argv` is of the type `str`, expected a"),
        ({"check": "pytest"}, "`gates[2].check` is `pytest`, expected a `Check` or a table of its"),
        ({"check": []}, "check: `argv` names no program"),
    ],
)
def test_a_gate_with_a_mistake_does_not_load(change: dict[str, object], complaint: str) -> None:
    table = {"id": "docs", "criteria": ["it is documented"], **change}

    with pytest.raises(InputError) as caught:
        checked(table, ReviewGate, "gates[2]")

    assert str(caught.value).startswith(complaint)


def test_the_words_of_a_check_may_stand_alone() -> None:
    gate: ReviewGate = checked({"id": "tests", "check": ["pytest", "-q"]}, ReviewGate, "gate")

    assert gate == ReviewGate(id="tests", check=Check(argv=("pytest", "-q")))


def test_a_review_that_is_only_observed_holds_nothing_up_and_says_so() -> None:
    told = Reviewing(a_gate(), settings=Reviews(mode="observe")).hears(a_fail())
    enforced = Reviewing(a_gate()).hears(a_fail())

    assert (told.outcome, told.would_have) == (ReviewOutcome.ADVANCE, enforced.outcome)
    assert told.reason == "would have been held up: FAIL: two cases are missing"
    assert told.warnings == (told.reason,)
    assert told.review is None
    assert told.entry == enforced.entry


def test_a_review_that_passes_is_the_same_in_both_modes() -> None:
    told = Reviewing(a_gate(), settings=Reviews(mode="observe")).hears(a_pass())

    assert told == Reviewing(a_gate()).hears(a_pass())
