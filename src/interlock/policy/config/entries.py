"""Reading the entries behind a key: tables by name, and lists of tables."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import assert_never

import msgspec

from interlock.errors import InputError
from interlock.policy.config.document import Carrier, ReviewGateEntry
from interlock.policy.config.fields import Fields, read_fields
from interlock.policy.config.json_values import json_problem, json_value
from interlock.policy.config.key import Key
from interlock.policy.config.layer import KnownRules, Value
from interlock.policy.config.shapes import (
    Budget,
    Entries,
    NamedTables,
    NamedValues,
    NameKind,
    Schemas,
    Tables,
    TextKind,
)
from interlock.policy.config.syntax import is_list, is_table
from interlock.policy.config.texts import schema_problem
from interlock.policy.config.values import Desk, read_text, read_value
from interlock.policy.config.wording import joined, kind_of, shown, suggestion
from interlock.policy.reviews.from_policy import review_gate

Entry = tuple[str, Value]

_RULES = "rules"
_ASKS = "require-confirmation"
_REVIEW_GATES = "reviews.gates"


def read_entries(
    key: Key, shape: Entries, value: object, desk: Desk, known: KnownRules
) -> Iterator[Entry]:
    """Yield every good entry behind a key; complain about the others."""
    match shape:
        case NamedValues():
            return _named_values(key, shape, value, desk, known)
        case Schemas():
            return _schemas(key, value, desk)
        case Tables(identity="tools"):
            return _carriers(key, shape, value, desk)
        case Tables():
            return _identified_tables(key, shape, value, desk, known)
        case Budget():
            return _limits(key, shape, value, desk)
        case NamedTables():
            return _named_tables(key, shape, value, desk)
        case _:
            assert_never(shape)


def _named_values(
    key: Key, shape: NamedValues, value: object, desk: Desk, known: KnownRules
) -> Iterator[Entry]:
    names = _vocabulary(shape.names, known)
    for name, item in _items(key, value, desk):
        place = joined(key.path, name)
        if name not in names:
            problem = f"unknown {shape.names.value}{suggestion(name, names)}"
            desk.complaints.about(place, problem)
            continue
        read = read_value(shape.value, place, item, desk)
        if read is not None:
            yield name, read


def _vocabulary(names: NameKind, known: KnownRules) -> Collection[str]:
    match names:
        case NameKind.PACK:
            return known.packs
        case NameKind.COMMAND_RULE:
            return known.commands
        case NameKind.SECRET_RULE:
            return known.secrets
        case _:
            assert_never(names)


def _schemas(key: Key, value: object, desk: Desk) -> Iterator[Entry]:
    for tool, item in _items(key, value, desk):
        place = joined(key.path, tool)
        if not is_table(item):
            desk.complaints.about(place, f"{shown(item)} is {kind_of(item)}; expected a table")
        elif foreign := json_problem(item, place):
            desk.complaints.about(*foreign)
        elif invalid := schema_problem(plain := _plain_table(item), place):
            desk.complaints.about(*invalid)
        else:
            yield tool, plain


def _plain_table(table: dict[str, object]) -> dict[str, object]:
    return {name: json_value(part) for name, part in table.items()}


def _limits(key: Key, shape: Budget, value: object, desk: Desk) -> Iterator[Entry]:
    table = dict(_items(key, value, desk))
    limits = read_fields(shape.fields, key.path, table, desk).values
    yield from ((name, limit) for name, limit in limits.items() if isinstance(limit, int))


def _named_tables(key: Key, shape: NamedTables, value: object, desk: Desk) -> Iterator[Entry]:
    """Yield each table that is wholly right, under the name that it is for."""
    for name, item in _items(key, value, desk):
        place = joined(key.path, name)
        if read_text(TextKind.GLOB, place, name, desk) is None:
            continue
        if not is_table(item):
            desk.complaints.about(place, f"{shown(item)} is {kind_of(item)}; expected a table")
            continue
        fields = read_fields(shape.fields, place, item, desk)
        if fields.complete:
            yield name, fields.values


def _items(key: Key, value: object, desk: Desk) -> Iterator[tuple[str, object]]:
    if is_table(value):
        yield from value.items()
    else:
        problem = f"{shown(value)} is {kind_of(value)}; expected a table, `[{key.path}]`"
        desk.complaints.about(key.path, problem)


def _carriers(key: Key, shape: Tables, value: object, desk: Desk) -> Iterator[Entry]:
    """Yield, for each tool, everything that the list says about it."""
    carried: dict[str, set[Carrier]] = {}
    for place, fields in _tables(key, shape, value, desk):
        if not fields.complete:
            continue
        carrier = msgspec.convert(fields.values, Carrier)
        if not carrier.tools:
            desk.complaints.about(f"{place}.tools", "`[]` is empty; expected at least one tool")
        for tool in carrier.tools:
            carried.setdefault(tool, set()).add(msgspec.structs.replace(carrier, tools=()))
    for tool, carriers in carried.items():
        yield tool, frozenset(carriers)


def _identified_tables(
    key: Key, shape: Tables, value: object, desk: Desk, known: KnownRules
) -> Iterator[Entry]:
    """Yield each table under its identity, which nothing else may have."""
    built_in = (*known.commands, *known.secrets) if key.path == _RULES else ()
    taken = dict.fromkeys(built_in, "a built-in rule")
    for place, fields in _tables(key, shape, value, desk):
        identity = fields.values.pop(shape.identity, None)
        if not isinstance(identity, str):
            continue
        if identity in taken:
            problem = f"{shown(identity)} is already the {shape.identity} of {taken[identity]}"
            desk.complaints.about(f"{place}.{shape.identity}", problem)
        elif not fields.complete:
            pass
        elif key.path == _REVIEW_GATES and (wrong := _gate_problem(place, identity, fields)):
            desk.complaints.about(*wrong)
        elif key.path == _RULES and (problem := _rule_problem(fields)):
            desk.complaints.about(f"{place}.on_match", problem)
        else:
            yield identity, fields.values
        taken.setdefault(identity, f"`{place}`")


def _gate_problem(place: str, identity: str, fields: Fields) -> tuple[str, str] | None:
    """Return where and why a gate of reviews asks nothing although each of its fields is right."""
    entry = msgspec.convert({"id": identity, **fields.values}, ReviewGateEntry)
    if entry.check is not None and not "".join(entry.check[:1]).strip():
        words = shown(list(entry.check))
        return f"{place}.check", f'{words} names no program; expected such as `["pytest"]`'
    try:
        review_gate(entry)
    except InputError as error:
        return place, str(error)
    return None


def _rule_problem(fields: Fields) -> str | None:
    """Return why the two answers of a rule cannot go together."""
    decision = fields.values.get("decision", _ASKS)
    if "on_match" not in fields.values or decision == _ASKS:
        return None
    return (
        f"{shown(fields.values['on_match'])} asks a person where nothing can be copied, and does"
        f" not go with {shown(decision)}; leave `decision` out"
    )


def _tables(key: Key, shape: Tables, value: object, desk: Desk) -> Iterator[tuple[str, Fields]]:
    if not is_list(value):
        problem = f"{shown(value)} is {kind_of(value)}; expected a list, `[[{key.path}]]`"
        desk.complaints.about(key.path, problem)
        return
    if len(value) > shape.most:
        desk.complaints.about(key.path, f"{len(value)} entries; expected at most {shape.most}")
        return
    for at, item in enumerate(value):
        place = f"{key.path}[{at}]"
        if is_table(item):
            yield place, read_fields(shape.fields, place, item, desk)
        else:
            desk.complaints.about(place, f"{shown(item)} is {kind_of(item)}; expected a table")
