"""Growth of spending: exact, free of scale, and unknown where nothing can be said."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.model.step import SLOPE_STEPS, StepDecision
from interlock.policy.config.run_sections import Steps
from interlock.policy.steps.continue_gate import decide
from interlock.policy.steps.step_figures import FEWEST_SLOPE_STEPS, budget_slope, tokens_per_step
from steps.contexts import ACCELERATING, a_context

spent = st.lists(st.integers(1, 10**9), min_size=FEWEST_SLOPE_STEPS, max_size=SLOPE_STEPS)


def by_the_book(tokens: list[int]) -> Fraction:
    """Least squares as the books write it, divided by the mean."""
    count = len(tokens)
    mean_step, mean = Fraction(count - 1, 2), Fraction(sum(tokens), count)
    rise = sum(
        ((step - mean_step) * (each - mean) for step, each in enumerate(tokens)), Fraction(0)
    )
    run = Fraction(count * (count**2 - 1), 12)
    return rise / run / mean


@given(spent)
def test_is_the_line_of_least_squares_through_the_steps(tokens: list[int]):
    assert budget_slope(tokens) == float(by_the_book(tokens))


@given(spent, st.integers(1, 10_000))
def test_compares_with_a_limit_as_exact_arithmetic_would(tokens: list[int], limit: int):
    slope = budget_slope(tokens)

    assert slope is not None
    assert (slope > limit / 10_000) == (by_the_book(tokens) > Fraction(limit, 10_000))


def test_growth_of_exactly_the_limit_equals_it():
    # A mean of 1000 and 20 more with each step: 0.02, which no sum of floats would hit.
    tokens = [1000 + 20 * step - 90 for step in range(10)]

    assert by_the_book(tokens) == Fraction(2, 100)
    assert budget_slope(tokens) == 0.02
    assert decide(a_context(steps_tokens=tuple(tokens)), Steps()).reasons == ()


@given(st.integers(1, 2**53), st.integers(FEWEST_SLOPE_STEPS, SLOPE_STEPS))
def test_constant_spending_has_slope_0_at_any_scale(tokens: int, steps: int):
    assert budget_slope([tokens] * steps) == 0


@given(spent, st.integers(1, 10**6))
def test_is_free_of_scale(tokens: list[int], times: int):
    assert budget_slope([each * times for each in tokens]) == budget_slope(tokens)


@given(spent)
def test_falls_as_steeply_backwards_as_it_rises_forwards(tokens: list[int]):
    forwards, backwards = budget_slope(tokens), budget_slope(tokens[::-1])

    assert forwards is not None
    assert backwards == -forwards


@given(
    st.lists(st.integers(0, 10**9), max_size=5),
    spent.filter(lambda each: len(each) == SLOPE_STEPS),
)
def test_looks_only_at_the_latest_steps(earlier: list[int], latest: list[int]):
    assert budget_slope(earlier + latest) == budget_slope(latest)


@pytest.mark.parametrize("tokens", [[], [1], [1, 2, 3], [0] * 10, [0, 0, 0, 0, 1]])
def test_is_unknown_with_too_few_steps_or_nothing_spent(tokens: list[int]):
    assert budget_slope(tokens) is None


def test_is_known_from_four_steps_on():
    assert budget_slope([1, 2, 3, 4]) == 0.4
    assert budget_slope([1, 1, 1, 1]) == 0


def test_ten_per_cent_more_each_step_is_seen():
    slope = budget_slope(ACCELERATING)

    assert slope is not None
    assert 0.09 < slope < 0.1


@pytest.mark.parametrize(
    ("totals", "decision"),
    [
        ([step * 500 for step in range(11)], StepDecision.CONTINUE),
        ([1000] * 11, StepDecision.CONTINUE),
        ([step**2 * 1000 for step in range(11)], StepDecision.THROTTLE),
    ],
    ids=["so much each step", "nothing at all", "more and more"],
)
def test_it_is_the_spending_of_each_step_that_counts_and_not_the_total(
    totals: list[int], decision: StepDecision
):
    by_step = tuple(after - before for before, after in pairwise(totals))

    assert decide(a_context(steps_tokens=by_step), Steps()).decision is decision


def test_the_average_is_of_the_latest_steps():
    assert tokens_per_step([]) is None
    assert tokens_per_step([7]) == 7
    assert tokens_per_step([10**6] + [1000] * 9 + [2000]) == 1100
