"""Which values stand in a column, or below a head, that is named after credentials?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

import re2

from interlock.secrets.candidate_search import Found, Work, compiled
from interlock.secrets.credential_rules import SecretRule

_MOST_ROWS: Final = 200
_FEWEST_HEADS: Final = 2
"""One alone is an entry of a list, with the comma behind it."""
_SEPARATORS: Final = (b"|", b"\t", b";", b",")
_PADDING: Final = b" \t\r\"'`*"
_INSERTED: Final = (
    r"(?i)insert\s+into\s+[^\s(]{1,128}\s*\(([^()]{1,400})\)\s*values\s*\(([^()]{1,1000})\)"
)
_KEPT: Final = b"stringData:\n"
_LISTED: Final = (
    r"(?im)^[#*>/ \t]{0,8}(?:[a-z0-9]{1,20}[ _-]){0,3}"
    r"(?:passwords|credentials|logins|secrets|tokens|api keys|zugangsdaten|passw.rter)"
    r"\b(?: \([^()\n]{1,24}\))?[^\n=(){};,<>]{0,24}\r?\n(?:[ \t]*\r?\n)?"
)
_ITEM: Final = (
    r"""[ \t]*(?:[-*+]|[0-9]{1,2}[.)])[ \t][^\n]{1,80}[ \t]["'`]?([^\s"'`]{8,128})[^\n]*\n?"""
)
_RULED: Final = b" \t\r|:-+="
"""What the line between the heads of a table and its rows is made of."""


class ColumnSearch:
    """Finds values under the words of a rule, in tables and in lists of separated values."""

    def __init__(self, rule: SecretRule) -> None:
        """Take a rule whose names are the words."""
        self.rule = rule
        words = rf"(?i:(?:[a-z0-9]{{1,20}}[ _-])?(?:{'|'.join(rule.named)})s?)"
        padding = r"[ \t\"'`*]*"
        self._heads = compiled(
            rf"(?m)^(?:[^\n]*[|\t;,])?{padding}{words}{padding}(?:[|\t;,][^\n]*)?\r?\n"
        )
        self._head = compiled(words)
        self._inserted = compiled(_INSERTED)
        self._listed = compiled(_LISTED + _ITEM)
        self._item = compiled(_ITEM)

    def found(self, data: bytes, work: Work) -> Iterator[Found]:
        """Yield values with where the head of their column begins."""
        if b"(" in data:
            yield from self._inserted_in(data)
        if b"\n" in data:
            yield from _entries_of_secrets(data)
            yield from self._tabled_in(data, work)
            yield from self._listed_in(data, work)

    def _listed_in(self, data: bytes, work: Work) -> Iterator[Found]:
        """Yield what ends the items of a list, up to an empty line."""
        for head in self._listed.finditer(data):
            item: re2.Match[bytes] | None = head
            while item is not None and not work.is_over:
                work.attempts += 1
                yield Found(*item.span(1), head.start())
                item = self._item.match(data, item.end())

    def _inserted_in(self, data: bytes) -> Iterator[Found]:
        for row in self._inserted.finditer(data):
            names, values = (
                _cells(data[slice(*row.span(group))], row.start(group), b",") for group in (1, 2)
            )
            if len(names) == len(values):
                for name, value in zip(names, values, strict=True):
                    if self._head.fullmatch(name.value):
                        yield Found(value.start, value.start + len(value.value), name.start)

    def _tabled_in(self, data: bytes, work: Work) -> Iterator[Found]:
        for heads in self._heads.finditer(data):
            # Some write heads between two bars and their rows between one.
            line = data[heads.start() : heads.end() - 1].replace(b"||", b" |")
            separator = next((each for each in _SEPARATORS if each in line), b"\n")
            cells = _cells(line, heads.start(), separator)
            if sum(bool(cell.value) for cell in cells) < _FEWEST_HEADS:
                continue
            columns = [
                place for place, cell in enumerate(cells) if self._head.fullmatch(cell.value)
            ]
            for row in _rows(data, heads.end(), separator, len(cells)):
                for place in columns:
                    work.attempts += 1
                    if work.is_over:
                        return
                    value, start = row[place]
                    yield Found(start, start + len(value), cells[place].start)


def _entries_of_secrets(data: bytes) -> Iterator[Found]:
    """Yield the values of a cluster's secret, whatever their names."""
    at = data.find(_KEPT)
    while at >= 0:
        head = at - data.rfind(b"\n", 0, at)
        start = data.find(b"\n", at) + 1
        at = data.find(_KEPT, at + 1)
        while start:
            end = data.find(b"\n", start) + 1
            line = data[start : end or len(data)].rstrip()
            if line and len(line) - len(line.lstrip()) < head:
                break
            name, _, value = line.partition(b": ")
            shown = value.strip(_PADDING)
            place = start + len(name) + 2 + value.find(shown)
            if shown:
                yield Found(place, place + len(shown), start + len(name) - len(name.lstrip()))
            start = end


class _Cell(NamedTuple):
    """What stands between two separators, and where."""

    value: bytes
    start: int


def _rows(data: bytes, start: int, separator: bytes, width: int) -> Iterator[list[_Cell]]:
    """Yield the lines from `start` on that have as many cells."""
    for _ in range(_MOST_ROWS):
        end = data.find(b"\n", start)
        line = data[start : len(data) if end < 0 else end]
        if line.strip(_RULED):
            row = _cells(line, start, separator)
            if len(row) != width:
                return
            yield row
        if end < 0:
            return
        start = end + 1


def _cells(line: bytes, start: int, separator: bytes) -> list[_Cell]:
    cells: list[_Cell] = []
    for cell in line.split(separator):
        before = len(cell) - len(cell.lstrip(_PADDING))
        cells.append(_Cell(cell.strip(_PADDING), start + before))
        start += len(cell) + 1
    return cells
