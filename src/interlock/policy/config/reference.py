"""The keys as people and editors meet them: default policy, starter files, reference, schema.

All of it is written from the fields of the document. Defaults that are long lists come from
`defaults.toml`; in the default policy as they stand there, with their own comments.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from typing import assert_never

import msgspec

from interlock.model.gate_names import (
    FAILURE_ACTION,
    OTHER_FIELDS,
    RETRIES,
    RETRY_CONFIG,
    FailureAction,
)
from interlock.policy.config.complaints import is_list, is_table, notation
from interlock.policy.config.document import KEY_BY_PATH, KEYS, SECTIONS
from interlock.policy.config.key import (
    MOST_ITEMS,
    Budget,
    Choice,
    Entries,
    Examples,
    Flag,
    Key,
    Money,
    NamedTables,
    NamedValues,
    Number,
    Schemas,
    Setting,
    Shape,
    Tables,
    Text,
    TextKind,
    Texts,
    Tighter,
    in_short,
)
from interlock.policy.config.layers import in_dollars, profile_value
from interlock.policy.config.other_names import OTHER_KEYS, OWN_PATTERNS
from interlock.policy.config.parser import EXAMPLE_KEYS, REVIEW_GATES, expected
from interlock.policy.config.stop_section import PROFILES

Lists = Mapping[str, object]
"""What `defaults.toml` says."""

Schema = dict[str, object]

_LONGEST_LIST = 80
_WIDTH = 100
_NAME_WIDTH = 27
_INTRO = """\
# Interlock's default policy: every key once, with its default and what it means.
#
# Three files make the policy in force: these defaults, then the user's file
# (~/.config/interlock/policy.toml), then the project's (interlock.toml). Each needs to hold only
# what it changes.
#
#   - One value replaces the value below it: true or false, a number, a word, a text.
#   - A list replaces the list below it. Where "..." stands in a list, the list below goes in:
#     scratch-folders = ["...", "generated"] adds one folder to the defaults.
#   - What has names is merged name by name: [destructive-ops.packs], [destructive-ops.rules],
#     [secrets.rules], [tools.schemas], [stops.models], [budgets.run] and its like, and the lists of
#     tables [[protected-paths.entries]] (named by `path`), [[rules]] and [[reviews.gates]] (named
#     by `id`), [[budgets.prices]] (named by `model`) and [[tools.carriers]] (named by each of its
#     `tools`).
#     "off" or false switches off what a layer below has under that name.
#   - Order never counts, except among the parameters of a carrier, the criteria of a gate and the
#     words of its check.
#
# The user's file may set anything. The project's file may only be stricter: an agent can write
# to it, and a cloned repository can bring one along. What it would loosen is refused, unless the
# user's file names that key under `layers.project-may-loosen`. While a gate is off below, a project
# may switch it on with whatever settings it likes.
#
# A decision is "warn" (the action happens, and the agent is told), "ask" (a person must approve;
# on record "require-confirmation") or "deny" (on record "block"). Of all matched rules, the
# strictest decision counts.
"""
_USER_HEADING = """\
# Your policy: in force in all your projects; a project's own file may only be stricter.
#
# Everything below is a comment that shows the default. Take the `#` away from what you change.
"""
_PROJECT_HEADING = """\
# This project's policy: in force in this project only; it may only be stricter than the user's.
#
# Everything below is a comment that shows the default. Take the `#` away from what you change.
"""
_STARTER = """\
# Interlock: {whose}. Take the `#` away from what you change.
# `interlock policy show` prints what is in force, `interlock init --full` writes every setting.

# observe   records what it would have done; stops only what is critical
# balanced  asks before what is hard to undo, denies what is dangerous (the default)
# strict    for runs that nobody watches: the unreadable, the network and installs ask
{preset}

# What one run may use; a person raises it for a single run with `interlock budget`.
[budgets.run]
{limits}

# Paths that the agent must not write, besides the built-in ones: "ask", "deny" or "off".
#[[protected-paths.entries]]
#path = "**/migrations/**"
#decision = "ask"

# Single built-in rules (`interlock rules` lists them): "off", "observe", "warn", "ask" or "deny".
[destructive-ops.rules]
#"git.push-force" = "deny"
{own}
# A rule of your own; with mode = "observe" it only records. Needs `pip install 'interlock[cel]'`.
#[[rules]]
#id = "no-deploys"
#when = 'commands.exists(c, c.program == "make" && "deploy" in c.args)'
#decision = "ask"
#mode = "observe"
#message = "deploys need a person"
#match = ["make deploy"]
"""
_OWN_SETTINGS = """
# Where a notice goes when a question waits for you.
[notifications]
#command = ["notify-send", "Interlock"]

# Tells one secret from another on the record, where no secret stands: keep it to yourself.
[secrets]
fingerprint-key = "{key}"
"""
_USER_ONLY = {
    key.path: f"# `{key.name}` may be set in the user's file only."
    for key in KEYS
    if key.tighter is Tighter.USER_ONLY
}
_MULTILINE = re.MULTILINE | re.DOTALL
_SOMETHING = r"\S"
_TEXT_PATTERNS = {
    TextKind.HIDDEN: r"^(.{32,})?$",
    TextKind.RULE_ID: r"^[a-z0-9._-]+$",
    TextKind.WORD: r"^[^\x00]*$",
}


def default_policy_text(lists: str) -> str:
    """Return the default policy in TOML; `lists` is the text of `defaults.toml`."""
    blocks = _blocks(lists)
    lines = [_INTRO]
    for key in KEYS:
        if not key.section and not isinstance(key.shape, Entries):
            lines += [*_key_lines(key, blocks), ""]
    for section, title in SECTIONS.items():
        lines += [_heading(title), "", *_section_lines(section, blocks), ""]
    for key in KEYS:
        if not key.section and isinstance(key.shape, Entries):
            lines += [_heading("Your own rules"), "", *_key_lines(key, blocks), ""]
    return "\n".join(lines)


def _blocks(lists: str) -> dict[str, str]:
    """Return the defaults that are long lists, by their keys, with the comments inside them."""
    numbers = re.findall(r"^(([a-z-]+) = [0-9]+)$", lists, re.MULTILINE)
    blocks = {name: line for line, name in numbers}
    sections = re.findall(r"^\[([a-z-]+)\]\n(.*?)(?=^\[[a-z-]+\]\n|\Z)", lists, _MULTILINE)
    for section, body in sections:
        for name, block in re.findall(r"^([a-z-]+) = \[\n(.*?^\])$", body, _MULTILINE):
            blocks[f"{section}.{name}"] = f"{name} = [\n{block}"
        if tables := re.search(r"^\[\[[a-z-]+\.([a-z-]+)\]\]$", body, re.MULTILINE):
            blocks[f"{section}.{tables[1]}"] = f"\n{body.strip()}"
    return blocks


def _heading(title: str) -> str:
    return f"# --- {title} ".ljust(_WIDTH, "-")


def _section_lines(section: str, blocks: dict[str, str]) -> Iterator[str]:
    """Yield a section: its own keys, then the tables in it, then the lists of tables."""
    yield f"[{section}]"
    keys = sorted((key for key in KEYS if key.section == section), key=_rank)
    for before, key in zip((None, *keys), keys, strict=False):
        if before is not None and _stands_apart(before, key):
            yield ""
        if _is_table(key):
            yield f"[{key.path}]"
        yield from (_comment(key.group), "#") if key.group else ()
        yield from _row_lines(key) if key.seed is not None else _key_lines(key, blocks)
        if key.ends_group or (key.example and key.default is None):
            yield "#"


def _stands_apart(before: Key, key: Key) -> bool:
    is_list = isinstance(key.shape, Tables | NamedTables) and isinstance(before.shape, Tables)
    return _is_table(key) or _is_table(before) or is_list


def _is_table(key: Key) -> bool:
    return isinstance(key.shape, NamedValues | Schemas | Budget)


def _rank(key: Key) -> int:
    return 1 if _is_table(key) else 2 if isinstance(key.shape, Tables | NamedTables) else 0


def _key_lines(key: Key, blocks: dict[str, str]) -> Iterator[str]:
    """Yield what a key means, an example, and its default where it has one."""
    example = "For example:" if key.example else ""
    yield _comment(" ".join(filter(None, [key.meaning, key.more, example])))
    if key.example:
        yield "#"
        yield from (f"#   {line}".rstrip() for line in key.example.splitlines())
    if key.path in blocks:
        yield blocks[key.path]
    elif not isinstance(key.shape, Entries) and key.default is not None:
        yield _setting(key.name, _as_written(key))


def _setting(name: str, value: object) -> str:
    line = f"{name} = {_toml(value)}"
    if len(line) <= _WIDTH or not is_list(value):
        return line
    items = " ".join(f"{_toml(item)}," for item in value)
    return f"{name} = [\n{_filled(items, '    ', '    ')}\n]"


def _toml(value: object) -> str:
    if is_list(value):
        return f"[{', '.join(map(_toml, value))}]"
    return notation(value)


def _row_lines(key: Key) -> Iterator[str]:
    """Yield a key that holds what the profile says, as a row of its group."""
    indent = "#".ljust(4 + _NAME_WIDTH)
    yield _filled(key.meaning, f"#   {key.name.ljust(_NAME_WIDTH)}", indent)
    if key.more:
        yield _filled(key.more, indent, indent)


def _comment(text: str) -> str:
    return _filled(text, "# ", "# ")


def _filled(text: str, first: str, others: str) -> str:
    return textwrap.fill(
        text,
        _WIDTH,
        initial_indent=first,
        subsequent_indent=others,
        break_long_words=False,
        break_on_hyphens=False,
    )


def starter(
    preset: str | None,
    in_force: str,
    limits: Mapping[str, object],
    *,
    fingerprint_key: str | None,
) -> str:
    """Return a file of the settings that people change; the user's has a fingerprint key.

    Without a preset of its own, the one that is in force stands there as a comment.
    """
    is_users = fingerprint_key is not None
    line = f'preset = "{preset or in_force}"'
    return _STARTER.format(
        whose="your policy, for all your projects"
        if is_users
        else "this project's policy, which may only tighten the user's",
        preset=line if preset or is_users else f"#{line}",
        limits="\n".join(f"#{name} = {limit:_}" for name, limit in limits.items()),
        own=_OWN_SETTINGS.format(key=fingerprint_key) if is_users else "",
    )


def user_starter(defaults: str, *, preset: str | None, fingerprint_key: str) -> str:
    """Return the default policy as comments, with nothing set but preset and fingerprint key."""
    own_key = {"secrets.fingerprint-key": f'fingerprint-key = "{fingerprint_key}"'}
    return f"{_USER_HEADING}\n{_commented(defaults, {**_chosen(preset), **own_key})}"


def project_starter(defaults: str, *, preset: str | None) -> str:
    """Return the default policy as comments, without what only the user's file may hold."""
    return f"{_PROJECT_HEADING}\n{_commented(defaults, {**_chosen(preset), **_USER_ONLY})}"


def _chosen(preset: str | None) -> Mapping[str, str]:
    return {".preset": f'preset = "{preset}"'} if preset else {}


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


def policy_reference_markdown(lists: Lists) -> str:
    """Return the reference in Markdown: each key with its type, default, meaning and direction."""
    return "\n".join([*_reference_lines(lists), ""])


def _reference_lines(lists: Lists) -> Iterator[str]:
    yield "# Policy reference"
    yield ""
    yield "Every key of the policy file, in the order of the default policy."
    for section in ("", *SECTIONS):
        yield ""
        yield f"## `[{section}]`" if section else "## Top of the file"
        for key in KEYS:
            if key.section == section:
                yield from _entry_lines(key, lists)


def _entry_lines(key: Key, lists: Lists) -> Iterator[str]:
    yield from ("", f"### `{key.path}`", "", " ".join(filter(None, [key.meaning, key.more])), "")
    yield f"- Takes: {_taken(key.shape)}"
    yield f"- Default: {_default(key, lists)}"
    if key.least is not None:
        yield f"- At least: the value of `{key.least}`"
    yield f"- In a project's file: {key.tighter.value}"
    if isinstance(key.shape, Tables | Budget | NamedTables):
        yield from ("", "| key | takes | meaning |", "|---|---|---|")
        for inner in key.shape.keys:
            is_optional = isinstance(key.shape, Tables) and not inner.is_required
            taken = f"{_taken(inner.shape)}{', optional' if is_optional else ''}"
            yield f"| `{inner.name}` | {taken} | {inner.meaning} |"


def _taken(shape: Shape) -> str:
    return _entries_taken(shape) if isinstance(shape, Entries) else _setting_taken(shape)


def _entries_taken(shape: Entries) -> str:
    match shape:
        case NamedValues():
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
        case NamedTables():
            return (
                f"a table from the name of {shape.names}, or a glob where a `*` is written, to a"
                " table with the keys below"
            )
        case _:
            assert_never(shape)


def _setting_taken(shape: Setting) -> str:
    match shape:
        case Texts():
            in_order = " in order" if shape.is_ordered else ""
            return f"a list{in_order}, each entry {shape.kind.value}"
        case Examples():
            return "a list of command lines, or of tables for other actions"
        case Text(kind=kind) if kind not in (TextKind.HIDDEN, TextKind.COMMAND):
            return kind.value
        case _:
            return expected(shape)


def _default(key: Key, lists: Lists) -> str:
    if key.seed is not None:
        said = [f"`{name}` {_by_profile(name, key)}" for name in PROFILES]
        return f"as the profile says: {', '.join(said)}"
    default = _written_default(key, lists)
    if default is None or (isinstance(key.shape, Entries) and not default):
        return key.absent or "none"
    written = f"`{notation(default)}`"
    if is_list(default) and (isinstance(key.shape, Tables) or len(written) > _LONGEST_LIST):
        return f"{len(default)} entries, listed in the default policy"
    return written


def _by_profile(profile: str, key: Key) -> str:
    value = profile_value(profile, key)
    return f"has {len(value)} entries" if isinstance(value, tuple) else f"says {value}"


def _written_default(key: Key, lists: Lists) -> object:
    """Return a default in the order in which it is written, if the default policy sets it."""
    if key.default is not msgspec.UNSET:
        return None if key.seed is not None else _as_written(key)
    section = lists.get(key.section) if key.section else lists
    return section.get(key.name) if is_table(section) else None


def _as_written(key: Key) -> object:
    """Return a default as a file would say it: money in dollars, decisions in short words."""
    default = key.default
    if isinstance(key.shape, Choice) and isinstance(default, str):
        return in_short(default)
    is_money = isinstance(key.shape, Money)
    return in_dollars(default) if is_money and isinstance(default, int) else default


def policy_json_schema(lists: Lists) -> Schema:
    """Return the JSON Schema (draft 2020-12) of a policy file."""
    sections = {
        section: _closed_object(
            {key.name: _key_schema(key, lists) for key in KEYS if key.section == section}
        )
        for section in SECTIONS
    }
    top = {key.name: _key_schema(key, lists) for key in KEYS if not key.section}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Interlock policy",
        "description": "What an agent may do, and what a person must be asked.",
        **_closed_object({**top, **sections, **_other_keys(lists)}),
    }


def _other_keys(lists: Lists) -> Schema:
    """Return what other definitions call keys of ours, in their own tables."""
    top: Schema = {}
    tables: dict[str, Schema] = {}
    for other, path in OTHER_KEYS.items():
        table, _, name = other.rpartition(".")
        holder = tables.setdefault(table, {}) if table else top
        holder[name] = _by_another_name(_key_schema(KEY_BY_PATH[path], lists), path)
    return {**top, **{table: _closed_object(names) for table, names in tables.items()}}


def _other_gate_fields(shape: Tables) -> Schema:
    """Return what other definitions call the fields of a review gate."""
    ours = {key.name: _field_schema(key, key.shape) for key in shape.keys}
    fields = {name.replace("-", "_"): (name, schema) for name, schema in ours.items()}

    def other(field: str) -> Schema:
        name, schema = fields[field]
        return _by_another_name(schema, name)

    others: Schema = {name: other(field) for name, field in OTHER_FIELDS.items()}
    names = [name for name, field in OTHER_FIELDS.items() if field in RETRIES]
    retries = {name: others[name] for name in names}
    retries |= {name: other(field) for field in RETRIES for name in (field, fields[field][0])}
    actions: Schema = {"type": "string", "enum": [each.value for each in FailureAction]}
    return {
        **others,
        **{name: _closed_object(retries) for name in RETRY_CONFIG},
        **{name: _by_another_name(actions, "mode") for name in FAILURE_ACTION},
    }


def _by_another_name(schema: Schema, ours: str) -> Schema:
    return {**schema, "description": f"Another name for `{ours}`."}


def _closed_object(properties: Schema) -> Schema:
    return {"type": "object", "properties": properties, "additionalProperties": False}


def _key_schema(key: Key, lists: Lists) -> Schema:
    described: Schema = {"description": f"{key.meaning} ({key.tighter.value})"}
    if isinstance(key.shape, Tables) and key.path == REVIEW_GATES:
        others = _other_gate_fields(key.shape)
        return {**described, **_list_schema(_table_schema(key.shape, others), most=key.shape.most)}
    if isinstance(key.shape, Tables) and key.path == OWN_PATTERNS:
        items = [_table_schema(key.shape), _setting_schema(Text(TextKind.PATTERN))]
        return {**described, **_list_schema({"oneOf": items}, most=key.shape.most)}
    if isinstance(key.shape, Entries):
        return {**described, **_entries_schema(key.shape)}
    default = _written_default(key, lists)
    known = {} if default is None else {"default": msgspec.json.decode(notation(default))}
    return {**described, **_setting_schema(key.shape), **known}


def _setting_schema(shape: Setting) -> Schema:
    match shape:
        case Flag():
            return {"type": "boolean"}
        case Number():
            return {"type": "integer", "minimum": shape.minimum, "maximum": shape.maximum}
        case Money():
            return {"type": "number", "minimum": 0, "maximum": shape.maximum}
        case Choice():
            return {"type": "string", "enum": list(dict.fromkeys((*shape.words, *shape.values)))}
        case Text():
            return {"type": "string", "pattern": _TEXT_PATTERNS.get(shape.kind, _SOMETHING)}
        case Texts():
            return _list_schema(_setting_schema(Text(shape.kind)), most=shape.most)
        case Examples():
            tables = [_example_schema(kind, keys) for kind, keys in EXAMPLE_KEYS.items()]
            return _list_schema({"oneOf": [{"type": "string"}, *tables]})
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
            return _fields_schema(shape.keys)
        case NamedTables():
            return {
                "type": "object",
                "propertyNames": {"pattern": _SOMETHING},
                "additionalProperties": _fields_schema(shape.keys),
            }
        case _:
            assert_never(shape)


def _table_schema(shape: Tables, others: Schema | None = None) -> Schema:
    needs = {key.name: _one_required(key.needs) for key in shape.keys if key.needs}
    required = [key for key in shape.keys if key.is_required]
    either = [_one_required((key.name, key.instead)) for key in required if key.instead is not None]
    return {
        **_fields_schema(shape.keys, others),
        "required": [key.name for key in required if key.instead is None],
        **({"dependentSchemas": needs} if needs else {}),
        **({"allOf": either} if either else {}),
    }


def _one_required(names: Iterable[str]) -> Schema:
    return {"anyOf": [{"required": [name]} for name in names]}


def _fields_schema(keys: Iterable[Key], others: Schema | None = None) -> Schema:
    fields = {key.name: _field_schema(key, key.shape) for key in keys}
    return _closed_object({**fields, **(others or {})})


def _field_schema(key: Key, shape: Shape) -> Schema:
    schema = _entries_schema(shape) if isinstance(shape, Entries) else _setting_schema(shape)
    is_needed_list = key.is_required and isinstance(shape, Texts) and shape.is_ordered
    least = {"minItems": 1} if is_needed_list else {}
    return {"description": key.meaning, **schema, **least}


def _list_schema(items: Schema, *, most: int = MOST_ITEMS) -> Schema:
    return {"type": "array", "items": items, "maxItems": most}


def _example_schema(kind: str, keys: tuple[str, ...]) -> Schema:
    properties: Schema = {key: {} if key == "params" else {"type": "string"} for key in keys}
    return {**_closed_object(properties), "required": [kind]}
