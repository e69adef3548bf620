"""From settled values to the policy that the gates see, and to the bytes that name it."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from interlock.policy.config.document import Carrier, Policy
from interlock.policy.config.keys import KEYS
from interlock.policy.config.layer import Leaf, Value
from interlock.policy.config.shapes import Budget, NamedTables, NamedValues, Schemas, Shape, Tables
from interlock.policy.config.syntax import is_list, is_table

_ITSELF = ""
"""The entry under which a key without entries is kept."""


def assembled_policy(values: Mapping[Leaf, Value]) -> Policy:
    """Return the policy; equal values give an equal policy, in whatever order they came."""
    entries: dict[str, dict[str, Value]] = {key.path: {} for key in KEYS}
    for leaf in sorted(values):
        entries[leaf.key_path][leaf.entry or _ITSELF] = values[leaf]
    sections: dict[str, dict[str, object]] = {key.section: {} for key in KEYS}
    for key in KEYS:
        sections[key.section][key.name] = _gathered(key.shape, entries[key.path])
    top = sections.pop("")
    return msgspec.convert({**top, **sections}, Policy)


def canonical_bytes(policy: Policy) -> bytes:
    """Return the policy as JSON with sorted keys: the same bytes in every process."""
    # Encoding once and reading it back leaves nothing but what JSON knows: no tuple, no enum.
    plain: object = msgspec.json.decode(msgspec.json.encode(policy))
    return msgspec.json.encode(_with_literal_fractions(plain), order="sorted")


def _gathered(shape: Shape, entries: Mapping[str, Value]) -> object:
    match shape:
        case NamedValues() | Schemas() | Budget() | NamedTables():
            return entries
        case Tables(identity="tools"):
            return _carriers(entries)
        case Tables(identity=identity):
            return [
                {identity: name, **fields}
                for name, fields in entries.items()
                if isinstance(fields, Mapping) and fields.get("decision") != "off"
            ]
        case _:
            return entries.get(_ITSELF)


def _carriers(entries: Mapping[str, Value]) -> list[Carrier]:
    pairs = [
        (carrier, tool)
        for tool, carriers in entries.items()
        if isinstance(carriers, frozenset)
        for carrier in carriers
    ]
    tools: dict[Carrier, list[str]] = {}
    for carrier, tool in pairs:
        tools.setdefault(carrier, []).append(tool)
    grouped = [
        msgspec.structs.replace(carrier, tools=tuple(names)) for carrier, names in tools.items()
    ]
    return sorted(grouped, key=msgspec.json.encode)


def _with_literal_fractions(value: object) -> object:
    """Write fractions as Python does: other encoders disagree on their last digits."""
    if is_table(value):
        return {name: _with_literal_fractions(item) for name, item in value.items()}
    if is_list(value):
        return [_with_literal_fractions(item) for item in value]
    return msgspec.Raw(repr(value).encode()) if isinstance(value, float) else value
