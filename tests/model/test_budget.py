"""Accounts: what is used, held and asked for may together reach a limit and not pass it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.model.budget import (
    ALERT_PERCENTS,
    EMPTY,
    NOTHING,
    Account,
    Alert,
    Amounts,
    BudgetBalance,
    Dimension,
    Limits,
    Scope,
    ScopeKind,
    alerted,
    alerts_due,
    relimited,
    reserved,
    scope_from_id,
    settled,
)

_counts = st.integers(0, 1000)


@pytest.mark.parametrize(("asked", "is_near"), [(54, False), (55, True), (56, True)])
def test_whoever_is_far_from_every_limit_is_told_nothing(asked: int, is_near: bool) -> None:
    balance = BudgetBalance(
        scope="run/x",
        used=Amounts(tokens=15),
        reserved=Amounts(tokens=5),
        limits=Limits(tokens=100, tool_calls=3),
    )

    assert balance.is_near_a_limit(Amounts(tokens=asked)) is is_near
    assert bool(alerts_due(balance, {}, Amounts(tokens=asked))) is is_near


def test_a_scope_is_named_by_its_kind() -> None:
    scope = Scope(kind=ScopeKind.PROJECT_DAY, name="shop/2026-11-15")

    assert scope.id == "project-day/shop/2026-11-15"
    assert scope_from_id(scope.id) == scope


@pytest.mark.parametrize("text", ["", "nonsense", "week/x"])
def test_what_names_no_kind_is_no_scope(text: str) -> None:
    with pytest.raises(ValueError, match="is not a valid ScopeKind"):
        scope_from_id(text)


@given(used=_counts, held=_counts, asked=_counts, limit=_counts)
def test_a_limit_is_the_last_amount_that_passes(
    used: int, held: int, asked: int, limit: int
) -> None:
    balance = BudgetBalance(
        scope="run/x",
        used=Amounts(tokens=used),
        reserved=Amounts(tokens=held),
        limits=Limits(tokens=limit),
    )
    exceeded = list(balance.exceeded_by(Amounts(tokens=asked)))

    assert exceeded == ([Dimension.TOKENS] if used + held + asked > limit else [])


def test_without_limits_nothing_is_exceeded() -> None:
    balance = BudgetBalance(scope="run/x", used=Amounts(tokens=10**9))

    assert list(balance.exceeded_by(Amounts(tokens=10**9))) == []


def test_every_dimension_that_is_passed_is_told() -> None:
    nothing = Limits(
        tokens=0, tool_calls=0, wall_time_ms=0, cost_micros=0, diff_lines=0, storage_bytes=0
    )
    one = Amounts(
        tokens=1, tool_calls=1, wall_time_ms=1, cost_micros=1, diff_lines=1, storage_bytes=1
    )

    assert list(BudgetBalance(scope="run/x", limits=nothing).exceeded_by(one)) == list(Dimension)


@given(held=_counts, spent=_counts, unpriced=_counts)
def test_what_is_held_and_settled_leaves_only_what_was_spent(
    held: int, spent: int, unpriced: int
) -> None:
    account = reserved(EMPTY, Amounts(tokens=held))
    assert account.reserved == Amounts(tokens=held)
    account = settled(
        account,
        released=Amounts(tokens=held),
        spent=Amounts(tokens=spent),
        unpriced_tokens=unpriced,
    )

    assert account == Account(used=Amounts(tokens=spent), unpriced_tokens=unpriced)


def test_another_limit_forgets_what_was_told_of_the_old_one() -> None:
    told = Account(limits=Limits(tokens=4), alerted={"tokens": 75, "tool-calls": 90})

    changed = relimited(told, Dimension.TOKENS, 8)
    assert changed.limits == Limits(tokens=8)
    assert changed.alerted == {"tool-calls": 90}
    assert relimited(told, Dimension.TOKENS, None).limits == Limits()


@given(used=_counts, held=_counts, limit=st.integers(0, 1000))
def test_the_highest_threshold_that_is_reached_is_told(used: int, held: int, limit: int) -> None:
    balance = BudgetBalance(
        scope="run/x",
        used=Amounts(tokens=used),
        reserved=Amounts(tokens=held),
        limits=Limits(tokens=limit),
    )
    found = alerts_due(balance, {})

    reached = [each for each in ALERT_PERCENTS if (used + held) * 100 >= limit * each]
    if not limit or not reached:
        assert found == ()
    else:
        assert found == (
            Alert(
                scope="run/x",
                dimension=Dimension.TOKENS,
                percent=reached[-1],
                used=used + held,
                limit=limit,
            ),
        )
        assert alerts_due(balance, {"tokens": reached[-1]}) == ()
        noted = alerted(EMPTY, found[0])
        assert noted.alerted == {"tokens": reached[-1]}


@pytest.mark.parametrize(("used", "percent"), [(74, None), (75, 75), (89, 75), (100, 100)])
def test_an_alert_is_due_once_at_each_threshold(used: int, percent: int | None) -> None:
    balance = BudgetBalance(
        scope="run/x", used=Amounts(tokens=used), limits=Limits(tokens=100, diff_lines=0)
    )
    due = alerts_due(balance, {})

    assert [each.percent for each in due] == ([] if percent is None else [percent])
    sent = EMPTY
    for each in due:
        sent = alerted(sent, each)
    assert alerts_due(balance, sent.alerted) == ()


def test_what_one_level_does_not_limit_the_one_below_may() -> None:
    below = Limits(tokens=5, tool_calls=7)

    assert Limits(tokens=9).over(below) == Limits(tokens=9, tool_calls=7)
    assert below.over(Limits()) is below


def test_without_limits_nobody_is_alerted() -> None:
    assert alerts_due(BudgetBalance(scope="run/x", used=Amounts(tokens=9)), {}) == ()
    assert BudgetBalance(scope="run/x").after(NOTHING) == NOTHING
