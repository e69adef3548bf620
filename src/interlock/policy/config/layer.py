"""What a layer of the policy is: a flat map from places to values."""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping
from typing import NamedTuple

import msgspec

from interlock.policy.config.document import Carrier
from interlock.policy.config.key import Key
from interlock.policy.config.keys import KEY_BY_PATH, KEYS
from interlock.policy.config.wording import joined

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
