"""Patterns of the shell (`*.c`, `[a-z]?`) held against texts that are known."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from interlock.commands.values.allowance import Budget

_STAR: Final = "*"
_ANY: Final = "?"
_EXTENDED: Final = frozenset("?*+@!")
_STATES_PER_STEP: Final = 16


class _Mark(NamedTuple):
    """One place of a pattern: `*`, `?`, or characters of which one must, or must not, stand."""

    kind: str
    chars: frozenset[str] = frozenset()
    negated: bool = False

    def takes(self, char: str) -> bool:
        return self.kind == _ANY or (char in self.chars) != self.negated


class Pattern:
    """A pattern made ready; `None` of `pattern_of` is one that is not understood."""

    __slots__ = ("_budget", "_marks")

    def __init__(self, marks: Sequence[_Mark], budget: Budget) -> None:
        self._marks = marks
        self._budget = budget

    @property
    def is_empty(self) -> bool:
        """Whether it stands for the empty text only."""
        return not self._marks

    def prefixes(self, text: str, start: int = 0) -> list[int]:
        """Return where a match that begins at `start` may end, the shortest first."""
        return self._ends(self._marks, text[start:], start)

    def suffixes(self, text: str) -> list[int]:
        """Return where a match may begin that reaches to the end, the shortest first."""
        ends = self._ends(self._marks[::-1], text[::-1], 0)
        return [len(text) - end for end in ends]

    def matches(self, text: str) -> bool:
        """Whether the whole text fits."""
        return self.prefixes(text)[-1:] == [len(text)]

    def _ends(self, marks: Sequence[_Mark], text: str, offset: int) -> list[int]:
        ends: list[int] = []
        states = _with_stars({0}, marks)
        for position, char in enumerate(text):
            self._budget.spend(1 + len(states) // _STATES_PER_STEP)
            if len(marks) in states:
                ends.append(offset + position)
            after: set[int] = set()
            for state in states:
                if state < len(marks):
                    mark = marks[state]
                    if mark.kind == _STAR:
                        after.add(state)
                    elif mark.takes(char):
                        after.add(state + 1)
            if not after:
                return ends
            states = _with_stars(after, marks)
        if len(marks) in states:
            ends.append(offset + len(text))
        return ends


def _with_stars(states: set[int], marks: Sequence[_Mark]) -> set[int]:
    """A `*` may stand for nothing."""
    found = set(states)
    for state in states:
        following = state
        while following < len(marks) and marks[following].kind == _STAR:
            following += 1
            found.add(following)
    return found


def pattern_of(parts: Iterable[tuple[str, bool]], budget: Budget) -> Pattern | None:
    """Return the pattern of texts that are quoted or not; None for one that is not understood."""
    chars = [(char, quoted) for text, quoted in parts for char in text]
    marks: list[_Mark] = []
    index = 0
    while index < len(chars):
        char, quoted = chars[index]
        index += 1
        if quoted:
            marks.append(_Mark("", frozenset(char)))
        elif char == "\\" or (char in _EXTENDED and chars[index : index + 1] == [("(", False)]):
            # A backslash that came out of a value hides what follows, and no more.
            return None
        elif char in {_STAR, _ANY}:
            marks.append(_Mark(char))
        elif char == "[":
            end = _end_of_class(chars, index)
            found = None if end is None else _class(chars[index:end])
            if found is None or end is None:
                return None
            marks.append(found)
            index = end + 1
        else:
            marks.append(_Mark("", frozenset(char)))
    return Pattern(marks, budget)


def _end_of_class(chars: Sequence[tuple[str, bool]], start: int) -> int | None:
    """Return where the `]` stands; a first one is a character like any other."""
    first = start + 1 if chars[start : start + 1] in ([("!", False)], [("^", False)]) else start
    for index in range(first + 1, len(chars)):
        if chars[index] == ("]", False):
            return index
    return None


def _class(inside: Sequence[tuple[str, bool]]) -> _Mark | None:
    negated = inside[0] in {("!", False), ("^", False)}
    chars = [char for char, _ in inside[negated:]]
    if "[" in chars or not "".join(chars).isascii() or any(quoted for _, quoted in inside):
        # `[[:alpha:]]` and the like depend on the locale.
        return None
    found: set[str] = set()
    index = 0
    while index < len(chars):
        if chars[index + 1 : index + 2] == ["-"] and index + 2 < len(chars):
            low, high = ord(chars[index]), ord(chars[index + 2])
            found.update(map(chr, range(low, high + 1)))
            index += 3
        else:
            found.add(chars[index])
            index += 1
    return _Mark("", frozenset(found), negated)
