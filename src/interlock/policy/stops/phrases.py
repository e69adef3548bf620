"""Lists of words and phrases, found as whole words; and whether one is really said.

Really said is what is not denied, not reported and not made conditional.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cached_property, lru_cache
from typing import Final

import msgspec
import re2

from interlock.policy.stops.closing_text import holds_one, straightened


def one_of(text: str) -> str:
    """Return a pattern for any of the phrases that a text lists, separated by commas."""
    return "(?:" + "|".join([part.strip() for part in text.split(",") if part.strip()]) + ")"


FEW: Final = r"(?: [^ ,.;]+){0,5}"
"""A few words of the same clause, between a verb and what belongs to it."""


CYRILLIC: Final = "\u0400-\u04ff"
ARABIC_SCRIPT: Final = "\u0600-\u06ff"
DEVANAGARI: Final = "\u0900-\u097f"
KANA: Final = "\u3041-\u30fa"
HANGUL: Final = "\uac00-\ud7a3"
HAN: Final = "\u4e00-\u9fff"
# Korean puts blanks between its words, but its endings hang on them as they do in the others.
_WITHOUT_BLANKS: Final = (KANA, HANGUL, HAN)


class Language(msgspec.Struct, frozen=True, kw_only=True):
    """What a language says, as lists of phrases; a phrase may be a pattern."""

    announces: str
    """Whoever writes it does something next, whatever the act is."""
    ends: str
    """It submits, concludes or sums up: no act follows."""
    denies: str
    """What is announced is no act: it is denied, past, waited for or only said."""
    requests: str
    """It asks the person for something: their move, whatever is said behind it."""
    offers: str
    """It says what the person can or must do, or may want."""
    awaits: str
    """It waits for the person."""
    runs: str
    """Something goes on by itself, and its end is waited for."""
    bound: str
    """What is announced happens when something else has ended."""
    left: str
    """A part of the work is not done yet: whoever is at work has it to do."""
    remarks: str
    """It only says more of what the sentence before announces."""
    notes: str = ""
    """An act, and nobody is named: its writer's own in the middle of work."""
    tells: str = ""
    """It has the form of such a note, but tells what a program does, or a person may do."""
    patience: str = ""
    """The writer only asks to be patient: nothing else is asked for."""
    script: str = ""
    """The letters that only its script has, as a range; empty for that of English."""

    @property
    def between_words(self) -> str:
        """What stands between its words."""
        return "" if self.script in _WITHOUT_BLANKS else " "


class Late:
    """A pattern that takes long to compile: it is when it is first looked for, not at the start."""

    def __init__(self, pattern: str, flags: int = 0) -> None:
        self._given: Final = pattern, flags

    @cached_property
    def search(self) -> Callable[[str], re.Match[str] | None]:
        """Find it anywhere in a text."""
        return re.compile(*self._given).search

    @cached_property
    def match(self) -> Callable[[str], re.Match[str] | None]:
        """Find it where a text begins."""
        return re.compile(*self._given).match


def opening(pattern: str) -> Late:
    """Return a pattern for the first words of a sentence."""
    return Late(rf"(?:{pattern})(?!\w)")


_SET_BYTES: Final = 32 << 20


class Signs:
    """Patterns that are looked for all at once: one look at a sentence tells which it holds.

    A set for each module: RE2 forgets what it learnt of a set that is too large.
    """

    def __init__(self) -> None:
        self._patterns: list[str] = []
        self._set: re2.Set | None = None
        # A sentence is asked about several times in a row.
        self.found_in: Final = lru_cache(maxsize=8)(self._found_in)

    def add(self, pattern: str, *, exactly: str | None = None) -> Sign:
        """Take a pattern for RE2, and one for `re` where RE2 cannot say the whole of it."""
        self._patterns.append(pattern)
        return Sign(self, len(self._patterns) - 1, exactly)

    def whole(self, pattern: str) -> Sign:
        """Take a pattern that counts as whole words only; a hyphen is part of a word."""
        return self.add(rf"(?:^|[^{_OF_WORDS}-])(?:{pattern})(?:$|[^{_OF_WORDS}])")

    def _found_in(self, plain: str) -> list[int]:
        if self._set is None:
            # Another thread must not meet a set that is not ready.
            # What was learnt of the sentences before must not be forgotten: many are alike.
            options = re2.Options()
            options.max_mem = _SET_BYTES
            ready = re2.Set.SearchSet(options)
            for pattern in self._patterns:
                ready.Add(pattern)
            ready.Compile()
            self._set = ready
        return self._set.Match(plain) or []


class Sign:
    """One of them: it is not asked where it stands, only whether it does."""

    def __init__(self, signs: Signs, index: int, exactly: str | None) -> None:
        self._found_in: Final = signs.found_in
        self._index: Final = index
        self._exactly: Final = None if exactly is None else Late(exactly)

    def is_in(self, plain: str) -> bool:
        """Tell whether a sentence in lower case holds it."""
        if self._index not in self._found_in(plain):
            return False
        return self._exactly is None or self._exactly.search(plain) is not None


# Letters and digits by the blocks that hold them: RE2 takes long over the exact classes.
_OF_WORDS: Final = (
    r"\w\x{aa}\x{b5}\x{ba}\x{c0}-\x{1fff}\x{2c00}-\x{2dff}\x{3040}-\x{d7ff}\x{f900}-\x{fdff}"
    r"\x{fe70}-\x{fefc}\x{ff10}-\x{ff19}\x{ff21}-\x{ff3a}\x{ff41}-\x{ff5a}\x{ff66}-\x{ffdc}"
    r"\x{10000}-\x{1efff}\x{20000}-\x{3ffff}"
)


_CACHED: Final = 64
# Scripts that write without blanks between words begin about here.
_NO_BLANKS_FROM: Final = "\u2e80"
_DENIED_BEFORE: Final = re.compile(
    r"\b"
    + one_of("""
    not, no, never, without, nothing, neither, nor, cannot, until, unless, if, once, when,
    whether, before, after, say, says, said, claim, claims, claimed, states, stated, reads,
    according, nicht, kein, keine, pas, sans, sin, wenn, sobald, bevor
""")
    + r"\b|n't\b"
)
_LIMITED_BEHIND: Final = re.compile(
    r"\W{0,3}(?:\w+\W{1,3}){0,2}(?:only|once|when|if|after|until|unless|as soon as)\b"
)


def said(phrases: tuple[str, ...], sentence: str) -> str | None:
    """Return the first phrase that a sentence in lower case really says, or None."""
    for found in _found(phrases, sentence):
        before, behind = sentence[: found.start()], sentence[found.end() :]
        if not (_DENIED_BEFORE.search(before) or _LIMITED_BEHIND.match(behind)):
            return found.group()
    return None


def mentioned(phrases: tuple[str, ...], text: str) -> str | None:
    """Return the first phrase that a text in lower case holds as whole words, or None."""
    return next((found.group() for found in _found(phrases, text)), None)


def _found(phrases: tuple[str, ...], text: str) -> list[re.Match[str]]:
    """Return every place of a phrase; most texts hold none, which a plain look tells fast."""
    if not phrases:
        return []
    plain, pattern = _compiled(phrases)
    if not holds_one(text, plain):
        return []
    return list(pattern.finditer(text))


@lru_cache(maxsize=_CACHED)
def _compiled(phrases: tuple[str, ...]) -> tuple[tuple[str, ...], re.Pattern[str]]:
    plain = {" ".join(straightened(phrase).lower().split()) for phrase in phrases}
    longest_first = sorted(plain - {""}, key=lambda phrase: (-len(phrase), phrase))
    pattern = "|".join([_whole_words(phrase) for phrase in longest_first])
    return tuple(longest_first), re.compile(pattern)


def _whole_words(phrase: str) -> str:
    return _edge(phrase[0], r"(?<!\w)") + re.escape(phrase) + _edge(phrase[-1], r"(?!\w)")


def _edge(char: str, boundary: str) -> str:
    return boundary if char.isalnum() and char < _NO_BLANKS_FROM else ""
