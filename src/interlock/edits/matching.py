"""Where in a file is the text that an edit replaces?

Three ways are tried, each only where the one before found nothing: character by character; whole
lines that differ in blanks alone; the whole lines that are most alike. What is replaced is the
span that was found, never as much as the text that was asked for is long.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Final, NamedTuple

from interlock.edits.indenting import moved
from interlock.edits.likeness import TooMuchToCompareError, Window, most_alike, nearest
from interlock.edits.reading import FileText, squeezed, with_plain_endings
from interlock.errors import EditError
from interlock.model.edit import FileEdit, Layer

_LEAST_PERCENT: Final = 90
_MOST_TOLD: Final = 10
_TELLING: Final = 8
"""So many characters are not in a file by chance."""
_MOST_COUNTED: Final = 1_000
_MOST_REPLACED: Final = 100_000


class Match(NamedTuple):
    """A span of the plain text, and what comes in its place."""

    start: int
    end: int
    new: str
    layer: Layer
    similarity: float = 1.0


class _Asked(NamedTuple):
    """The lines of a text that is looked for."""

    lines: list[str]
    ends: bool
    """Whether the line ending behind the last one belongs to it."""

    @property
    def squeezed(self) -> list[str]:
        return [squeezed(line) for line in self.lines]


def matches(text: FileText, edit: FileEdit) -> list[Match]:
    """Return the one span that an edit replaces, or all of them where it asks for all.

    Raises EditError, without the name of the file, where there is none or more than one.
    """
    old, new = with_plain_endings(edit.old), edit.new
    if found := _exact(text.plain, old, every=edit.replace_all):
        places = [Match(start, start + len(old), new, Layer.EXACT) for start in found]
        return _chosen(places, text, edit)
    asked = _asked(old)
    if not any(asked.squeezed):
        raise EditError(_nowhere(text, edit, asked))
    windows = _same_but_for_blanks(text, asked, every=edit.replace_all)
    layer = Layer.WHITESPACE
    if not windows and not edit.replace_all:
        windows, layer = _alike(text, asked), Layer.FUZZY
    if not windows:
        raise EditError(_nowhere(text, edit, asked))
    return _chosen([_match(text, edit, asked, window, layer) for window in windows], text, edit)


def _exact(plain: str, old: str, *, every: bool) -> list[int]:
    """Return where a text begins; spans that overlap count only where one is looked for."""
    step = len(old) if every else 1
    return list(islice(_found(plain, old, step), _most(every=every) + 1))


def _found(text: str, part: str, step: int) -> Iterator[int]:
    start = text.find(part)
    while start >= 0:
        yield start
        start = text.find(part, start + step)


def _most(*, every: bool) -> int:
    return _MOST_REPLACED if every else _MOST_COUNTED


def _asked(old: str) -> _Asked:
    lines = old.split("\n")
    return _Asked(lines[:-1], ends=True) if lines[-1] == "" else _Asked(lines, ends=False)


def _same_but_for_blanks(text: FileText, asked: _Asked, *, every: bool) -> list[Window]:
    """Return the windows whose lines are the same when blanks do not matter."""
    whole = "\n" + "\n".join(text.squeezed_lines) + "\n"
    part = "\n" + "\n".join(asked.squeezed) + "\n"
    # The line ending between two neighbours is the end of one and the beginning of the other.
    step = len(part) - 1 if every else 1
    windows: list[Window] = []
    line = counted = 0
    for start in islice(_found(whole, part, step), _most(every=every) + 1):
        line, counted = line + whole.count("\n", counted, start), start
        windows.append(Window(line, 1.0))
    return windows


def _alike(text: FileText, asked: _Asked) -> list[Window]:
    try:
        return most_alike(asked.squeezed, text.squeezed_lines, least_percent=_LEAST_PERCENT)
    except TooMuchToCompareError:
        raise EditError(
            f"`old` is not found as it is, and {len(asked.lines)} lines are too many to look for"
            f" something like them among {len(text.lines)}: read the file again and give the text"
            " exactly as it stands there"
        ) from None


def _match(text: FileText, edit: FileEdit, asked: _Asked, window: Window, layer: Layer) -> Match:
    last = window.first + len(asked.lines)
    start, end = text.line_starts[window.first], text.line_starts[last] - 1
    new = moved(edit.new, asked.lines, text.lines[window.first : last])
    if asked.ends and end < len(text.plain):
        end += 1
    elif asked.ends:
        # The file's last line has no ending, and stays without one.
        new = new.removesuffix("\r\n" if new.endswith("\r\n") else "\n")
    return Match(start, end, new, layer, round(window.similarity, 4))


def _chosen(found: list[Match], text: FileText, edit: FileEdit) -> list[Match]:
    most = _most(every=edit.replace_all)
    if len(found) == 1 or (edit.replace_all and len(found) <= most):
        return found
    how_many = f"more than {most:,}" if len(found) > most else str(len(found))
    if edit.replace_all:
        raise EditError(f"`old` is found {how_many} times, which is too many for one edit")
    likeness = ""
    if found[0].layer is Layer.FUZZY:
        likeness = f" equally like it ({found[0].similarity:.2f})"
    raise EditError(
        f"`old` is found {how_many} times{likeness}, at {_places(text, found)}: give more of the"
        " text around the right one, or set `replace_all`"
    )


def _places(text: FileText, found: Sequence[Match]) -> str:
    told = [text.place(match.start) for match in found[:_MOST_TOLD]]
    if len(found) > _MOST_TOLD:
        return ", ".join(told) + " and further down"
    return ", ".join(told[:-1]) + " and " + told[-1]


def _nowhere(text: FileText, edit: FileEdit, asked: _Asked) -> str:
    """Return what to tell where a text is not found, with the places that come near to it."""
    hints = list(_hints(text, edit, asked))
    return "; ".join(["`old` is not found", *hints]) + (
        ": read the file again and give the text exactly as it stands there"
    )


def _hints(text: FileText, edit: FileEdit, asked: _Asked) -> Iterator[str]:
    new = with_plain_endings(edit.new)
    if len(new.strip()) >= _TELLING and (start := text.plain.find(new)) >= 0:
        yield f"`new` stands at {text.place(start)} already"
    if any(asked.squeezed) and (near := nearest(asked.squeezed, text.squeezed_lines)):
        told = [f"{window.first + 1}:1 (similarity {window.similarity:.2f})" for window in near]
        enough = "an exact match for `replace_all`" if edit.replace_all else "0.90"
        yield f"nearest at {', '.join(told)}, needed is {enough}"
