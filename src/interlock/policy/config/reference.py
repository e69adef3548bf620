"""The reference of all keys, as a page of the documentation."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import NamedTuple, assert_never

import msgspec

from interlock.policy.config.document import KEYS, PROFILE_KEYS, SECTIONS
from interlock.policy.config.key import (
    Budget,
    Choice,
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
    Tables,
    Text,
    Texts,
    Tighter,
)
from interlock.policy.config.merge import MergedPolicy, profile_value
from interlock.policy.config.parser import expected
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
