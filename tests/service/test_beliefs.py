"""What an agent is unsure of: evidence adds up in the ledger, and too much doubt pauses the run."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock import InputError, Interlock, StepDecision
from interlock.model.events import BeliefHeld
from interlock.values import Belief
from service.ledgers import HandClock, OpenInterlock, events_of, in_memory, kinds_of
from service.stepping_runs import check_record


def test_evidence_for_and_against_a_belief_adds_up(interlock: Interlock) -> None:
    run = interlock.run("t")
    first = run.belief("it compiles", supporting=2, because="the build passed")
    second = run.belief("it compiles", opposing=3, because="a warning")
    run.belief("the tests are right", supporting=1)

    assert first == Belief(name="it compiles", supporting=2)
    assert second == Belief(name="it compiles", supporting=2, opposing=3)
    assert dict(run.state.control.beliefs) == {
        "it compiles": second,
        "the tests are right": Belief(name="the tests are right", supporting=1),
    }
    held = [each for each in events_of(interlock.ledger, run.id) if isinstance(each, BeliefHeld)]
    assert [each.because for each in held] == ["the build passed", "a warning", ""]
    check_record(interlock)


def test_without_beliefs_nobody_knows_how_sure_a_run_is(interlock: Interlock) -> None:
    answer = interlock.run("t").step()

    assert answer.facts.uncertainty_score is None
    assert "uncertainty" in answer.detail.metrics.unknown


def test_a_belief_without_evidence_is_even(interlock: Interlock) -> None:
    run = interlock.run("t")
    run.belief("it compiles")

    assert run.step().facts.uncertainty_score == 0.5


def test_uncertainty_of_exactly_the_limit_passes(interlock: Interlock) -> None:
    run = interlock.run("t")
    # A confidence of 1 / (1 + 4) is an uncertainty of 0.8.
    run.belief("it compiles", opposing=3)
    answer = run.step()

    assert answer.facts.uncertainty_score == 0.8
    assert answer.goes_on


def test_more_doubt_than_that_pauses_and_evidence_settles_it(
    interlock: Interlock, operator: str, clock: HandClock
) -> None:
    run = interlock.run("t")
    run.belief("it compiles", opposing=3.1)
    answer = run.step()
    assert answer.decision is StepDecision.PAUSE
    assert [reason.code for reason in answer.detail.reasons] == ["uncertainty"]
    assert answer.approval_id is not None
    interlock.approve(answer.approval_id, token=operator)
    run.belief("it compiles", supporting=4)
    clock.forward(seconds=10)

    after = run.step()
    assert after.goes_on
    assert after.facts.uncertainty_score is not None
    assert after.facts.uncertainty_score < 0.2


def test_the_least_sure_of_many_beliefs_weighs_most(interlock: Interlock) -> None:
    run = interlock.run("t")
    run.belief("one", supporting=8)
    run.belief("two", opposing=8)

    # The geometric mean of 0.9 and 0.1 is 0.3.
    assert run.step().facts.uncertainty_score == pytest.approx(0.7)


def test_beliefs_belong_to_their_run(interlock: Interlock) -> None:
    run = interlock.run("t")
    run.belief("it compiles", opposing=50)

    assert run.child("c").step().facts.uncertainty_score is None
    assert interlock.run("other").step().goes_on


def test_beliefs_of_another_process_count(reopened: OpenInterlock) -> None:
    here, there = reopened(), reopened()
    run = here.run("t")
    run.belief("it compiles", opposing=2)
    there.resume(run.id).belief("it compiles", opposing=2)

    assert run.step().decision is StepDecision.PAUSE


def test_only_the_latest_hundred_beliefs_are_kept(interlock: Interlock) -> None:
    run = interlock.run("t")
    for number in range(120):
        run.belief(f"belief {number}", supporting=1)
        run.belief("belief 0", supporting=1)

    kept = run.state.control.beliefs
    assert len(kept) == 100
    assert kept["belief 0"].supporting == 121
    assert "belief 1" not in kept
    assert "belief 119" in kept


@pytest.mark.parametrize("weight", [-1, math.nan, math.inf, -math.inf, 1001, True, "1"])
def test_a_weight_that_cannot_be_is_refused_and_not_recorded(
    interlock: Interlock, weight: float
) -> None:
    run = interlock.run("t")
    before = kinds_of(interlock.ledger, run.id)
    with pytest.raises(InputError, match=r"`(supporting|opposing|Evidence\.weight)` is "):
        run.belief("it compiles", supporting=weight)
    with pytest.raises(InputError, match=r"`(supporting|opposing|Evidence\.weight)` is "):
        run.belief("it compiles", opposing=weight)

    assert kinds_of(interlock.ledger, run.id) == before


@pytest.mark.parametrize("name", ["", "a\nb", "x" * 513])
def test_a_name_that_nobody_can_read_is_refused(interlock: Interlock, name: str) -> None:
    run = interlock.run("t")
    with pytest.raises(InputError, match="`belief` is `"):
        run.belief(name, supporting=1)

    assert run.state.control.beliefs == {}


def test_a_finished_run_believes_nothing_more(interlock: Interlock) -> None:
    run = interlock.run("t")
    run.finish()

    with pytest.raises(InputError, match="is finished"):
        run.belief("it compiles", supporting=1)


_WEIGHTS = st.floats(0.01, 1000)


@given(
    evidence=st.lists(
        st.tuples(st.sampled_from(["a", "b", "c"]), st.booleans(), _WEIGHTS), max_size=8
    ),
    worse=_WEIGHTS,
)
def test_one_more_thing_against_a_belief_never_makes_a_run_surer(
    evidence: list[tuple[str, bool, float]], worse: float
) -> None:
    with in_memory() as interlock:
        run = interlock.run("t")
        for name, supports, weight in [("a", True, 1.0), *evidence]:
            run.belief(
                name,
                supporting=weight if supports else 0,
                opposing=0 if supports else weight,
            )
        before = run.step().facts.uncertainty_score
        run.belief("a", opposing=worse)
        after = run.stopped("x").step.metrics.uncertainty

    assert before is not None
    assert after is not None
    assert 0 < before <= after < 1
