from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from interlock.errors import InputError
from interlock.model.stop import EvidenceKind, FinishReason, StopOutcome
from interlock.policy.config.stop_section import DEFAULT, SEED
from interlock.policy.stops.stop_gate import decide
from stops.contexts import a_stop, decided, goes_on

MINIMAX = replace(
    DEFAULT,
    models={
        "minimax-*": {"continue-at": 45, "warn-at": 30},
        "minimax-m2*": {"max-retries": 1},
        "gpt-?": {"points-intent": 0},
    },
)


def test_other_models_keep_the_settings() -> None:
    assert MINIMAX.for_model("claude") is MINIMAX
    assert MINIMAX.for_model(None) is MINIMAX
    assert DEFAULT.for_model("minimax-m2") is DEFAULT


def test_every_fitting_pattern_counts_and_the_longest_has_the_last_word() -> None:
    settings = replace(MINIMAX, models={**MINIMAX.models, "minimax-m2-her": {"continue-at": 90}})

    assert settings.for_model("MiniMax-Text").continue_at == 45
    assert settings.for_model("minimax-m2.1").max_retries == 1
    assert settings.for_model("minimax-m2.1").continue_at == 45
    assert settings.for_model("minimax-m2-her").continue_at == 90


def test_a_decision_follows_its_model() -> None:
    vague: dict[str, Any] = {"text": "Let me continue.", "last_event": None, "tool_ratio": None}

    assert goes_on(**vague, settings=MINIMAX, model="minimax-text")
    assert not goes_on(**vague, settings=MINIMAX, model="claude")
    assert not goes_on("Let me run it.", settings=MINIMAX, model="gpt-5")
    assert not goes_on("Let me run it.", settings=MINIMAX, model="minimax-m2", retries=1)


def test_thresholds_that_cross_are_refused() -> None:
    with pytest.raises(InputError, match="`continue_at` is 60, expected at least 70 of `warn_at`"):
        replace(SEED, warn_at=70)


def test_a_negative_number_of_continuations_is_refused() -> None:
    with pytest.raises(InputError, match="`max_retries` is `-1`, expected a whole number"):
        replace(SEED, max_retries=-1)


def test_no_continuation_at_all_may_be_granted() -> None:
    assert not goes_on("Let me run it.", settings=replace(DEFAULT, max_retries=0))


@pytest.mark.parametrize("kind", EvidenceKind)
def test_every_kind_of_evidence_has_its_points(kind: EvidenceKind) -> None:
    assert DEFAULT.points_of(kind) > SEED.points_of(kind) == 0


def test_switched_off_nobody_is_sent_on() -> None:
    off = replace(DEFAULT, auto_continue=False)

    for context in (a_stop(), a_stop(finish_reason=FinishReason.LENGTH)):
        answer = decide(context, off)
        assert not answer.goes_on
        assert answer.reason == "auto-continue is off (`stops.auto-continue`)"
    assert decide(a_stop(tool_calls=2), off).goes_on


def test_who_is_only_observed_is_not_sent_on_and_it_is_told() -> None:
    told = decided(settings=replace(DEFAULT, mode="observe"))
    enforced = decided()

    assert enforced.goes_on
    assert not told.goes_on
    assert (told.outcome, told.would_have) == (
        StopOutcome.FINISHED_WITH_WARNING,
        enforced.outcome,
    )
    assert told.reason == f"would have been sent on: {enforced.reason}"
    assert told.nudge is None
