"""What may stand behind a key of the policy file."""

from __future__ import annotations

import enum

import msgspec

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
    pass


class Flag(_Shape, frozen=True, kw_only=True):
    """True or false."""


class Number(_Shape, frozen=True, kw_only=True):
    """A whole number between two bounds, both included."""

    minimum: int
    maximum: int


class Money(_Shape, frozen=True, kw_only=True):
    """US dollars from nothing to `maximum`, six decimal places at most; kept in millionths."""

    maximum: int


class Choice(_Shape, frozen=True, kw_only=True):
    """One of a few words."""

    values: tuple[str, ...]


class Text(_Shape, frozen=True, kw_only=True):
    """One text."""

    kind: TextKind


class Texts(_Shape, frozen=True, kw_only=True):
    """A list of texts that is read as a set; `...` stands for the list of the layer below."""

    kind: TextKind

    @property
    def most(self) -> int:
        """How many entries the list may have."""
        return MOST_PATTERNS if self.kind is TextKind.PATTERN else MOST_ITEMS


class Sequence(_Shape, frozen=True, kw_only=True):
    """A list of texts whose order counts."""

    kind: TextKind = TextKind.GLOB


class Examples(_Shape, frozen=True, kw_only=True):
    """A list of actions: command lines, or tables for commands, tool calls and edits."""


class NamedValues(_Shape, frozen=True, kw_only=True):
    """A table from names that Interlock knows to values; what is absent keeps `absent`."""

    names: NameKind
    value: Flag | Choice
    absent: str


class Schemas(_Shape, frozen=True, kw_only=True):
    """A table from tool names to JSON Schemas."""


FieldShape = Flag | Number | Money | Choice | Text | Texts | Sequence | Examples


class Field(msgspec.Struct, frozen=True, kw_only=True):
    """One key inside a budget, or inside each table of several."""

    name: str
    shape: FieldShape
    meaning: str
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

    fields: tuple[Field, ...]
    names: str
    """What bears the names, in the plural."""


Scalar = Flag | Number | Money | Choice | Text

Setting = Scalar | Texts
"""A key that holds one value."""

Entries = NamedValues | Schemas | Tables | Budget | NamedTables
"""A key that holds entries, which layers merge one by one."""

Shape = Setting | Entries
