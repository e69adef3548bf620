"""What a layer of the policy is: a flat map from places to values, and how people see them."""

from __future__ import annotations

import decimal
import enum
import shlex
from collections.abc import Callable, Iterable, Mapping
from typing import Literal, NamedTuple, assert_never

import msgspec
import re2

from interlock.errors import InputError
from interlock.model.review import refuse_name
from interlock.policy.config.action_sections import Carrier
from interlock.policy.config.complaints import joined, nearest, shown
from interlock.policy.config.document import KEY_BY_PATH, KEYS, SECTIONS
from interlock.policy.config.key import (
    Budget,
    Entries,
    Field,
    Key,
    Money,
    Tables,
    Text,
    TextKind,
    Tighter,
)
from interlock.policy.config.toml_values import is_table
from interlock.secrets.credential_rules import names_credential

_KEY_ORDER = {key.path: at for at, key in enumerate(KEYS)}


class Source(NamedTuple):
    """A policy file: its name, as complaints will call it, and its text."""

    name: str
    text: str


class Role(enum.Enum):
    """Whose file a layer is, from the bottom up."""

    DEFAULT = "default"
    USER = "user"
    PROJECT = "project"


class KnownRules(msgspec.Struct, frozen=True, kw_only=True):
    """The rules that come with Interlock, which a policy may name."""

    packs: frozenset[str]
    commands: Mapping[str, str]
    """The id of each rule about commands, to its own decision."""
    secrets: frozenset[str]


CompileCondition = Callable[[str], str | None]
"""Returns what is wrong with a condition, or nothing."""

Value = bool | int | str | tuple[str, ...] | frozenset[Carrier] | Mapping[str, object]


class Leaf(NamedTuple):
    """A place that holds one value: a key, or one entry of the table behind a key."""

    key_path: str
    entry: str | None = None

    @property
    def key(self) -> Key:
        """The key of the place."""
        return KEY_BY_PATH[self.key_path]

    @property
    def path(self) -> str:
        """The place as it is written in complaints and in `project-may-loosen`."""
        return self.key_path if self.entry is None else joined(self.key_path, self.entry)

    def order(self) -> tuple[int, str]:
        """Return what leaves are sorted by where people see them: the order of the key table."""
        return _KEY_ORDER[self.key_path], self.entry or ""


class Layer(NamedTuple):
    """One file, read: its values, and everything that is wrong with it."""

    role: Role
    name: str
    values: Mapping[Leaf, Value]
    complaints: tuple[str, ...]
    doubtful: frozenset[str]
    """Keys that something was wrong with: nothing further may be concluded from them."""


_TABLES = tuple(
    key.path
    for key in KEYS
    if isinstance(key.shape, Entries) and key.tighter is not Tighter.USER_ONLY
)
_BUDGETS = {key.path: key.shape.fields for key in KEYS if isinstance(key.shape, Budget)}
_LIMITS = tuple(f"{path}.{field.name}" for path, fields in _BUDGETS.items() for field in fields)
_SECTIONS = tuple(
    section
    for section in SECTIONS
    if any(key.section == section and key.tighter is not Tighter.USER_ONLY for key in KEYS)
)
_SEALED = tuple(key.path for key in KEYS if key.tighter is Tighter.USER_ONLY)


def permits(permissions: Iterable[str], leaf: Leaf) -> bool:
    """Tell whether one of the permissions covers the place."""
    return any(_covers(permission, leaf.path) for permission in permissions)


def permission_problem(text: str) -> str | None:
    """Return what is wrong with an entry of `project-may-loosen`, or nothing."""
    if any(f"{text}.".startswith(f"{sealed}.") for sealed in _SEALED):
        return "stands in the user's file only and cannot be left to a project"
    if text.endswith(".*"):
        return _prefix_problem(text.removesuffix(".*"))
    if text in _TABLES or text in _SECTIONS:
        return f"is a table; write `{text}.*` for everything in it"
    if text in KEY_BY_PATH or text in _LIMITS or _names_an_entry(text):
        return None
    close = nearest(text, (*KEY_BY_PATH, *_LIMITS))
    return "is not a key of the policy" + (f"; did you mean `{close}`?" if close else "")


def canonical_permission(text: str) -> str:
    """Return a valid permission spelt as paths are printed, however its entry was quoted."""
    for table in _TABLES:
        entry = text.removeprefix(f"{table}.")
        if entry not in (text, "*"):
            return joined(table, _unquoted(entry))
    return text


def _names_an_entry(text: str) -> bool:
    """Tell whether the text stands for an entry of a table that takes any name."""
    return any(text.startswith(f"{table}.") for table in _TABLES if table not in _BUDGETS)


def _covers(permission: str, path: str) -> bool:
    if permission.endswith(".*"):
        return path.startswith(permission.removesuffix("*"))
    return path == permission


def _prefix_problem(prefix: str) -> str | None:
    if prefix in _TABLES or prefix in _SECTIONS:
        return None
    close = nearest(prefix, (*_TABLES, *_SECTIONS))
    return "is not a table of the policy" + (f"; did you mean `{close}.*`?" if close else "")


def _unquoted(entry: str) -> str:
    if len(entry) > 1 and entry[0] == entry[-1] == "'":
        return entry[1:-1]
    try:
        return msgspec.json.decode(entry, type=str)
    except msgspec.MsgspecError:
        return entry


def is_hidden(leaf: Leaf) -> bool:
    """Tell whether nobody may see what a place holds."""
    return leaf.key.shape == Text(kind=TextKind.HIDDEN)


def visible_value(leaf: Leaf, value: Value) -> object:
    """Return the value as plain JSON with money in dollars; of what is hidden, that it is set."""
    if is_hidden(leaf):
        return "(set, not shown)" if value else ""
    if isinstance(value, frozenset):
        return sorted(map(_carried, value), key=msgspec.json.encode)
    return in_dollars(leaf, value)


def in_dollars(leaf: Leaf, value: object) -> object:
    """Return the value with money as it would be written in a file, and the rest as it is."""
    match leaf.key.shape:
        case Budget() as shape:
            return _part_in_dollars(shape.fields, leaf.entry, value)
        case Tables() as shape if is_table(value):
            parts = value.items()
            return {name: _part_in_dollars(shape.fields, name, part) for name, part in parts}
        case _:
            return value


def _carried(carrier: Carrier) -> dict[str, object]:
    parts: dict[str, object] = msgspec.to_builtins(carrier)
    return {name: parameters for name, parameters in parts.items() if parameters}


def _part_in_dollars(fields: Iterable[Field], name: str | None, value: object) -> object:
    is_money = any(field.name == name and isinstance(field.shape, Money) for field in fields)
    if not is_money or not isinstance(value, int):
        return value
    dollars, micros = divmod(value, 1_000_000)
    return decimal.Decimal(f"{dollars}.{micros:06}".rstrip("0").removesuffix("."))


_RULE_ID = frozenset("abcdefghijklmnopqrstuvwxyz0123456789._-")
_Formed = Literal[TextKind.RULE_ID, TextKind.GATE_ID, TextKind.VARIABLE, TextKind.WORD]
_SHORTEST_HIDDEN = 32
_LONGEST_PATTERN = 1000
_PATTERN_MEMORY = 262_144
_COMMAND = TextKind.COMMAND.value
_LOOKAROUND = ("(?=", "(?!", "(?<=", "(?<!", "(?<")


def text_problem(text: str, kind: TextKind, compile_condition: CompileCondition) -> str | None:
    """Return what is wrong with a text of the kind, or nothing."""
    if kind is TextKind.HIDDEN:
        return _hidden_problem(text)
    if not text.strip() and kind is not TextKind.WORD:
        return f"{shown(text)} is empty; expected {kind.value}"
    match kind:
        case TextKind.PLAIN | TextKind.GLOB:
            return None
        case TextKind.COMMAND:
            return _command_problem(text)
        case TextKind.PATTERN:
            return _pattern_problem(text)
        case TextKind.RULE_ID | TextKind.GATE_ID | TextKind.VARIABLE | TextKind.WORD:
            return _form_problem(text, kind)
        case TextKind.KEY_PATH:
            problem = permission_problem(text)
            return problem and f"{shown(text)} {problem}"
        case TextKind.CONDITION:
            problem = compile_condition(text)
            return problem and f"{shown(text)} is not a CEL condition: {problem}"
        case _:
            assert_never(kind)


def schema_problem(schema: dict[str, object], place: str) -> tuple[str, str] | None:
    """Return where and why a table is not a JSON Schema to be checked offline, or nothing."""
    from jsonschema_rs import (  # noqa: PLC0415 - costly, and most files have no schema
        RegexOptions,
        ValidationError,
        validator_for,
    )

    try:
        validator_for(schema, offline=True, pattern_options=RegexOptions())
    except ValidationError as error:
        for part in error.instance_path:
            place = f"{place}[{part}]" if isinstance(part, int) else joined(place, part)
        return place, f"not a JSON Schema{_schema_error(error.message)}"
    return None


def _schema_error(message: str) -> str:
    if message.endswith('is not a "regex"'):
        return ": not a pattern; lookaround and back-references are not supported"
    return f": {message[0].lower()}{message[1:]}"


def _hidden_problem(text: str) -> str | None:
    if text and len(text) < _SHORTEST_HIDDEN:
        return (
            f"the key has {len(text)} characters; expected none or at least {_SHORTEST_HIDDEN}: "
            "`interlock init --user` writes a fresh one"
        )
    return None


def _command_problem(text: str) -> str | None:
    try:
        words = shlex.split(text)
    except ValueError as error:
        reason = str(error)
        return f"{shown(text)} cannot be split into words: {reason[:1].lower()}{reason[1:]}"
    return None if words and words[0] else f"{shown(text)} names no program; expected {_COMMAND}"


def _pattern_problem(pattern: str) -> str | None:
    if len(pattern) > _LONGEST_PATTERN:
        return (
            f"a pattern of {len(pattern)} characters; expected at most {_LONGEST_PATTERN}: "
            "split it into several"
        )
    options = re2.Options()
    options.log_errors = False
    # Large counted repetitions would take the engine seconds to compile.
    options.max_mem = _PATTERN_MEMORY
    try:
        re2.compile(pattern, options)
    except re2.error as error:
        return f"{shown(pattern)} is not an RE2 pattern: {_pattern_error(pattern, error)}"
    return None


def _pattern_error(pattern: str, error: Exception) -> str:
    [raw] = error.args
    what, _, part = raw.decode(errors="replace").partition(": ")
    if part.startswith(_LOOKAROUND):
        what = "lookaround is not supported"
    position = pattern.find(part) if part else -1
    return f"{what} at position {position}" if position >= 0 else what


def _form_problem(text: str, kind: _Formed) -> str | None:
    match kind:
        case TextKind.RULE_ID:
            fits, what = _RULE_ID.issuperset(text), "an id"
        case TextKind.GATE_ID:
            fits, what = _is_gate_id(text), "the id of a gate"
        case TextKind.VARIABLE:
            fits, what = _is_variable(text), "a variable that a check may see"
        case TextKind.WORD:
            fits, what = "\0" not in text, "a word of a command"
        case _:
            assert_never(kind)
    return None if fits else f"{shown(text)} is not {what}; expected {kind.value}"


def _is_gate_id(text: str) -> bool:
    try:
        refuse_name("gate", "id", text)
    except InputError:
        return False
    return True


def _is_variable(text: str) -> bool:
    name = text.replace("*", "_")
    return name.isascii() and name.isidentifier() and not names_credential(text)
