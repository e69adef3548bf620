"""Choosing a threshold that keeps a promise: bounds, sequences, splits and draws."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as some

from effort import rounds
from interlock.backtest.calibrate.calibration import (
    ALWAYS,
    Case,
    Conclusion,
    Search,
    calibrated,
    chosen_value,
    is_beyond_chance,
    most_allowed,
    needed,
    point_at,
    split_cases,
    upper_bound,
)

SEARCH = Search(least=100, most=1000, current=100, promise=0.025)
DRAWS = 100


def case(number: int, top: int, **fields: object) -> Case:
    """Return a case that scores so high, in the end."""
    good = {"id": f"c{number}", "is_good": True, "rises": ((top, 0),) if top >= 0 else ()}
    return Case(**{**good, **fields})  # pyright: ignore[reportArgumentType] - as a test names them


@cache
def _scored(top: int, *, is_good: bool) -> Case:
    """Return the same case for all that score the same: to make one takes longer than to choose."""
    return case(0, top, is_good=is_good)


def cases_of(*, good: Sequence[int], bad: Sequence[int] = ()) -> list[Case]:
    """Return cases by their highest scores."""
    return [
        *(case(number, top) for number, top in enumerate(good)),
        *(case(len(good) + number, top, is_good=False) for number, top in enumerate(bad)),
    ]


def test_the_bound_is_the_exact_one() -> None:
    """Known values of Clopper and Pearson: the rule of three, and one worked example."""
    assert upper_bound(0, 299) == pytest.approx(1 - 0.025 ** (1 / 299), abs=1e-6)
    assert upper_bound(5, 604) == pytest.approx(0.019212, abs=1e-6)
    assert upper_bound(7, 7) == 1.0
    assert upper_bound(0, 0) == 1.0


@given(some.integers(0, 30), some.integers(1, 400), some.sampled_from((0.005, 0.01, 0.02, 0.1)))
def test_as_many_are_allowed_as_the_bound_says(hits: int, total: int, promise: float) -> None:
    hits = min(hits, total - 1)

    assert (hits <= most_allowed(total, promise)) == (upper_bound(hits, total) <= promise)


@pytest.mark.parametrize(
    ("promise", "hits", "count"),
    [(0.01, 0, 368), (0.02, 0, 183), (0.025, 0, 146), (0.05, 0, 72), (0.01, 4, 1022)],
)
def test_it_says_how_many_good_runs_a_promise_takes(promise: float, hits: int, count: int) -> None:
    assert needed(promise, hits) == count
    assert most_allowed(count, promise) >= hits > most_allowed(count - 1, promise)


@pytest.mark.parametrize(
    ("more", "fewer", "tries", "told"),
    [(4, 0, 1, False), (5, 0, 1, True), (5, 0, 2, False), (8, 1, 1, True), (5, 5, 1, False)],
)
def test_a_few_more_may_be_luck(more: int, fewer: int, tries: int, told: bool) -> None:
    assert is_beyond_chance(more, fewer, tries=tries) is told


def test_a_few_good_runs_prove_nothing() -> None:
    found = calibrated(cases_of(good=[0] * 145, bad=[300] * 50), SEARCH)

    assert (found.conclusion, found.chosen, found.needed) == (Conclusion.TOO_FEW, None, 146)
    assert not found.is_conclusive


def test_one_more_is_enough() -> None:
    found = calibrated(cases_of(good=[0] * 146, bad=[300] * 50), SEARCH)

    assert (found.conclusion, found.chosen) == (Conclusion.KEPT, point_at(_all(146, 50), 100))


def _all(good: int, bad: int) -> list[Case]:
    return cases_of(good=[0] * good, bad=[300] * bad)


def test_what_is_held_anyway_breaks_a_promise() -> None:
    found = calibrated(cases_of(good=[0] * 900 + [ALWAYS] * 100, bad=[300] * 50), SEARCH)

    assert (found.conclusion, found.held_always) == (Conclusion.BROKEN, 100)
    assert found.needed > 1000


def test_no_runs_at_all_conclude_nothing() -> None:
    found = calibrated([], SEARCH)

    assert (found.conclusion, found.split, found.needed) == (Conclusion.TOO_FEW, "group", 146)
    assert (found.now.false_rate, found.now.caught_rate) == (0.0, 0.0)


def test_the_current_value_stays_while_no_other_is_better_beyond_chance() -> None:
    search = Search(least=100, most=1000, current=120, promise=0.025)
    good = [0] * 500

    kept = calibrated(cases_of(good=good, bad=[300] * 60 + [110] * 4), search)
    changed = calibrated(cases_of(good=good, bad=[300] * 60 + [110] * 5), search)

    assert (kept.conclusion, kept.chosen and kept.chosen.threshold) == (Conclusion.KEPT, 120)
    assert (changed.conclusion, changed.chosen and changed.chosen.threshold) == (
        Conclusion.CHANGED,
        110,
    )


def test_where_nothing_is_caught_the_least_careful_value_is_chosen_that_keeps_the_promise() -> None:
    search = Search(least=100, most=1000, current=100, promise=0.025)
    found = calibrated(cases_of(good=[0] * 500 + [150] * 5 + [120] * 100), search)

    assert found.chosen is not None
    assert (found.chosen.threshold, found.chosen.false_stops) == (150, 5)


def test_a_current_value_outside_of_the_search_is_not_kept() -> None:
    search = Search(least=100, most=1000, current=50, promise=0.025)

    assert chosen_value(cases_of(good=[0] * 500, bad=[300] * 60), search) == 300


def test_saved_is_what_was_used_after_the_hold() -> None:
    cases = [
        case(0, 0, is_good=False, rises=((60, 90), (100, 50), (200, 10)), cost=100),
        case(1, 0, is_good=False, rises=(), cost=40),
    ]

    assert [point_at(cases, each).saved for each in (50, 100, 101, 201)] == [90, 50, 10, 0]
    assert point_at(cases, 100).cost == 140


def test_runs_are_split_by_time_where_all_times_are_known() -> None:
    timed = [case(number, 0, at=1000 - number) for number in range(100)]
    split, first, second = split_cases(timed)

    assert (split, len(first)) == ("time", 70)
    assert max(each.at or 0 for each in first) < min(each.at or 0 for each in second)
    assert split_cases([*timed, case(100, 0)])[0] == "group"


def test_a_group_is_never_split() -> None:
    cases = [case(number, 0, group=f"g{number % 7}") for number in range(100)]
    _, first, second = split_cases(cases)

    assert {each.group for each in first} & {each.group for each in second} == set()
    assert len(first) + len(second) == 100
    assert second


def test_agents_and_models_stand_apart_where_there_are_several() -> None:
    cases = [
        *(case(number, 0, agent="a", model="m") for number in range(200)),
        *(case(200 + number, 0, agent="b", model="m") for number in range(30)),
        *(case(230 + number, 300, agent="a", model="m", is_good=False) for number in range(20)),
    ]
    found = calibrated(cases, SEARCH)

    assert [(each.kind, each.name, each.good, each.conclusion) for each in found.slices] == [
        ("agent", "a", 200, Conclusion.KEPT),
        ("agent", "b", 30, Conclusion.TOO_FEW),
    ]
    assert found.slices[1].needed == 146


def test_the_same_cases_give_the_same_answer() -> None:
    cases = simulated(random.Random(1), level=130)

    assert calibrated(cases, SEARCH) == calibrated(list(cases), SEARCH)


def simulated(dice: random.Random, *, level: int, total: int = 500) -> list[Case]:
    """Return runs that may go as high as a level and be good; above it they have failed."""
    good = [level if dice.random() < 0.4 else 0 for _ in range(total)]
    bad = [dice.randint(101, 260) if dice.random() < 0.8 else 0 for _ in range(2 * total)]
    noise = [dice.randint(level + 1, 900) for _ in range(total // 500)]
    return cases_of(good=[*good, *noise], bad=bad)


@pytest.mark.parametrize("seed", range(rounds(short=4, soak=8)))
def test_a_known_threshold_is_found_within_its_interval(seed: int) -> None:
    dice = random.Random(seed)
    level = dice.randint(110, 220)
    found = calibrated(simulated(dice, level=level), SEARCH)

    assert found.chosen is not None
    assert found.drawn is not None
    assert found.drawn.threshold.low <= level + 1 <= found.drawn.threshold.high
    assert level < found.chosen.threshold <= level + 3
    assert found.drawn.false_rate.low <= found.chosen.false_rate <= found.drawn.false_rate.high
    assert found.drawn.caught_rate.low <= found.chosen.caught_rate <= found.drawn.caught_rate.high


def _evenly(share: float, low: int, high: int) -> tuple[_Draw, _Rate]:
    """Return scores of good runs, and the rate of them that a threshold really holds."""
    return (
        lambda dice: dice.randint(low, high) if dice.random() < share else 0,
        lambda threshold: share * max(0, min(1, (high + 1 - threshold) / (high + 1 - low))),
    )


_Draw = Callable[[random.Random], int]
_Rate = Callable[[int], float]


@pytest.mark.parametrize("promise", [0.025, 0.05])
@pytest.mark.parametrize(
    ("good", "shape"),
    [(400, (0.06, 100, 999)), (400, (0.5, 100, 300)), (1000, (0.03, 100, 400))],
)
def test_a_promise_is_kept_on_fresh_runs_in_95_of_100_draws(
    promise: float, good: int, shape: tuple[float, int, int]
) -> None:
    """The rate on fresh runs is known exactly: that of the law which the runs are drawn from."""
    draw, rate = _evenly(*shape)
    search = Search(least=100, most=1000, current=100, promise=promise)
    kept = 0
    for seed in range(DRAWS):
        dice = random.Random(seed)
        cases = [_scored(draw(dice), is_good=True) for _ in range(good)]
        cases += [_scored(dice.randint(100, 999), is_good=False) for _ in range(good)]
        value = chosen_value(cases, search)
        assert value is not None
        kept += rate(value) <= promise

    assert kept >= 95
