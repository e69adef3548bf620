"""What is different between two policies, in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import msgspec

from interlock.policy.config.complaints import shortened
from interlock.policy.config.document import KEYS, Policy
from interlock.policy.config.key import Budget, Key, NamedTables, NamedValues, Schemas, Tables
from interlock.policy.config.layers import Leaf, in_dollars, is_hidden
from interlock.policy.config.reference import notation, told
from interlock.policy.config.toml_values import is_list, is_table, value_at


def policy_changes_between(old: Policy, new: Policy) -> tuple[str, ...]:
    """Return a line per place that differs, in the order of the key table.

    What is hidden is passed over altogether, so that a stored policy, which has lost it, can be
    compared with one that counts.
    """
    before, after = _visible_places(old), _visible_places(new)
    differing = [
        leaf for leaf in before.keys() | after.keys() if _differ(before.get(leaf), after.get(leaf))
    ]
    return tuple(
        f"`{leaf.path}`: {_change(before.get(leaf), after.get(leaf))}"
        for leaf in sorted(differing, key=Leaf.order)
    )


def _visible_places(policy: Policy) -> dict[Leaf, object]:
    # JSON and back leaves lists, tables and scalars: one policy then looks like another.
    table: dict[str, object] = msgspec.json.decode(msgspec.json.encode(policy))
    places = (
        place for key in KEYS for place in _places(key, value_at(table, key.section, key.name))
    )
    return {leaf: in_dollars(leaf, value) for leaf, value in places if not is_hidden(leaf)}


def _places(key: Key, value: object) -> Iterator[tuple[Leaf, object]]:
    """Yield each place behind a key with what it holds."""
    match key.shape:
        case NamedValues() | Schemas() | Budget() | NamedTables():
            yield from ((Leaf(key.path, name), item) for name, item in _table(value).items())
        case Tables(identity="tools"):
            yield from _carried_by_tool(key, value)
        case Tables(identity=identity):
            for table in map(_table, _list(value)):
                rest = {name: item for name, item in table.items() if name != identity}
                yield Leaf(key.path, str(table[identity])), rest
        case _:
            yield Leaf(key.path), value


def _carried_by_tool(key: Key, value: object) -> Iterator[tuple[Leaf, object]]:
    carried: dict[str, list[object]] = {}
    for carrier in map(_table, _list(value)):
        parameters = {name: names for name, names in carrier.items() if name != "tools" and names}
        for tool in _list(carrier["tools"]):
            carried.setdefault(str(tool), []).append(parameters)
    for tool, carriers in carried.items():
        yield Leaf(key.path, tool), sorted(carriers, key=notation)


def _table(value: object) -> dict[str, object]:
    return value if is_table(value) else {}


def _list(value: object) -> list[object]:
    return value if is_list(value) else []


def _differ(old: object, new: object) -> bool:
    """Compare as JSON does: in a schema, `true` is not 1."""
    return notation(old) != notation(new)


def _change(old: object, new: object) -> str:
    if old is None:
        return f"set to {shortened(told(new))}"
    if new is None:
        return f"taken away (was {shortened(told(old))})"
    if is_list(old) and is_list(new):
        return "; ".join(_membership_changes(old, new))
    if is_table(old) and is_table(new):
        return "; ".join(_field_changes(old, new))
    return f"{shortened(told(old))} → {shortened(told(new))}"


def _membership_changes(old: list[object], new: list[object]) -> Iterator[str]:
    before, after = set(map(notation, old)), set(map(notation, new))
    if added := sorted(after - before):
        yield f"adds {', '.join(map(shortened, added))}"
    if removed := sorted(before - after):
        yield f"takes away {', '.join(map(shortened, removed))}"


def _field_changes(old: Mapping[str, object], new: Mapping[str, object]) -> Iterator[str]:
    for name in sorted(old.keys() | new.keys()):
        if _differ(old.get(name), new.get(name)):
            before, after = (
                shortened(notation(table[name])) if name in table else "nothing"
                for table in (old, new)
            )
            yield f"{name} {before} → {after}"
