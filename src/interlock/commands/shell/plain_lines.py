"""A shortcut for plain lines: words, quotes without expansions, pipes, `&&`, redirections.

Most lines that agents run are of this kind, and reading them by hand takes a third of the
time that the grammar needs. A line with anything else in it is left to the grammar.

INVARIANT: for every line that is read here, the grammar gives the same commands.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Final

from interlock.commands.shell.command import Redirect, SimpleCommand
from interlock.commands.shell.words import Word, literal

_MAX_LENGTH: Final = 512
_KEYWORDS: Final = frozenset(
    (
        "if then else elif fi for while until do done case esac in select function coproc time"
        " declare typeset local export readonly unset unsetenv"
    ).split()
)
_OPERATORS: Final = frozenset(("&&", "||", ";"))
_DIGITS: Final = frozenset("0123456789")


def plain_pipelines(line: str) -> list[list[SimpleCommand]] | None:
    """Return the pipelines of a plain line in their order, or None if it is not plain."""
    if len(line) > _MAX_LENGTH or not line.isascii():
        return None
    return _Reader(line).pipelines()


class _Reader:
    """Reads one line from left to right; gives up at the first thing that is not plain."""

    __slots__ = ("_end", "_line", "_pieces", "_pipelines", "_simple", "_start")

    def __init__(self, line: str) -> None:
        self._line = line
        self._pipelines: list[list[SimpleCommand]] = [[]]
        self._simple = SimpleCommand([], "")
        self._pieces: list[str] = []
        self._start = -1
        self._end = 0

    def pipelines(self) -> list[list[SimpleCommand]] | None:
        line = self._line
        position = 0
        length = len(line)
        match = _token().match
        while position < length:
            found = match(line, position)
            if found is None or not self._take(found):
                return None
            position = found.end()
        self._close_word()
        return self._finished()

    def _take(self, found: re.Match[str]) -> bool:
        """Take one token; return whether it is plain where it stands."""
        if found[1]:
            self._close_word()
        kind = found.lastgroup or "end"
        if kind in {"single", "double", "word"}:
            if self._start < 0:
                self._start = found.end(1)
            self._end = found.end()
            self._pieces.append(found[kind])
            # Words behind a redirection belong to the command too: left to the grammar.
            return not self._simple.redirects
        if kind == "redirect":
            return self._redirect(found)
        self._close_word()
        return kind == "end" or self._close_command(found["operator"])

    def _close_word(self) -> None:
        if self._pieces:
            self._simple.argv.append(Word("".join(self._pieces)))
            self._pieces = []

    def _redirect(self, found: re.Match[str]) -> bool:
        if self._pieces and _DIGITS.issuperset("".join(self._pieces)):
            return False
        self._close_word()
        if not self._simple.argv:
            return False
        descriptor, operator, target = found["descriptor"], found["arrow"], found["target"]
        self._simple.redirects.append(Redirect(operator, descriptor, literal(target)))
        return True

    def _close_command(self, operator: str) -> bool:
        if not self._complete():
            return False
        self._pipelines[-1].append(self._simple)
        if operator in _OPERATORS:
            self._pipelines.append([])
        self._simple = SimpleCommand([], "")
        self._start = -1
        return True

    def _complete(self) -> bool:
        """Give the command its text; return whether it is one that needs no grammar."""
        argv = self._simple.argv
        if not argv or argv[0].text in _KEYWORDS or "=" in argv[0].text or not argv[0].text:
            return False
        self._simple.text = self._line[self._start : self._end]
        return True

    def _finished(self) -> list[list[SimpleCommand]] | None:
        if not self._simple.argv:
            # A line may end in `;`, but not in a pipe.
            complete = not self._pipelines[-1] and len(self._pipelines) > 1
            ends_well = complete and self._line.rstrip().endswith(";")
            return self._pipelines[:-1] if ends_well else None
        if not self._complete():
            return None
        self._pipelines[-1].append(self._simple)
        return self._pipelines


@cache
def _token() -> re.Pattern[str]:
    # Every alternative starts with another character, and none repeats a repetition: linear.
    return re.compile(
        r"([ \t]*)(?:"
        r"(?P<redirect>(?P<descriptor>[12]?)(?P<arrow>>&|>>|>|<)"
        r"(?:(?<=&)|(?<!&)[ \t]{0,4})"
        r"(?P<target>(?<=&)[12](?![^ \t;|&])|(?<!&)[A-Za-z0-9_./-]+(?![^ \t;|&])))"
        r"|(?P<word>[A-Za-z0-9_./:=@%+,-]+)"
        r"|'(?P<single>[^']*)'"
        r'|"(?P<double>[^"$`\\!]*)"'
        r"|(?P<operator>&&|\|\||;(?!;)|\|(?![|&]))"
        r"|(?P<end>\Z))"
    )
