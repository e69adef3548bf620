"""What does the use of a model cost?

The policy's own prices come first, then the public price lists that the package
`genai-prices` carries. Those are read from the installed package and never fetched: what a
run cost must not depend on the network, and asking must not tell anybody who asks.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from decimal import ROUND_CEILING, Context, localcontext
from functools import lru_cache
from operator import mul
from typing import TYPE_CHECKING

import msgspec

from interlock.model.budget import TokenUsage
from interlock.policy.config.run_sections import Price

if TYPE_CHECKING:
    from genai_prices.types import ModelInfo, ModelPrice, Provider

_MILLION = 1_000_000
_DAY_MICROS = 86_400 * _MILLION
# No list charges more for a request that is no longer than this.
_SHORT_REQUEST = 100_000
# Far more digits than any product of a price and a count has: nothing is rounded on the way.
_EXACT = Context(prec=100)
# Names come from clients: neither a long one nor many different ones may cost us much.
_LONGEST_NAME = 256
_REMEMBERED_NAMES = 1024
# `vendor.model` or `region.vendor.model`, as Amazon Bedrock names models.
_BEDROCK_NAME = re.compile(r"(?:[a-z-]+\.)?[a-z][a-z0-9]*\.[a-z]")
_BEDROCK = "aws"
# The list whose models are named `vendor/model`.
_NAMED_WITH_VENDOR = "openrouter"


class Prices:
    """Prices the use of models by their names, as clients write them."""

    def __init__(self, own: Sequence[Price] = ()) -> None:
        """Take the policy's own prices."""
        self._own = {_plain(price.model): price for price in own}

    def cost_micros(
        self, model: str | None, usage: TokenUsage, *, at: datetime | None = None
    ) -> int | None:
        """Return the cost in micro-USD, rounded up; None when the price is not known.

        Cached tokens are part of `input_tokens`. Where more tokens are cached than were put
        in, the client has counted them apart, and they are added: a cost is rather too high
        than too low. A price list may charge more for a long request, so each call of a
        model is to be priced by itself. `at` is when it was made, now if None.
        """
        name = _plain(model or "")
        counted = _counted_together(usage)
        if not name or len(name) > _LONGEST_NAME or counted is None:
            return None
        for shorter in _without_prefixes(name):
            if shorter in self._own:
                return _cost_by_policy(self._own[shorter], counted)
        listed = _listed(name)
        return None if listed is None else _cost_by_list(listed, counted, at)


class SteadyPrices:
    """Prices many calls of models of the past, by what a token of each kind cost on that day.

    Lists charge more for long requests only: those are priced one by one.
    """

    def __init__(self, prices: Prices) -> None:
        self._prices = prices
        self._rates: dict[tuple[str | None, int], tuple[int, ...] | None] = {}

    def cost_micros(self, model: str | None, usage: TokenUsage, at: int | None) -> int | None:
        """Return the cost in micro-USD of a call at a time, rounded up; None if not known."""
        read, written = usage.cache_read_tokens, usage.cache_write_tokens
        fresh = usage.input_tokens - read - written
        if fresh < 0 or usage.input_tokens > _SHORT_REQUEST:
            return self._prices.cost_micros(model, usage, at=_moment(at))
        key = model, -1 if at is None else at // _DAY_MICROS
        if key not in self._rates:
            self._rates[key] = self._rates_of(model, at)
        rates = self._rates[key]
        if rates is None:
            return self._prices.cost_micros(model, usage, at=_moment(at))
        counts = (fresh, usage.output_tokens, read, written)
        return -(-sum(map(mul, rates, counts)) // _SHORT_REQUEST)

    def _rates_of(self, model: str | None, at: int | None) -> tuple[int, ...] | None:
        """Return what many tokens cost that are read, written, read from and put into a cache."""
        much = _SHORT_REQUEST
        kinds = (
            TokenUsage(input_tokens=much),
            TokenUsage(output_tokens=much),
            TokenUsage(input_tokens=much, cache_read_tokens=much),
            TokenUsage(input_tokens=much, cache_write_tokens=much),
        )
        costs = [self._prices.cost_micros(model, each, at=_moment(at)) for each in kinds]
        known = [each for each in costs if each is not None]
        return tuple(known) if len(known) == len(kinds) else None


def _moment(at: int | None) -> datetime | None:
    return None if at is None else datetime.fromtimestamp(at / _MILLION, UTC)


def is_listed(model: str) -> bool:
    """Whether a price list knows a model, by whatever provider's name."""
    name = _plain(model)
    if _listed(name) is not None:
        return True
    try:
        from genai_prices.data import providers  # noqa: PLC0415 - an extra, slow to load
    except ImportError:
        return False
    return any(
        each.find_model(name) is not None
        or any(model.id.lower().endswith(f"/{name}") for model in each.models)
        for each in providers
    )


def _plain(model: str) -> str:
    return model.strip().lower()


def _without_prefixes(name: str) -> Iterator[str]:
    """The whole name, then what is left as each `prefix/` is taken off."""
    while name:
        yield name
        _, _, name = name.partition("/")


def _counted_together(usage: TokenUsage) -> TokenUsage | None:
    """The usage with cached tokens inside the input; None if a count is impossible."""
    cached = usage.cache_read_tokens + usage.cache_write_tokens
    if min(msgspec.structs.astuple(usage)) < 0:
        return None
    if cached <= usage.input_tokens:
        return usage
    return msgspec.structs.replace(usage, input_tokens=usage.input_tokens + cached)


def _cost_by_policy(price: Price, usage: TokenUsage) -> int:
    read = usage.input_tokens * price.input_micro_usd
    written = usage.output_tokens * price.output_micro_usd
    return -(-(read + written) // _MILLION)


@lru_cache(_REMEMBERED_NAMES)
def _listed(name: str) -> ModelInfo | None:
    """Find the list that prices a name, from the most to the least telling way to read it."""
    try:
        from genai_prices.data import providers  # noqa: PLC0415 - an extra, slow to load
        from genai_prices.data_snapshot import find_provider_by_id  # noqa: PLC0415 - the same
    except ImportError:
        return None
    for provider_name, model_name in _readings(name):
        if provider_name is None:
            provider = _provider_by_model(providers, model_name)
        else:
            provider = find_provider_by_id(providers, provider_name)
        if provider and (model := provider.find_model(model_name, all_providers=providers)):
            return model
    return None


def _readings(name: str) -> Iterator[tuple[str | None, str]]:
    """Every (provider, model) a name may mean; None is whoever is known for such a model."""
    for rest in _without_prefixes(name):
        prefix, slash, model = rest.partition("/")
        if slash and prefix and model:
            yield prefix, model
            yield _NAMED_WITH_VENDOR, rest
        yield None, rest
        if _BEDROCK_NAME.match(rest):
            yield _BEDROCK, rest


def _provider_by_model(providers: list[Provider], name: str) -> Provider | None:
    known_for = (each for each in providers if each.model_match and each.model_match.is_match(name))
    return next(known_for, None)


def _cost_by_list(model: ModelInfo, usage: TokenUsage, at: datetime | None) -> int | None:
    from genai_prices import Usage  # noqa: PLC0415 - an extra, loaded by the look-up before

    prices = model.get_prices(at or datetime.now(tz=UTC))
    if _is_unpriced(prices, usage):
        return None
    with localcontext(_EXACT):
        try:
            cost = prices.calc_price(Usage(**msgspec.structs.asdict(usage)))
        except ValueError:
            return None
        return int((cost["total_price"] * _MILLION).to_integral_value(rounding=ROUND_CEILING))


def _is_unpriced(prices: ModelPrice, usage: TokenUsage) -> bool:
    """Whether the list would count something as free because it says nothing about it."""
    if prices.input_mtok is None and (usage.input_tokens or prices.output_mtok is None):
        return True
    return prices.output_mtok is None and usage.output_tokens > 0
