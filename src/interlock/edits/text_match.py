"""Where in a file is the text that an edit replaces?

Three ways are tried, each only where the one before found nothing: character by character; whole
lines that differ in blanks alone; the whole lines that are most alike. What is replaced is the
span that was found, never as much as the text that was asked for is long.

Alike: lines are held against lines, the n-th of what was asked for against the n-th of a window of
as many lines. The similarity of a window is the share of characters that stay when each of its
lines is turned into its counterpart. A change that does not respect the lines can only be found
less alike than it is, never more.

Indentation: whoever sees a file through a window that strips or expands it writes the new text
with the same mistake. Where the mistake is plain, the new text is moved to where the file's own
lines are; where it is not, the new text is taken as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial
from itertools import accumulate, islice
from typing import Final, NamedTuple

from rapidfuzz.distance import Indel
from rapidfuzz.process import extract, extract_iter

from interlock.edits.file_text import FileText, Match, squeezed, with_plain_endings
from interlock.errors import EditError
from interlock.model.edit import FileEdit
from interlock.model.facts import Layer

_LEAST_PERCENT: Final = 90
_MOST_NAMED: Final = 10
_TELLING: Final = 8
"""So many characters are not in a file by chance."""
_MOST_COUNTED: Final = 1_000
_MOST_REPLACED: Final = 100_000
_LARGEST: Final = 8_000_000
"""So many characters are looked through for something alike: it takes many times the memory."""
_MOST_LINES: Final = 200_000


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
    if len(text.plain) > _LARGEST or text.plain.count("\n") > _MOST_LINES or len(old) > _LARGEST:
        raise EditError(
            "`old` is not found as it is, and in a text of more than"
            f" {_LARGEST:,} characters or {_MOST_LINES:,} lines nothing like it is looked for:"
            " read the file again and give the text exactly as it stands there"
        )
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


def _same_but_for_blanks(text: FileText, asked: _Asked, *, every: bool) -> list[_Window]:
    """Return the windows whose lines are the same when blanks do not matter."""
    whole = "\n" + "\n".join(text.squeezed_lines) + "\n"
    part = "\n" + "\n".join(asked.squeezed) + "\n"
    # The line ending between two neighbours is the end of one and the beginning of the other.
    step = len(part) - 1 if every else 1
    windows: list[_Window] = []
    line = counted = 0
    for start in islice(_found(whole, part, step), _most(every=every) + 1):
        line, counted = line + whole.count("\n", counted, start), start
        windows.append(_Window(line, 1.0))
    return windows


def _alike(text: FileText, asked: _Asked) -> list[_Window]:
    windows = _most_alike(asked.squeezed, text.squeezed_lines)
    if windows is None:
        raise EditError(
            f"`old` is not found as it is, and {len(asked.lines)} lines are too many to look for"
            f" something like them among {len(text.lines)}: read the file again and give the text"
            " exactly as it stands there"
        )
    return windows


def _match(text: FileText, edit: FileEdit, asked: _Asked, window: _Window, layer: Layer) -> Match:
    last = window.first + len(asked.lines)
    start, end = text.line_starts[window.first], text.line_starts[last] - 1
    new = _moved(edit.new, asked.lines, text.lines[window.first : last])
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
    places = [text.place(match.start) for match in found[:_MOST_NAMED]]
    if len(found) > _MOST_NAMED:
        return ", ".join(places) + " and further down"
    return ", ".join(places[:-1]) + " and " + places[-1]


def _nowhere(text: FileText, edit: FileEdit, asked: _Asked) -> str:
    """Return what to say where a text is not found, with the places that come near to it."""
    hints = list(_hints(text, edit, asked))
    return "; ".join(["`old` is not found", *hints]) + (
        ": read the file again and give the text exactly as it stands there"
    )


def _hints(text: FileText, edit: FileEdit, asked: _Asked) -> Iterator[str]:
    new = with_plain_endings(edit.new)
    if len(new.strip()) >= _TELLING and (start := text.plain.find(new)) >= 0:
        yield f"`new` stands at {text.place(start)} already"
    if any(asked.squeezed) and (near := _nearest(asked.squeezed, text.squeezed_lines)):
        places = [f"{window.first + 1}:1 (similarity {window.similarity:.2f})" for window in near]
        enough = "an exact match for `replace_all`" if edit.replace_all else "0.90"
        yield f"nearest at {', '.join(places)}, needed is {enough}"


_MOST_WORK: Final = 500_000_000
"""Steps of comparing, each about a nanosecond."""
_WORK_PER_LINE: Final = 100
_WORD: Final = 64
_PERCENT: Final = 100
_FEW: Final = 3
_HARDLY_ALIKE: Final = 0.5


class _Window(NamedTuple):
    """As many lines of a file as were asked for."""

    first: int
    """The index of its first line."""
    similarity: float


def _work(line: str, others: Collection[str]) -> int:
    """Return how many steps it takes to compare a line with others."""
    return (len(line) // _WORD + 1) * sum(map(len, others)) + _WORK_PER_LINE * len(others)


def _most_alike(asked: Sequence[str], lines: Sequence[str]) -> list[_Window] | None:
    """Return the window that is most like it, or several where they are equally alike.

    None of them is less alike than the least; None is returned where it would take too long. The
    heaviest lines are compared first, everywhere, and a window is dropped as soon as it cannot be
    alike enough any more.
    """
    weights = _weights(asked, lines)
    allowed = [weight * (_PERCENT - _LEAST_PERCENT) // _PERCENT for weight in weights]
    distances = dict.fromkeys(range(len(weights)), 0)
    left = _MOST_WORK
    for index in sorted(range(len(asked)), key=lambda index: -len(asked[index])):
        if not distances:
            return []
        counterparts = {first: lines[first + index] for first in distances}
        left -= _work(asked[index], counterparts.values())
        if left < 0:
            return None
        distances = _with_line(asked[index], counterparts, distances, allowed)
    found = [_Window(first, _similarity(far, weights[first])) for first, far in distances.items()]
    best = max((window.similarity for window in found), default=0)
    return [window for window in found if window.similarity == best]


def _nearest(asked: Sequence[str], lines: Sequence[str]) -> list[_Window]:
    """Return a few windows that are somewhat alike, the most alike first.

    They are looked for where a line is like the heaviest of those asked for, and nowhere else.
    """
    index = max(range(len(asked)), key=lambda index: len(asked[index]))
    if _work(asked[index], lines) > _MOST_WORK:
        return []
    alike = extract(
        asked[index],
        lines,
        scorer=Indel.normalized_similarity,
        limit=_FEW,
        score_cutoff=_HARDLY_ALIKE,
    )
    firsts = {max(0, found - index) for _, _, found in alike}
    windows = [_Window(first, _similarity_at(asked, lines, first)) for first in firsts]
    return sorted(
        (window for window in windows if window.similarity >= _HARDLY_ALIKE),
        key=lambda window: (-window.similarity, window.first),
    )


def _weights(asked: Sequence[str], lines: Sequence[str]) -> list[int]:
    """Return how many characters are compared for each window."""
    own = sum(map(len, asked))
    ends = list(accumulate(map(len, lines), initial=0))
    return [
        own + ends[first + len(asked)] - ends[first] for first in range(len(lines) - len(asked) + 1)
    ]


def _with_line(
    line: str, counterparts: Mapping[int, str], distances: Mapping[int, int], allowed: Sequence[int]
) -> dict[int, int]:
    """Return the windows that are left, with what they differ in after one more line."""
    left = max(allowed[first] - far for first, far in distances.items())
    compared = extract_iter(line, counterparts, scorer=Indel.distance, score_cutoff=left)
    return {
        first: far
        for _, more, first in compared
        if (far := distances[first] + int(more)) <= allowed[first]
    }


def _similarity_at(asked: Sequence[str], lines: Sequence[str], first: int) -> float:
    window = lines[first : first + len(asked)]
    shared = sum(Indel.distance(ask, line) for ask, line in zip(asked, window, strict=False)) + sum(
        map(len, asked[len(window) :])
    )
    return _similarity(shared, sum(map(len, asked)) + sum(map(len, window)))


def _similarity(distance: int, weight: int) -> float:
    return 1 - distance / weight if weight else 0.0


_WIDTHS: Final = (8, 4, 3, 2)


class _Pair(NamedTuple):
    """How a line is indented where it was asked for, and in the file."""

    asked: str
    found: str


_Move = Callable[[str], str | None]
"""What becomes of an indentation; None where it is not known."""


def _moved(new: str, asked: Sequence[str], found: Sequence[str]) -> str:
    """Return a new text, indented like the lines that were found for those asked for."""
    pairs = [
        _Pair(_indentation(ask), _indentation(find))
        for ask, find in zip(asked, found, strict=True)
        if ask.strip() and find.strip()
    ]
    if all(pair.asked == pair.found for pair in pairs):
        return new
    if all(pair.asked == pair.found for pair in pairs[1:]):
        return _with_first_line_moved(new, pairs[0])
    for move in _moves(pairs[0]):
        explains_all = all(move(pair.asked) == pair.found for pair in pairs)
        if explains_all and (result := _with_lines_moved(new, move)) is not None:
            return result
    return new


def _with_first_line_moved(new: str, pair: _Pair) -> str:
    first, ending, rest = new.partition("\n")
    if _indentation(first) != pair.asked or not first.strip():
        return new
    return pair.found + first[len(pair.asked) :] + ending + rest


def _with_lines_moved(new: str, move: _Move) -> str | None:
    lines: list[str] = []
    for line in new.split("\n"):
        before = _indentation(line)
        after = move(before) if line.strip() else before
        if after is None:
            return None
        lines.append(after + line[len(before) :])
    return "\n".join(lines)


def _moves(first: _Pair) -> Iterator[_Move]:
    """Yield how lines may be indented: further in, further out, with tabs instead of blanks."""
    more = first.found.removesuffix(first.asked)
    yield lambda indentation: more + indentation
    less = first.asked.removesuffix(first.found)
    yield (
        lambda indentation: indentation.removeprefix(less) if indentation.startswith(less) else None
    )
    for width in _WIDTHS:
        yield partial(_exchanged, unit=" " * width, other="\t")
        yield partial(_exchanged, unit="\t", other=" " * width)


def _exchanged(indentation: str, unit: str, other: str) -> str | None:
    """Return an indentation in other units; None where it is not made of these alone."""
    times, rest = divmod(len(indentation), len(unit))
    return None if rest or indentation != unit * times else other * times


def _indentation(line: str) -> str:
    return line[: len(line) - len(line.lstrip(" \t"))]
