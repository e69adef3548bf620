"""What does the use of a model cost?

The policy's own prices come first, then the public price lists that the package
`genai-prices` carries. Those are read from the installed package and never fetched: what a
run cost must not depend on the network, and asking must not tell anybody who asks.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from decimal import ROUND_CEILING, Context, localcontext
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from interlock.model.budget import TokenUsage

if TYPE_CHECKING:
    from genai_prices.types import ModelInfo, ModelPrice, Provider

_MILLION = 1_000_000
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


class OwnPrice(NamedTuple):
    """Millionths of a US dollar for a million tokens."""

    input_micros_per_million: int
    output_micros_per_million: int


class Quote(msgspec.Struct, frozen=True, kw_only=True):
    """A cost, or None where it is not known, and where it comes from or why it is not."""

    micros: int | None
    explanation: str


class Prices:
    """Prices the use of models by their names, as clients write them."""

    def __init__(self, own: Mapping[str, tuple[int, int]] | None = None) -> None:
        """Take the policy's own prices: (input, output) in micro-USD per million tokens."""
        self._own = {_plain(name): OwnPrice(*price) for name, price in (own or {}).items()}
        self._listed: dict[str, _Listed | str] = {}

    def cost_micros(
        self, model: str | None, usage: TokenUsage, *, at: datetime | None = None
    ) -> int | None:
        """Return the cost in micro-USD, rounded up; None when the price is not known."""
        return self.quote(model, usage, at=at).micros

    def quote(self, model: str | None, usage: TokenUsage, *, at: datetime | None = None) -> Quote:
        """Return the cost with its explanation; never raise.

        Cached tokens are part of `input_tokens`. Where more tokens are cached than were put
        in, the client has counted them apart, and they are added: a cost is rather too high
        than too low. A price list may charge more for a long request, so each call of a
        model is to be priced by itself. `at` is when it was made, now if None.
        """
        if model is None or not (name := _plain(model)):
            return _unknown("no model was named")
        if len(name) > _LONGEST_NAME:
            return _unknown(
                f"the name of the model has {len(name)} characters, {_LONGEST_NAME} are read"
            )
        counted = _counted_together(usage)
        if counted is None:
            return _unknown(f"a count of tokens of model `{model}` is below 0")
        if (own := self._own_price(name)) is not None:
            return _cost_by_policy(own, counted)
        found = self._find_listed(name)
        if isinstance(found, str):
            return _unknown(found)
        return _cost_by_list(found, counted, at or datetime.now(tz=UTC))

    def _own_price(self, name: str) -> OwnPrice | None:
        candidates = (self._own.get(shorter) for shorter in _without_prefixes(name))
        return next((price for price in candidates if price is not None), None)

    def _find_listed(self, name: str) -> _Listed | str:
        """What the price lists have on a name, looked up once; a text says why nothing."""
        if (known := self._listed.get(name)) is None:
            if len(self._listed) >= _REMEMBERED_NAMES:
                self._listed.clear()
            known = self._listed[name] = _look_up(name)
        return known


class _Listed(NamedTuple):
    provider: Provider
    model: ModelInfo

    def __str__(self) -> str:
        return f"`{self.model.id}` of `{self.provider.id}`"


def _plain(model: str) -> str:
    return model.strip().lower()


def _without_prefixes(name: str) -> Iterator[str]:
    """The whole name, then what is left as each `prefix/` is taken off."""
    while name:
        yield name
        _, _, name = name.partition("/")


def _unknown(reason: str) -> Quote:
    return Quote(micros=None, explanation=reason)


def _counted_together(usage: TokenUsage) -> TokenUsage | None:
    """The usage with cached tokens inside the input; None if a count is impossible."""
    cached = usage.cache_read_tokens + usage.cache_write_tokens
    if min(msgspec.structs.astuple(usage)) < 0:
        return None
    if cached <= usage.input_tokens:
        return usage
    return msgspec.structs.replace(usage, input_tokens=usage.input_tokens + cached)


def _cost_by_policy(price: OwnPrice, usage: TokenUsage) -> Quote:
    millionths = (
        usage.input_tokens * price.input_micros_per_million
        + usage.output_tokens * price.output_micros_per_million
    )
    return Quote(micros=-(-millionths // _MILLION), explanation="the policy's own price")


def _look_up(name: str) -> _Listed | str:
    """Find the list that prices a name, from the most to the least telling way to read it."""
    try:
        from genai_prices.data import providers  # noqa: PLC0415 - an extra, slow to load
        from genai_prices.data_snapshot import find_provider_by_id  # noqa: PLC0415 - the same
    except ImportError:
        return "no price list is installed; run `pip install interlock[prices]`"
    for provider_name, model_name in _readings(name):
        if provider_name is None:
            provider = _provider_by_model(providers, model_name)
        else:
            provider = find_provider_by_id(providers, provider_name)
        if provider and (model := provider.find_model(model_name, all_providers=providers)):
            return _Listed(provider, model)
    return f"no price list has model `{name}`; give its price in the policy"


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


def _cost_by_list(listed: _Listed, usage: TokenUsage, at: datetime) -> Quote:
    from genai_prices import Usage  # noqa: PLC0415 - an extra, loaded by the look-up before

    prices = listed.model.get_prices(at)
    if (missing := _unpriced(prices, usage)) is not None:
        return _unknown(f"the price list of {listed} has no price for {missing} tokens")
    with localcontext(_EXACT):
        try:
            cost = prices.calc_price(Usage(**msgspec.structs.asdict(usage)))
        except ValueError as error:
            return _unknown(f"the price list of {listed} cannot price this: {error}")
        micros = (cost["total_price"] * _MILLION).to_integral_value(rounding=ROUND_CEILING)
    return Quote(micros=int(micros), explanation=f"the price list of {listed}")


def _unpriced(prices: ModelPrice, usage: TokenUsage) -> str | None:
    """What the list would count as free because it says nothing about it."""
    if prices.input_mtok is None and (usage.input_tokens or prices.output_mtok is None):
        return "input"
    if prices.output_mtok is None and usage.output_tokens:
        return "output"
    return None
