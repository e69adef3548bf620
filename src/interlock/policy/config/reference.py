"""The reference of all keys, as a page of the documentation."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from typing import assert_never

import msgspec

from interlock.policy.config import shapes
from interlock.policy.config.key import Key
from interlock.policy.config.keys import KEYS, SECTIONS
from interlock.policy.config.profile_layer import profile_value
from interlock.policy.config.shapes import (
    Budget,
    Choice,
    Examples,
    Field,
    FieldShape,
    Flag,
    Money,
    NamedTables,
    NamedValues,
    Number,
    Schemas,
    Tables,
    Text,
    Texts,
)
from interlock.policy.config.stop_keys import PROFILE_KEYS
from interlock.policy.config.syntax import is_list, value_at
from interlock.policy.config.values import expected
from interlock.policy.stops.settings import PROFILES

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
        case shapes.Sequence():
            return f"a list in order, each entry {shape.kind.value}"
        case Examples():
            return "a list of command lines, or of tables for other actions"
        case _:
            assert_never(shape)


def _notation(value: object) -> str:
    return msgspec.json.encode(value).decode()
