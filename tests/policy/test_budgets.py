"""What may be spent: limits by dimension, money to the millionth, prices of one's own."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.model.budget import Dimension
from interlock.policy.config.document import KEYS, canonical_bytes
from interlock.policy.config.key import Budget
from interlock.policy.config.run_sections import BUDGET_KEYS, Price
from policy.documents import FEW_DEFAULTS
from policy.files import complaints, merged, toml

MONEY = "expected US dollars from 0 to 1000000000, with at most 6 decimal places"


def cost_limit(written: str) -> int:
    text = f"[budgets.run]\ncost-usd = {written}"
    return merged(text, defaults=FEW_DEFAULTS).policy.budgets.run["cost-usd"]


def test_every_dimension_can_be_limited_in_every_scope():
    scopes = [key.path for key in KEYS if isinstance(key.shape, Budget)]

    assert [field.name for field in BUDGET_KEYS] == [dimension.value for dimension in Dimension]
    assert scopes == [
        *[f"budgets.{scope}" for scope in ("run", "tree", "agent", "project-day")],
        "loop.job-budget",
    ]


def test_limits_are_merged_dimension_by_dimension():
    budgets = merged(
        "[budgets.run]\ntokens = 100\ntool-calls = 0\n[budgets.project-day]\ncost-usd = 20",
        "[budgets.run]\ntokens = 50\nwall-time-s = 60\n[budgets.agent]\nstorage-bytes = 7",
    ).policy.budgets

    assert budgets.run == {"tokens": 50, "tool-calls": 0, "wall-time-s": 60}
    assert budgets.tree == {}
    assert budgets.agent == {"storage-bytes": 7}
    assert budgets.project_day == {"cost-usd": 20_000_000}


@pytest.mark.parametrize(
    ("written", "micro_usd"),
    [
        ("0", 0),
        ("-0.0", 0),
        ("3", 3_000_000),
        ("0x10", 16_000_000),
        ("2.50", 2_500_000),
        ("+0.1", 100_000),
        ("1_000.000_001", 1_000_000_001),
        ("0.1000000000", 100_000),
        ("0.000001", 1),
        ("1e-6", 1),
        ("2.5e3", 2_500_000_000),
        ("999999999.999999", 999_999_999_999_999),
        ("1000000000", 1_000_000_000_000_000),
    ],
)
def test_money_is_kept_in_millionths_of_a_dollar(written: str, micro_usd: int):
    assert cost_limit(written) == micro_usd


@pytest.mark.parametrize(
    ("written", "problem"),
    [
        ("0.0000001", f"`0.0000001` is too fine; {MONEY}"),
        ("0.10000000000000000001", f"`0.10000000000000000001` is too fine; {MONEY}"),
        ("1e-400", f"`1e-400` is too fine; {MONEY}"),
        ("1e-99999999999999999999", f"`1e-99999999999999999999` is too fine; {MONEY}"),
        ("-0.01", f"`-0.01` is out of range; {MONEY}"),
        ("1000000001", f"`1000000001` is out of range; {MONEY}"),
        ("0xfffffffffffffffffff", f"`0xfffffffffffffffffff` is out of range; {MONEY}"),
        ("1e99999999999999999999", f"`1e99999999999999999999` is out of range; {MONEY}"),
        ("nan", f"`nan` is out of range; {MONEY}"),
        ("inf", f"`inf` is out of range; {MONEY}"),
        ("true", f"`true` is a truth value; {MONEY}"),
        ("'2.50'", f'`"2.50"` is text; {MONEY}'),
    ],
)
def test_refuses_money_that_it_could_not_keep_exactly(written: str, problem: str):
    text = f"[budgets.run]\ncost-usd = {written}"

    assert complaints(text) == [f"policy.toml: budgets.run.cost-usd: {problem}"]


@given(st.integers(0, 10**15))
def test_every_millionth_of_a_dollar_arrives(micro_usd: int):
    dollars, millionths = divmod(micro_usd, 10**6)

    assert cost_limit(f"{dollars}.{millionths:06}") == micro_usd


@pytest.mark.parametrize("written", ["2.5", "2.50", "25e-1", "2.5000000"])
def test_the_hash_knows_the_money_not_how_it_is_written(written: str):
    policy = merged(f"[budgets.run]\ncost-usd = {written}")

    assert b'"run":{"cost-usd":2500000}' in canonical_bytes(policy.policy)
    assert policy.hash == merged("[budgets.run]\ncost-usd = 2.5").hash


def test_prices_are_read_by_model():
    small = "[[budgets.prices]]\nmodel = 'small'\ninput-usd = 0.05\noutput-usd = 1\n"
    large = "[[budgets.prices]]\nmodel = 'a.large-one'\ninput-usd = 3\noutput-usd = 15.25\n"

    assert merged(small + large).policy.budgets.prices == (
        Price(model="a.large-one", input_micro_usd=3_000_000, output_micro_usd=15_250_000),
        Price(model="small", input_micro_usd=50_000, output_micro_usd=1_000_000),
    )


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        pytest.param(
            "[budgets.run]\ntokns = 5",
            "budgets.run.tokns: unknown key; did you mean `tokens`?",
            id="a-misspelt-dimension",
        ),
        pytest.param(
            "[budgets.run]\ncolour = 5",
            "budgets.run.colour: unknown key; expected `cost-usd`, `diff-lines`, "
            "`storage-bytes`, `tokens`, `tool-calls` or `wall-time-s`",
            id="a-dimension-like-no-other",
        ),
        pytest.param(
            "[budgets.day]\ntokens = 5",
            "budgets.day: unknown key; expected `agent`, `lease-seconds`, `prices`, "
            "`project-day`, `run`, `tree` or `unpriced`",
            id="a-scope-like-no-other",
        ),
        pytest.param(
            "[budgets.trees]\ntokens = 5",
            "budgets.trees: unknown key; did you mean `tree`?",
            id="a-misspelt-scope",
        ),
        pytest.param(
            "[budgets]\nrun = 5",
            "budgets.run: `5` is a whole number; expected a table, `[budgets.run]`",
            id="a-number-for-a-scope",
        ),
        pytest.param(
            "[budgets.run]\ntokens = 1.5",
            "budgets.run.tokens: `1.5` is a number with a fraction; "
            "expected a whole number from 0 to 1000000000000000",
            id="a-fraction-of-a-token",
        ),
        pytest.param(
            "[budgets.run]\ntokens = -1",
            "budgets.run.tokens: `-1` is out of range; "
            "expected a whole number from 0 to 1000000000000000",
            id="fewer-than-none",
        ),
        pytest.param(
            "[[budgets.prices]]\nmodel = 'm'\ninput-usd = 1\noutput = 2",
            "budgets.prices[0].output: unknown key; did you mean `output-usd`?",
            id="a-misspelt-price",
        ),
        pytest.param(
            2 * "[[budgets.prices]]\nmodel = 'm'\ninput-usd = 1\noutput-usd = 2\n",
            'budgets.prices[1].model: `"m"` is already the model of `budgets.prices[0]`',
            id="two-prices-for-one-model",
        ),
        pytest.param(
            "[evaluators]\nforbidden-commands = ['(?=a)']",
            'evaluators.forbidden-commands[0]: `"(?=a)"` is not an RE2 pattern: '
            "lookaround is not supported at position 0",
            id="a-command-pattern-with-lookaround",
        ),
    ],
)
def test_names_what_is_wrong_with_a_budget(text: str, complaint: str):
    assert complaints(text) == [f"policy.toml: {complaint}"]


@pytest.mark.parametrize(
    ("permission", "problem"),
    [
        ("budgets.run.tokns", "is not a key of the policy; did you mean `budgets.run.tokens`?"),
        ("budgets.run", "is a table; write `budgets.run.*` for everything in it"),
        ("budgets.prices", "may be set in the user's file only and cannot be left to a project"),
        ("budgets.prices.*", "may be set in the user's file only and cannot be left to a project"),
        ("budgets.prices.m", "may be set in the user's file only and cannot be left to a project"),
    ],
)
def test_only_limits_that_exist_can_be_left_to_a_project(permission: str, problem: str):
    [complaint] = complaints(toml({"layers": {"project-may-loosen": [permission]}}))

    assert complaint == f'policy.toml: layers.project-may-loosen[0]: `"{permission}"` {problem}'


@pytest.mark.parametrize("permission", ["budgets.*", "budgets.run.*", "budgets.run.tokens"])
def test_a_limit_can_be_left_to_a_project(permission: str):
    user = toml({"layers": {"project-may-loosen": [permission]}, "budgets": {"run": {"tokens": 5}}})

    assert merged(user, "[budgets.run]\ntokens = 6").policy.budgets.run == {"tokens": 6}
