from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from interlock.errors import InputError
from interlock.model.stop import EvidenceKind
from interlock.policy.stops.settings import DEFAULT, SEED, StopOverride, settings_for
from stops.contexts import goes_on

MINIMAX = replace(
    DEFAULT,
    models={
        "minimax-*": StopOverride(continue_at=45, warn_at=30),
        "minimax-m2*": StopOverride(max_retries=1),
        "gpt-?": StopOverride(points_intent=0),
    },
)


def test_other_models_keep_the_settings() -> None:
    assert settings_for("claude", MINIMAX) is MINIMAX
    assert settings_for(None, MINIMAX) is MINIMAX
    assert settings_for("minimax-m2", DEFAULT) is DEFAULT


def test_every_fitting_pattern_counts_and_the_longest_has_the_last_word() -> None:
    settings = replace(
        MINIMAX, models={**MINIMAX.models, "minimax-m2-her": StopOverride(continue_at=90)}
    )

    assert settings_for("MiniMax-Text", settings).continue_at == 45
    assert settings_for("minimax-m2.1", settings).max_retries == 1
    assert settings_for("minimax-m2.1", settings).continue_at == 45
    assert settings_for("minimax-m2-her", settings).continue_at == 90


def test_a_decision_follows_its_model() -> None:
    vague: dict[str, Any] = {"text": "Let me continue.", "last_event": None, "tool_ratio": None}

    assert goes_on(**vague, settings=MINIMAX, model="minimax-text")
    assert not goes_on(**vague, settings=MINIMAX, model="claude")
    assert not goes_on("Let me run it.", settings=MINIMAX, model="gpt-5")
    assert not goes_on("Let me run it.", settings=MINIMAX, model="minimax-m2", retries=1)


def test_thresholds_that_cross_are_refused() -> None:
    with pytest.raises(InputError, match="`warn_at` is 70, more than `continue_at` 60"):
        replace(SEED, warn_at=70)


def test_a_negative_number_of_continuations_is_refused() -> None:
    with pytest.raises(InputError, match="`max_retries` is -1, expected 0 or more"):
        replace(SEED, max_retries=-1)


def test_no_continuation_at_all_may_be_granted() -> None:
    assert not goes_on("Let me run it.", settings=replace(DEFAULT, max_retries=0))


@pytest.mark.parametrize("kind", EvidenceKind)
def test_every_kind_of_evidence_has_its_points(kind: EvidenceKind) -> None:
    assert DEFAULT.points_of(kind) > SEED.points_of(kind) == 0
