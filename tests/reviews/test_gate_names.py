"""Gates may be described in the words of other definitions; what they say must not differ."""

from __future__ import annotations

from typing import Any

import pytest

from interlock.errors import InputError
from interlock.model.gate_names import gate_in_our_names
from interlock.model.review import ReviewGate, ReviewMode

GATE: dict[str, Any] = {"id": "tests", "criteria": ["every test passes"]}


def _gate(fields: dict[str, Any]) -> ReviewGate:
    # By names that a type checker does not know: as whoever comes from other definitions does.
    return ReviewGate(**fields)


@pytest.mark.parametrize("name", ["retry_config", "retryConfig"])
def test_the_retries_may_stand_in_a_table_of_their_own(name: str) -> None:
    config = {"max_attempts": 3, "improvementHints": False, "preserve_context": False}

    gate = _gate({**GATE, name: config})

    assert (gate.max_attempts, gate.improvement_hints, gate.preserve_context) == (3, False, False)


@pytest.mark.parametrize("name", ["mode", "enforcementMode", "enforcement_mode"])
def test_the_mode_has_three_names(name: str) -> None:
    assert _gate({**GATE, name: "advisory"}).mode is ReviewMode.ADVISORY


@pytest.mark.parametrize(
    ("action", "mode"),
    [
        ("stop", ReviewMode.BLOCKING),
        ("abort", ReviewMode.BLOCKING),
        ("retry", ReviewMode.BLOCKING),
        ("rollback", ReviewMode.BLOCKING),
        ("skip", ReviewMode.ADVISORY),
    ],
)
@pytest.mark.parametrize("name", ["failureAction", "failure_action"])
def test_what_is_done_on_failure_is_a_mode(name: str, action: str, mode: ReviewMode) -> None:
    assert _gate({**GATE, name: action}).mode is mode


def test_two_names_may_say_the_same() -> None:
    gate = _gate({**GATE, "mode": "blocking", "failureAction": "retry"})

    assert gate.mode is ReviewMode.BLOCKING


@pytest.mark.parametrize(
    ("table", "reason"),
    [
        (
            {"mode": "advisory", "enforcementMode": "blocking"},
            "`mode` and `enforcementMode` say two things of `mode`: keep `mode` alone",
        ),
        (
            {"max_attempts": 2, "retry_config": {"max_attempts": 9}},
            "`max_attempts` and `retry_config.max_attempts` say two things of `max_attempts`",
        ),
        ({"retry_config": 3}, "`retry_config` is `3`, expected a table"),
        (
            {"retry_config": {"max_atempts": 3}},
            "`retry_config` takes no `max_atempts`: did you mean `max_attempts`?",
        ),
        ({"failureAction": "explode"}, "`failureAction` is `explode`, expected one of `stop`"),
        ({"failureAction": 3}, "`failureAction` is `3`, expected one of `stop`"),
    ],
)
def test_what_differs_or_is_not_known_is_refused_by_name(
    table: dict[str, object], reason: str
) -> None:
    with pytest.raises(InputError) as refused:
        _gate({**GATE, **table})

    assert reason in str(refused.value)


def test_a_policy_writes_its_own_names_with_a_dash() -> None:
    table = {"retry_config": {"max-attempts": 3}, "enforcementMode": "advisory", "id": "tests"}

    assert gate_in_our_names(table, dash="-") == {
        "max-attempts": 3,
        "mode": "advisory",
        "id": "tests",
    }
