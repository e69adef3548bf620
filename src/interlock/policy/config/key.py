"""What one key of the policy file is: what a field of the document says about itself.

A key is one field of a section's struct:

    threshold: int = key("How many lines still pass.", Number(1, 99, Tighter.SMALLER), default=30)

Reading, layering, the JSON Schema, the reference, the starter file and the printed policy all
follow what stands there.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator
from typing import Any, ClassVar, TypeVar, cast, dataclass_transform

import msgspec
from msgspec.structs import replace

from interlock.errors import InputError
from interlock.model.verdict import Decision

SHORT_FORMS = {each.short: each.value for each in Decision if each.short != each.value}
"""The short words for decisions, which every key understands that takes a decision."""

_SHORT = {value: short for short, value in SHORT_FORMS.items()}

OUTCOMES = ("warn", "require-confirmation", "block")
"""What a finding may lead to, from mild to strict."""

SWITCHABLE_OUTCOMES = ("off", *OUTCOMES)
"""The same, for what can also be switched off."""

ALLOW_WITH_UNDO = "allow-with-undo"
"""A person is asked, unless everything that the action touches could be copied away first."""

OBSERVE = "observe"
"""What is found is recorded and told, with what it would have led to, and stops nothing."""

RULE_OUTCOMES = ("off", OBSERVE, "warn", ALLOW_WITH_UNDO, "require-confirmation", "block")
"""What a rule may lead to, from mild to strict."""

MODES = (OBSERVE, "enforce")
"""Whether what is found counts, from mild to strict."""

PRESETS = (OBSERVE, "balanced", "strict")
"""The presets, from mild to strict."""

MOST_ITEMS = 500
"""Longer lists are refused: a file that came with a repository must not make the gates slow."""

MOST_PATTERNS = 100
"""The same for patterns, each of which takes time to compile."""

INHERITED = "..."
"""Stands in a list for everything that the layer below has there."""

_SWITCH = "enabled"
_Default = TypeVar("_Default")


def in_short(word: str) -> str:
    """Return a decision in its short form, and every other word as it is."""
    return _SHORT.get(word, word)


class Tighter(enum.Enum):
    """Which of two values is the stricter one, in the words of the reference."""

    TRUE = "`true` is stricter"
    SMALLER = "a smaller number is stricter"
    LARGER = "a larger number is stricter"
    LIMITED = "a smaller limit is stricter, and so is a limit where there was none"
    STRONGER = "a stronger decision is stricter"
    FEWER = "fewer entries are stricter"
    MORE = "more entries are stricter"
    KEPT = "a project may add entries, not loosen the ones below"
    FIXED = "has one value only"
    USER_ONLY = "may be set in the user's file only"


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


class _Shape(msgspec.Struct, frozen=True, kw_only=True):
    usual: ClassVar[Tighter] = Tighter.KEPT
    tighter: Tighter | None = None
    """Which of two values is the stricter one, where that is not as usual."""


class Flag(_Shape, frozen=True):
    """True or false."""

    usual = Tighter.TRUE


class Number(_Shape, frozen=True):
    """A whole number between two bounds, both included."""

    minimum: int
    maximum: int


class Money(_Shape, frozen=True):
    """US dollars from nothing to `maximum`, six decimal places at most; stored in millionths."""

    maximum: int


class Choice(_Shape, frozen=True):
    """One of a few words."""

    usual = Tighter.STRONGER
    values: tuple[str, ...]

    def read(self, word: str) -> str | None:
        """Return the value that a word stands for, in full or in short; None for another word."""
        meant = (word, SHORT_FORMS.get(word))
        return next((value for value in meant if value in self.values), None)

    @property
    def words(self) -> tuple[str, ...]:
        """The values in the words that people use for them."""
        return tuple(map(in_short, self.values))


class Text(_Shape, frozen=True):
    """One text."""

    kind: TextKind


class Texts(_Shape, frozen=True):
    """A list of texts that is read as a set; `...` stands for the list of the layer below."""

    kind: TextKind
    is_ordered: bool = False
    """Whether the order counts, so that it is read as it stands."""

    @property
    def most(self) -> int:
        """How many entries the list may have."""
        return MOST_PATTERNS if self.kind is TextKind.PATTERN else MOST_ITEMS


class Examples(_Shape, frozen=True):
    """A list of actions: command lines, or tables for commands, tool calls and edits."""


class NamedValues(_Shape, frozen=True, kw_only=True):
    """A table from names that Interlock knows to values; what is absent stays `absent`."""

    names: NameKind
    value: Flag | Choice
    absent: str


class Schemas(_Shape, frozen=True):
    """A table from tool names to JSON Schemas."""


class Tables(_Shape, frozen=True):
    """A list of tables; `identity` names the key by which layers recognise a table."""

    entry: type[Section]
    identity: str
    most: int = MOST_ITEMS
    """How many tables one file may hold."""

    @property
    def keys(self) -> tuple[Key, ...]:
        """What may stand in a table."""
        return self.entry.keys


class Budget(_Shape, frozen=True):
    """A table from what can be spent to how much of it may be; what is absent has no limit."""

    usual = Tighter.LIMITED
    keys: tuple[Key, ...]


class NamedTables(_Shape, frozen=True):
    """A table from names, or globs where a `*` is written, to tables of what differs there.

    `...` in one of their lists stands for the list that holds elsewhere.
    """

    names: str
    """What bears the names, in the plural."""
    keys: tuple[Key, ...] = ()
    """The keys of the same section that profiles have a value for."""


Scalar = Flag | Number | Money | Choice | Text

Setting = Scalar | Texts | Examples
"""A key that holds one value."""

Entries = NamedValues | Schemas | Tables | Budget | NamedTables
"""A key that holds entries, which layers merge one by one."""

Shape = Setting | Entries


class Key(msgspec.Struct, frozen=True):
    """One key of the file, or of each table of several: what it means and what it takes."""

    meaning: str
    shape: Shape
    default: object = msgspec.UNSET
    """UNSET where there is none, or where it stands in `defaults.toml`."""
    name: str = ""
    """As it is written inside its table."""
    seed: int | tuple[str, ...] | None = None
    """What the profile `seed` says, where profiles differ; the default is `default`'s."""
    more: str = ""
    """What the starter file says behind the meaning."""
    example: str = ""
    """Lines of TOML that the starter file shows as an example."""
    group: str = ""
    """What the starter file says above this key and those behind it."""
    ends_group: bool = False
    """Whether it is the last one of its group."""
    at_least: str | None = None
    """The field beside it whose value this one must not go below."""
    absent: str | None = None
    """What holds where no file sets the key, in words; None where the defaults set it."""
    is_always_on: bool = False
    """Whether it counts even where its section is switched off."""
    needs: tuple[str, ...] = ()
    """The keys of which one must be there, because this one means nothing by itself."""
    instead: str | None = None
    """The key that may stand in its place, where it is required."""
    field: str = ""
    section: str = ""
    """The table of the file that it stands in, empty for the top."""
    switch: str | None = None
    """The path of the flag that must be on for this key to matter at all."""

    @property
    def path(self) -> str:
        """Where it stands: its section and its name."""
        return f"{self.section}.{self.name}" if self.section else self.name

    @property
    def tighter(self) -> Tighter:
        """Which of two values is the stricter one."""
        shape = self.shape.value if isinstance(self.shape, NamedValues) else self.shape
        return shape.tighter or shape.usual

    @property
    def least(self) -> str | None:
        """The path of the key whose value this one must not go below."""
        return self.at_least and f"{self.section}.{self.at_least.replace('_', '-')}"

    @property
    def is_required(self) -> bool:
        """Whether a table must have it, or what may stand in its place."""
        return self.default is msgspec.UNSET or self.instead is not None


def key(
    meaning: str,
    shape: Shape,
    *,
    default: _Default | msgspec.UnsetType = msgspec.UNSET,
    **more: Any,  # noqa: ANN401 - the fields of `Key`, which says what they are
) -> _Default:
    """Declare a key as a field of a section; the rest is what `Key` takes."""
    return cast("_Default", Key(meaning, shape, default, **more))


@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(key,))
class SectionType(msgspec.StructMeta):
    """Makes a struct of the keys that a section declares."""

    keys: tuple[Key, ...]
    numbers: tuple[tuple[Key, Number], ...]
    title: str
    """What the section is about, as a heading of the default policy."""

    def __new__(  # noqa: PYI034 - a metaclass has no `Self`
        cls,
        name: str,
        bases: tuple[type, ...],
        namespace: dict[str, object],
        title: str = "",
        **options: Any,  # noqa: ANN401 - what msgspec takes
    ) -> SectionType:
        """Give every key its name, and the struct a plain field in its place."""
        keys: list[Key] = []
        for field, said in namespace.items():
            if isinstance(said, Key):
                written = said.name or field.replace("_", "-")
                keys.append(replace(said, field=field, name=written))
                default = {} if said.default is msgspec.UNSET else {"default": said.default}
                namespace[field] = msgspec.field(name=written, **default)
        namespace["title"] = title
        namespace["keys"] = tuple(keys)
        namespace["numbers"] = tuple(
            (key, key.shape) for key in keys if isinstance(key.shape, Number)
        )
        return super().__new__(cls, name, bases, namespace, kw_only=True, **options)


class Section(
    msgspec.Struct, metaclass=SectionType, frozen=True, rename="kebab", forbid_unknown_fields=True
):
    """A table of the file, or of a list in it; InputError for numbers that make no sense."""

    def __post_init__(self) -> None:
        """Refuse numbers out of bounds, and ones below what they must not go below."""
        for key, bounds in type(self).numbers:
            number: object = getattr(self, key.field)
            if number is not None:
                self._check(key, bounds, number)

    def _check(self, key: Key, bounds: Number, number: object) -> None:
        place = f"{type(self).__name__.lower()}: `{key.field}` is"
        if type(number) is not int or not bounds.minimum <= number <= bounds.maximum:
            expected = f"a whole number from {bounds.minimum} to {bounds.maximum}"
            raise InputError(f"{place} `{number}`, expected {expected}")
        if key.at_least is not None and number < (least := getattr(self, key.at_least)):
            raise InputError(f"{place} {number}, expected at least {least} of `{key.at_least}`")


def keys_of(document: type[Section]) -> Iterator[Key]:
    """Yield every key of a document, in the order of its fields and of its sections' fields."""
    own = {key.field: key for key in document.keys}
    for field, kind in document.__annotations__.items():
        if field in own:
            yield own[field]
        else:
            yield from _keys_of_section(kind, field.replace("_", "-"))


def _keys_of_section(section: type[Section], name: str) -> Iterator[Key]:
    switch = f"{name}.{_SWITCH}" if any(key.name == _SWITCH for key in section.keys) else None
    by_profile = tuple(key for key in section.keys if key.seed is not None)
    for key in section.keys:
        is_switched = key.name != _SWITCH and not key.is_always_on
        shape = key.shape
        yield replace(
            key,
            section=name,
            switch=switch if is_switched else None,
            shape=replace(shape, keys=by_profile) if isinstance(shape, NamedTables) else shape,
        )
