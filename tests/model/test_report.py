"""A report passes when nobody objects."""

from __future__ import annotations

import pytest

from interlock.values import Evaluation, Report, TestCounts


@pytest.mark.parametrize(
    ("judgements", "passed"),
    [((), True), ((True, True), True), ((True, False), False), ((False,), False)],
)
def test_one_objection_is_enough(judgements: tuple[bool, ...], passed: bool) -> None:
    evaluations = tuple(
        Evaluation(evaluator=str(number), passed=each, score=0)
        for number, each in enumerate(judgements)
    )

    assert Report(evaluations=evaluations).passed is passed


def test_a_test_that_was_skipped_did_not_run() -> None:
    assert TestCounts(passed=3, failed=1, skipped=9).executed == 4
