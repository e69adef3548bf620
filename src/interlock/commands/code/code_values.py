"""The calls that a snippet makes, and what an expression means before it runs."""

from __future__ import annotations

from typing import Final

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


_MAX_EXCERPT: Final = 120


def excerpt_of(text: str) -> str:
    """Return a short single line of `text`."""
    line = " ".join(text.split())
    return line if len(line) <= _MAX_EXCERPT else line[: _MAX_EXCERPT - 1] + "…"


_MAX_TEXT: Final = 4096
_MAX_PATH: Final = 160


class Value(msgspec.Struct, frozen=True, gc=False):
    """The meaning of an expression."""

    text: str = ""
    """What it is, or as much of its beginning as is known."""
    known: bool = False
    items: tuple[str | None, ...] = ()
    path: str = ""
    """The dotted name it goes by: of a function, a module, or the call that made it."""
    receiver: CodeArgument | None = None
    """What the object is, or was made from: the path in `Path("x")`."""
    exact: bool = False
    """Whether the receiver is the object itself, and not only what it was made from."""

    def member(self, name: str) -> Value:
        """Return what stands behind a dot."""
        receiver = self.receiver
        if self.known:
            receiver = CodeArgument(self.text, literal=True, path=self.path)
        elif self.text or self.items:
            receiver = CodeArgument("", items=self.items, prefix=self.text, path=self.path)
        owner = self.path or ("String" if self.known else "")
        if len(owner) > _MAX_PATH:
            owner = owner.partition(".")[0][:_MAX_PATH]
        exact = self.known or self.text != ""
        return Value(path=f"{owner}.{name}", receiver=receiver, exact=exact)


UNKNOWN: Final = Value()


def text_value(text: str) -> Value:
    """Return a text that is known; only the beginning of one that is very long."""
    return Value(text[:_MAX_TEXT], known=len(text) <= _MAX_TEXT)


def joined(left: Value, right: Value) -> Value:
    """Return two values one after the other: texts, or lists."""
    if left.items and right.items:
        return Value(items=(left.items + right.items)[:_MAX_ITEMS])
    if not left.known:
        return Value(text=left.text)
    if right.known or right.text:
        text = left.text + right.text
        return Value(text[:_MAX_TEXT], known=right.known and len(text) <= _MAX_TEXT)
    return Value(text=left.text)


_MAX_ITEMS: Final = 256


def path_joined(parts: tuple[CodeArgument, ...]) -> Value:
    """Return the path that the parts make, each in the folder of the one before."""
    path = ""
    for part in parts:
        text = part.text if part.literal else part.prefix
        absolute = text.startswith(("/", "~"))
        path = text if absolute or not path else f"{path.rstrip('/')}/{text}"
        if not part.literal:
            return Value(text=path[:_MAX_TEXT])
    return text_value(path)
