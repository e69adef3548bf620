"""An open bracket while a snippet is read: what stands in it so far."""

from __future__ import annotations

import enum

from interlock.commands.code.calls import CodeArgument
from interlock.commands.code.values import UNKNOWN, Value, joined, path_joined


class Bracket(enum.StrEnum):
    """What a bracket is for."""

    NONE = "none"
    """The snippet itself."""
    CALL = "call"
    BARE_CALL = "bare call"
    """A call without brackets: it ends with its line."""
    GROUP = "group"
    LIST = "list"
    INDEX = "index"
    BLOCK = "block"


class Frame:
    """One open bracket: the arguments that are complete, and the expression being read.

    The expression is what stands left of the last operator, that operator, and the operand.
    """

    __slots__ = (
        "arguments",
        "begun",
        "bracket",
        "headed",
        "last",
        "left",
        "loops",
        "name",
        "operand",
        "operator",
        "owner",
        "referred",
        "start",
        "started",
        "word",
    )

    def __init__(self, bracket: Bracket, owner: Value, start: int, begun: int) -> None:
        self.bracket = bracket
        self.owner = owner
        """What is called, or indexed, or followed by a block."""
        self.start = start
        """Where the owner began."""
        self.begun = begun
        """Where the argument that is being read began."""
        self.arguments: list[CodeArgument] = []
        self.last: Value | None = None
        """The value of the argument that was completed last."""
        self.reset()

    def reset(self) -> None:
        """Forget the expression."""
        self.left: Value | None = None
        self.operator = ""
        self.operand: Value | None = None
        self.started = 0
        """Where the operand began."""
        self.referred = False
        """Whether the operand is a name, and not what a call gave back."""
        self.word = ""
        """The operand as a name, when it is one."""
        self.name = ""
        """What the expression is assigned to, or the keyword it is passed by."""
        self.loops = False
        """Whether `name` runs through the members of what follows."""
        self.headed = False
        """Whether a keyword stood before it."""

    def take(self, value: Value, start: int, word: str = "") -> None:
        """Make the value the operand."""
        self.operand = value
        self.started = start
        self.word = word
        self.referred = word != ""

    def drop(self) -> None:
        """Forget what was read of the expression, but not what it is for."""
        self.left = None
        self.operand = None
        self.operator = ""

    def fold(self, operator: str, joins: frozenset[str]) -> None:
        """Take the operand to the left side, and go on with the operator."""
        if self.operand is not None:
            if self.left is None and not self.operator:
                self.left = self.operand
            else:
                self.left = _combined(self.left or UNKNOWN, self.operator, self.operand, joins)
            self.operand = None
        self.operator = operator


def argument_from(value: Value, written: str = "", name: str = "") -> CodeArgument:
    """Return the value as an argument; `written` is how it stands in the snippet."""
    prefix = "" if value.known else value.text
    text = value.text if value.known else written
    return CodeArgument(text, value.known, value.items, name, prefix, value.path)


def _combined(left: Value, operator: str, right: Value, joins: frozenset[str]) -> Value:
    if operator in joins:
        return joined(left, right)
    if operator == "/" and left.path == "Path":
        made = path_joined((argument_from(left), argument_from(right)))
        return Value(made.text, made.known, path="Path")
    if operator == "%" and left.known:
        return Value(text=left.text.partition("%")[0])
    return UNKNOWN
