"""Rework of few actions: a share with its interval, judged by what is certain of it."""

from __future__ import annotations

import pytest

from interlock.model.step import StepCode, StepContext
from interlock.policy.config.run_sections import Steps
from interlock.policy.steps.continue_gate import decide
from interlock.policy.steps.step_figures import rework_interval, sure_rework

DEFAULTS = Steps()


def of(rework: int, actions: int) -> StepContext:
    return StepContext(rework_ratio=rework / actions, rework_of=actions)


def pauses(context: StepContext) -> bool:
    found = [each.code for each in decide(context, DEFAULTS).reasons]
    return found == [StepCode.REWORK.value]


@pytest.mark.parametrize(
    ("rework", "actions", "expected"),
    [(0, 1, (0.0, 0.869033)), (1, 2, (0.061706, 0.938294)), (20, 20, (0.750881, 1.0))],
)
def test_the_interval_narrows_with_the_actions(
    rework: int, actions: int, expected: tuple[float, float]
) -> None:
    metrics = decide(of(rework, actions), DEFAULTS).metrics

    assert rework_interval(of(rework, actions)) == pytest.approx(expected, abs=1e-4)
    assert (metrics.rework_at_least, metrics.rework_at_most) == pytest.approx(expected, abs=1e-4)
    assert metrics.rework_ratio == rework / actions
    assert StepCode.REWORK.value not in metrics.unknown


def test_without_a_count_of_actions_there_is_no_interval() -> None:
    assert rework_interval(StepContext(rework_ratio=0.5)) is None
    assert rework_interval(StepContext(rework_of=5)) is None
    assert sure_rework(StepContext(rework_ratio=0.5)) == 0.5


@pytest.mark.parametrize(
    ("rework", "actions", "expected"),
    [
        (4, 4, False),  # four are too few, whatever they did
        (4, 5, False),
        (5, 5, True),
        (5, 6, True),
        (4, 8, False),
        (8, 19, False),
        (13, 19, True),
        (6, 20, False),  # a whole window is judged by its share
        (7, 20, True),
    ],
)
def test_few_actions_pause_a_run_only_by_what_is_certain(
    rework: int, actions: int, *, expected: bool
) -> None:
    assert pauses(of(rework, actions)) is expected


def test_a_reason_says_that_there_may_be_more() -> None:
    (reason,) = decide(of(5, 6), DEFAULTS).reasons
    (whole,) = decide(of(7, 20), DEFAULTS).reasons

    assert reason.message.startswith("the rework ratio is at least 0.3")
    assert whole.message.startswith("the rework ratio is 0.35,")
