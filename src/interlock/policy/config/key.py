"""What one key of the policy file is: what a field of the document says about itself.

A key is one annotated field of a section's struct:

    threshold: Annotated[int, Key("How many lines still pass.", Tighter.SMALLER, Number(...))] = 300

Reading, layering, the JSON Schema, the reference, the starter file and the printed policy all
follow what stands there.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator
from functools import cache
from typing import get_args

import msgspec

from interlock.errors import InputError

OUTCOMES = ("warn", "require-confirmation", "block")
"""What a finding may lead to, from mild to strict."""

SWITCHABLE_OUTCOMES = ("off", *OUTCOMES)
"""The same, for what can also be switched off."""

ALLOW_WITH_UNDO = "allow-with-undo"
"""A person is asked, unless everything that the action touches could be copied away first."""

RULE_OUTCOMES = ("off", "warn", ALLOW_WITH_UNDO, "require-confirmation", "block")
"""What a rule may lead to, from mild to strict."""

MOST_ITEMS = 500
"""Longer lists are refused: a file that came with a repository must not make the gates slow."""

MOST_PATTERNS = 100
"""The same for patterns, each of which takes time to compile."""

BY_PROFILE = "as the profile says"

INHERITED = "..."
"""Stands in a list for everything that the layer below has there."""


class Section(
    msgspec.Struct, frozen=True, kw_only=True, rename="kebab", forbid_unknown_fields=True
):
    """A table of the file, or of a list in it; InputError for numbers that make no sense."""

    def __post_init__(self) -> None:
        """Refuse numbers out of bounds, and ones below what they must not go below."""
        section = type(self).__name__.lower()
        for name, bounds, lower in _numbers(type(self)):
            number: object = getattr(self, name)
            if number is None:
                continue
            if type(number) is not int or not bounds.minimum <= number <= bounds.maximum:
                expected = f"a whole number from {bounds.minimum} to {bounds.maximum}"
                raise InputError(f"{section}: `{name}` is `{number}`, expected {expected}")
            if lower is not None and number < (least := getattr(self, lower)):
                raise InputError(
                    f"{section}: `{name}` is {number}, expected at least {least} of `{lower}`"
                )


class Tighter(enum.Enum):
    """Which of two values is the stricter one, in the words of the reference."""

    TRUE = "`true` is tighter"
    SMALLER = "a smaller number is tighter"
    LARGER = "a larger number is tighter"
    LIMITED = "a smaller limit is tighter, and one where none stood"
    STRONGER = "a stronger decision is tighter"
    FEWER = "fewer entries are tighter"
    MORE = "more entries are tighter"
    KEPT = "a project may add entries, not change the ones below"
    FIXED = "has one value only"
    USER_ONLY = "stands in the user's file only"


class TextKind(enum.Enum):
    """What a text is read as, in the words of a complaint."""

    PLAIN = "text"
    GLOB = "a name, or a glob where a `*` is written"
    PATTERN = "an RE2 pattern"
    CONDITION = "a CEL condition"
    RULE_ID = "an id of lower-case letters, digits, `.`, `_` and `-`"
    KEY_PATH = "a key path, or a table's path with `.*` behind it"
    HIDDEN = "empty, or at least 32 characters"
    COMMAND = "`git`, `none` or a command line of your own"
    GATE_ID = "1 to 64 letters, digits, `.`, `_`, `/` and `-`, with a letter among them"
    VARIABLE = "the name of a variable that holds no credential, or a glob where a `*` is written"
    WORD = "text without a NUL character"


class NameKind(enum.Enum):
    """Whose names the entries of a table bear."""

    PACK = "pack"
    COMMAND_RULE = "command rule"
    SECRET_RULE = "secret rule"  # noqa: S105 - the name of a vocabulary, not a password


class _Shape(msgspec.Struct, frozen=True):
    pass


class Flag(_Shape, frozen=True):
    """True or false."""


class Number(_Shape, frozen=True):
    """A whole number between two bounds, both included."""

    minimum: int
    maximum: int


class Money(_Shape, frozen=True):
    """US dollars from nothing to `maximum`, six decimal places at most; kept in millionths."""

    maximum: int


class Choice(_Shape, frozen=True):
    """One of a few words."""

    values: tuple[str, ...]


class Text(_Shape, frozen=True):
    """One text."""

    kind: TextKind


class Texts(_Shape, frozen=True):
    """A list of texts that is read as a set; `...` stands for the list of the layer below."""

    kind: TextKind

    @property
    def most(self) -> int:
        """How many entries the list may have."""
        return MOST_PATTERNS if self.kind is TextKind.PATTERN else MOST_ITEMS


class OrderedTexts(_Shape, frozen=True):
    """A list of texts whose order counts."""

    kind: TextKind = TextKind.GLOB


class Examples(_Shape, frozen=True):
    """A list of actions: command lines, or tables for commands, tool calls and edits."""


class NamedValues(_Shape, frozen=True, kw_only=True):
    """A table from names that Interlock knows to values; what is absent keeps `absent`."""

    names: NameKind
    value: Flag | Choice
    absent: str


class Schemas(_Shape, frozen=True):
    """A table from tool names to JSON Schemas."""


FieldShape = Flag | Number | Money | Choice | Text | Texts | OrderedTexts | Examples


class _Described(msgspec.Struct, frozen=True):
    meaning: str
    shape: FieldShape


class Field(_Described, frozen=True, kw_only=True):
    """One key inside a budget, or inside each table of several."""

    name: str = ""
    required: bool = False
    needs: tuple[str, ...] = ()
    """The keys of which one must be there, because this one means nothing by itself."""
    instead: str | None = None
    """The key that may stand in its place, where it is required."""


class Tables(_Shape, frozen=True, kw_only=True):
    """A list of tables; `identity` names the field by which layers recognise a table."""

    identity: str
    fields: tuple[Field, ...]
    most: int = MOST_ITEMS
    """How many tables one file may hold."""


class Budget(_Shape, frozen=True, kw_only=True):
    """A table from what can be spent to how much of it may be; what is absent has no limit."""

    fields: tuple[Field, ...]


class NamedTables(_Shape, frozen=True, kw_only=True):
    """A table from names, or globs where a `*` is written, to tables of what differs there.

    `...` in one of their lists stands for the list that holds elsewhere.
    """

    fields: tuple[Field, ...] = ()
    """The keys of the same section that profiles have a value for."""
    names: str
    """What bears the names, in the plural."""


Scalar = Flag | Number | Money | Choice | Text

Setting = Scalar | Texts
"""A key that holds one value."""

Entries = NamedValues | Schemas | Tables | Budget | NamedTables
"""A key that holds entries, which layers merge one by one."""

Shape = Setting | Entries


Default = bool | int | str | enum.Enum | tuple[str, ...] | None | msgspec.UnsetType


class _Said(msgspec.Struct, frozen=True):
    meaning: str
    tighter: Tighter
    shape: Shape


class Key(_Said, frozen=True, kw_only=True):
    """One key: what it means, when it is stricter and what it takes."""

    more: str = ""
    """What the starter file says behind the meaning."""
    example: str = ""
    """Lines of TOML that the starter file shows as an example."""
    switch: str | None = None
    """The flag that must be on for this key to matter at all."""
    at_least: str | None = None
    """The key whose value this one must not go below."""
    absent: str | None = None
    """What holds where no file sets the key, in words; None where the defaults set it."""
    seed: int | tuple[str, ...] | None = None
    """What the profile `seed` says, where profiles differ; the field's default is `default`'s."""
    group: str = ""
    """What the starter file says above this key and those behind it."""
    ends_group: bool = False
    """Whether it is the last one of its group."""
    path: str = ""
    """Where the key stands: its section and its name, from the field that it is said about."""
    default: Default = msgspec.UNSET
    """What the field's default is; UNSET where the list stands in `defaults.toml`.

    Written out only where a field has none because a stored policy must say it.
    """

    @property
    def section(self) -> str:
        """The table that the key stands in, empty for the top of the file."""
        return self.path.rpartition(".")[0]

    @property
    def name(self) -> str:
        """The key as it is written inside its table."""
        return self.path.rpartition(".")[2]


def keys_of(document: type[Section]) -> Iterator[Key]:
    """Yield every key of a document, in the order of its fields and of its sections' fields."""
    for info in msgspec.structs.fields(document):
        if isinstance(info.type, type) and issubclass(info.type, Section):
            yield from _keys_of_section(info.type, info.encode_name)
        else:
            yield _key(info, info.encode_name)


def seed_of(section: type[Section]) -> dict[str, int | tuple[str, ...]]:
    """Return what the profile `seed` says, by field."""
    return {
        info.name: said.seed
        for info in msgspec.structs.fields(section)
        for said in get_args(info.type)
        if isinstance(said, Key) and said.seed is not None
    }


def fields_of(entry: type[Section]) -> tuple[Field, ...]:
    """Return what may stand in a table of a list, in the order of the struct's fields."""
    return tuple(
        msgspec.structs.replace(
            said, name=info.encode_name, required=info.required or said.instead is not None
        )
        for info in msgspec.structs.fields(entry)
        for said in get_args(info.type)
        if isinstance(said, Field)
    )


def _keys_of_section(section: type[Section], path: str) -> Iterator[Key]:
    by_profile: list[Field] = []
    for info in msgspec.structs.fields(section):
        key = _key(info, f"{path}.{info.encode_name}")
        match key.shape:
            case Number() | Texts() as shape if key.seed is not None:
                by_profile.append(Field(key.meaning, shape, name=key.name))
            case NamedTables() as shape:
                own = msgspec.structs.replace(shape, fields=tuple(by_profile))
                key = msgspec.structs.replace(key, shape=own)
            case _:
                pass
        yield key


def _key(info: msgspec.structs.FieldInfo, path: str) -> Key:
    [said] = [said for said in get_args(info.type) if isinstance(said, Key)]
    default = said.default if info.default is msgspec.NODEFAULT else info.default
    return msgspec.structs.replace(said, path=path, default=default)


@cache
def _numbers(section: type[Section]) -> tuple[tuple[str, Number, str | None], ...]:
    """Return the fields that are numbers, their bounds, and what they must not go below."""
    return tuple(
        (info.name, said.shape, said.at_least and _field_name(said.at_least))
        for info in msgspec.structs.fields(section)
        for said in get_args(info.type)
        if isinstance(said, Key) and isinstance(said.shape, Number)
    )


def _field_name(path: str) -> str:
    return path.rpartition(".")[2].replace("-", "_")
