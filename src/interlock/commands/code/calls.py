"""The calls that a snippet makes, as values."""

from __future__ import annotations

import msgspec


class CodeArgument(msgspec.Struct, frozen=True, gc=False):
    """One argument of a call."""

    text: str
    """What it means when that is known, else how it is written."""
    literal: bool = False
    items: tuple[str | None, ...] = ()
    """The members of a list; None for one that only the run decides."""
    name: str = ""
    """The keyword it is passed by: `shell` in `shell=True`."""
    prefix: str = ""
    """How its text begins, where the rest is not known."""
    path: str = ""
    """The dotted name of the function or the value that it refers to."""


class Call(msgspec.Struct, frozen=True, gc=False):
    """One call: the receiver of a method, where it is known, is the first argument."""

    callee: str
    arguments: tuple[CodeArgument, ...]
    start: int
    text: str = ""
    """The call as it is written, cut after its first characters."""
    method: bool = False
    """Whether the first argument is the receiver."""
