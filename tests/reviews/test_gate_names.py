"""Gates may be described in the words of other definitions; what they say must not differ."""

from __future__ import annotations

from typing import Any

import pytest

from interlock.errors import InputError
from interlock.model.review import ReviewMode
from interlock.policy.reviews.gate_definition import gate_from

GATE: dict[str, Any] = {"id": "tests", "criteria": ["every test passes"]}


@pytest.mark.parametrize("name", ["retry_config", "retryConfig"])
def test_the_retries_may_stand_in_a_table_of_their_own(name: str) -> None:
    config = {"max_attempts": 3, "improvementHints": False, "preserve_context": False}

    gate = gate_from({**GATE, name: config}, "review")

    assert (gate.max_attempts, gate.improvement_hints, gate.preserve_context) == (3, False, False)


@pytest.mark.parametrize("name", ["mode", "enforcementMode", "enforcement_mode"])
def test_the_mode_has_three_names(name: str) -> None:
    assert gate_from({**GATE, name: "advisory"}, "review").mode is ReviewMode.ADVISORY


@pytest.mark.parametrize(
    ("action", "mode"),
    [
        ("stop", ReviewMode.BLOCKING),
        ("retry", ReviewMode.BLOCKING),
        ("rollback", ReviewMode.BLOCKING),
        ("skip", ReviewMode.ADVISORY),
    ],
)
@pytest.mark.parametrize("name", ["failureAction", "failure_action"])
def test_what_is_done_on_failure_is_a_mode(name: str, action: str, mode: ReviewMode) -> None:
    assert gate_from({**GATE, name: action}, "review").mode is mode


def test_two_names_may_say_the_same() -> None:
    gate = gate_from({**GATE, "mode": "blocking", "failureAction": "retry"}, "review")

    assert gate.mode is ReviewMode.BLOCKING


@pytest.mark.parametrize(
    ("table", "reason"),
    [
        (
            {"mode": "advisory", "enforcementMode": "blocking"},
            '`mode` is `"advisory"` and `enforcementMode` is `"blocking"`: they say the same thing,'
            " keep `mode`",
        ),
        (
            {"max_attempts": 2, "retry_config": {"max_attempts": 9}},
            "`max_attempts` is `2` and `retry_config.max_attempts` is `9`",
        ),
        ({"retry_config": 3}, "`retry_config` is `3`, expected a table"),
        ({"retry_config": {"max_atempts": 3}}, "`retry_config.max_atempts`"),
        ({"failureAction": "explode"}, '`failureAction` is `"explode"`'),
        ({"failureAction": 3}, "`failureAction` is `3`"),
    ],
)
def test_what_differs_or_is_not_known_is_refused_by_name(
    table: dict[str, object], reason: str
) -> None:
    with pytest.raises(InputError) as refused:
        gate_from({**GATE, **table}, "review")

    assert reason in str(refused.value)
    assert str(refused.value).startswith("review: ")
