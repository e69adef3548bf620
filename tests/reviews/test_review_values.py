"""What cannot be so is refused when the value is made."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from interlock.errors import InputError
from interlock.model.review import (
    Check,
    CheckResult,
    GateVerdict,
    Overall,
    PendingGateReview,
    ReviewGate,
    ReviewMode,
    ReviewVerdict,
)
from interlock.policy.config.run_sections import Reviews


def a_review(**known: Any) -> PendingGateReview:
    usual: dict[str, Any] = {
        "id": "r1",
        "gate_ids": ("tests",),
        "mode": ReviewMode.BLOCKING,
        "max_attempts": 2,
    }
    return PendingGateReview(**{**usual, **known})


def gate(**known: Any) -> ReviewGate:
    usual: dict[str, Any] = {"id": "docs", "criteria": ("it is documented",)}
    return ReviewGate(**{**usual, **known})


@pytest.mark.parametrize(
    ("make", "complaint"),
    [
        (lambda: Check(argv=()), "check: `argv` names no program"),
        (lambda: Check(argv=(" ",)), "check: `argv` names no program"),
        (lambda: Check(argv=("a", "b\0")), "check: `argv` holds a NUL character"),
        (lambda: Check(argv="a"), "`Check.argv` is of the type `str`, expected"),  # pyright: ignore[reportArgumentType] - what a caller without a type checker may pass
        (lambda: Check(argv=("a",), timeout_s=0), "check: `timeout_s` is `0`, expected a whole"),
        (lambda: Check(argv=("a",), timeout_s=601), "from 1 to 600"),
        (lambda: gate(id=""), "gate: `id` is ``, expected 1 to 64"),
        (lambda: gate(id="two words"), "gate: `id` is `two words`"),
        (lambda: gate(id="12"), "with a letter among them"),
        (lambda: gate(id="x" * 65), "expected 1 to 64 of letters"),
        (lambda: gate(severity="urgent"),
         "`ReviewGate.severity` is `urgent`, expected one of `low`, `medium`"),
        (lambda: gate(mode="block"), "`ReviewGate.mode` is `block`, expected"),
        (lambda: gate(max_attempts=0), "gate `docs`: `max_attempts` is `0`, expected a whole"),
        (lambda: gate(max_attempts=True), "max_attempts` is `True`, expected a whole number"),
        (lambda: gate(criteria="one"), "`ReviewGate.criteria` is of the type `str`, expected"),
        (lambda: gate(criteria=(" ",)), "gate `docs`: `criteria` is ` `, expected words"),
        (lambda: gate(criteria=("x" * 2001,)), "`criteria` has 2001 characters, expected at most"),
        (lambda: gate(criteria=("x",) * 51), "gate `docs` has 51 criteria, at most 50 are kept"),
        (lambda: gate(criteria=()), "gate `docs` has no criteria and no check"),
        (lambda: ReviewVerdict(overall=Overall.PASS, rationale=""),
         "verdict: `rationale` is ``, expected words"),
        (lambda: GateVerdict(gate="a", passed=True, rationale="-"),
         "verdict on gate `a`: `rationale` is `-`, expected words"),
        (lambda: a_review(gate_ids=()), "review `r1` has no gates"),
        (lambda: a_review(gate_ids=("1",)), "review `r1`: `gate_ids` is `1`"),
        (lambda: a_review(gate_ids=("a", "a")), "review `r1` names gate `a` twice"),
        (lambda: a_review(max_attempts=0), "review `r1`: `max_attempts` is `0`"),
        (lambda: a_review(attempt_count=3), "`attempt_count` is `3`, expected a whole number"),
        (lambda: a_review(attempt_count=-1), "from 0 to 2"),
        (lambda: a_review(resets=-1), "review `r1`: `resets` is `-1`"),
        (lambda: Reviews(max_attempts=0), "reviews: `max_attempts` is `0`"),
        (lambda: Reviews(max_resets=-1), "reviews: `max_resets` is `-1`"),
        (lambda: Reviews(most_hints=51), "reviews: `most_hints` is `51`"),
        (lambda: Reviews(check_timeout_seconds=601), "reviews: `check_timeout_seconds` is `601`"),
        (lambda: Reviews(check_tail_bytes=-1), "reviews: `check_tail_bytes` is `-1`"),
    ],
)  # fmt: skip
def test_refuses_what_cannot_be(make: Callable[[], object], complaint: str) -> None:
    with pytest.raises(InputError) as caught:
        make()

    assert complaint in str(caught.value)


@pytest.mark.parametrize(
    ("result", "ran", "passed"),
    [
        (CheckResult(gate="a", exit_code=0), True, True),
        (CheckResult(gate="a", exit_code=1), True, False),
        (CheckResult(gate="a", exit_code=-9), True, False),
        (CheckResult(gate="a", timed_out=True), True, False),
        (CheckResult(gate="a", exit_code=0, timed_out=True), True, False),
        (CheckResult(gate="a", error="no such program"), False, False),
    ],
)
def test_a_check_passes_only_with_exit_code_0(result: CheckResult, ran: bool, passed: bool) -> None:
    assert (result.ran, result.passed) == (ran, passed)


def test_a_check_runs_as_long_as_it_says_or_else_as_the_settings_say() -> None:
    settings = Reviews()

    assert settings.timeout_s_of(Check(argv=("a",))) == 120
    assert settings.timeout_s_of(Check(argv=("a",), timeout_s=600)) == 600
