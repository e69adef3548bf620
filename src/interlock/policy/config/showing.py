"""A merged policy as rows for people."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import NamedTuple

import msgspec

from interlock.policy.config.layering import MergedPolicy
from interlock.policy.config.syntax import is_list, is_table

_ENCODER = msgspec.json.Encoder(decimal_format="number", order="deterministic")


class Row(NamedTuple):
    """One place of the policy: what it holds, in words, and which layer said so."""

    origin: str
    path: str
    value: str


def policy_rows(merged: MergedPolicy) -> Iterator[Row]:
    """Yield a row per place, in the order of the key table."""
    for path, value in merged.values.items():
        yield Row(merged.origins[path], path, told(value))


def told(value: object) -> str:
    """Return tables by what matters in them, and everything else as JSON."""
    match value:
        case {"decision": str(decision), "when": str(condition)}:
            return f"{decision} when {condition}"
        case {"decision": str(decision), "reason": str(reason)}:
            return f"{decision}: {reason}"
        case {"decision": str(decision)}:
            return decision
        case {"input-usd": Decimal() as read, "output-usd": Decimal() as written}:
            return f"{read} USD for a million tokens read, {written} USD written"
        case _ if is_list(value) and value and all(map(is_table, value)):
            return "; ".join(", ".join(carried) for carried in value if is_table(carried))
        case _:
            return notation(value)


def notation(value: object) -> str:
    """Return a value as JSON, the same for equal values, with money as a number."""
    return _ENCODER.encode(value).decode()
