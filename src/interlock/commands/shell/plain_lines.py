"""A shortcut for plain lines: words, quotes without expansions, pipes, `&&`, redirections.

Most lines that agents run are of this kind, and reading them by hand takes a fifth of the
time that the grammar needs. A line with anything else in it is left to the grammar.

INVARIANT: for every line that is read here, the grammar gives the same commands.
"""

from __future__ import annotations

import re
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
_GLOB_CHARS: Final = frozenset("*?")
_QUOTES: Final = frozenset("'\"")
_SPECIAL: Final = _GLOB_CHARS | _QUOTES
_WORDS: Final = re.compile(r"""(?:[^ \t'"]++|'[^']*+'|"[^"]*+")+""")
_PIECES: Final = re.compile(r"""'[^']*'|"[^"]*"|[^'"]+""")
_REDIRECTS: Final = re.compile(r"([12]?)(>&|>>|>|<)[ \t]*([A-Za-z0-9_./-]+)")
_WORD: Final = r"""(?![12]?[<>])(?:[A-Za-z0-9_./:=@%+,~*?-]++|'[^']*+'|"[^"$`\\!]*+")+"""
_TARGET: Final = r"(?:(?<=&)[12]|(?<!&)[ \t]{0,4}[A-Za-z0-9_./-]+)(?![^ \t;|&])"
# Words, redirections and the operator behind them; or all the rest, which is not plain.
# What was taken is hardly ever given back: linear, but for the target of a redirection. Only
# single characters are repeated possessively: Python before 3.11.5 loses its place in groups.
_COMMANDS: Final = re.compile(
    rf"[ \t]*+(?:({_WORD}(?:[ \t]++{_WORD})*)((?:[ \t]*+[12]?(?:>&|>>|>|<){_TARGET})*)"
    r"[ \t]*+(&&|\|\||;(?!;)|\|(?![|&])|\Z)|\Z)|((?s:.+))"
)


def plain_pipelines(line: str) -> list[list[SimpleCommand]] | None:
    """Return the pipelines of a plain line in their order, or None if it is not plain."""
    if len(line) > _MAX_LENGTH or not line.isascii():
        return None
    pipelines: list[list[SimpleCommand]] = [[]]
    operator = "|"
    for words, redirects, operator_behind, rest in _COMMANDS.findall(line):
        simple = _command(words, redirects) if words else None
        if simple is None:
            if rest or words:
                return None
            continue
        operator = operator_behind
        pipelines[-1].append(simple)
        if operator != "|":
            pipelines.append([])
    # A line may end in `;`, but not in a pipe.
    return pipelines[:-1] if operator in {"", ";"} else None


def _command(text: str, redirects: str) -> SimpleCommand | None:
    """Return a command that needs no grammar; None where it is another one."""
    words = text.split() if _QUOTES.isdisjoint(text) else _WORDS.findall(text)
    argv = [Word(raw) if _SPECIAL.isdisjoint(raw) else _word(raw) for raw in words]
    head = argv[0]
    if head.glob or head.text in _KEYWORDS or "=" in head.text or not head.text:
        return None
    simple = SimpleCommand(argv, text)
    if redirects:
        if argv[-1].text.isdigit() and not redirects[0].isspace():
            return None
        simple.redirects = [
            Redirect(arrow, descriptor, literal(target))
            for descriptor, arrow, target in _REDIRECTS.findall(redirects)
        ]
    return simple


def _word(raw: str) -> Word:
    """Take the quotes off; what they hold is plain already."""
    text: list[str] = []
    glob = False
    for piece in _PIECES.findall(raw):
        if piece[0] in _QUOTES:
            text.append(piece[1:-1])
        else:
            text.append(piece)
            glob = glob or not _GLOB_CHARS.isdisjoint(piece)
    return Word("".join(text), glob=glob)
