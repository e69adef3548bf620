"""Tokens of SQL as a tree: what stands in parentheses is one item of what surrounds it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import msgspec

from interlock.commands.sql.tokens import SqlToken


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
