"""`${name:1:2}`, `${name%.c}`, `${name/a/b}`, `${name^^}`, `${name@U}`: one known text → another.

Each returns None for what it does not compute.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Final, TypeVar

from interlock.commands.values.patterns import Pattern

T = TypeVar("T")
_PLAINLY_QUOTED: Final = re.compile(r"[ -&(-~]*")
_CASES: Final[dict[str, Callable[[str], str]]] = {
    "^": str.upper,
    ",": str.lower,
    "~": str.swapcase,
}


def substring(text: str, offset: int, length: int | None) -> str | None:
    """`${x:offset:length}`; from the end where a number is below zero."""
    start = offset if offset >= 0 else len(text) + offset
    if start < 0 or start > len(text):
        return ""
    if length is None:
        return text[start:]
    if length >= 0:
        return text[start : start + length]
    end = len(text) + length
    return text[start:end] if end >= start else None


def sliced(items: Sequence[T], offset: int, length: int | None) -> Sequence[T] | None:
    """`${a[@]:offset:length}`; a length below zero is an error."""
    start = offset if offset >= 0 else len(items) + offset
    if start < 0:
        return ()
    if length is None:
        return items[start:]
    return items[start : start + length] if length >= 0 else None


def cut(text: str, operator: str, pattern: Pattern) -> str:
    """`${x#pattern}` and its kind: the shortest match goes, or with a doubled sign the longest."""
    longest = -1 if len(operator) == 2 else 0
    if operator[0] == "#":
        ends = pattern.prefixes(text)
        return text[ends[longest] :] if ends else text
    starts = pattern.suffixes(text)
    return text[: starts[longest]] if starts else text


def replaced(text: str, operator: str, pattern: Pattern, replacement: str) -> str:
    """`${x/pattern/replacement}`: the longest match at the first place, or at every one."""
    if operator == "/%":
        starts = pattern.suffixes(text)
        return text[: starts[-1]] + replacement if starts else text
    made: list[str] = []
    position = 0
    while position < len(text) or not made:
        ends = pattern.prefixes(text, position)
        if ends and (ends[-1] > position or operator == "/#" or not text):
            made.append(replacement)
            position = ends[-1]
            if operator != "//" or not text:
                break
        elif operator == "/#" or not text:
            break
        else:
            made.append(text[position])
            position += 1
    return "".join(made) + text[position:]


def recased(text: str, operator: str, pattern: Pattern | None) -> str | None:
    """`${x^}`, `${x,,}`: the first letter, or with a doubled sign each one that fits."""
    if not text.isascii():
        return None
    change = _CASES[operator[0]]
    reach = len(text) if len(operator) == 2 else 1
    changed = [
        change(char) if pattern is None or pattern.matches(char) else char for char in text[:reach]
    ]
    return "".join(changed) + text[reach:]


def transformed(text: str, letter: str) -> str | None:
    """`${x@U}` and its kind."""
    if letter == "Q":
        return f"'{text}'" if _PLAINLY_QUOTED.fullmatch(text) else None
    if letter in {"U", "u", "L"} and text.isascii():
        first = text[:1].upper() + text[1:]
        return {"U": text.upper(), "u": first, "L": text.lower()}[letter]
    return None
