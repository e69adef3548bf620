"""From a policy file's text to a layer, with everything that is wrong with it."""

from __future__ import annotations

from collections.abc import Iterator

from interlock.policy.config.entries import read_entries
from interlock.policy.config.key import Key, Tighter
from interlock.policy.config.keys import KEY_BY_PATH, KEYS, SECTIONS
from interlock.policy.config.layer import (
    CompileCondition,
    KnownRules,
    Layer,
    Leaf,
    Role,
    Source,
    Value,
)
from interlock.policy.config.shapes import Budget, NamedTables, NamedValues, Schemas, Tables
from interlock.policy.config.syntax import is_table, parsed_table
from interlock.policy.config.values import INHERITED, Desk, read_value
from interlock.policy.config.wording import (
    Complaints,
    TooManyMistakesError,
    joined,
    kind_of,
    nearest,
    one_of,
    shown,
)


def read_layer(
    source: Source, role: Role, *, known: KnownRules, compile_condition: CompileCondition
) -> Layer:
    """Read one file to its end; what is wrong with it stands in the layer's complaints."""
    complaints = Complaints(source.name)
    reader = _Reader(role, known, Desk(complaints, compile_condition))
    try:
        table = parsed_table(source.text, complaints)
        if table is None:
            reader.doubtful.update(KEY_BY_PATH)
        else:
            reader.read(table)
    except TooManyMistakesError:
        reader.doubtful.update(KEY_BY_PATH)
    doubtful = frozenset(reader.doubtful)
    return Layer(role, source.name, reader.values, complaints.sentences, doubtful)


class _Reader:
    """Walks through one file and collects its values."""

    def __init__(self, role: Role, known: KnownRules, desk: Desk) -> None:
        self.values: dict[Leaf, Value] = {}
        self.doubtful: set[str] = set()
        self._role = role
        self._known = known
        self._desk = desk

    def read(self, table: dict[str, object]) -> None:
        """Read every key of the file, then look at what its keys say together."""
        for key, value in self._found_keys(table):
            said = len(self._desk.complaints.sentences)
            self._read_key(key, value)
            if len(self._desk.complaints.sentences) > said:
                self._doubt(key.path)
        self._look_for_tools_both_allowed_and_denied()

    def _found_keys(self, table: dict[str, object]) -> Iterator[tuple[Key, object]]:
        for name, value in table.items():
            if name not in SECTIONS:
                yield from self._found_key("", name, value)
            elif is_table(value):
                for inner, inner_value in value.items():
                    yield from self._found_key(name, inner, inner_value)
            else:
                problem = f"{shown(value)} is {kind_of(value)}; expected a table, `[{name}]`"
                self._desk.complaints.about(name, problem)
                self._doubt(name)

    def _found_key(self, section: str, name: str, value: object) -> Iterator[tuple[Key, object]]:
        key = KEY_BY_PATH.get(joined(section, name))
        if key is not None:
            yield key, value
            return
        self._desk.complaints.about(joined(section, name), f"unknown key{_hint(section, name)}")
        self._doubt(_meant(section, name))

    def _doubt(self, path: str | None) -> None:
        self.doubtful.update(key.path for key in KEYS if path in (key.path, key.section))

    def _read_key(self, key: Key, value: object) -> None:
        if key.tighter is Tighter.USER_ONLY and self._role is Role.PROJECT:
            problem = "stands in the user's file only, because an agent can write the project's"
            self._desk.complaints.about(key.path, problem)
            return
        match key.shape:
            case NamedValues() | Schemas() | Tables() | Budget() | NamedTables() as shape:
                entries = read_entries(key, shape, value, self._desk, self._known)
                self.values.update({Leaf(key.path, name): read for name, read in entries})
            case shape:
                read = read_value(shape, key.path, value, self._desk)
                if read is not None:
                    self.values[Leaf(key.path)] = read

    def _look_for_tools_both_allowed_and_denied(self) -> None:
        allowed = self.values.get(Leaf("tool-allowlist.allow"))
        denied = self.values.get(Leaf("tool-allowlist.deny"))
        if isinstance(allowed, tuple) and isinstance(denied, tuple):
            for tool in sorted({*allowed} & {*denied} - {INHERITED}):
                problem = f"{shown(tool)} stands under `allow` as well; expected it in one of them"
                self._desk.complaints.about("tool-allowlist.deny", problem)


def _hint(section: str, name: str) -> str:
    meant = _meant(section, name)
    if meant is None:
        return f"; expected {one_of(sorted(_siblings(section)))}"
    return f"; did you mean `{meant.removeprefix(f'{section}.')}`?"


def _meant(section: str, name: str) -> str | None:
    """Return the path of the key or table that a misspelt or misplaced name stands for."""
    if name in KEY_BY_PATH:
        return name
    siblings = _siblings(section)
    if close := nearest(name, siblings):
        return siblings[close]
    elsewhere = [key.path for key in KEYS if key.name == name]
    return elsewhere[0] if len(elsewhere) == 1 else None


def _siblings(section: str) -> dict[str, str]:
    """Return what may stand in a section, each name with its path."""
    keys = {key.name: key.path for key in KEYS if key.section == section}
    return keys if section else {**keys, **{name: name for name in SECTIONS}}
