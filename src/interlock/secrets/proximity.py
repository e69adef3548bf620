"""Which random values stand beside a word for credentials, whatever stands between them?"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from interlock.secrets.candidate_search import Found, Work, compiled
from interlock.secrets.credential_rules import SecretRule
from interlock.secrets.randomness import is_hexadecimal, random_bits

_FARTHEST: Final = 72
_WIDEST_GAP: Final = 48
_BITS_AFAR: Final = 30.0
_BITS_BESIDE_SHORT_WORD: Final = 14.0
_BITS_OWNED: Final = 14.0
_SHORTEST_LONG: Final = 12
_SHORTEST_HEXADECIMAL: Final = 20
"""Shorter ones beside a bare `key` are those of caches and audits."""
_SHORT_WORD: Final = 4
"""So many letters with the sign before them, as in `_key`, have many other meanings."""
_MOST_WORDS_BETWEEN: Final = 2

# No word or number holds these: what is looked at further begins here.
_UNLIKE_WORDS: Final = (
    r"(?:[A-Za-z][0-9]+[A-Za-z]|[0-9][A-Za-z]+[0-9]|[A-Za-z]{14}"
    r"|[a-z][A-Z]+[a-z]{1,2}[A-Z]|[A-Za-z0-9][!#%$^*~][A-Za-z0-9])"
)
_UNLIKE_WORD: Final = compiled(_UNLIKE_WORDS)
_VALUE: Final = compiled(r"[A-Za-z0-9][A-Za-z0-9_\-+/.~!#%@$^*?]{6,}[A-Za-z0-9_\-+/~!#%@$^*]={0,2}")
# A gap is a few characters, for which the machinery of RE2 costs more than the search.
_WORD: Final = re.compile(rb"[a-z0-9]+")
_REST_OF_NAME: Final = re.compile(rb"[_.\-][a-z0-9]+(?:[_.\-][a-z0-9]+)*")
_ASIDE: Final = re.compile(rb" \([^()\n]*\)")
_ENTITY: Final = re.compile(rb"&(?:[a-z]{2,4}|#x?[0-9a-f]{2,4});")
# `password for the vpn:` says whose it is, and then what it is.
_OWNED: Final = re.compile(
    rb"s? (?:for|of|on|to|at|f.r|pour|para|del?|du|do|od|di|van|til|\?+) "
    rb"[a-z0-9_. ?\-]+[:=] ?.{0,3}$"
)
_NEXT_FIELD: Final = frozenset(b";&,")
_NEXT_PAIR: Final = frozenset(b";&")
_ASSIGNS: Final = frozenset(b":=>|{")

_JOINS: Final = frozenset(
    b"is was are be equals equal to as set val value values string str text here my the a this new"
    b" now current following key keys token secret password pass code bearer basic apikey api auth"
    b" access export const let var final static public private b r f u rb br td tr th li dd dt code"
    b" pre span div p i b em strong tt samp kbd n t quot nbsp amp lt gt x27 x22 u0022 22 20 3d 3a"
    b" default data for of our your on prod production staging dev development live sandbox war"
    b" lautet est es son sono one de la le el del du der die das den pour para changed"
    b" reset params args arguments parameters".split()
)
"""What says nothing of its own between a name and its value: helping words and markup."""

_NOT_ITS_OWN: Final = frozenset(
    b"hash hashed sha sha1 sha256 sha512 md5 digest checksum fingerprint id ids uuid guid commit"
    b" file path url uri endpoint host name names user username email length size count type"
    b" version revision rev branch tag ref expires expiry date time field class import from return"
    b" if in not and or with line test public certificate cert algorithm alg kid signature etag"
    b" index row column model image build release serial thumbprint integrity enc encrypted cipher"
    b" ciphertext".split()
)
"""What a value between may belong to instead."""


class NearSearch:
    """Finds values that stand beside the words of a rule."""

    def __init__(self, rule: SecretRule) -> None:
        """Take a rule whose names are the words."""
        self.rule = rule
        words = "|".join(rule.named)
        ends = r"s?(?:[_.\-]?(?:prod|production|dev|staging|live|value|val|string|[0-9]{1,3}))?"
        self._places = compiled(rf"(?i:{words})(?:[^A-Za-z0-9\n]*\n)?[^\n]*{_UNLIKE_WORDS}")
        self._last_word = compiled(rf"(?is).*({words}){ends}")

    def found(self, data: bytes, work: Work) -> Iterator[Found]:
        """Yield values with where the word before them begins."""
        place = self._places.search(data)
        while place is not None:
            end = data.find(b"\n", place.end())
            end = len(data) if end < 0 else end
            for value in _VALUE.finditer(data, place.start(), end):
                start, stop = value.span()
                if _UNLIKE_WORD.search(data[start:stop]) is None:
                    continue
                work.attempts += 1
                if work.is_over:
                    return
                word = self._word_before(data, start, data[start:stop].decode("latin-1"))
                if word >= 0:
                    yield Found(start, stop, word)
            place = self._places.search(data, end)

    def _word_before(self, data: bytes, start: int, value: str) -> int:
        """Return where the nearest word begins that a value belongs to; -1 where none does."""
        window = data[max(0, start - _FARTHEST) : start]
        last = self._last_word.match(window)
        if last is None:
            return -1
        gap = window[last.end() :].lower()
        if b"&" in gap:
            gap = _ENTITY.sub(b" ", gap)
        if b" (" in gap:
            gap = _ASIDE.sub(b" ", gap)
        if not _is_gap(gap):
            return -1
        first, end = last.span(1)
        if window[:first].endswith(b"</"):
            return -1
        if end - first <= _SHORT_WORD and not _is_long(value):
            return -1
        strange = _strange_words(gap)
        if strange and not _reaches(value, gap, strange):
            return -1
        return start - len(window) + first


def _is_long(value: str) -> bool:
    """Tell whether a value says more than a short word before it."""
    shortest = _SHORTEST_HEXADECIMAL if is_hexadecimal(value) else _SHORTEST_LONG
    return len(value) >= shortest and random_bits(value) >= _BITS_BESIDE_SHORT_WORD


def _reaches(value: str, gap: bytes, strange: Sequence[bytes]) -> bool:
    """Tell whether a value is so random that a word or two between do not matter."""
    return (
        len(strange) <= _MOST_WORDS_BETWEEN
        and _NEXT_FIELD.isdisjoint(gap)
        and b". " not in gap
        and _NOT_ITS_OWN.isdisjoint(strange)
        and not is_hexadecimal(value)
        and random_bits(value) >= (_BITS_OWNED if _OWNED.match(gap) else _BITS_AFAR)
    )


def _is_gap(gap: bytes) -> bool:
    """Tell whether what stands between a word and a value leaves them together."""
    if not gap or len(gap) > _WIDEST_GAP or gap[:1].isalnum() or not _NEXT_PAIR.isdisjoint(gap):
        return False
    lines = gap.count(b"\n")
    return not lines or (lines == 1 and not _ASSIGNS.isdisjoint(gap))


def _strange_words(gap: bytes) -> list[bytes]:
    """Return the words in a gap that may say what else a value is, all of a longer name."""
    name = _REST_OF_NAME.match(gap)
    at = 0 if name is None else name.end()
    return _WORD.findall(gap[:at]) + [
        each for each in _WORD.findall(gap[at:]) if each not in _JOINS
    ]
