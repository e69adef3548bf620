"""A policy as it is kept beside the decisions that were made under it."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from interlock.errors import InputError, PolicyError
from interlock.policy.config.action_sections import Carrier
from interlock.policy.config.document import KEYS, Policy
from interlock.policy.config.key import Budget, NamedTables, NamedValues, Schemas, Shape, Tables
from interlock.policy.config.layers import Leaf, Value
from interlock.policy.config.toml_values import is_list, is_table


def stored_bytes(policy: Policy) -> bytes:
    """Return the policy as canonical JSON, without the fingerprint key: nobody may find it there.

    Two policies that differ in nothing else have the same bytes, but not the same hash.
    """
    secrets = msgspec.structs.replace(policy.secrets, fingerprint_key="")
    return canonical_bytes(msgspec.structs.replace(policy, secrets=secrets))


def policy_from_stored(body: bytes, defaults: Policy) -> Policy:
    """Return the policy that was stored, with no fingerprint key; raise where it is none.

    What was not a key yet when it was stored is as the defaults have it.
    """
    try:
        kept = msgspec.json.decode(body, type=dict[str, object])
        every = msgspec.json.decode(stored_bytes(defaults), type=dict[str, object])
        return msgspec.convert(_completed(kept, every), Policy)
    except (ValueError, RecursionError, InputError) as error:
        problem = f"{str(error)[:1].lower()}{str(error)[1:]}"
        raise PolicyError([f"stored policy: cannot be read: {problem}"]) from error


def _completed(kept: dict[str, object], defaults: dict[str, object]) -> dict[str, object]:
    """Return every section with every key; what stands outside of sections is never made up."""
    sections = {name: section for name, section in defaults.items() if is_table(section)}
    return kept | {
        name: {**section, **own} if is_table(own := kept.get(name, {})) else own
        for name, section in sections.items()
    }


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
