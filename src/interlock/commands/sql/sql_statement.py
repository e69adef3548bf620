"""One statement of SQL as a tree, how to find one's way in it, and what it can do."""

from __future__ import annotations

import enum
from collections.abc import Iterator, Sequence
from typing import Final

import msgspec

from interlock.commands.sql.sql_tokens import SqlToken


class SqlKind(enum.Enum):
    """What happens to the data, or to the machine that holds it."""

    DROP = "drop"
    TRUNCATE = "truncate"
    DELETE_ALL = "delete-all"
    """Deletes every row: no condition, or one that always holds."""
    DELETE_SOME = "delete-some"
    UPDATE_ALL = "update-all"
    """Rewrites every row: no condition, or one that always holds."""
    UPDATE_SOME = "update-some"
    ALTER_DROP = "alter-drop"
    """Takes a column, a partition or a constraint out of a table."""
    GRANT_ALL = "grant-all"
    """Hands out the whole server: every right on everything, or a superuser."""
    GRANT_SOME = "grant-some"
    REVOKE = "revoke"
    SHUTDOWN = "shutdown"
    ADMIN = "admin"
    """Throws away logs or replication, or loosens what the server may run."""
    FILE_READ = "file-read"
    FILE_WRITE = "file-write"
    EXECUTE = "execute"
    """Runs a program on the machine; the target is its command line."""


class SqlOperation(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that a statement would do."""

    kind: SqlKind
    object: str = ""
    """What kind of thing is meant: `table`, `database`, `column`..."""
    target: str
    excerpt: str
    """The statement in short, without the text of its strings."""
    reason: str


class Group(msgspec.Struct):
    """What stands between two parentheses; one left open ends with the text."""

    start: int
    end: int
    items: list[Item]
    telling: bool = False
    """Whether one of the words that were asked for stands in it, at any depth."""
    kind: str = "group"
    text: str = "("


Item = SqlToken | Group

_ENDS: Final = frozenset({"end", "meta"})
_SEPARATORS: Final = frozenset({";", "\\\\"})
_ROUTINES: Final = frozenset({"PROCEDURE", "FUNCTION", "TRIGGER", "PACKAGE"})
_ROUTINE_STANDS_WITHIN: Final = 12
_BLOCKS_WITHOUT_BEGIN: Final = frozenset({"IF", "LOOP", "WHILE", "REPEAT", "FOR"})


def tree_of(tokens: Sequence[SqlToken], length: int, words: frozenset[str]) -> Group:
    """Return the whole text as one group; groups without any of the words are not telling."""
    group = Group(0, length, [])
    outer: list[Group] = []
    for token in tokens:
        if token.kind != "mark":
            group.items.append(token)
            if token.text in words:
                group.telling = True
        elif token.text == "(":
            inner = Group(token.start, length, [])
            group.items.append(inner)
            outer.append(group)
            group = inner
        elif token.text == ")" and outer:
            group.end = token.end
            group = _outer(group, outer)
        else:
            group.items.append(token)
    while outer:
        group = _outer(group, outer)
    return group


def _outer(group: Group, outer: list[Group]) -> Group:
    surrounding = outer.pop()
    surrounding.telling |= group.telling
    return surrounding


def statements_of(items: Sequence[Item]) -> Iterator[Sequence[Item]]:
    """Return the statements of one level; the body of a stored routine stays in one piece."""
    start = 0
    for cut in [*_cuts(items), len(items)]:
        if start < cut:
            yield items[start:cut]
        if cut < len(items) and items[cut].kind == "meta":
            yield items[cut : cut + 1]
        start = cut + 1


def _cuts(items: Sequence[Item]) -> list[int]:
    """Return where statements end.

    Inside the body of a routine a semicolon ends nothing, unless the body never closes:
    then its statements are taken for statements of their own.
    """
    cuts: list[int] = []
    inside: list[int] = []
    depth = 0
    routine = False
    for index, item in enumerate(items):
        if item.text in _SEPARATORS or item.kind in _ENDS:
            (inside if depth else cuts).append(index)
            routine = routine and depth > 0
        elif item.kind == "word" and routine:
            depth += _step(items, index)
            if depth == 0:
                inside.clear()
        elif item.text in _ROUTINES:
            routine = _is_definition(items, cuts[-1] + 1 if cuts else 0, index)
    return cuts + inside


def _is_definition(items: Sequence[Item], start: int, index: int) -> bool:
    return items[start].text == "CREATE" and index - start < _ROUTINE_STANDS_WITHIN


def _step(items: Sequence[Item], index: int) -> int:
    """Return how the word changes the depth of blocks that `END` closes."""
    match items[index].text:
        case "BEGIN":
            return 1
        case "CASE":
            return 0 if items[index - 1].text == "END" else 1
        case "END":
            following = items[index + 1].text if index + 1 < len(items) else ""
            return 0 if following in _BLOCKS_WITHOUT_BEGIN else -1
        case _:
            return 0


_MAX_EXCERPT: Final = 120
_MAX_NAMES: Final = 32
_MASKED: Final = {"string": "'...'", "group": "(...)"}
_NAME_KINDS: Final = frozenset({"word", "name", "variable"})


class Statement:
    """The items of one statement, from its verb on, with the text they were read from."""

    def __init__(self, sql: str, items: Sequence[Item]) -> None:
        self._sql = sql
        self.items = items

    def word(self, index: int) -> str:
        """Return the word at the index in upper case; empty when no word stands there."""
        item = self.items[index] if index < len(self.items) else None
        return item.text if item is not None and item.kind == "word" else ""

    def find(self, *words: str) -> int:
        """Return where the words stand one after the other, or -1."""
        for index, item in enumerate(self.items):
            if item.text == words[0] and item.kind == "word":
                found = [self.word(index + offset) for offset in range(len(words))]
                if found == [*words]:
                    return index
        return -1

    def skip(self, index: int, words: frozenset[str]) -> int:
        """Return the first index from here on at which none of the words stands."""
        while self.word(index) in words:
            index += 1
        return index

    def text(self, item: Item) -> str:
        """Return the item as it was written, names and strings without their quotes."""
        if item.kind in {"name", "string"}:
            return item.text
        return self._sql[item.start : item.end]

    def string(self, index: int) -> str | None:
        """Return the string at the index, or the first one in a group that stands there."""
        for item in self.items[index : index + 1]:
            inside = item.items if isinstance(item, Group) else [item]
            for piece in inside:
                if piece.kind == "string":
                    return piece.text
        return None

    def rest_of_line(self, index: int) -> str:
        """Return the text from the item at the index to the end of its line."""
        start = self.items[index].start if index < len(self.items) else len(self._sql)
        return self._sql[start:].split("\n", 1)[0]

    def name(self, index: int) -> str:
        """Return the dotted name that begins at the index; empty when none does."""
        return self._name(index)[0]

    def names(self, index: int) -> list[str]:
        """Return the names from the index on that commas join."""
        found: list[str] = []
        while len(found) < _MAX_NAMES:
            name, index = self._name(index)
            if name:
                found.append(name)
            if not name or index >= len(self.items) or self.items[index].text != ",":
                break
            index += 1
        return found

    def excerpt(self) -> str:
        """Return the statement in short, on one line, without the text of its strings."""
        text = ""
        end = -1
        for item in self.items:
            blank = " " if text and item.start != end else ""
            text += blank + (_MASKED.get(item.kind) or self._sql[item.start : item.end])
            end = item.end
            if len(text) > _MAX_EXCERPT:
                return text[: _MAX_EXCERPT - 1] + "…"
        return text

    def _name(self, index: int) -> tuple[str, int]:
        parts: list[str] = []
        while index < len(self.items) and self.items[index].kind in _NAME_KINDS:
            parts.append(self.text(self.items[index]))
            index += 1
            if index >= len(self.items) or self.items[index].text not in {".", "*", "@"}:
                break
            parts.append(self.items[index].text)
            index += 1
        return "".join(parts), index


_MAX_TARGET: Final = 200


class Script(msgspec.Struct):
    """What earlier statements of the same text have said."""

    temporary: set[str] = msgspec.field(default_factory=set[str])
    """Tables that end with the session: nothing is lost with them."""
    variables: dict[str, str] = msgspec.field(default_factory=dict[str, str])
    nested: list[str] = msgspec.field(default_factory=list[str])
    """Texts of SQL that the statements run."""

    def is_scratch(self, name: str) -> bool:
        """Whether a table is gone with the session anyway."""
        plain = name.lower()
        return plain.startswith(("#", "@", "pg_temp.", "temp.")) or plain in self.temporary


def operation(
    kind: SqlKind, statement: Statement, target: str, reason: str, thing: str = ""
) -> SqlOperation:
    """Return what the statement does, with its text in short."""
    return SqlOperation(
        kind=kind,
        object=thing,
        target=target[:_MAX_TARGET],
        excerpt=statement.excerpt(),
        reason=reason,
    )
