"""Words of a command line, with their quotes taken off."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

import msgspec

_ANSI_C: Final = {
    "a": "\a", "b": "\b", "e": "\x1b", "E": "\x1b", "f": "\f", "n": "\n", "r": "\r", "t": "\t",
    "v": "\v", "\\": "\\", "'": "'", '"': '"', "?": "?",
}  # fmt: skip
_ESCAPED: Final = r"(?s)\\(.)"
_ESCAPED_IN_QUOTES: Final = r"\\([$`\"\\\n])"
_ANSI_C_ESCAPE: Final = (
    r"(?s)\\(x[0-9a-fA-F]{1,2}|u[0-9a-fA-F]{1,4}|U[0-9a-fA-F]{1,8}|[0-7]{1,3}|c.|.)"
)
_MAX_EXCERPT: Final = 120
_MAX_BRACE_WORDS: Final = 256
_MAX_BRACE_TEXT: Final = 1024


class Word(msgspec.Struct, frozen=True, gc=False):
    """One word after expansion.

    Parts that only the run decides stay in `text` the way they were written (`$NAME`), and
    `known` is false then.
    """

    text: str
    known: bool = True
    glob: bool = False
    labels: int = 0

    def tail(self, start: int) -> Word:
        """Return the word without its first characters."""
        return Word(self.text[start:], self.known, self.glob, self.labels)


def literal(text: str, labels: int = 0) -> Word:
    """Return a word that means exactly this text."""
    return Word(text, labels=labels)


def unknown(text: str, labels: int = 0) -> Word:
    """Return a word that only the run decides; `text` is how it was written."""
    return Word(text, known=False, labels=labels)


def labels_of(words: Iterable[Word]) -> int:
    """Return where the words come from, all together."""
    labels = 0
    for word in words:
        labels |= word.labels
    return labels


def unescape(raw: str) -> str:
    r"""Take the backslashes off an unquoted word: `r\m` is `rm`."""
    return re.sub(_ESCAPED, _without_newline, raw) if "\\" in raw else raw


def unescape_double_quoted(raw: str) -> str:
    """Take off the backslashes that count inside double quotes."""
    return re.sub(_ESCAPED_IN_QUOTES, _without_newline, raw) if "\\" in raw else raw


def _without_newline(found: re.Match[str]) -> str:
    return "" if found[1] == "\n" else found[1]


def decode_ansi_c(raw: str) -> str:
    r"""Decode the inside of `$'...'`: `\x72m` is `rm`."""
    return re.sub(_ANSI_C_ESCAPE, _decoded, raw) if "\\" in raw else raw


def _decoded(found: re.Match[str]) -> str:
    """Return what an escape stands for; one that stands for nothing stays as it is."""
    kind, rest = found[1][0], found[1][1:]
    if kind in "01234567":
        return chr(int(found[1], 8))
    if not rest:
        return kind if kind in "xuU" else _ANSI_C.get(kind, "\\" + kind)
    if kind == "c":
        return chr(ord(rest) & 0x1F)
    code = int(rest, 16)
    return chr(code) if code < 0x110000 else "�"


def brace_expanded(text: str) -> list[str]:
    """Expand `{a,b}` and `{1..3}` once per group, bounded; other braces stay as they are."""
    if len(text) > _MAX_BRACE_TEXT:
        return [text]
    pending = [text]
    done: list[str] = []
    while pending and len(done) + len(pending) <= _MAX_BRACE_WORDS:
        current = pending.pop()
        parts = _first_brace_group(current)
        if parts is None:
            done.append(current)
        else:
            before, choices, after = parts
            pending.extend(before + choice + after for choice in reversed(choices))
    return done + pending[::-1]


def _first_brace_group(text: str) -> tuple[str, list[str], str] | None:
    """Split at the first innermost `{..}` group that really expands."""
    start = -1
    for index, char in enumerate(text):
        if char == "{" and not (index and text[index - 1] == "$"):
            start = index
        elif char == "}" and start >= 0:
            choices = _choices(text[start + 1 : index])
            if choices:
                return text[:start], choices, text[index + 1 :]
            start = -1
    return None


def _choices(inside: str) -> list[str]:
    if "," in inside:
        return inside.split(",")[:_MAX_BRACE_WORDS]
    first, dots, last = inside.partition("..")
    if not dots:
        return []
    if (
        first.isascii()
        and last.isascii()
        and first.isdigit()
        and last.isdigit()
        and len(first + last) < 12
    ):
        low, high = int(first), int(last)
        return [str(number) for number in range(low, min(high, low + _MAX_BRACE_WORDS) + 1)]
    return [first, last] if first.isalpha() and last.isalpha() else []


def excerpt_of(text: str) -> str:
    """Return a short single line of `text`."""
    line = " ".join(text.split())
    return line if len(line) <= _MAX_EXCERPT else line[: _MAX_EXCERPT - 1] + "…"
