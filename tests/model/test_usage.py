"""Amounts and limits: whole numbers that add up, and limits over limits."""

from __future__ import annotations

from decimal import Decimal

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock import InputError
from interlock.model.budget import (
    NOTHING,
    Amounts,
    Budget,
    Dimension,
    Limits,
    TokenUsage,
    micros_from_usd,
)

_FIELDS = [field.name for field in msgspec.structs.fields(Amounts)]
_counts = st.integers(0, 10**12)
_amounts = st.builds(Amounts, **dict.fromkeys(_FIELDS, _counts))
_limits = st.builds(Limits, **dict.fromkeys(_FIELDS, st.none() | _counts))


@given(one=_amounts, other=_amounts, third=_amounts)
def test_amounts_add_up_in_any_order(one: Amounts, other: Amounts, third: Amounts) -> None:
    assert one + other == other + one
    assert (one + other) + third == one + (other + third)
    assert one + NOTHING == one
    assert one + other - other == one


@given(one=_amounts, other=_amounts)
def test_each_dimension_adds_up_by_itself(one: Amounts, other: Amounts) -> None:
    for dimension in Dimension:
        assert (one + other).of(dimension) == one.of(dimension) + other.of(dimension)
        assert (one - other).of(dimension) == one.of(dimension) - other.of(dimension)


def test_every_dimension_has_a_field_of_its_own() -> None:
    amounts = Amounts(**{name: number for number, name in enumerate(_FIELDS)})

    assert sorted(amounts.of(dimension) for dimension in Dimension) == list(range(len(_FIELDS)))


@given(above=_limits, below=_limits)
def test_the_limits_above_count_where_they_say_something(above: Limits, below: Limits) -> None:
    merged = above.over(below)
    for dimension in Dimension:
        own = above.of(dimension)
        assert merged.of(dimension) == (below.of(dimension) if own is None else own)


@given(limits=_limits, limit=st.none() | _counts, dimension=st.sampled_from(Dimension))
def test_one_limit_changes_alone(limits: Limits, limit: int | None, dimension: Dimension) -> None:
    changed = limits.with_limit(dimension, limit)

    assert changed.of(dimension) == limit
    assert changed.with_limit(dimension, limits.of(dimension)) == limits


@pytest.mark.parametrize(
    ("usd", "micros"),
    [
        ("2.50", 2_500_000),
        (3, 3_000_000),
        (Decimal("0.000001"), 1),
        ("0.0000001", 1),
        ("0", 0),
        (" 1 ", 1_000_000),
        ("1e-6", 1),
        (0.25, 250_000),
        (5.0, 5_000_000),
        (0.1, 100_000),
        (1e-6, 1),
        (123456.789012, 123_456_789_012),
    ],
)
def test_money_is_counted_in_millionths_and_rounded_up(
    usd: Decimal | str | float, micros: int
) -> None:
    assert micros_from_usd(usd) == micros


@pytest.mark.parametrize(("usd", "written"), [(0.1 + 0.2, "0.3"), (1 / 3, "0.333333"), (1e-7, "0")])
def test_a_fraction_that_is_no_whole_number_of_millionths_is_told_how_to_be_written(
    usd: float, written: str
) -> None:
    with pytest.raises(InputError, match=f'write it as a text, such as "{written}"'):
        micros_from_usd(usd)


@pytest.mark.parametrize("usd", ["", "two", "NaN", "sNaN", "Infinity", "-Infinity", "$1", "1,5"])
def test_what_is_no_money_is_refused(usd: str) -> None:
    with pytest.raises(InputError, match="is not an amount of US dollars: expected such as"):
        micros_from_usd(usd)


@pytest.mark.parametrize("usd", ["1e400000000", "1000000000.01", "-1e30", 10**40])
def test_more_money_than_there_is_is_refused(usd: str | int) -> None:
    with pytest.raises(InputError, match="is no amount: expected 0 to 1000000000 US dollars"):
        micros_from_usd(usd)


def test_a_budget_is_read_as_limits_and_as_amounts() -> None:
    budget = Budget(tokens=1, tool_calls=2, wall_time_s=3, cost_usd="4", diff_lines=5)

    assert budget.limits() == Limits(
        tokens=1, tool_calls=2, wall_time_ms=3000, cost_micros=4_000_000, diff_lines=5
    )
    assert budget.amounts() == Amounts(
        tokens=1, tool_calls=2, wall_time_ms=3000, cost_micros=4_000_000, diff_lines=5
    )
    assert Budget().limits() == Limits()
    assert Budget().amounts() == NOTHING


def test_tokens_are_each_counted_once() -> None:
    usage = TokenUsage(input_tokens=10, output_tokens=5, cache_read_tokens=8, cache_write_tokens=2)

    assert usage.total == 15
