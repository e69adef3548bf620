"""Lists of words and phrases, written as text and found as whole words."""

from __future__ import annotations

import re

import re2


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
