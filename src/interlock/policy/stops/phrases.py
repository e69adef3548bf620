"""Lists of words and phrases, found as whole words; and whether one is really said.

Really said is what is not denied, not reported and not made conditional.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

import re2

from interlock.policy.stops.closing_text import straightened


def one_of(text: str) -> str:
    """Return a pattern for any of the phrases that a text lists, separated by commas."""
    return "(?:" + "|".join([part.strip() for part in text.split(",") if part.strip()]) + ")"


def whole(pattern: str) -> re2.Regexp[str]:
    """Compile a pattern that finds whole words only; a hyphen is part of a word.

    RE2 looks for all of a long list at once, where `re` tries one after the other.
    """
    return re2.compile(rf"(?:^|[^\pL\pN_-])(?:{pattern})(?:$|[^\pL\pN_])")


def opening(pattern: str) -> re.Pattern[str]:
    """Compile a pattern for the first words of a sentence."""
    return re.compile(rf"(?:{pattern})(?!\w)")


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
    plain, pattern = _compiled(phrases)
    if not any(phrase in text for phrase in plain):
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
