"""One statement of SQL, and how to find one's way in it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from interlock.commands.sql.tree import Group, Item

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
