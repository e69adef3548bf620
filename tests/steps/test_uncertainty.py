"""Uncertainty: beliefs, what speaks for and against them, and how unsure they leave a run."""

from __future__ import annotations

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock import InputError
from interlock.model.step import Belief, Evidence
from interlock.policy.steps.step_figures import confidence, uncertainty

weights = st.floats(0, 1000)
beliefs = st.builds(Belief, name=st.just("it builds"), supporting=weights, opposing=weights)
evidence = st.builds(Evidence, supports=st.booleans(), weight=st.floats(0.01, 1000))


def a_belief(supporting: float = 0, opposing: float = 0) -> Belief:
    return Belief(name="the tests cover it", supporting=supporting, opposing=opposing)


def test_without_beliefs_it_is_unknown():
    assert uncertainty([]) is None


@pytest.mark.parametrize(
    ("supporting", "opposing", "sure"),
    [(0, 0, 0.5), (1, 0, 2 / 3), (0, 1, 1 / 3), (3, 0, 0.8), (8, 0, 0.9), (0, 3, 0.2), (5, 5, 0.5)],
)
def test_confidence_is_the_supporting_share(supporting: float, opposing: float, sure: float):
    assert confidence(a_belief(supporting, opposing)) == sure


def test_one_belief_is_as_uncertain_as_it_is_not_sure():
    assert uncertainty([a_belief()]) == 0.5
    assert uncertainty([a_belief(opposing=3)]) == 0.8
    assert uncertainty([a_belief(supporting=8)]) == 0.1


def test_is_told_in_as_many_digits_as_every_machine_agrees_on():
    assert uncertainty([a_belief(supporting=1)]) == 0.333333


def test_a_doubtful_belief_weighs_more_than_one_that_is_nearly_sure():
    unsure = uncertainty([a_belief(supporting=8), a_belief(opposing=8)])

    assert unsure == 0.7
    assert unsure == round(1 - math.sqrt(0.9 * 0.1), 6)


@given(st.lists(beliefs, min_size=1, max_size=20), st.randoms(use_true_random=False))
def test_the_order_of_beliefs_is_irrelevant(some: list[Belief], chance: random.Random):
    shuffled = chance.sample(some, len(some))

    assert uncertainty(shuffled) == uncertainty(some)


@given(st.lists(beliefs, min_size=1, max_size=20))
def test_is_always_a_score(some: list[Belief]):
    unsure = uncertainty(some)

    assert unsure is not None
    assert 0 <= unsure <= 1


@given(st.lists(beliefs, max_size=5), beliefs, evidence)
def test_support_never_adds_doubt_and_opposition_never_takes_it(
    others: list[Belief], belief: Belief, seen: Evidence
):
    before, after = (
        uncertainty([*others, belief]),
        uncertainty([*others, belief.with_evidence(seen)]),
    )

    assert before is not None
    assert after is not None
    assert after <= before if seen.supports else after >= before


@given(st.integers(1, 50), beliefs)
def test_the_same_belief_many_times_is_as_uncertain_as_once(times: int, belief: Belief):
    assert uncertainty([belief] * times) == uncertainty([belief])


def test_the_heaviest_evidence_leaves_a_rest_of_doubt():
    most = 10**12

    assert 0 < confidence(a_belief(opposing=most)) < confidence(a_belief(supporting=most)) < 1


def test_evidence_adds_up_on_its_own_side():
    belief = a_belief().with_evidence(Evidence(supports=True))
    belief = belief.with_evidence(Evidence(supports=False, weight=2.5))

    assert belief == a_belief(supporting=1, opposing=2.5)


@pytest.mark.parametrize("weight", [0, -1, math.nan, math.inf, 1000.5, True])
def test_refuses_a_weight_that_weighs_nothing(weight: float):
    with pytest.raises(InputError, match=r"^`Evidence.weight` is `.*`, expected a number above 0"):
        Evidence(supports=True, weight=weight)


@pytest.mark.parametrize("sum_of_weights", [-1, math.nan, math.inf, 10**13])
@pytest.mark.parametrize("side", ["supporting", "opposing"])
def test_refuses_sums_that_no_evidence_adds_up_to(side: str, sum_of_weights: float):
    with pytest.raises(InputError, match=rf"`Belief.{side}` is `.*`, expected a number from 0"):
        Belief(name="it", **{side: sum_of_weights})
