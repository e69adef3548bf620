"""How languages other than English announce an act, end, hand over and wait.

Each language has its own closed lists: the words that announce, the acts that may follow them,
and what is said of the past, of the person or of the end instead. What is missing here costs an
announcement that is overlooked; a question is recognised by its mark in every script.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Final

from interlock.policy.stops.eastern_languages import CHINESE, JAPANESE, KOREAN, RUSSIAN
from interlock.policy.stops.phrases import Language, Signs
from interlock.policy.stops.western_languages import (
    DUTCH,
    FRENCH,
    GERMAN,
    ITALIAN,
    PORTUGUESE,
    SPANISH,
)

_ALL: Final = (
    GERMAN, FRENCH, SPANISH, PORTUGUESE, ITALIAN, DUTCH, RUSSIAN, CHINESE, JAPANESE,
    KOREAN,
)  # fmt: skip


_SEPARATOR: Final = re.compile(r",\s+")
_BREAK: Final = re.compile(r"\s*\n\s*")
_BEFORE_A_CHOICE: Final = re.compile(r"\s*\n\s*(?=\|)")
OTHER_LETTER: Final = re.compile(r"[\u00c0-\u1fff\u2e80-\ud7ff]")
_BEFORE_A_WORD: Final = r"(?:^|[\s,.;:!?()\"'\x{2010}-\x{2026}\x{a1}\x{ab}\x{bf}])"
_BEHIND_A_WORD: Final = r"(?:$|[\s,.;:!?()\"'\x{2010}-\x{2026}\x{bb}])"


def _choices(text: str, between_lines: str) -> str:
    """Return a pattern for any phrase of a list; a longer one may go on in the next line."""
    phrases = [_BEFORE_A_CHOICE.sub("", each) for each in _SEPARATOR.split(text.strip(" ,\n"))]
    return "|".join([_BREAK.sub(between_lines, each) for each in phrases])


_MARKERS: Final = frozenset(
    """
    ich wir du sie bitte jetzt nun soll sollen lass der die das den dem ist und alle als sag gib
    je vous tu les le la des est dites dis dois ensuite voulez veux souhaitez passons
    voy vamos lo o los las el en una puedes puede dime espero quedo quieres tengo debo necesito
    ahora vou os as um uma em agora preciso aguardo fico quer gostaria me deixe deixa deixo
    ora adesso procedo attendo resto lasciami vuoi vuole puoi devi devo il gli fammi sto vado
    è sono ancora non un per di al lascio ik de het een op nog nu laat zal wil wacht daarna
    vervolgens
    """.split()
)
"""Words that stand in nearly every sentence of a language that needs no other signs."""


@lru_cache(maxsize=8)
def _is_other(plain: str) -> bool:
    """Tell whether a sentence may be in one of these languages: most are English."""
    if OTHER_LETTER.search(plain):
        return True
    words = plain.rstrip(".!?: ").replace("-", " ").replace("'", " ").replace(",", " ")
    return not _MARKERS.isdisjoint(words.split())


_SIGNS: Final = Signs()


class _Said:
    """Finds what any of the languages says."""

    def __init__(self, part: Callable[[Language], str]) -> None:
        words = "|".join([_choices(part(each), " ") for each in _ALL if each.has_blanks])
        signs = "|".join([_choices(part(each), "") for each in _ALL if not each.has_blanks])
        self._sign = _SIGNS.add(f"{_BEFORE_A_WORD}(?:{words}){_BEHIND_A_WORD}|{signs}")

    def __call__(self, plain: str) -> bool:
        # In this order: English sentences need not be looked through for the signs of all others.
        return _is_other(plain) and self._sign.is_in(plain)


_announces: Final = _Said(lambda each: each.announces)
_denies: Final = _Said(lambda each: each.denies)
announces_its_end: Final = _Said(lambda each: each.ends)
requests: Final = _Said(lambda each: each.requests)
_offers: Final = _Said(lambda each: each.offers)
awaits_the_person: Final = _Said(lambda each: each.awaits)
runs_by_itself: Final = _Said(lambda each: each.runs)


def hands_over(plain: str) -> bool:
    """Tell whether a sentence leaves the next move to the person."""
    return requests(plain) or _offers(plain)


def announces_an_act(plain: str) -> bool:
    """Tell whether a sentence announces an act of its writer, in a language other than English."""
    return _announces(plain) and not (
        announces_its_end(plain) or _denies(plain) or hands_over(plain)
    )
