"""Coherence: what the score is made of, and the one table of bands."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.model.facts import Band
from interlock.model.step import COHERENCE_ACTIONS, StepDecision
from interlock.policy.config.run_sections import Steps
from interlock.policy.steps.continue_gate import decide
from interlock.policy.steps.step_figures import FEWEST_ACTIONS, band_of, coherence
from steps.contexts import a_context

DEFAULTS = Steps()

bad = st.integers(0, COHERENCE_ACTIONS)
actions = st.integers(FEWEST_ACTIONS, COHERENCE_ACTIONS)
progress = st.none() | bad


@pytest.mark.parametrize(
    ("violations", "rework", "progress", "score"),
    [
        (0, 0, 20, 1.0),
        (20, 0, 20, 0.6),
        (0, 20, 20, 0.7),
        (0, 0, 0, 0.7),
        (0, 20, 0, 0.4),
        (20, 20, 0, 0.0),
        (5, 10, 10, 0.6),
        (0, 0, None, 1.0),
        (30, 30, 0, 0.0),
        (0, 0, 30, 1.0),
    ],
    ids=[
        "all good",
        "only violations",
        "only rework",
        "no progress",
        "rework without progress",
        "all bad",
        "half",
        "progress unknown",
        "more bad than actions",
        "more progress than actions",
    ],
)
def test_weighs_violations_rework_and_progress(
    violations: int, rework: int, progress: int | None, score: float
):
    assert coherence(actions=20, violations=violations, rework=rework, progress=progress) == score


@given(st.integers(0, FEWEST_ACTIONS - 1), bad, bad, progress)
def test_is_unknown_after_few_actions(
    actions: int, violations: int, rework: int, progress: int | None
):
    assert (
        coherence(actions=actions, violations=violations, rework=rework, progress=progress) is None
    )


@given(actions, bad, bad, progress)
def test_is_always_a_score(actions: int, violations: int, rework: int, progress: int | None):
    score = coherence(actions=actions, violations=violations, rework=rework, progress=progress)

    assert score is not None
    assert 0 <= score <= 1


@given(actions, bad, bad, bad)
def test_one_more_bad_action_never_raises_it(
    actions: int, violations: int, rework: int, progress: int
):
    score = coherence(actions=actions, violations=violations, rework=rework, progress=progress)
    worse = [
        coherence(actions=actions, violations=violations + 1, rework=rework, progress=progress),
        coherence(actions=actions, violations=violations, rework=rework + 1, progress=progress),
        coherence(actions=actions, violations=violations, rework=rework, progress=progress - 1),
    ]

    assert score is not None
    assert all(each is not None and each <= score for each in worse[: 3 if progress else 2])


@given(actions, bad, bad, bad)
def test_knowing_of_progress_never_raises_it(
    actions: int, violations: int, rework: int, progress: int
):
    known = coherence(actions=actions, violations=violations, rework=rework, progress=progress)
    unknown = coherence(actions=actions, violations=violations, rework=rework, progress=None)

    assert known is not None
    assert unknown is not None
    assert known <= unknown


@pytest.mark.parametrize(
    ("score", "band"),
    [
        (None, Band.FULL),
        (1.0, Band.FULL),
        (0.70, Band.FULL),
        (0.69, Band.RESTRICTED),
        (0.50, Band.RESTRICTED),
        (0.49, Band.READ_ONLY),
        (0.40, Band.READ_ONLY),
        (0.39, Band.STOP),
        (0.0, Band.STOP),
    ],
)
def test_every_score_has_its_band(score: float | None, band: Band):
    assert band_of(score, DEFAULTS) is band


@given(st.floats(0, 1), st.lists(st.integers(0, 100), min_size=3, max_size=3).map(sorted))
def test_the_gate_stops_exactly_in_the_lowest_band(score: float, limits: list[int]):
    settings = Steps(
        min_coherence_percent=limits[0],
        read_only_below_percent=limits[1],
        restricted_below_percent=limits[2],
    )

    answer = decide(a_context(coherence_score=score), settings)

    lowest = band_of(score, settings) is Band.STOP
    assert (answer.decision is StepDecision.STOP) == lowest


def test_two_bad_actions_in_a_row_stop_nothing():
    score = coherence(actions=2, violations=2, rework=2, progress=0)

    assert band_of(score, DEFAULTS) is Band.FULL
    assert decide(a_context(coherence_score=score), DEFAULTS).decision is StepDecision.CONTINUE
