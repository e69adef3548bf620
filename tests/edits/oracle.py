"""What edits should come to, told the plain way: slow, and without anything of ours."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import NamedTuple

ENDINGS = ("\r\n", "\r", "\n")


class Edit(NamedTuple):
    old: str
    new: str
    replace_all: bool


def expected(text: str, edits: list[Edit]) -> str | None:
    """Return the text after all edits, or None where they have to be refused."""
    units = re.findall("\r\n|.", text, re.DOTALL)
    spans: list[tuple[int, int, list[str]]] = []
    for edit in edits:
        found = _spans(units, edit)
        if not found or (len(found) > 1 and not edit.replace_all):
            return None
        replaced = [(start, end, _fitted(units, start, end, new)) for start, end, new in found]
        if all(units[start:end] == new for start, end, new in replaced):
            return None
        spans += replaced
    spans.sort(key=lambda span: span[:2])
    if any(one[1] > other[0] for one, other in pairwise(spans)):
        return None
    for start, end, new in reversed(spans):
        units[start:end] = new
    return "".join(units)


def _plain(units: list[str]) -> list[str]:
    return ["\n" if unit in ENDINGS else unit for unit in units]


def _units(text: str) -> list[str]:
    return re.findall("\r\n|.", text, re.DOTALL)


def _spans(units: list[str], edit: Edit) -> list[tuple[int, int, str]]:
    """Return every span that an edit replaces, whichever way finds some first."""
    text, old = _plain(units), _plain(_units(edit.old))
    starts = [at for at in range(len(text)) if text[at : at + len(old)] == old]
    if edit.replace_all:
        starts = _apart(starts, len(old))
    if starts:
        return [(at, at + len(old), edit.new) for at in starts]
    return _line_spans("".join(text), "".join(old), edit)


def _apart(starts: list[int], length: int) -> list[int]:
    chosen: list[int] = []
    for start in starts:
        if not chosen or start >= chosen[-1] + length:
            chosen.append(start)
    return chosen


def _line_spans(text: str, old: str, edit: Edit) -> list[tuple[int, int, str]]:
    lines, wanted = text.split("\n"), old.split("\n")
    takes_ending = wanted[-1] == ""
    if takes_ending:
        wanted.pop()
    if not old.strip():
        return []
    firsts = _windows(lines, wanted, replace_all=edit.replace_all)
    spans: list[tuple[int, int, str]] = []
    for first in firsts:
        start = len("".join(line + "\n" for line in lines[:first]))
        end = start + len("\n".join(lines[first : first + len(wanted)]))
        new = edit.new
        if takes_ending and end < len(text):
            end += 1
        elif takes_ending:
            new = re.sub("(\r\n|\n)$(?!\n)", "", new)
        spans.append((start, end, new))
    return spans


def _windows(lines: list[str], wanted: list[str], *, replace_all: bool) -> list[int]:
    tidy = [" ".join(line.split()) for line in lines]
    tidy_wanted = [" ".join(line.split()) for line in wanted]
    count = len(wanted)
    every = range(len(lines) - count + 1)
    same = [first for first in every if tidy[first : first + count] == tidy_wanted]
    if replace_all:
        return _apart(same, count)
    if same:
        return same
    scores = {first: _similarity(tidy[first : first + count], tidy_wanted) for first in every}
    top = max((kept / whole for kept, whole in scores.values() if whole), default=0)
    return [
        first
        for first, (kept, whole) in scores.items()
        if whole and kept / whole == top and 10 * kept >= 9 * whole
    ]


def _similarity(window: list[str], wanted: list[str]) -> tuple[int, int]:
    """Return how many characters are kept, line by line, of how many."""
    kept = sum(2 * _common(one, other) for one, other in zip(window, wanted, strict=True))
    return kept, sum(map(len, window)) + sum(map(len, wanted))


def _common(one: str, other: str) -> int:
    """Return the length of the longest common subsequence."""
    row = [0] * (len(other) + 1)
    for char in one:
        above = row[:]
        for at, wanted in enumerate(other):
            row[at + 1] = above[at] + 1 if char == wanted else max(above[at + 1], row[at])
    return row[-1]


def _fitted(units: list[str], start: int, end: int, new: str) -> list[str]:
    """Return the units of a new text, with the endings of the lines that it replaces."""
    fresh = _units(new)
    old_lines, new_lines = _ended_lines(units[start:end]), _ended_lines(fresh)
    chosen: list[str | None] = [None] * len(new_lines)
    first, last = 0, len(old_lines)
    new_last = len(new_lines)
    while first < min(last, new_last) and old_lines[first][0] == new_lines[first][0]:
        chosen[first] = old_lines[first][1]
        first += 1
    while (
        last > first and new_last > first and old_lines[last - 1][0] == new_lines[new_last - 1][0]
    ):
        last, new_last = last - 1, new_last - 1
        chosen[new_last] = old_lines[last][1]
    replaced = [ending for _, ending in old_lines[first:last]]
    before = [ending for _, ending in old_lines[:first]]
    after = [ending for _, ending in old_lines[last:]]
    for at in range(first, new_last):
        if at - first < len(replaced):
            chosen[at] = replaced[at - first]
        elif replaced or before:
            chosen[at] = (replaced or before)[-1]
        else:
            chosen[at] = after[0] if after else _around(units, start, end)
    endings = iter(chosen)
    result: list[str] = []
    for unit in fresh:
        ending = next(endings) if unit in ENDINGS else None
        result.append(unit if ending is None or unit == "\r" else ending)
    return result


def _ended_lines(units: list[str]) -> list[tuple[str, str]]:
    lines: list[tuple[str, str]] = []
    line = ""
    for unit in units:
        if unit in ENDINGS:
            lines.append((line, unit))
            line = ""
        else:
            line += unit
    return lines


def _around(units: list[str], start: int, end: int) -> str:
    behind = [unit for unit in units[end:] if unit in ENDINGS]
    ahead = [unit for unit in units[:start] if unit in ENDINGS]
    return behind[0] if behind else ahead[-1] if ahead else "\n"
