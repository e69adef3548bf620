"""With what does every match of a pattern begin, and how short or long can one be?"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final, NamedTuple

_MOST: Final = 64
_LONGEST: Final = 24
_SHORTEST: Final = 2
_LONGEST_RANGE: Final = 16
_COUNTED: Final = frozenset("*+{")
_SYNTAX: Final = frozenset(r"\.^$*+?{}[]()|")
_PIECE: Final = re.compile(
    r"""(?sx)
      (?P<nothing> \(\?[A-Za-z-]+\) | \\[bBAz] | [\^$] )
    | (?P<opening> \((?:\?(?:P?<\w+>|[A-Za-z-]*:))? )
    | (?P<closing> \) )
    | (?P<branch> \| )
    | (?P<count> (?:[*?]|\+|\{[0-9]+(?:,[0-9]*)?\})\?? )
    | \[ \^?\]? (?:\\.|\[:\^?[a-z]+:\]|[^\]\\])* \]
    | \\ (?:x\{[^}]*\}|x..|[pP]\{[^}]*\}|[pP].|.)
    | .
    """
)


class _Heads(NamedTuple):
    """The beginnings of what a part of a pattern matches, and where that part ends."""

    texts: tuple[str, ...]
    are_whole: bool
    """Whether nothing of the part follows behind them."""
    end: int


_NOTHING: Final = ("",)


def prefixes(pattern: str) -> frozenset[str]:
    """Return literals of which every match begins with one; none where that cannot be told.

    Only what is plain is read: literals, small classes, groups and alternatives of these.
    """
    heads = _alternatives(pattern, 0)
    is_read = heads.end == len(pattern) and min(map(len, heads.texts)) >= _SHORTEST
    return frozenset(text[:_LONGEST] for text in heads.texts) if is_read else frozenset()


def is_literal(pattern: str) -> bool:
    """Tell whether a pattern matches a few literals and nothing else."""
    heads = _alternatives(pattern, 0)
    return heads.are_whole and heads.end == len(pattern)


def is_bounded(pattern: str) -> bool:
    """Tell whether no match can be longer than the pattern's own counts say."""
    at = 0
    while at < len(pattern):
        if pattern[at] == "[":
            at = _class_end(pattern, at)
        elif pattern[at] == "\\":
            at += 2
        elif pattern[at] in "*+" or (pattern[at] == "{" and _is_open(pattern, at)):
            return False
        else:
            at += 1
    return True


def shortest(pattern: str) -> int:
    """Return how many characters every match has at least."""
    above: list[list[int]] = []
    branches = [0]
    last = 0
    for piece in _PIECE.finditer(pattern):
        match piece.lastgroup:
            case "opening":
                above.append(branches)
                branches = [0]
            case "closing":
                last = min(branches)
                branches = above.pop()
                branches[-1] += last
            case "branch":
                branches.append(0)
            case "count":
                branches[-1] += last * (_least_count(piece[0]) - 1)
            case kind:
                last = int(kind is None)
                branches[-1] += last
    return min(branches)


def _least_count(count: str) -> int:
    digits = re.search("[0-9]+", count)
    return int(count[0] == "+") if digits is None else int(digits[0])


def _is_open(pattern: str, at: int) -> bool:
    return pattern[at : pattern.find("}", at)].endswith(",")


def _alternatives(pattern: str, at: int) -> _Heads:
    """Read branches up to the end of the pattern or of the group that they stand in."""
    texts: list[str] = []
    are_whole = True
    while True:
        branch = _branch(pattern, at)
        texts += branch.texts
        are_whole = are_whole and branch.are_whole
        if pattern[branch.end : branch.end + 1] != "|":
            return _Heads(tuple(texts), are_whole and len(texts) <= _MOST, branch.end)
        at = branch.end + 1


def _branch(pattern: str, at: int) -> _Heads:
    texts: tuple[str, ...] = _NOTHING
    while at < len(pattern) and pattern[at] not in "|)":
        part = _part(pattern, at)
        joined = _joined(texts, part.texts) if part.texts else ()
        if not joined or pattern[part.end : part.end + 1] in _COUNTED:
            return _Heads(texts, are_whole=False, end=_branch_end(pattern, at))
        at = part.end
        if pattern[at : at + 1] == "?":
            joined, at = _joined(texts, (*part.texts, "")), at + 1
            if not joined or not part.are_whole:
                return _Heads(texts, are_whole=False, end=_branch_end(pattern, at))
        texts = joined
        if not part.are_whole:
            return _Heads(texts, are_whole=False, end=_branch_end(pattern, at))
    return _Heads(texts, are_whole=True, end=at)


def _joined(heads: Iterable[str], tails: Iterable[str]) -> tuple[str, ...]:
    """Return every head with every tail; nothing where these are too many."""
    joined = tuple(dict.fromkeys(head + tail for head in heads for tail in tails))
    return joined if len(joined) <= _MOST else ()


def _part(pattern: str, at: int) -> _Heads:
    """Read one literal, class, group or word boundary; nothing where it is none of these."""
    sign = pattern[at]
    if sign == "[":
        end = _class_end(pattern, at)
        return _Heads(_members(pattern[at + 1 : end - 1]), are_whole=True, end=end)
    if sign == "(":
        return _group(pattern, at)
    if sign == "\\":
        escaped = pattern[at + 1 : at + 2]
        if escaped == "b":
            return _Heads(_NOTHING, are_whole=True, end=at + 2)
        literal = () if escaped.isalnum() else (escaped,)
        return _Heads(literal, are_whole=True, end=at + 2)
    return _Heads(() if sign in _SYNTAX else (sign,), are_whole=True, end=at + 1)


def _group(pattern: str, at: int) -> _Heads:
    if not pattern.startswith("(?:", at):
        return _Heads((), are_whole=False, end=at)
    inner = _alternatives(pattern, at + 3)
    return inner._replace(end=inner.end + 1)


def _members(inside: str) -> tuple[str, ...]:
    """Return the characters of a small class; nothing where it is large, or not plain."""
    if inside.startswith("^") or "\\" in inside:
        return ()
    found: list[str] = []
    at = 0
    while at < len(inside):
        last = inside[at + 2 : at + 3] if inside[at + 1 : at + 2] == "-" else ""
        codes = range(ord(inside[at]), ord(last or inside[at]) + 1)
        if len(codes) > _LONGEST_RANGE:
            return ()
        found += map(chr, codes)
        at += 3 if last else 1
    return tuple(found) if len(found) <= _LONGEST_RANGE else ()


def _class_end(pattern: str, at: int) -> int:
    """Return where the class that begins at a place is over."""
    at += 1
    while pattern[at] != "]":
        at += 2 if pattern[at] == "\\" else 1
    return at + 1


def _branch_end(pattern: str, at: int) -> int:
    """Return where the branch that a place stands in is over."""
    depth = 0
    while at < len(pattern):
        sign = pattern[at]
        if sign == "[":
            at = _class_end(pattern, at)
            continue
        if depth == 0 and sign in "|)":
            return at
        depth += (sign == "(") - (sign == ")")
        at += 2 if sign == "\\" else 1
    return at
