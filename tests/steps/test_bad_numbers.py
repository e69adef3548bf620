"""Numbers that are none: refused where they are handed over, with the place and what to do."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock import InputError
from interlock.model.step import Remaining, Sign, StepContext, StepDecision
from interlock.policy.steps.settings import StepSettings

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

    assert str(refused.value) == (
        f"`{field}` is `{score}`, expected 0 to 1: leave it out where it is not known"
    )


@pytest.mark.parametrize("field", SCORES)
@pytest.mark.parametrize("score", [0, 1, 0.0, 1.0, 5e-324])
def test_takes_every_score_from_0_to_1(field: str, score: Any):
    assert getattr(StepContext(**{field: score}), field) == score


@pytest.mark.parametrize("field", COUNTS)
@pytest.mark.parametrize("count", [-1, 2**53 + 1, math.nan, math.inf, 1.0, True, "3"])
def test_refuses_what_is_no_count(field: str, count: Any):
    with pytest.raises(InputError) as refused:
        StepContext(**{field: count})

    assert str(refused.value) == (
        f"`{field}` is `{count}`, expected a whole number from 0 to 9007199254740992:"
        " leave it out where it is not known"
    )


def test_says_which_step_has_a_bad_count_of_tokens():
    with pytest.raises(InputError, match=r"^`steps_tokens\[2\]` is `-5`, expected a whole number"):
        StepContext(steps_tokens=(1, 2, -5))


@pytest.mark.parametrize("field", Remaining.__struct_fields__)
@pytest.mark.parametrize("left", [math.nan, math.inf, 0.5, True, 2**53 + 1, -(2**53) - 1])
def test_refuses_a_rest_of_a_budget_that_is_no_whole_number(field: str, left: Any):
    with pytest.raises(InputError) as refused:
        Remaining(**{field: left})

    assert str(refused.value) == (
        f"`budget_remaining.{field}` is `{left}`, expected a whole number of at most"
        " 9007199254740992: leave it out where there is no limit"
    )


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
    with pytest.raises(InputError, match=r"^sign `loop`: the value is -?(nan|inf), expected"):
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
            {"max_consecutive_steps": 0},
            "`max_consecutive_steps` is `0`, expected a whole number from 1 on",
        ),
        ({"max_total_steps": -1}, "`max_total_steps` is `-1`, expected a whole number from 1 on"),
        (
            {"checkpoint_interval": 2.5},
            "`checkpoint_interval` is `2.5`, expected a whole number from 1 on",
        ),
        ({"delay_ms": -1}, "`delay_ms` is `-1`, expected a whole number from 0 on"),
        ({"cooldown_ms": True}, "`cooldown_ms` is `True`, expected a whole number from 0 on"),
        ({"max_slope": math.nan}, "`max_slope` is `nan`, expected 0 to 1"),
        ({"max_uncertainty": 1.2}, "`max_uncertainty` is `1.2`, expected 0 to 1"),
        ({"max_rework_ratio": "1"}, "`max_rework_ratio` is `1`, expected 0 to 1"),
        (
            {"min_coherence": 0.6},
            "`min_coherence` is 0.6, `restricted_coherence` 0.5 and `full_coherence` 0.7:"
            " each must be at least the one before",
        ),
        (
            {"delay_ms": 70_000},
            "`delay_ms` is 70000, expected at most `max_delay_ms`, which is 60000",
        ),
    ],
)
def test_refuses_settings_that_make_no_sense(settings: dict[str, Any], complaint: str):
    with pytest.raises(InputError) as refused:
        StepSettings(**settings)

    assert str(refused.value) == complaint


def test_takes_limits_that_fall_together():
    settings = StepSettings(
        min_coherence=0.5, restricted_coherence=0.5, full_coherence=0.5, delay_ms=60_000
    )

    assert settings.min_coherence == settings.full_coherence
