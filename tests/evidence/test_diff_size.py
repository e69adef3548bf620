"""Is what a run changed too much in all? Asked where the policy sets a limit."""

from __future__ import annotations

import pytest

from interlock.model.run import RunState
from interlock.policy.config.run_sections import Evaluators
from interlock.policy.evidence.evaluators import evaluations


@pytest.mark.parametrize(
    ("added", "removed", "passed", "score"), [(6, 4, True, 1000), (6, 5, False, 909)]
)
def test_the_limit_itself_still_passes(
    added: int, removed: int, *, passed: bool, score: int
) -> None:
    state = RunState(id="r", lines_added=added, lines_removed=removed)

    judged = evaluations(state, Evaluators(max_changed_lines=10))[-1]

    assert (judged.evaluator, judged.passed, judged.score) == ("diff-size", passed, score)


def test_without_a_limit_nobody_asks() -> None:
    judged = evaluations(RunState(id="r", lines_added=10**6), Evaluators())

    assert "diff-size" not in [each.evaluator for each in judged]
