"""The pieces that a word is read as, and the words that they become."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

from interlock.commands.shell.words import Word, combined, literal
from interlock.commands.values.allowance import Budget

_GLOB_CHARS: Final = frozenset("*?[")
_BLANKS: Final = " \t\n"
_DIGITS: Final = 18


class Kind(enum.Enum):
    """How a piece of a word came about."""

    LITERAL = "literal"
    """Written without quotes: braces and globs count."""
    QUOTED = "quoted"
    EXPANDED = "expanded"
    """Put in without quotes: split, and globs count."""
    BREAK = "break"
    """Between the elements of a list, which are words of their own."""


class Piece(NamedTuple):
    """A part of a word."""

    kind: Kind
    text: str = ""
    known: bool = True
    labels: int = 0
    glob: bool = False
    """Whether it stands for names that only the run knows."""


BREAK: Final = Piece(Kind.BREAK)


def piece_of(word: Word, *, quoted: bool) -> Piece:
    """Return the piece that a value is."""
    kind = Kind.QUOTED if quoted else Kind.EXPANDED
    return Piece(kind, word.text, word.known, word.labels, word.glob)


def one_word(pieces: Iterable[Piece], budget: Budget) -> Word:
    """Return the pieces as one word, without splitting."""
    found = [literal(" ") if piece.kind is Kind.BREAK else _word([piece]) for piece in pieces]
    budget.read(sum(len(word.text) for word in found))
    return combined(found)


def fields_of(pieces: Sequence[Piece], ifs: Word | None, budget: Budget) -> list[Word]:
    """Return the words that pieces become; `ifs` is what splits, None if that is not known."""
    fields: list[list[Piece]] = []
    current: list[Piece] = []
    for piece in pieces:
        if piece.kind is Kind.BREAK:
            _close(fields, current)
            current = []
        elif piece.kind is not Kind.EXPANDED or not piece.known:
            current.append(piece)
        elif ifs is None or not ifs.known:
            current.append(piece._replace(known=piece.text.isalnum()))
        else:
            before, *others = _split(piece, ifs.text)
            current += before
            for other in others:
                _close(fields, current)
                current = other
    _close(fields, current)
    words = [_word(field) for field in fields]
    budget.spend(len(words))
    budget.read(sum(len(word.text) for word in words))
    return words


def _close(fields: list[list[Piece]], current: list[Piece]) -> None:
    """Keep a field unless nothing stands in it; quotes around nothing are something."""
    if any(piece.text or piece.kind is not Kind.EXPANDED or not piece.known for piece in current):
        fields.append(current)


def _split(piece: Piece, ifs: str) -> Iterator[list[Piece]]:
    """Yield the parts of a value; what stands before the first one is joined to it."""
    text = piece.text
    if not ifs or not any(char in text for char in ifs):
        yield [piece]
        return
    start = index = 0
    while index < len(text):
        if text[index] not in ifs:
            index += 1
            continue
        end = index
        hard = False
        # Blanks around one other separator belong to it.
        while index < len(text) and text[index] in ifs:
            if text[index] not in _BLANKS:
                if hard:
                    break
                hard = True
            index += 1
        if end > start:
            yield [piece._replace(text=text[start:end])]
        else:
            yield [Piece(Kind.QUOTED)] if hard else []
        start = index
    yield [piece._replace(text=text[start:])] if start < len(text) else []


def _word(field: Sequence[Piece]) -> Word:
    return combined(
        [
            Word(
                piece.text,
                piece.known,
                piece.glob
                or (piece.kind is not Kind.QUOTED and not _GLOB_CHARS.isdisjoint(piece.text)),
                piece.labels,
            )
            for piece in field
        ]
    )


def brace_expanded(tokens: Sequence[Piece], budget: Budget) -> list[list[Piece]]:
    """Expand `{a,b}` and `{1..3}`, given by the character; other braces stay as they are."""
    made: list[list[Piece]] = [[]]
    index = 0
    while index < len(tokens):
        group = _group(tokens, index, budget) if _is(tokens[index], "{") else None
        if group is None:
            for each in made:
                each.append(tokens[index])
            index += 1
            continue
        choices, index = group
        budget.spend(len(made) * len(choices))
        made = [[*each, *choice] for each in made for choice in choices]
        budget.read(sum(map(len, made)))
    return made


def _group(
    tokens: Sequence[Piece], start: int, budget: Budget
) -> tuple[list[list[Piece]], int] | None:
    """Return what a group that begins here stands for, and where it ends."""
    depth = 0
    marks = [start]
    for index in range(start, len(tokens)):
        if _is(tokens[index], "{"):
            depth += 1
        elif _is(tokens[index], "}"):
            depth -= 1
            if not depth:
                marks.append(index)
                break
        elif depth == 1 and _is(tokens[index], ","):
            marks.append(index)
    budget.spend(len(tokens) - start)
    if depth:
        return None
    if len(marks) > 2:
        parts = [tokens[before + 1 : after] for before, after in pairwise(marks)]
        return [each for part in parts for each in brace_expanded(part, budget)], marks[-1] + 1
    choices = _sequence(tokens[start + 1 : marks[-1]], budget)
    if choices is None:
        return None
    return [[Piece(Kind.LITERAL, choice)] for choice in choices], marks[-1] + 1


def _is(piece: Piece, char: str) -> bool:
    return piece.kind is Kind.LITERAL and piece.text == char


def _sequence(inside: Sequence[Piece], budget: Budget) -> list[str] | None:
    """`1..9`, `09..1`, `a..e`, each with a step if one is given."""
    if any(piece.kind is not Kind.LITERAL for piece in inside):
        return None
    first, *rest = "".join([piece.text for piece in inside]).split("..")
    if len(rest) not in {1, 2}:
        return None
    last = rest[0]
    step = _whole(rest[1]) if len(rest) == 2 else 1
    low, high = _whole(first), _whole(last)
    letters = len(first) == len(last) == 1 and (first + last).isalpha() and first.isascii()
    if step is None or (not letters and (low is None or high is None)):
        return None
    if letters:
        low, high = ord(first), ord(last)
    assert low is not None  # noqa: S101 - told apart above
    assert high is not None  # noqa: S101 - the same
    size = abs(step) or 1
    budget.spend(abs(high - low) // size)
    numbers = range(low, high + 1, size) if low <= high else range(low, high - 1, -size)
    if letters:
        return [chr(number) for number in numbers]
    padded = any(
        text.lstrip("-")[:1] == "0" and len(text.lstrip("-")) > 1 for text in (first, last)
    )
    width = max(len(first), len(last)) if padded else 0
    return [f"{number:0{width}d}" for number in numbers]


def _whole(text: str) -> int | None:
    digits = text.removeprefix("-").removeprefix("+")
    fits = digits.isascii() and digits.isdigit() and len(digits) <= _DIGITS
    return int(text) if fits else None
