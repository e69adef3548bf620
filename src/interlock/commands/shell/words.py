"""Words of a command line, with their quotes taken off."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from interlock.commands.shell.provenance import STAND_IN

_ANSI_C: Final = {
    "a": "\a", "b": "\b", "e": "\x1b", "E": "\x1b", "f": "\f", "n": "\n", "r": "\r", "t": "\t",
    "v": "\v", "\\": "\\", "'": "'", '"': '"', "?": "?",
}  # fmt: skip
_ANSI_C_ESCAPE: Final = (
    r"(?s)\\(x[0-9a-fA-F]{1,2}|u[0-9a-fA-F]{1,4}|U[0-9a-fA-F]{1,8}|[0-7]{1,3}|c.|.)"
)
_UNQUOTED: Final = frozenset(
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789@%+=:,./-_"
)
_HIDDEN_IN_BACKQUOTES: Final = r"\\([$`\\])"
_MAX_EXCERPT: Final = 120
PART_OF_NAME: Final = r"[A-Z]?[a-z0-9]+|[A-Z]+(?![a-z])"
"""A word of a name that is made of several: `delete` and `Site` of `deleteSite`."""
_GOES_ON: Final = r"[\w.~/-]"
_IN_A_NAME: Final = r"[\w.~-]"


class Word(msgspec.Struct, frozen=True, gc=False):
    """One word after expansion.

    Parts that only the run decides stay in `text` the way they were written (`$NAME`), and
    `known` is false then.
    """

    text: str
    known: bool = True
    glob: bool = False
    labels: int = 0

    def tail(self, start: int) -> Word:
        """Return the word without its first characters."""
        return Word(self.text[start:], self.known, self.glob, self.labels)


def literal(text: str, labels: int = 0) -> Word:
    """Return a word that means exactly this text."""
    return Word(text, labels=labels)


def unknown(text: str, labels: int = 0) -> Word:
    """Return a word that only the run decides; `text` is how it was written."""
    return Word(text, known=False, labels=labels)


def labels_of(words: Iterable[Word]) -> int:
    """Return where the words come from, all together."""
    labels = 0
    for word in words:
        labels |= word.labels
    return labels


def combined(parts: Sequence[Word]) -> Word:
    """Return parts put together; a name that stands in for another is used whole, or unknown."""
    if len(parts) == 1:
        return parts[0]
    known = True
    glob = False
    labels = 0
    for part in parts:
        known = known and part.known
        glob = glob or part.glob
        labels |= part.labels
    if labels & STAND_IN:
        usable = [
            part if _is_whole(parts, at) else _computed(part) for at, part in enumerate(parts)
        ]
        if usable != parts:
            return combined(usable)
    return Word("".join([part.text for part in parts]), known, glob, labels)


def _is_whole(parts: Sequence[Word], at: int) -> bool:
    """Whether a part is no stand-in, or one that names the same place with what is around it."""
    name = parts[at].text
    if not name or not parts[at].labels & STAND_IN:
        return True
    before = "".join([part.text for part in parts[:at]])
    rest = "".join([part.text for part in parts[at + 1 :]])
    if re.match(_GOES_ON, before[-1:]) or "/.." in rest:
        return False
    # `/tmp/made.log` is beside `/tmp/made`; what `/` and `.` stand for may be anywhere.
    return name.rpartition("/")[2] not in {"", ".", ".."} or not re.match(_IN_A_NAME, rest)


def _computed(stand_in: Word) -> Word:
    return unknown("$(…)", stand_in.labels & ~STAND_IN)


def quoted(text: str) -> str:
    """Return a text as a shell would have to be given it to take it for one word."""
    return text if text and _UNQUOTED.issuperset(text) else "'" + text.replace("'", "'\\''") + "'"


def argv_line(words: Iterable[str]) -> str:
    """Return words as one line, as a shell would have to be given them."""
    return " ".join([quoted(word) for word in words])


def may_run(text: str) -> bool:
    """Whether a text holds a command, where a shell expands it: `$(...)`, or one in backquotes."""
    return "$(" in text or "`" in text


def without_hidden(text: str) -> str:
    """Return what stands between backquotes as it is run: a backslash hides some characters."""
    return re.sub(_HIDDEN_IN_BACKQUOTES, r"\1", text)


def decode_ansi_c(raw: str) -> str:
    r"""Decode the inside of `$'...'`: `\x72m` is `rm`."""
    return re.sub(_ANSI_C_ESCAPE, _decoded, raw) if "\\" in raw else raw


def _decoded(found: re.Match[str]) -> str:
    """Return what an escape stands for; one that stands for nothing stays as it is."""
    kind, rest = found[1][0], found[1][1:]
    if kind in "01234567":
        return chr(int(found[1], 8))
    if not rest:
        return _ANSI_C.get(kind, "\\" + kind)
    if kind == "c":
        return "\x7f" if rest == "?" else chr(ord(rest) & 0x1F)
    code = int(rest, 16)
    return chr(code) if code < 0x110000 else "�"


def excerpt_of(text: str) -> str:
    """Return a short single line of `text`."""
    line = " ".join(text.split())
    return line if len(line) <= _MAX_EXCERPT else line[: _MAX_EXCERPT - 1] + "…"
