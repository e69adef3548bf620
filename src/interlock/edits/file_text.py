"""What a file says, with one kind of line ending and the way back, and what changes in it.

Whoever sends an edit writes LF, whatever the file has. So texts are compared with every line
ending as LF, and each place in that text leads back to its place in the file. A new line gets the
ending of the place it goes to.

Changes are counted and shown line by line. Only the lines around them are looked at, so that a
small change of a large file is cheap.
"""

from __future__ import annotations

import codecs
import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import accumulate, count, groupby, pairwise, zip_longest
from operator import add
from typing import Final, NamedTuple

from interlock.errors import EditError
from interlock.model.edit import Encoding
from interlock.model.facts import Layer
from interlock.model.unchanged_lines import unchanged_pairs

_ENCODINGS: Final = {
    Encoding.UTF_8_BOM: (codecs.BOM_UTF8, "utf-8"),
    Encoding.UTF_16_LE: (codecs.BOM_UTF16_LE, "utf-16-le"),
    Encoding.UTF_16_BE: (codecs.BOM_UTF16_BE, "utf-16-be"),
    Encoding.UTF_8: (b"", "utf-8"),
}
"""The mark that a file begins with, and the codec; the one without a mark is the last."""
_BLOCK: Final = 1 << 15
_CONTEXT: Final = 3
_ENDING: Final = re.compile("\r\n|\r|\n")
_LINE: Final = re.compile("[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")
_NO_ENDING: Final = "\\ No newline at end of file\n"


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
        return f"{self.line_at(position) + 1}:{self.column_at(position)}"

    def column_at(self, position: int) -> int:
        """Return the column of a place of the plain text, from 1."""
        return position - self.plain.rfind("\n", 0, position)

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
    encoding, mark, codec = next(
        (encoding, mark, codec)
        for encoding, (mark, codec) in _ENCODINGS.items()
        if content.startswith(mark)
    )
    try:
        text = content[len(mark) :].decode(codec)
    except UnicodeDecodeError as error:
        raise EditError(
            f"is no text that can be edited: not {encoding.value} at byte"
            f" {error.start + len(mark)}: binary files, and texts in other"
            " encodings, are left as they are"
        ) from error
    if (found := text.find("\0")) >= 0:
        raise EditError(
            f"is a binary file: there is a NUL at character {found}: only text can be edited"
        )
    return FileText(text, encoding)


def bytes_from_text(text: str, encoding: Encoding) -> bytes:
    """Write a text down the way its file does."""
    mark, codec = _ENCODINGS[encoding]
    try:
        return mark + text.encode(codec)
    except UnicodeEncodeError as error:
        raise EditError(
            f"`new` has half a character, `\\u{ord(text[error.start]):04x}`, which no file can"
            " hold: send the whole character"
        ) from error


def fitted(match: Match, text: FileText) -> Match:
    """Return a replacement with the line endings of the span that it replaces.

    Lines that stay at the beginning and at the end keep their own ending. The lines between
    them take those of the lines they replace, in order, and the last of these when there are
    more. A lone CR of the new text stays: nobody sends one by accident.
    """
    new = match.new
    if match.layer is Layer.CREATED or (text.has_one_ending and "\r" not in new):
        return match
    endings = _given(_ended_lines(new), text, match.start, match.end)
    pieces = _ENDING.split(new)
    own = _ENDING.findall(new)
    chosen = [mine if mine == "\r" else theirs for mine, theirs in zip(own, endings, strict=True)]
    pairs = zip_longest(pieces, chosen, fillvalue="")
    return match._replace(new="".join(part for pair in pairs for part in pair))


def _given(new_lines: Sequence[str], text: FileText, start: int, end: int) -> list[str]:
    """Return an ending for each line of a text that ends."""
    old_lines = _ended_lines(text.plain[start:end])
    endings = _endings(text, start, end)
    head = _same(old_lines, new_lines)
    tail = _same(old_lines[head:][::-1], new_lines[head:][::-1])
    last = len(endings) - tail
    before, between, after = endings[:head], endings[head:last], endings[last:]
    wanted = len(new_lines) - head - tail
    fill = between[-1:] or before[-1:] or after[:1] or [_nearest(text, start, end)]
    return before + between[:wanted] + fill * (wanted - len(between)) + after


def _ended_lines(text: str) -> list[str]:
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


class Match(NamedTuple):
    """A span of the plain text, and what comes in its place."""

    start: int
    end: int
    new: str
    layer: Layer
    similarity: float = 1.0


class ChangedLines(NamedTuple):
    """Lines that follow each other, and what comes in their place; all with their endings."""

    first: int
    """The index of the first line that is removed, or before which some are added."""
    removed: str
    added: str

    @property
    def last(self) -> int:
        """The index of the line behind those that are removed."""
        return self.first + len(_lines(self.removed))


class _Row(NamedTuple):
    """One line of a diff."""

    sign: str
    text: str


class _Block(NamedTuple):
    """Lines that change, without those around them."""

    line: int
    """The index of the first of them."""
    start: int
    end: int
    """Where they are in the plain text."""
    rows: list[_Row]

    def count(self, sign: str) -> int:
        return sum(row.sign == sign for row in self.rows)

    @property
    def last(self) -> int:
        """The index of the line behind them."""
        return self.line + len(self.rows) - self.count("+")


class Differences:
    """What some replacements change; they are in order, fitted, and do not overlap."""

    def __init__(self, before: FileText, replacements: Sequence[Match]) -> None:
        self._before = before
        self._replacements = replacements

    def changed_text(self) -> str:
        """Return the whole text as it will be."""
        return self._changed(0, len(self._before.plain), self._replacements)

    @cached_property
    def added(self) -> int:
        """How many lines are added; a line that changes is removed and added."""
        return sum(block.count("+") for block in self._blocks)

    @cached_property
    def removed(self) -> int:
        """How many lines are removed."""
        return sum(block.count("-") for block in self._blocks)

    def changed_lines(self) -> Iterator[ChangedLines]:
        """Yield what is removed and added at each place, without any line that stays."""
        for block in self._blocks:
            line = block.line
            for sign, group in groupby(block.rows, key=lambda row: row.sign == " "):
                rows = list(group)
                if not sign:
                    removed = [row.text for row in rows if row.sign == "-"]
                    added = "".join(row.text for row in rows if row.sign == "+")
                    yield ChangedLines(line, "".join(removed), added)
                    line += len(removed)
                else:
                    line += len(rows)

    def touches(self, number: int, lines: ChangedLines) -> bool:
        """Whether a replacement, by its number in the order of the file, is part of a change."""
        start, end, *_ = self._replacements[number]
        first, behind = self._before.line_at(start), self._before.line_at(max(start, end - 1)) + 1
        if not lines.removed:
            return first <= lines.first <= behind
        return first < lines.last and behind > lines.first

    def unified(self, path: str, *, creates: bool) -> str:
        """Return the diff of a file as `patch` reads it; a lone CR is shown as a line ending."""
        if not self._blocks:
            return ""
        pieces = [f"--- {'/dev/null' if creates else 'a/' + path}\n+++ b/{path}\n"]
        shift = 0
        for hunk in _hunks(self._blocks):
            rows = list(self._rows(hunk))
            first = hunk[0].line - len(self._lines_before(hunk[0].start))
            before = sum(row.sign != "+" for row in rows)
            after = sum(row.sign != "-" for row in rows)
            pieces.append(f"@@ -{_range(first, before)} +{_range(first + shift, after)} @@\n")
            pieces.extend(map(_shown, rows))
            shift += after - before
        return "".join(pieces)

    @cached_property
    def _blocks(self) -> list[_Block]:
        return list(self._changed_blocks())

    def _changed_blocks(self) -> Iterator[_Block]:
        plain = self._before.plain
        for group in self._on_common_lines():
            start = plain.rfind("\n", 0, group[0].start) + 1
            end = _line_end(plain, group[-1].end)
            old = _lines(self._text(start, end))
            new = _lines(self._changed(start, end, group))
            block = _trimmed(_Block(self._before.line_at(start), start, end, []), old, new)
            if block.rows:
                yield block

    def _on_common_lines(self) -> Iterator[list[Match]]:
        """Yield the replacements that change the same line, or neighbours, together."""
        group: list[Match] = []
        end = 0
        for each in self._replacements:
            if group and each.start >= end:
                yield group
                group = []
            group.append(each)
            # A line may be as long as the file: its end is looked for once.
            if each.end >= end:
                end = _line_end(self._before.plain, each.end)
        if group:
            yield group

    def _changed(self, start: int, end: int, group: Sequence[Match]) -> str:
        pieces: list[str] = []
        for each in group:
            pieces += [self._text(start, each.start), each.new]
            start = each.end
        return "".join([*pieces, self._text(start, end)])

    def _rows(self, hunk: Sequence[_Block]) -> Iterator[_Row]:
        """Yield the lines of blocks that are close together, with those around and between."""
        yield from _unchanged(self._lines_before(hunk[0].start))
        yield from hunk[0].rows
        for block, following in pairwise(hunk):
            yield from _unchanged(_lines(self._text(block.end, following.start)))
            yield from following.rows
        yield from _unchanged(self._lines_after(hunk[-1].end))

    def _lines_before(self, position: int) -> list[str]:
        start = position
        for _ in range(_CONTEXT):
            start = self._before.plain.rfind("\n", 0, max(0, start - 1)) + 1
        return _lines(self._text(start, position))

    def _lines_after(self, position: int) -> list[str]:
        end = position
        for _ in range(_CONTEXT):
            end = _line_end(self._before.plain, end)
        return _lines(self._text(position, end))

    def _text(self, start: int, end: int) -> str:
        return self._before.text[self._before.origin(start) : self._before.origin(end)]


def _line_end(plain: str, position: int) -> int:
    """Return where the line behind the one at this place begins."""
    found = plain.find("\n", position)
    return len(plain) if found < 0 else found + 1


def _lines(text: str) -> list[str]:
    return _LINE.findall(text)


def _unchanged(lines: Iterable[str]) -> Iterator[_Row]:
    return (_Row(" ", line) for line in lines)


def _trimmed(block: _Block, old: Sequence[str], new: Sequence[str]) -> _Block:
    """Return a block with the lines between the first and the last that change."""
    rows = list(_compared(old, new))
    first = next((index for index, row in enumerate(rows) if row.sign != " "), len(rows))
    last = next((index for index, row in enumerate(reversed(rows)) if row.sign != " "), 0)
    head, tail = rows[:first], rows[len(rows) - last :]
    return _Block(
        line=block.line + len(head),
        start=block.start + sum(_plain_length(row.text) for row in head),
        end=block.end - sum(_plain_length(row.text) for row in tail),
        rows=rows[first : len(rows) - last],
    )


def _plain_length(line: str) -> int:
    return len(line) - line.endswith("\r\n")


def _compared(old: Sequence[str], new: Sequence[str]) -> Iterator[_Row]:
    """Yield the lines of both, those that stay only once."""
    done_old = done_new = 0
    for same_old, same_new in [*unchanged_pairs(old, new), (len(old), len(new))]:
        yield from (_Row("-", line) for line in old[done_old:same_old])
        yield from (_Row("+", line) for line in new[done_new:same_new])
        yield from _unchanged(old[same_old : same_old + 1])
        done_old, done_new = same_old + 1, same_new + 1


def _hunks(blocks: Sequence[_Block]) -> Iterator[list[_Block]]:
    """Yield the blocks that are so close that the lines around them meet."""
    hunk = [blocks[0]]
    for block in blocks[1:]:
        if block.line - hunk[-1].last > 2 * _CONTEXT:
            yield hunk
            hunk = []
        hunk.append(block)
    yield hunk


def _range(first: int, count: int) -> str:
    """Return a range of lines as a diff names it: an empty one by the line before it."""
    start = first + 1 if count else first
    return str(start) if count == 1 else f"{start},{count}"


def _shown(row: _Row) -> str:
    if row.text.endswith("\n"):
        return row.sign + row.text
    if row.text.endswith("\r"):
        return row.sign + row.text[:-1] + "\n"
    return f"{row.sign}{row.text}\n{_NO_ENDING}"
