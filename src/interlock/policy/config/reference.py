"""The reference of all keys, as a page of the documentation."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal
from typing import NamedTuple, assert_never

import msgspec

from interlock.policy.config.complaints import shortened
from interlock.policy.config.document import KEYS, PROFILE_KEYS, SECTIONS, Policy
from interlock.policy.config.key import (
    MOST_ITEMS,
    Budget,
    Choice,
    Entries,
    Examples,
    Field,
    FieldShape,
    Flag,
    Key,
    Money,
    NamedTables,
    NamedValues,
    Number,
    OrderedTexts,
    Schemas,
    Setting,
    Tables,
    Text,
    TextKind,
    Texts,
    Tighter,
)
from interlock.policy.config.layers import Leaf, in_dollars, is_hidden
from interlock.policy.config.merge import MergedPolicy, profile_value
from interlock.policy.config.parser import EXAMPLE_KEYS, expected
from interlock.policy.config.stop_section import PROFILES
from interlock.policy.config.toml_values import is_list, is_table, value_at

_LONGEST_LIST = 80


def policy_reference_markdown(defaults: str) -> str:
    """Return the reference in Markdown: each key with its type, default, meaning and direction."""
    table: dict[str, object] = tomllib.loads(defaults)
    return "\n".join([*_lines(table), ""])


def _lines(table: dict[str, object]) -> Iterator[str]:
    yield "# Policy reference"
    yield ""
    yield "Every key of the policy file, in the order of the default policy."
    for section in ("", *SECTIONS):
        yield ""
        yield f"## `[{section}]`" if section else "## Top of the file"
        for key in KEYS:
            if key.section == section:
                yield from _key_lines(key, table)


def _key_lines(key: Key, table: dict[str, object]) -> Iterator[str]:
    yield ""
    yield f"### `{key.path}`"
    yield ""
    yield key.meaning
    yield ""
    yield f"- Takes: {_taken(key)}"
    yield f"- Default: {_default(key, table)}"
    if key.at_least is not None:
        yield f"- At least: the value of `{key.at_least}`"
    yield f"- In a project's file: {key.tighter.value}"
    if isinstance(key.shape, Tables | Budget | NamedTables):
        yield ""
        yield "| key | takes | meaning |"
        yield "|---|---|---|"
        yield from (_field_line(field, key.shape) for field in key.shape.fields)


def _taken(key: Key) -> str:
    match key.shape:
        case NamedValues() as shape:
            return (
                f"a table from the name of a {shape.names.value} to {expected(shape.value)}; "
                f"what is not named stays {shape.absent}"
            )
        case Schemas():
            return "a table from the name of a tool to a JSON Schema"
        case Tables():
            return "a list of tables, with the keys below"
        case Budget():
            return "a table with the keys below; what is not named has no limit"
        case NamedTables() as shape:
            return (
                f"a table from the name of {shape.names}, or a glob where a `*` is written, to a"
                " table with the keys below"
            )
        case Texts() as shape:
            return f"a list, each entry {shape.kind.value}"
        case shape:
            return expected(shape)


def _default(key: Key, table: dict[str, object]) -> str:
    if key in PROFILE_KEYS:
        told = [f"`{name}` {_told_by_profile(name, key)}" for name in PROFILES]
        return f"{key.absent}: {', '.join(told)}"
    default = value_at(table, key.section, key.name)
    if not is_list(default):
        is_written = default is not None and default != {}
        return f"`{_notation(default)}`" if is_written else key.absent or "none"
    written = f"`{_notation(default)}`"
    if isinstance(key.shape, Tables) or len(written) > _LONGEST_LIST:
        return f"{len(default)} entries, listed in the default policy"
    return written


def _told_by_profile(profile: str, key: Key) -> str:
    value = profile_value(profile, key)
    return f"has {len(value)} entries" if isinstance(value, tuple) else f"says {value}"


def _field_line(field: Field, shape: Tables | Budget | NamedTables) -> str:
    needed = ", optional" if isinstance(shape, Tables) and not field.required else ""
    return f"| `{field.name}` | {_field_taken(field.shape)}{needed} | {field.meaning} |"


def _field_taken(shape: FieldShape) -> str:
    match shape:
        case Text():
            return shape.kind.value
        case Flag() | Number() | Money() | Choice():
            return expected(shape)
        case Texts():
            return f"a list, each entry {shape.kind.value}"
        case OrderedTexts():
            return f"a list in order, each entry {shape.kind.value}"
        case Examples():
            return "a list of command lines, or of tables for other actions"
        case _:
            assert_never(shape)


def _notation(value: object) -> str:
    return msgspec.json.encode(value).decode()


_USER_HEADING = """\
# Your policy: it counts in all your projects, and a project's own file may only tighten it.
#
# Everything below is a comment that shows the default. Take the `#` away from what you change.
"""
_PROJECT_HEADING = """\
# This project's policy: it counts in this project only, and may only tighten the user's own.
#
# Everything below is a comment that shows the default. Take the `#` away from what you change.
"""
_USER_ONLY = {
    key.path: f"# `{key.name}` stands in the user's file only."
    for key in KEYS
    if key.tighter is Tighter.USER_ONLY
}


def user_starter(defaults: str, *, fingerprint_key: str) -> str:
    """Return the default policy as comments, with nothing set but the fingerprint key."""
    own_key = {"secrets.fingerprint-key": f'fingerprint-key = "{fingerprint_key}"'}
    return f"{_USER_HEADING}\n{_commented(defaults, own_key)}"


def project_starter(defaults: str) -> str:
    """Return the default policy as comments, without what only the user's file may hold."""
    return f"{_PROJECT_HEADING}\n{_commented(defaults, _USER_ONLY)}"


def _commented(defaults: str, instead: Mapping[str, str]) -> str:
    lines: list[str] = []
    section = ""
    for line in defaults.splitlines():
        if line.startswith("[") and not line.startswith("[["):
            section = line.strip("[]")
            lines.append(line)
            continue
        path = f"{section}.{line.partition(' = ')[0]}"
        lines.append(instead.get(path, _as_comment(line)))
    return "\n".join([*lines, ""])


def _as_comment(line: str) -> str:
    is_prose = not line.strip() or line.lstrip().startswith("#")
    return line if is_prose else f"#{line}"


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


_SOMETHING = r"\S"
_TEXT_PATTERNS = {
    TextKind.HIDDEN: r"^(.{32,})?$",
    TextKind.RULE_ID: r"^[a-z0-9._-]+$",
    TextKind.WORD: r"^[^\x00]*$",
}

Schema = dict[str, object]


def policy_json_schema(defaults: str) -> Schema:
    """Return the JSON Schema (draft 2020-12) of a policy file; `defaults` is the default policy."""
    table: dict[str, object] = tomllib.loads(defaults)
    sections = {section: _section_schema(section, table) for section in SECTIONS}
    top = {key.name: _key_schema(key, table) for key in KEYS if not key.section}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Interlock policy",
        "description": "What an agent may do, and what a person must be asked.",
        **_closed_object({**top, **sections}),
    }


def _section_schema(section: str, table: dict[str, object]) -> Schema:
    keys = [key for key in KEYS if key.section == section]
    return _closed_object({key.name: _key_schema(key, table) for key in keys})


def _closed_object(properties: Schema) -> Schema:
    return {"type": "object", "properties": properties, "additionalProperties": False}


def _key_schema(key: Key, table: dict[str, object]) -> Schema:
    described: Schema = {"description": f"{key.meaning} ({key.tighter.value})"}
    match key.shape:
        case NamedValues() | Schemas() | Tables() | Budget() | NamedTables() as shape:
            return {**described, **_entries_schema(shape)}
        case shape:
            default = value_at(table, key.section, key.name)
            known = {} if default is None else {"default": default}
            return {**described, **_setting_schema(shape), **known}


def _setting_schema(shape: Setting) -> Schema:
    match shape:
        case Flag():
            return {"type": "boolean"}
        case Number():
            return {"type": "integer", "minimum": shape.minimum, "maximum": shape.maximum}
        case Money():
            return {"type": "number", "minimum": 0, "maximum": shape.maximum}
        case Choice():
            return {"type": "string", "enum": list(shape.values)}
        case Text():
            return {"type": "string", "pattern": _TEXT_PATTERNS.get(shape.kind, _SOMETHING)}
        case Texts():
            return _list_schema(_setting_schema(Text(kind=shape.kind)), most=shape.most)
        case _:
            assert_never(shape)


def _entries_schema(shape: Entries) -> Schema:
    match shape:
        case NamedValues():
            return {"type": "object", "additionalProperties": _setting_schema(shape.value)}
        case Schemas():
            return {"type": "object", "additionalProperties": {"type": "object"}}
        case Tables():
            return _list_schema(_table_schema(shape), most=shape.most)
        case Budget():
            return _fields_schema(shape.fields)
        case NamedTables():
            return {
                "type": "object",
                "propertyNames": {"pattern": _SOMETHING},
                "additionalProperties": _fields_schema(shape.fields),
            }
        case _:
            assert_never(shape)


def _table_schema(shape: Tables) -> Schema:
    needs = {field.name: _one_required(field.needs) for field in shape.fields if field.needs}
    required = [field for field in shape.fields if field.required]
    either = [
        _one_required((field.name, field.instead))
        for field in required
        if field.instead is not None
    ]
    return {
        **_fields_schema(shape.fields),
        "required": [field.name for field in required if field.instead is None],
        **({"dependentSchemas": needs} if needs else {}),
        **({"allOf": either} if either else {}),
    }


def _one_required(names: Iterable[str]) -> Schema:
    return {"anyOf": [{"required": [name]} for name in names]}


def _fields_schema(fields: Iterable[Field]) -> Schema:
    return _closed_object({field.name: _field_schema(field) for field in fields})


def _field_schema(field: Field) -> Schema:
    schema: Schema = {"description": field.meaning, **_field_shape_schema(field.shape)}
    is_needed_list = field.required and isinstance(field.shape, OrderedTexts)
    return {**schema, "minItems": 1} if is_needed_list else schema


def _field_shape_schema(shape: FieldShape) -> Schema:
    match shape:
        case Flag() | Number() | Money() | Choice() | Text() | Texts():
            return _setting_schema(shape)
        case OrderedTexts():
            return _list_schema(_setting_schema(Text(kind=shape.kind)))
        case Examples():
            tables = [_example_schema(kind, keys) for kind, keys in EXAMPLE_KEYS.items()]
            return _list_schema({"oneOf": [{"type": "string"}, *tables]})
        case _:
            assert_never(shape)


def _list_schema(items: Schema, *, most: int = MOST_ITEMS) -> Schema:
    return {"type": "array", "items": items, "maxItems": most}


def _example_schema(kind: str, keys: tuple[str, ...]) -> Schema:
    properties: Schema = {key: {} if key == "params" else {"type": "string"} for key in keys}
    return {**_closed_object(properties), "required": [kind]}


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
