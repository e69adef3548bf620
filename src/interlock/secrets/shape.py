"""What a text looks like by the kinds of its characters."""

from __future__ import annotations

import math
import operator
import string

_LOWER, _UPPER, _DIGIT, _SIGN, _OTHER = b"luds."
_SIGNS = b"!@#$%^&*?+=~"


def kinds_of(text: str) -> bytes:
    """Return one byte per character: what kind it is."""
    return text.encode("latin-1", "replace").translate(_KINDS)


def changes(kinds: bytes) -> int:
    """Count how often one kind follows another."""
    return sum(map(operator.ne, kinds, kinds[1:]))


def digits(kinds: bytes) -> int:
    """Count the digits."""
    return kinds.count(_DIGIT)


def has_letters(kinds: bytes) -> bool:
    """Tell whether there is a letter."""
    return _LOWER in kinds or _UPPER in kinds


def has_signs(kinds: bytes) -> bool:
    """Tell whether there is a sign that names and paths do not hold."""
    return _SIGN in kinds


def is_identifier(kinds: bytes) -> bool:
    """Tell whether words stand joined by separators, as in names, paths, labels and constants.

    In a word digits follow letters about once; in a token they do so at every turn.
    """
    size = len(kinds)
    separators = kinds.count(_OTHER)
    if not separators or _SIGN in kinds or kinds.count(_DIGIT) > max(4, size / 6):
        return False
    letters = kinds.replace(b"u", b"l")
    turns = letters.count(b"ld") + letters.count(b"dl")
    return turns <= separators + 1 and changes(kinds) < 0.42 * size


def entropy(text: str) -> float:
    """Return the Shannon entropy in bits per character."""
    size = len(text)
    shares = [text.count(character) / size for character in sorted(set(text))]
    return -sum(share * math.log2(share) for share in shares)


def _kind(code: int) -> int:
    character = chr(code)
    if character in string.digits:
        return _DIGIT
    if character.isalpha():
        return _LOWER if character.islower() else _UPPER
    return _SIGN if code in _SIGNS else _OTHER


_KINDS = bytes(_kind(code) for code in range(256))
