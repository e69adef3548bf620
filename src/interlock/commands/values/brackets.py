"""Where something ends that a text of the shell opens: quotes, brackets, substitutions."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

_OPENER: Final = re.compile(r"[\\`$\"'()\[\]}/]")
_HIDING: Final = frozenset("\\`'")
_CLOSERS: Final = {"{": "}", "(": ")"}
_CUTS: Final = re.compile(r"!?\w*(?:\[[^\]]*\])?[#%/^,]")


class Brackets:
    """The ends of one text; `known` says where those end that the grammar found in it."""

    __slots__ = ("_known", "_text")

    def __init__(self, text: str, known: Mapping[int, int]) -> None:
        self._text = text
        self._known = known

    def behind(self, index: int, end: int) -> int:
        """Return where that ends which begins here, without reading it."""
        char = self._text[index]
        if index in self._known:
            return self._known[index]
        if char in _HIDING:
            return min(self._behind_hidden(index, end, takes_quotes=True), end)
        if char == '"':
            return min(self.closing(index + 1, end, '"', quoted=True) + 1, end)
        following = self._text[index + 1 : index + 2]
        if char == "$" and following == "'":
            return min(end_of(self._text, "'", index + 2, end) + 1, end)
        if char == "$" and following in _CLOSERS:
            return min(self.closing(index + 2, end, _CLOSERS[following]) + 1, end)
        return index + 1

    def closing(self, index: int, end: int, closer: str, *, quoted: bool = False) -> int:
        """Return where `closer` stands for what was opened before `index`; `end` if nowhere.

        `quoted` says that double quotes are around, in which single ones mean nothing.
        """
        text = self._text
        opened = [(closer, self._takes_quotes(index, closer, quoted=quoted))]
        while found := _OPENER.search(text, index, end):
            index = found.start()
            want, takes_quotes = opened[-1]
            if index in self._known:
                index = self._known[index]
            elif text.startswith(want, index):
                opened.pop()
                if not opened:
                    return index
                index += len(want)
            elif text[index] in _HIDING:
                index = self._behind_hidden(index, end, takes_quotes=takes_quotes)
            else:
                index = self._behind_opener(index, opened)
        return end

    def _behind_hidden(self, index: int, end: int, *, takes_quotes: bool) -> int:
        """Return what stands behind an escaped character, backquotes or single quotes."""
        char = self._text[index]
        if char == "\\":
            return index + 2
        if char == "`":
            return end_of(self._text, "`", index + 1, end) + 1
        if not takes_quotes:
            return index + 1
        close = self._text.find("'", index + 1, end)
        return (end if close < 0 else close) + 1

    def _behind_opener(self, index: int, opened: list[tuple[str, bool]]) -> int:
        """Note what is opened here, if anything; return what stands behind it."""
        text = self._text
        char = text[index]
        want, takes_quotes = opened[-1]
        following = text[index + 1 : index + 2]
        if char == "$" and following in _CLOSERS:
            closer = _CLOSERS[following]
            quoted = not takes_quotes
            opened.append((closer, self._takes_quotes(index + 2, closer, quoted=quoted)))
            return index + 2
        if char == '"':
            opened.append(('"', False))
        elif char == "(" and want in {")", "))"}:
            opened.append((")", takes_quotes))
        elif char == "[" and want == "]":
            opened.append(("]", takes_quotes))
        return index + 1

    def _takes_quotes(self, index: int, closer: str, *, quoted: bool) -> bool:
        """Whether single quotes count up to the closer."""
        if closer in {'"', "))"}:
            return False
        return closer == ")" or not quoted or bool(_CUTS.match(self._text, index))


def end_of(text: str, closer: str, index: int, end: int) -> int:
    """Return where a closer stands that a backslash can hide."""
    while index < end and text[index] != closer:
        index += 2 if text[index] == "\\" else 1
    return min(index, end)
