"""What changes in a file, line by line: how much is added and removed, and the diff to read.

Only the lines around the changes are looked at, so that a small change of a large file is cheap.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import groupby, pairwise
from typing import Final, NamedTuple

from interlock.edits.file_text import FileText
from interlock.model.unchanged_lines import unchanged_pairs

_CONTEXT: Final = 3
_LINE: Final = re.compile("[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")
_NO_ENDING: Final = "\\ No newline at end of file\n"


class Replacement(NamedTuple):
    """A span of the plain text, and what comes in its place, with the endings it will have."""

    start: int
    end: int
    new: str


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
    """The lines that some replacements change; they are in order and do not overlap."""

    def __init__(self, before: FileText, replacements: Sequence[Replacement]) -> None:
        self._before = before
        self._replacements = replacements

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
        start, end, _ = self._replacements[number]
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

    def _on_common_lines(self) -> Iterator[list[Replacement]]:
        """Yield the replacements that change the same line, or neighbours, together."""
        group: list[Replacement] = []
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

    def _changed(self, start: int, end: int, group: Sequence[Replacement]) -> str:
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
