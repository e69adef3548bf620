"""The reference of all keys, as a page of the documentation."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from typing import assert_never

import msgspec

from interlock.policy import shapes
from interlock.policy.keys import KEYS, SECTIONS, Key
from interlock.policy.shapes import (
    Budget,
    Choice,
    Examples,
    Field,
    FieldShape,
    Money,
    NamedValues,
    Number,
    Schemas,
    Tables,
    Text,
    Texts,
)
from interlock.policy.syntax import is_list, value_at
from interlock.policy.values import expected

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
    yield f"- In a project's file: {key.tighter.value}"
    if isinstance(key.shape, Tables | Budget):
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
        case Texts() as shape:
            return f"a list, each entry {shape.kind.value}"
        case shape:
            return expected(shape)


def _default(key: Key, table: dict[str, object]) -> str:
    default = value_at(table, key.section, key.name)
    if not is_list(default):
        return f"`{_notation(default)}`" if default is not None and default != {} else "none"
    written = f"`{_notation(default)}`"
    if isinstance(key.shape, Tables) or len(written) > _LONGEST_LIST:
        return f"{len(default)} entries, listed in the default policy"
    return written


def _field_line(field: Field, shape: Tables | Budget) -> str:
    needed = "" if field.required or isinstance(shape, Budget) else ", optional"
    return f"| `{field.name}` | {_field_taken(field.shape)}{needed} | {field.meaning} |"


def _field_taken(shape: FieldShape) -> str:
    match shape:
        case Text():
            return shape.kind.value
        case Number() | Money() | Choice():
            return expected(shape)
        case shapes.Sequence():
            return "a list of names, in order"
        case Examples():
            return "a list of command lines, or of tables for other actions"
        case _:
            assert_never(shape)


def _notation(value: object) -> str:
    return msgspec.json.encode(value).decode()
