"""How languages other than English announce an act, end, hand over and wait.

What each of them says stands in lists of its own: the words and endings that announce, and what is
said of the past, of a program, of the person or of the end instead. A sentence is looked through
for the languages of its script. What is missing costs an announcement that is overlooked; a
question is recognised by its mark in every script.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Final

from interlock.policy.stops.asian_languages import (
    ARABIC,
    CHINESE,
    HINDI,
    INDONESIAN,
    JAPANESE,
    KOREAN,
    TURKISH,
    VIETNAMESE,
)
from interlock.policy.stops.european_languages import (
    DUTCH,
    FRENCH,
    GERMAN,
    ITALIAN,
    POLISH,
    PORTUGUESE,
    RUSSIAN,
    SPANISH,
    UKRAINIAN,
)
from interlock.policy.stops.phrases import (
    ARABIC_SCRIPT,
    CYRILLIC,
    DEVANAGARI,
    HAN,
    HANGUL,
    KANA,
    Language,
    Late,
    Signs,
)

_ALL: Final = (
    GERMAN, FRENCH, SPANISH, PORTUGUESE, ITALIAN, DUTCH, RUSSIAN, UKRAINIAN, POLISH, TURKISH,
    VIETNAMESE, INDONESIAN, ARABIC, HINDI, CHINESE, JAPANESE, KOREAN,
)  # fmt: skip


_SEPARATOR: Final = re.compile(r",\s+")
_BREAK: Final = re.compile(r"\s*\n\s*")
_BEFORE_A_CHOICE: Final = re.compile(r"\s*\n\s*(?=\|)")
_OTHER_LETTER: Final = Late(r"[\u00c0-\u1fff\u2e80-\ud7ff]")
_BEFORE_A_WORD: Final = r"(?:^|[\s,.;:!?()\"'\x{2010}-\x{2026}\x{a1}\x{ab}\x{bf}\x{60c}])"
_BEHIND_A_WORD: Final = r"(?:$|[\s,.;:!?()\"'\x{2010}-\x{2026}\x{bb}\x{60c}\x{964}])"


_NOTHING: Final = r"[^\s\S]"


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
    ve bu bir devam ediyorum edelim ediyoruz kalan tamam onaylarsan istersen hangi
    saya akan lanjut langkah berikutnya yang dan untuk kita mari sekarang selanjutnya belum
    silakan apakah kalau jika anda teraz najpierw nie czy jest daj jak zaraz dalej oraz sprawdzam
    restam restano rimangono quedan pendientes
    poprawiam uruchamiam zaczynam dodam trwa tle berjalan masih menunggu mohon sudah
    """.split()
)
"""Words that stand in nearly every sentence of a language that needs no other signs."""


# Kana come before the signs that Japanese shares with Chinese.
_SCRIPTS: Final = ("", CYRILLIC, KANA, HANGUL, HAN, ARABIC_SCRIPT, DEVANAGARI)
_SIGNS: Final = {script: Signs() for script in _SCRIPTS}
"""A set for each: a sentence need not be looked through for the signs of all languages."""
_LETTERS: Final = [(script, Late(f"[{script}]")) for script in _SCRIPTS[1:]]


def has_other_letters(text: str) -> bool:
    """Whether a text has letters that English has not."""
    return not text.isascii() and _OTHER_LETTER.search(text) is not None


@lru_cache(maxsize=8)
def _script_of(plain: str) -> str | None:
    """Return the script of a sentence in one of these languages: most are English."""
    if has_other_letters(plain):
        return next((script for script, letter in _LETTERS if letter.search(plain)), "")
    words = plain.rstrip(".!?: ").replace("-", " ").replace("'", " ").replace(",", " ")
    return None if _MARKERS.isdisjoint(words.split()) else ""


class _Said:
    """Finds what any of the languages says."""

    def __init__(self, part: Callable[[Language], str]) -> None:
        self._signs: Final = {
            script: signs.add(_pattern([each for each in _ALL if each.script == script], part))
            for script, signs in _SIGNS.items()
        }

    def __call__(self, plain: str) -> bool:
        script = _script_of(plain)
        return script is not None and self._signs[script].is_in(plain)


def _pattern(languages: list[Language], part: Callable[[Language], str]) -> str:
    """Return a pattern for what any of the languages says; one that says nothing is not found."""
    said = [_choices(part(each), each.between_words) for each in languages]
    choices = "|".join(filter(None, said)) or _NOTHING
    if languages[0].between_words:
        return f"{_BEFORE_A_WORD}(?:{choices}){_BEHIND_A_WORD}"
    return choices


_announces: Final = _Said(lambda each: each.announces)
_denies: Final = _Said(lambda each: each.denies)
announces_its_end: Final = _Said(lambda each: each.ends)
_requests: Final = _Said(lambda each: each.requests)
_offers: Final = _Said(lambda each: each.offers)
awaits_the_person: Final = _Said(lambda each: each.awaits)
runs_by_itself: Final = _Said(lambda each: each.runs)
is_bound: Final = _Said(lambda each: each.bound)
_left: Final = _Said(lambda each: each.left)
_notes: Final = _Said(lambda each: each.notes)
_tells: Final = _Said(lambda each: each.tells)
wants_patience: Final = _Said(lambda each: each.patience)
remarks_on_it: Final = _Said(lambda each: each.remarks)


def requests(plain: str) -> bool:
    """Tell whether a sentence asks the person for something, and not only to be patient."""
    return _requests(plain) and not wants_patience(plain)


def hands_over(plain: str) -> bool:
    """Tell whether a sentence leaves the next move to the person."""
    return requests(plain) or _offers(plain)


def announces_an_act(plain: str) -> bool:
    """Tell whether a sentence announces an act of its writer, in a language other than English."""
    return _announces(plain) and not (
        announces_its_end(plain) or _denies(plain) or hands_over(plain)
    )


def leaves_work(plain: str) -> bool:
    """Tell whether a sentence names work that is not done, and does not say whose it is."""
    if not (_left(plain) or (_notes(plain) and not (_tells(plain) or _denies(plain)))):
        return False
    return not (announces_its_end(plain) or hands_over(plain))
