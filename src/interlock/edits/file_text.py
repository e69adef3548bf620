"""What a file says: its bytes as text with one kind of line ending, and the way back.

Whoever sends an edit writes LF, whatever the file has. So texts are compared with every line
ending as LF, and each place in that text leads back to its place in the file. A new line gets the
ending of the place it goes to.
"""

from __future__ import annotations

import codecs
import re
from bisect import bisect_left
from collections.abc import Sequence
from functools import cached_property
from itertools import accumulate, count, zip_longest
from operator import add
from typing import Final

from interlock.errors import EditError
from interlock.model.edit import Encoding

_MARKS: Final = {
    Encoding.UTF_8_BOM: codecs.BOM_UTF8,
    Encoding.UTF_16_LE: codecs.BOM_UTF16_LE,
    Encoding.UTF_16_BE: codecs.BOM_UTF16_BE,
}
_CODECS: Final = {
    Encoding.UTF_8: "utf-8",
    Encoding.UTF_8_BOM: "utf-8",
    Encoding.UTF_16_LE: "utf-16-le",
    Encoding.UTF_16_BE: "utf-16-be",
}
_BLOCK: Final = 1 << 15


class FileText:
    """The text of a file, without the mark of its encoding."""

    def __init__(self, text: str, encoding: Encoding) -> None:
        self.text = text
        """With the line endings of the file."""
        self.encoding = encoding
        self.plain = with_plain_endings(text)
        """With LF as the only line ending; places are counted in this text."""

    def origin(self, position: int) -> int:
        """Return the place in the file's own text that a place in the plain text stands for."""
        if self.has_one_ending:
            return position
        if self._has_pairs_only:
            return position + self.line_at(position)
        return position + bisect_left(self._pairs, position)

    def ending_at(self, position: int) -> str:
        """Return how the line that ends at this place of the plain text ends in the file."""
        start = self.origin(position)
        if self.text[start] == "\n":
            return "\n"
        return "\r\n" if self.text.startswith("\n", start + 1) else "\r"

    def place(self, position: int) -> str:
        """Return a place of the plain text as `line:column`, both from 1."""
        column = position - self.plain.rfind("\n", 0, position)
        return f"{self.line_at(position) + 1}:{column}"

    def line_at(self, position: int) -> int:
        """Return the index of the line that a place of the plain text is in."""
        block = position // _BLOCK
        return self._lines_before[block] + self.plain.count("\n", block * _BLOCK, position)

    @property
    def has_one_ending(self) -> bool:
        """Whether every line ends with LF, so that nothing needs translating."""
        return self.plain is self.text

    @cached_property
    def lines(self) -> list[str]:
        """The lines of the plain text; behind a final line ending there is an empty one."""
        return self.plain.split("\n")

    @cached_property
    def line_starts(self) -> list[int]:
        """Where each line begins, and where one behind the last would."""
        return list(accumulate((len(line) + 1 for line in self.lines), initial=0))

    @cached_property
    def squeezed_lines(self) -> list[str]:
        """The same, as they are compared when blanks do not matter."""
        return [squeezed(line) for line in self.lines]

    @cached_property
    def _lines_before(self) -> list[int]:
        """How many lines end before each block of the plain text."""
        starts = range(0, len(self.plain) + 1, _BLOCK)
        counts = (self.plain.count("\n", start, start + _BLOCK) for start in starts)
        return list(accumulate(counts, initial=0))

    @cached_property
    def _has_pairs_only(self) -> bool:
        """Whether every line ends with CRLF, so that places differ by the number of lines."""
        return len(self.text) - len(self.plain) == self._lines_before[-1]

    @cached_property
    def _pairs(self) -> list[int]:
        """Where in the plain text the line endings of two characters are."""
        ends = accumulate(map(len, self.text.split("\r\n")))
        return list(map(add, ends, count()))


def with_plain_endings(text: str) -> str:
    """Return a text with LF as its only line ending; the same object where nothing changes."""
    if "\r" not in text:
        return text
    return text.replace("\r\n", "\n").replace("\r", "\n")


def squeezed(line: str) -> str:
    """Return a line with one blank where it has several, and none at its ends."""
    return " ".join(line.split())


def text_from_bytes(content: bytes) -> FileText:
    """Read UTF-8, with its mark or without, or UTF-16 with its mark; refuse everything else."""
    encoding = _encoding(content)
    unmarked = content[len(_MARKS.get(encoding, b"")) :]
    try:
        text = unmarked.decode(_CODECS[encoding])
    except UnicodeDecodeError as error:
        raise EditError(
            f"is no text that can be edited: not {encoding.value} at byte"
            f" {error.start + len(content) - len(unmarked)}: binary files, and texts in other"
            " encodings, are left as they are"
        ) from error
    if (found := text.find("\0")) >= 0:
        raise EditError(
            f"is a binary file: there is a NUL at character {found}: only text can be edited"
        )
    return FileText(text, encoding)


def bytes_from_text(text: str, encoding: Encoding) -> bytes:
    """Write a text down the way its file does."""
    try:
        return _MARKS.get(encoding, b"") + text.encode(_CODECS[encoding])
    except UnicodeEncodeError as error:
        raise EditError(
            f"`new` has half a character, `\\u{ord(text[error.start]):04x}`, which no file can"
            " hold: send the whole character"
        ) from error


def _encoding(content: bytes) -> Encoding:
    for encoding, mark in _MARKS.items():
        if content.startswith(mark):
            return encoding
    return Encoding.UTF_8


_ENDING: Final = re.compile("\r\n|\r|\n")


def fitted(new: str, text: FileText, start: int, end: int) -> str:
    """Return a text with the line endings of the span of the plain text that it replaces.

    Lines that stay at the beginning and at the end keep their own ending. The lines between
    them take those of the lines they replace, in order, and the last of these when there are
    more. A lone CR of the new text stays: nobody sends one by accident.
    """
    if text.has_one_ending and "\r" not in new:
        return new
    endings = _given(_lines(new), text, start, end)
    pieces = _ENDING.split(new)
    own = _ENDING.findall(new)
    chosen = [mine if mine == "\r" else theirs for mine, theirs in zip(own, endings, strict=True)]
    return "".join(part for pair in zip_longest(pieces, chosen, fillvalue="") for part in pair)


def _given(new_lines: Sequence[str], text: FileText, start: int, end: int) -> list[str]:
    """Return an ending for each line of a text that ends."""
    old_lines = _lines(text.plain[start:end])
    endings = _endings(text, start, end)
    head = _same(old_lines, new_lines)
    tail = _same(old_lines[head:][::-1], new_lines[head:][::-1])
    before, between, after = _cut(endings, head, len(endings) - tail)
    wanted = len(new_lines) - head - tail
    fill = between[-1:] or before[-1:] or after[:1] or [_nearest(text, start, end)]
    return before + between[:wanted] + fill * (wanted - len(between)) + after


def _cut(endings: list[str], first: int, last: int) -> tuple[list[str], list[str], list[str]]:
    return endings[:first], endings[first:last], endings[last:]


def _lines(text: str) -> list[str]:
    """Return the lines that end; what is behind the last ending is left out."""
    return with_plain_endings(text).split("\n")[:-1]


def _endings(text: FileText, start: int, end: int) -> list[str]:
    return [
        text.ending_at(start + found.start()) for found in re.finditer("\n", text.plain[start:end])
    ]


def _same(some: Sequence[str], others: Sequence[str]) -> int:
    """Return how many lines are the same from the beginning."""
    count = 0
    while count < min(len(some), len(others)) and some[count] == others[count]:
        count += 1
    return count


def _nearest(text: FileText, start: int, end: int) -> str:
    """Return how the line of a span ends, or the one before it; LF in a file of one line."""
    following = text.plain.find("\n", end)
    if following >= 0:
        return text.ending_at(following)
    preceding = text.plain.rfind("\n", 0, start)
    return text.ending_at(preceding) if preceding >= 0 else "\n"
