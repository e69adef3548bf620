"""The shape of a policy file as a JSON Schema, for editors."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from typing import assert_never

from interlock.policy.config.document import KEYS, SECTIONS
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
)
from interlock.policy.config.parser import EXAMPLE_KEYS
from interlock.policy.config.toml_values import value_at

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
