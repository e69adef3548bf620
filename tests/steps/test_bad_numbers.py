"""Numbers that are none: refused where they are handed over, with the place and what to do."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock import InputError
from interlock.model.step import Remaining, Sign, StepContext, StepDecision
from interlock.policy.config.run_sections import Steps

COUNTS = [
    "step_number",
    "total_tokens_used",
    "total_tool_calls",
    "rework_count",
    "last_checkpoint_step",
    "steps_since_person",
    "elapsed_ms",
]
SCORES = ["rework_ratio", "coherence_score", "uncertainty_score"]


@pytest.mark.parametrize("field", SCORES)
@pytest.mark.parametrize("score", [math.nan, math.inf, -math.inf, 1.01, -0.01, True, "0.5"])
def test_refuses_what_is_no_score(field: str, score: Any):
    with pytest.raises(InputError) as refused:
        StepContext(**{field: score})

    assert str(refused.value).startswith(f"`StepContext.{field}` is ")
    assert "expected a number from 0 to 1" in str(refused.value)


@pytest.mark.parametrize("field", SCORES)
@pytest.mark.parametrize("score", [0, 1, 0.0, 1.0, 5e-324])
def test_takes_every_score_from_0_to_1(field: str, score: Any):
    assert getattr(StepContext(**{field: score}), field) == score


@pytest.mark.parametrize("field", COUNTS)
@pytest.mark.parametrize("count", [-1, 2**53 + 1, math.nan, math.inf, 1.0, True, "3"])
def test_refuses_what_is_no_count(field: str, count: Any):
    with pytest.raises(InputError) as refused:
        StepContext(**{field: count})

    assert str(refused.value).startswith(f"`StepContext.{field}` is ")
    assert "expected a whole number from 0 to 9007199254740992" in str(refused.value)


def test_says_which_step_has_a_bad_count_of_tokens():
    with pytest.raises(InputError, match=r"^`StepContext.steps_tokens\[2\]` is `-5`, expected"):
        StepContext(steps_tokens=(1, 2, -5))


@pytest.mark.parametrize("field", Remaining.__struct_fields__)
@pytest.mark.parametrize("left", [math.nan, math.inf, 0.5, True, 2**53 + 1, -(2**53) - 1])
def test_refuses_a_rest_of_a_budget_that_is_no_whole_number(field: str, left: Any):
    with pytest.raises(InputError) as refused:
        Remaining(**{field: left})

    assert str(refused.value).startswith(f"`Remaining.{field}` is `{left}`, expected")


@given(st.integers(-(2**53), 2**53))
def test_takes_a_budget_that_was_overdrawn(left: int):
    assert Remaining(tokens=left).tokens == left


def test_refuses_a_checkpoint_that_lies_ahead():
    with pytest.raises(InputError) as refused:
        StepContext(step_number=10, last_checkpoint_step=11)

    assert str(refused.value) == (
        "`last_checkpoint_step` is 11 and `step_number` is 10: a checkpoint cannot lie ahead,"
        " count both from the start of the run"
    )


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_refuses_a_sign_whose_figure_is_none(value: float):
    with pytest.raises(InputError, match=r"^`Sign.value` is `-?(nan|inf)`, expected"):
        Sign(
            name="loop",
            decision=StepDecision.PAUSE,
            message="again",
            remediation="stop it",
            value=value,
        )


def test_refuses_a_sign_that_does_not_say_what_to_do():
    with pytest.raises(InputError) as refused:
        Sign(name="loop", decision=StepDecision.PAUSE, message="again", remediation="")

    assert str(refused.value) == (
        "sign `loop`: it says `pause` and not what to do about it: give it a `remediation`"
    )


def test_a_sign_that_only_warns_need_not_say_what_to_do():
    sign = Sign(name="loop", decision=StepDecision.CONTINUE, message="again", remediation="")

    assert sign.remediation == ""


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        (
            {"max_consecutive": 0},
            "steps: `max_consecutive` is `0`, expected a whole number from 1 to 1000000",
        ),
        (
            {"max_total": -1},
            "steps: `max_total` is `-1`, expected a whole number from 1 to 1000000000",
        ),
        (
            {"checkpoint_interval": 2.5},
            "steps: `checkpoint_interval` is `2.5`, expected a whole number from 1 to 1000000",
        ),
        ({"delay_ms": -1}, "steps: `delay_ms` is `-1`, expected a whole number from 0 to 3600000"),
        (
            {"cooldown_ms": True},
            "steps: `cooldown_ms` is `True`, expected a whole number from 0 to 3600000",
        ),
        (
            {"max_slope_percent": math.nan},
            "steps: `max_slope_percent` is `nan`, expected a whole number from 0 to 100",
        ),
        (
            {"max_uncertainty_percent": 120},
            "steps: `max_uncertainty_percent` is `120`, expected a whole number from 0 to 100",
        ),
        (
            {"max_rework_percent": "1"},
            "steps: `max_rework_percent` is `1`, expected a whole number from 0 to 100",
        ),
        (
            {"min_coherence_percent": 60},
            "steps: `read_only_below_percent` is 50, expected at least 60 of"
            " `min_coherence_percent`",
        ),
        (
            {"read_only_below_percent": 80},
            "steps: `restricted_below_percent` is 70, expected at least 80 of"
            " `read_only_below_percent`",
        ),
        (
            {"delay_ms": 70_000},
            "steps: `max_delay_ms` is 60000, expected at least 70000 of `delay_ms`",
        ),
    ],
)
def test_refuses_settings_that_make_no_sense(settings: dict[str, Any], complaint: str):
    with pytest.raises(InputError) as refused:
        Steps(**settings)

    assert str(refused.value) == complaint


def test_takes_limits_that_fall_together():
    settings = Steps(
        min_coherence_percent=50,
        read_only_below_percent=50,
        restricted_below_percent=50,
        delay_ms=60_000,
    )

    assert settings.min_coherence == settings.restricted_below
