"""Is the use of a model priced by the right list, exactly, and never below its cost?"""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, datetime
from decimal import Decimal, localcontext
from fractions import Fraction
from textwrap import dedent

import pytest
from genai_prices import Usage, calc_price
from genai_prices.data import providers
from genai_prices.types import ClauseEquals, ModelInfo, ModelPrice
from hypothesis import given
from hypothesis import strategies as st

from interlock.errors import InputError
from interlock.model.budget import TokenUsage
from interlock.policy.config.run_sections import Price
from interlock.service.records.prices import Prices, SteadyPrices, _cost_by_list, is_listed

A_MILLION_IN = TokenUsage(input_tokens=1_000_000)
A_THOUSAND_OF_EACH = TokenUsage(input_tokens=1000, output_tokens=1000)
A_DAY = datetime(2026, 1, 15, 12, tzinfo=UTC)

counts = st.integers(min_value=0, max_value=10**9)
rates = st.integers(min_value=0, max_value=10**9)
usages = st.builds(
    TokenUsage,
    input_tokens=counts,
    output_tokens=counts,
    cache_read_tokens=counts,
    cache_write_tokens=counts,
)


def _own_prices(costs: dict[str, tuple[int, int]]) -> Prices:
    """Return prices that a policy gives: what a million tokens cost that go in and come out."""
    return Prices(
        [
            Price(model=model, input_micro_usd=inward, output_micro_usd=outward)
            for model, (inward, outward) in costs.items()
        ]
    )


@pytest.mark.parametrize(
    ("model", "micros"),
    [
        ("claude-sonnet-4-5-20250929", 18_000),
        ("Claude-Sonnet-4-5", 18_000),
        ("anthropic/claude-sonnet-4-5", 18_000),
        ("anthropic/claude-sonnet-4.5", 18_000),
        ("openrouter/anthropic/claude-sonnet-4.5", 18_000),
        ("vertex_ai/claude-sonnet-4-5@20250929", 18_000),
        ("anthropic.claude-3-5-sonnet-20241022-v2:0", 18_000),
        ("bedrock/anthropic.claude-3-5-sonnet-20241022-v2:0", 18_000),
        ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", 19_800),
        (
            "arn:aws:bedrock:us-east-1::foundation-model/anthropic.claude-3-5-sonnet-20241022-v2:0",
            18_000,
        ),
        ("gpt-5", 11_250),
        (" GPT-5 ", 11_250),
        ("openai/gpt-5", 11_250),
        ("azure/gpt-5", 11_250),
        ("a-gateway-of-our-own/gpt-5", 11_250),
        ("models/gemini-2.5-pro", 11_250),
    ],
)
def test_finds_the_price_by_the_name_a_client_sends(model: str, micros: int) -> None:
    assert Prices().cost_micros(model, A_THOUSAND_OF_EACH, at=A_DAY) == micros


@pytest.mark.parametrize(
    "model",
    [
        None,
        " ",
        "no-such-model",
        "///",
        "m" * 257,
        "openai/text-embedding-3-small",
        "github_copilot/gpt-4o",
    ],
    ids=["none", "blank", "unlisted", "slashes", "long", "no output price", "no price at all"],
)
def test_an_unknown_price_is_none(model: str | None) -> None:
    assert Prices().cost_micros(model, A_THOUSAND_OF_EACH) is None


def test_an_unknown_price_stays_unknown_when_nothing_was_used() -> None:
    assert Prices().cost_micros("no-such-model", TokenUsage()) is None
    assert Prices().cost_micros("github_copilot/gpt-4o", TokenUsage()) is None
    assert Prices().cost_micros("gpt-5", TokenUsage()) == 0


def test_what_has_no_output_is_priced_by_its_input() -> None:
    assert Prices().cost_micros("openai/text-embedding-3-small", A_MILLION_IN) == 20_000


def test_the_policys_own_price_goes_before_the_lists() -> None:
    assert _own_prices({"gpt-5": (7, 11)}).cost_micros("gpt-5", A_MILLION_IN) == 7


def test_an_own_price_of_nothing_is_a_known_price() -> None:
    assert _own_prices({"local-model": (0, 0)}).cost_micros("local-model", A_THOUSAND_OF_EACH) == 0


@pytest.mark.parametrize("model", ["House-Model", "gateway/house-model", "a/b/HOUSE-MODEL"])
def test_an_own_price_holds_whatever_the_prefix_and_the_case(model: str) -> None:
    assert _own_prices({"house-Model": (5, 5)}).cost_micros(model, A_MILLION_IN) == 5


def test_an_own_price_of_the_whole_name_goes_before_that_of_its_end() -> None:
    prices = _own_prices({"gpt-5": (7, 7), "azure/gpt-5": (9, 9)})

    assert prices.cost_micros("azure/gpt-5", A_MILLION_IN) == 9
    assert prices.cost_micros("openai/gpt-5", A_MILLION_IN) == 7


def test_cached_tokens_are_part_of_the_input() -> None:
    cached = TokenUsage(input_tokens=1_000, cache_read_tokens=600, cache_write_tokens=300)

    assert Prices().cost_micros("claude-sonnet-4-5", cached, at=A_DAY) == 1_605


def test_cached_tokens_that_exceed_the_input_are_added_to_it() -> None:
    apart = TokenUsage(input_tokens=100, cache_read_tokens=600, cache_write_tokens=300)
    together = TokenUsage(input_tokens=1_000, cache_read_tokens=600, cache_write_tokens=300)

    assert Prices().cost_micros("claude-sonnet-4-5", apart) == Prices().cost_micros(
        "claude-sonnet-4-5", together
    )


def test_a_negative_count_is_no_refund() -> None:
    with pytest.raises(InputError, match=r"`TokenUsage\.output_tokens` is `-100`"):
        TokenUsage(input_tokens=100, output_tokens=-100)


def test_the_least_use_costs_at_least_a_micro_dollar() -> None:
    assert Prices().cost_micros("gpt-5-nano", TokenUsage(input_tokens=1)) == 1


@given(usages, rates, rates)
def test_an_own_price_is_exact_and_rounded_up(usage: TokenUsage, inward: int, outward: int) -> None:
    cached = usage.cache_read_tokens + usage.cache_write_tokens
    put_in = usage.input_tokens + (cached if cached > usage.input_tokens else 0)
    exact = Fraction(put_in * inward + usage.output_tokens * outward, 10**6)

    micros = _own_prices({"model": (inward, outward)}).cost_micros("model", usage)

    assert micros is not None
    assert exact <= micros < exact + 1


@given(usages)
def test_a_listed_price_is_never_under_counted(usage: TokenUsage) -> None:
    cached = usage.cache_read_tokens + usage.cache_write_tokens
    put_in = usage.input_tokens + (cached if cached > usage.input_tokens else 0)
    with localcontext() as context:
        context.prec = 60
        listed = calc_price(
            Usage(
                input_tokens=put_in,
                output_tokens=usage.output_tokens,
                cache_read_tokens=usage.cache_read_tokens,
                cache_write_tokens=usage.cache_write_tokens,
            ),
            "claude-sonnet-4-5",
            genai_request_timestamp=A_DAY,
        )
        exact = Fraction(listed.total_price) * 10**6

    with localcontext() as careless:
        careless.prec = 3
        micros = Prices().cost_micros("claude-sonnet-4-5", usage, at=A_DAY)

    assert micros is not None
    assert exact <= micros < exact + 1


@given(st.text(max_size=300))
def test_any_name_gets_an_answer(name: str) -> None:
    micros = Prices().cost_micros(name, A_THOUSAND_OF_EACH)

    assert micros is None or micros >= 0


def test_no_listed_model_is_free_of_charge_by_omission() -> None:
    usage = TokenUsage(
        input_tokens=10_000, output_tokens=10_000, cache_read_tokens=4_000, cache_write_tokens=5_000
    )
    costs = [
        _cost_by_list(model, usage, A_DAY) for provider in providers for model in provider.models
    ]

    assert len(costs) > 1000
    assert 0 not in costs


def test_a_list_that_cannot_be_calculated_with_is_no_price() -> None:
    wrong = ModelInfo(
        id="wrong",
        match=ClauseEquals("wrong"),
        prices=ModelPrice(input_mtok=Decimal(-1), output_mtok=Decimal(1)),
    )

    assert _cost_by_list(wrong, A_MILLION_IN, A_DAY) is None


def test_the_price_lists_are_loaded_only_when_needed() -> None:
    run_apart("""
        import sys
        from interlock.model.budget import TokenUsage
        from interlock.policy.config.run_sections import Price
        from interlock.service.records.prices import Prices

        prices = Prices([Price(model="own", input_micro_usd=1, output_micro_usd=1)])
        assert prices.cost_micros("own", TokenUsage(input_tokens=1)) == 1
        assert "genai_prices" not in sys.modules
        assert prices.cost_micros("gpt-5", TokenUsage(input_tokens=1)) == 2
        assert "genai_prices" in sys.modules
        """)


def test_without_the_package_prices_are_unknown() -> None:
    run_apart("""
        import sys
        sys.modules["genai_prices"] = None
        from interlock.model.budget import TokenUsage
        from interlock.service.records.prices import Prices, is_listed

        assert Prices().cost_micros("gpt-5", TokenUsage(input_tokens=1)) is None
        assert not is_listed("gpt-5")
        """)


def test_opens_no_socket_and_asks_for_no_address() -> None:
    run_apart("""
        import sys
        network = []
        sys.addaudithook(lambda event, _: event.startswith("socket.") and network.append(event))
        from interlock.model.budget import TokenUsage
        from interlock.service.records.prices import Prices

        assert Prices().cost_micros("gpt-5", TokenUsage(input_tokens=1)) == 2
        assert Prices().cost_micros("no-such-model", TokenUsage(input_tokens=1)) is None
        assert network == [], network
        import socket
        socket.socket().close()
        assert network == ["socket.__new__"], network
        """)


def run_apart(program: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", dedent(program)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_the_sample_price_is_what_the_list_says() -> None:
    listed = calc_price(Usage(input_tokens=1_000_000), "gpt-5", genai_request_timestamp=A_DAY)

    assert listed.total_price == Decimal("1.25")
    assert Prices().cost_micros("gpt-5", A_MILLION_IN, at=A_DAY) == 1_250_000


@pytest.mark.parametrize("model", ["gpt-5", "GPT-5 ", "llama-3.3-70b-versatile", "qwen3-coder"])
def test_a_model_is_listed_by_whatever_provider(model: str) -> None:
    assert is_listed(model)
    assert not is_listed("nobody-knows-this")


@given(
    st.sampled_from(["claude-sonnet-4-5", "gpt-4o", "gemini-2.5-pro", "nobody-knows-it"]),
    st.integers(0, 200_000),
    st.integers(0, 20_000),
    st.integers(0, 200_000),
    st.integers(0, 20_000),
)
def test_many_calls_are_priced_as_each_by_itself(
    model: str, fresh: int, written: int, read: int, put: int
) -> None:
    """What a cache costs is asked apart from what it holds, so that a micro-dollar may be lost."""
    usage = TokenUsage(
        input_tokens=fresh + read + put,
        output_tokens=written,
        cache_read_tokens=read,
        cache_write_tokens=put,
    )
    at = int(A_DAY.timestamp() * 1_000_000)
    exact = Prices().cost_micros(model, usage, at=A_DAY)
    steady = SteadyPrices(Prices()).cost_micros(model, usage, at)

    assert (steady is None) == (exact is None)
    assert steady is None or exact is None or abs(steady - exact) <= 1


def test_a_call_of_no_known_time_is_priced_as_now() -> None:
    prices = SteadyPrices(_own_prices({"mine": (2_000_000, 4_000_000)}))

    assert prices.cost_micros("mine", A_THOUSAND_OF_EACH, None) == 6_000
    assert prices.cost_micros("mine", A_THOUSAND_OF_EACH, None) == 6_000
    assert prices.cost_micros(None, A_THOUSAND_OF_EACH, None) is None
