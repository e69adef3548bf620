"""Lines that were found with another indentation than they were asked for.

Whoever sees a file through a window that strips or expands its indentation writes the new text
with the same mistake. Where the mistake is plain, the new text is moved to where the file's own
lines are; where it is not, the new text is taken as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

_WIDTHS: Final = (8, 4, 3, 2)


class _Pair(NamedTuple):
    """How a line is indented where it was asked for, and in the file."""

    asked: str
    found: str


_Move = Callable[[str], str | None]
"""What becomes of an indentation; None where it cannot be told."""


def moved(new: str, asked: Sequence[str], found: Sequence[str]) -> str:
    """Return a new text, indented like the lines that were found for those asked for."""
    pairs = [
        _Pair(_indentation(ask), _indentation(find))
        for ask, find in zip(asked, found, strict=True)
        if ask.strip() and find.strip()
    ]
    if all(pair.asked == pair.found for pair in pairs):
        return new
    if all(pair.asked == pair.found for pair in pairs[1:]):
        return _with_first_line_moved(new, pairs[0])
    for move in (_deeper(pairs), _shallower(pairs), *_retabbed(pairs)):
        if move is not None and (result := _with_lines_moved(new, move)) is not None:
            return result
    return new


def _with_first_line_moved(new: str, pair: _Pair) -> str:
    first, ending, rest = new.partition("\n")
    if _indentation(first) != pair.asked or not first.strip():
        return new
    return pair.found + first[len(pair.asked) :] + ending + rest


def _with_lines_moved(new: str, move: _Move) -> str | None:
    lines: list[str] = []
    for line in new.split("\n"):
        before = _indentation(line)
        after = move(before) if line.strip() else before
        if after is None:
            return None
        lines.append(after + line[len(before) :])
    return "\n".join(lines)


def _deeper(pairs: Sequence[_Pair]) -> _Move | None:
    """All lines are further in by the same."""
    more = pairs[0].found.removesuffix(pairs[0].asked)
    if all(pair.found == more + pair.asked for pair in pairs):
        return lambda indentation: more + indentation
    return None


def _shallower(pairs: Sequence[_Pair]) -> _Move | None:
    """All lines are further out by the same."""
    less = pairs[0].asked.removesuffix(pairs[0].found)
    if all(pair.asked == less + pair.found for pair in pairs):
        return lambda indentation: (
            indentation.removeprefix(less) if indentation.startswith(less) else None
        )
    return None


def _retabbed(pairs: Sequence[_Pair]) -> list[_Move | None]:
    """All lines have tabs where blanks were asked for, or the other way round."""
    moves: list[_Move | None] = []
    for width in _WIDTHS:
        blanks = " " * width
        for asked, found in ((blanks, "\t"), ("\t", blanks)):
            if all(_exchanged(pair.asked, asked, found) == pair.found for pair in pairs):
                moves.append(lambda text, asked=asked, found=found: _exchanged(text, asked, found))
    return moves


def _exchanged(indentation: str, unit: str, other: str) -> str | None:
    """Return an indentation in other units; None where it is not made of these alone."""
    times, rest = divmod(len(indentation), len(unit))
    return None if rest or indentation != unit * times else other * times


def _indentation(line: str) -> str:
    return line[: len(line) - len(line.lstrip(" \t"))]
