"""What was used of a limit, in words, and the command that raises it."""

from __future__ import annotations

import pytest

from interlock.model.budget import Amounts, BudgetBalance, Dimension, Limits
from interlock.model.budget_words import spent_text, used_up, way_to_raise
from interlock.model.short_code import code_of

_RUN = "0198a3b4-5c6d-7e8f-9a0b-1c2d3e4f5a6b"


@pytest.mark.parametrize(
    ("dimension", "used", "limit", "text"),
    [
        (Dimension.TOKENS, 5_250, 5_000, "5,250 of 5,000 tokens"),
        (Dimension.TOOL_CALLS, 1, 1, "1 of 1 tool call"),
        (Dimension.TOOL_CALLS, 1, 2, "1 of 2 tool calls"),
        (Dimension.WALL_TIME, 3_600_500, 3_600_000, "3,600.5 of 3,600.0 s"),
        (Dimension.WALL_TIME, 1, 1, "0.0 of 0.0 s"),
        (Dimension.COST, 20_200, 20_000, "$0.0202 of $0.0200"),
        (Dimension.COST, 0, 2_500_000, "$0.00 of $2.50"),
        (Dimension.COST, 1, 1_234_000_000, "$0.000001 of $1,234.000000"),
        (Dimension.DIFF_LINES, 7, 1, "7 of 1 changed line"),
        (Dimension.STORAGE, 4_096, 5_000, "4,096 of 5,000 bytes"),
    ],
)
def test_both_numbers_are_written_alike(
    dimension: Dimension, used: int, limit: int, text: str
) -> None:
    said = spent_text(f"run/{_RUN}", dimension, used=used, limit=limit)

    assert said == f"this run has used {text}"


@pytest.mark.parametrize(
    ("reserved", "asked", "rest"),
    [
        (0, 300, " and asks for 300 more"),
        (200, 0, ", 200 more are reserved"),
        (1, 300, ", 1 more is reserved, and it asks for 300 more"),
    ],
)
def test_what_is_reserved_and_asked_for_is_told_where_it_is_not_zero(
    reserved: int, asked: int, rest: str
) -> None:
    said = spent_text(
        "agent/ann", Dimension.TOKENS, used=10, limit=20, reserved=reserved, asked=asked
    )

    assert said == f"this agent has used 10 of 20 tokens{rest}"


def test_an_amount_of_money_that_is_reserved_is_one() -> None:
    said = spent_text(f"run/{_RUN}", Dimension.COST, used=0, limit=100_000, reserved=50_000)

    assert said == "this run has used $0.00 of $0.10, $0.05 more is reserved"


@pytest.mark.parametrize(
    ("scope", "account"),
    [
        (f"run/{_RUN}", f"run/{code_of(_RUN)}"),
        (f"tree/{_RUN}", f"tree/{code_of(_RUN)}"),
        ("agent/claude", "agent/claude"),
        ("project-day/my shop/2026-11-15", "'project-day/my shop/2026-11-15'"),
    ],
)
def test_the_command_that_raises_a_limit_can_be_typed(scope: str, account: str) -> None:
    assert way_to_raise(scope, Dimension.COST) == f"interlock budget {account} cost-usd NEW"


def test_a_limit_is_used_up_where_nothing_is_left_of_it() -> None:
    own = BudgetBalance(
        scope=f"run/{_RUN}",
        used=Amounts(tokens=4, tool_calls=1),
        reserved=Amounts(tool_calls=1),
        limits=Limits(tokens=4, tool_calls=2),
    )
    (found,) = used_up(_RUN, [own, BudgetBalance(scope="agent/ann", used=Amounts(tokens=4))])

    assert found.text == "this run has used 4 of 4 tokens"
    assert found.way_to_raise == f"interlock budget run/{code_of(_RUN)} tokens NEW"
