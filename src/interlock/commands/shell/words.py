"""Words of a command line, with their quotes taken off."""

from __future__ import annotations

from typing import Final

import msgspec

_ANSI_C: Final = {
    "a": "\a", "b": "\b", "e": "\x1b", "E": "\x1b", "f": "\f", "n": "\n", "r": "\r", "t": "\t",
    "v": "\v", "\\": "\\", "'": "'", '"': '"', "?": "?",
}  # fmt: skip
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


def unescape(raw: str) -> str:
    r"""Take the backslashes off an unquoted word: `r\m` is `rm`."""
    if "\\" not in raw:
        return raw
    out: list[str] = []
    index = 0
    while index < len(raw):
        if raw[index] == "\\" and index + 1 < len(raw):
            index += 1
            if raw[index] == "\n":
                index += 1
                continue
        out.append(raw[index])
        index += 1
    return "".join(out)


def unescape_double_quoted(raw: str) -> str:
    """Take off the backslashes that count inside double quotes."""
    if "\\" not in raw:
        return raw
    out: list[str] = []
    index = 0
    while index < len(raw):
        char = raw[index]
        if char == "\\" and index + 1 < len(raw) and raw[index + 1] in '$`"\\\n':
            index += 1
            char = "" if raw[index] == "\n" else raw[index]
        out.append(char)
        index += 1
    return "".join(out)


def decode_ansi_c(raw: str) -> str:
    r"""Decode the inside of `$'...'`: `\x72m` is `rm`."""
    if "\\" not in raw:
        return raw
    out: list[str] = []
    index = 0
    while index < len(raw):
        if raw[index] != "\\" or index + 1 >= len(raw):
            out.append(raw[index])
            index += 1
            continue
        char, index = _escape_at(raw, index + 1)
        out.append(char)
    return "".join(out)


def _escape_at(raw: str, index: int) -> tuple[str, int]:
    """Return the character that the escape at `index` stands for, and where it ends."""
    kind = raw[index]
    if kind in _ANSI_C:
        return _ANSI_C[kind], index + 1
    if kind in "xuU":
        return _numbered(
            raw,
            index + 1,
            digits="0123456789abcdefABCDEF",
            base=16,
            most={"x": 2, "u": 4, "U": 8}[kind],
        )
    if kind in "01234567":
        return _numbered(raw, index, digits="01234567", base=8, most=3)
    if kind == "c" and index + 1 < len(raw):
        return chr(ord(raw[index + 1]) & 0x1F), index + 2
    return "\\" + kind, index + 1


def _numbered(raw: str, start: int, *, digits: str, base: int, most: int) -> tuple[str, int]:
    end = start
    while end < len(raw) and end - start < most and raw[end] in digits:
        end += 1
    if end == start:
        return raw[start - 1], end
    code = int(raw[start:end], base)
    return (chr(code) if code < 0x110000 else "�"), end


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
