"""A snippet while it is read: the brackets that are open, and the calls found so far."""

from __future__ import annotations

import enum
import re
from typing import Final

import msgspec

from interlock.commands.code.code_tokens import Language, syntax_of
from interlock.commands.code.code_values import (
    UNKNOWN,
    Call,
    CodeArgument,
    Value,
    attribute_of,
    joined,
    named_value,
    path_joined,
    result_of,
)


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


class Frame(msgspec.Struct):
    """One open bracket: the arguments that are complete, and the expression being read.

    The expression is what stands left of the last operator, that operator, and the operand.
    """

    bracket: Bracket
    owner: Value
    """What is called, or indexed, or followed by a block."""
    start: int
    """Where the owner began."""
    begun: int
    """Where the argument that is being read began."""
    arguments: list[CodeArgument] = []
    last: Value | None = None
    """The value of the argument that was completed last."""
    left: Value | None = None
    operator: str = ""
    operand: Value | None = None
    started: int = 0
    """Where the operand began."""
    referred: bool = False
    """Whether the operand is a name, and not what a call gave back."""
    word: str = ""
    """The operand as a name, when it is one."""
    name: str = ""
    """What the expression is assigned to, or the keyword it is passed by."""
    loops: bool = False
    """Whether `name` runs through the members of what follows."""
    headed: bool = False
    """Whether a keyword stood before it."""

    def reset(self) -> None:
        """Forget the expression."""
        self.drop()
        self.started = 0
        self.referred = self.loops = self.headed = False
        self.word = self.name = ""

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
    return CodeArgument(text, value.known, value.items, name, prefix, value.path, value.made)


def _combined(left: Value, operator: str, right: Value, joins: frozenset[str]) -> Value:
    if operator in joins:
        return joined(left, right)
    if operator == "/" and left.path == "Path":
        made = path_joined((argument_from(left), argument_from(right)))
        return Value(made.text, made.known, path="Path")
    if operator == "%" and left.known:
        return Value(text=left.text.partition("%")[0])
    return UNKNOWN


# What stands in these is what everybody can call without them.
_TRANSPARENT: Final = frozenset(
    {"builtins", "__builtins__", "pathlib", "Kernel", "globalThis", "window", "global", "CORE"}
)


class Names:
    """The meaning of names, filled while a snippet is read."""

    def __init__(self) -> None:
        self._values: dict[str, Value] = {}

    def bind(self, name: str, value: Value | None) -> None:
        """Give the name a new meaning; a value of which nothing is known leaves only the name."""
        if value is None or not (value.known or value.text or value.items or value.path):
            self._values.pop(name, None)
        else:
            self._values[name] = value

    def bind_path(self, name: str, path: str) -> None:
        """Let the name stand for a module or for something in it."""
        self._values[name] = Value(path=canonical(path))

    def get(self, name: str) -> Value | None:
        """Return what the snippet gave the name, if anything."""
        return self._values.get(name)

    def meaning(self, path: str) -> Value:
        """Return what a dotted name means."""
        path = path.replace(".__dict__", "")
        value = self._values.get(path)
        if value is not None:
            return value
        first, dot, rest = path.partition(".")
        if not dot:
            return Value(path=path)
        owner = self._values.get(first)
        if owner is not None:
            return attribute_of(owner, rest)
        return named_value(path) or Value(path=rest if first in _TRANSPARENT else path)


def canonical(path: str) -> str:
    """Return the name without the modules that add nothing: `pathlib.Path` is `Path`."""
    first, dot, rest = path.partition(".")
    return rest if dot and first in _TRANSPARENT else path


def dotted(name: str) -> str:
    """Return a name with a dot for whatever the language writes: `File::Path` is `File.Path`."""
    return re.sub(_SEPARATOR, ".", name.replace("${", "$")).rstrip(".")


_SEPARATOR: Final = r"\?\.|&\.|\??->|:+|\\|\{['\"]?|['\"]?\}"
_ALL_NAMES: Final = frozenset({"sys.modules", "globals", "locals"})
"""What gives modules by their names: `sys.modules["os"]`, `globals()["os"]`."""
MAX_WRITTEN: Final = 160
STATEMENT_LEVEL: Final = frozenset({Bracket.NONE, Bracket.BLOCK})
_CLOSERS: Final = {
    Bracket.CALL: ")",
    Bracket.GROUP: ")",
    Bracket.LIST: "]",
    Bracket.INDEX: "]",
    Bracket.BLOCK: "}",
}


class Snippet:
    """Knows where in a snippet the reader stands; what it learns about names stays in `names`."""

    def __init__(self, code: str, language: Language, names: Names) -> None:
        self.code = code
        self.language = language
        self.syntax = syntax_of(language)
        self.names = names
        self.calls: list[Call] = []
        self.inside: dict[str, None] = {}
        """Expressions in the gaps of templates: they run too."""
        self.binds_late = False
        """Whether a name gets its meaning behind its use: `[rm(f) for f in files]`."""
        self.importing = False
        self.alias: Value | None = None
        """What the next name is to stand for: `with open(path) as f`."""
        self.annotated = ""
        """The name whose type was given: `p: str = ...`."""
        self.frame = Frame(Bracket.NONE, UNKNOWN, 0, 0)
        self._outer: list[Frame] = []
        self._open = {")": 0, "]": 0, "}": 0}

    def operand(self, value: Value, start: int, word: str = "") -> None:
        """Read a value; behind a name it may be the argument of a call without brackets."""
        frame = self.frame
        if frame.operand is not None:
            frame = self.beside(frame.operand, start)
        frame.take(value, start, word)

    def beside(self, before: Value, start: int) -> Frame:
        """Return where an operand goes that follows another one with nothing between them."""
        if self.frame.referred and self.syntax.calls_without_brackets:
            return self.push(Bracket.BARE_CALL, before, self.frame.started, start)
        self.frame.drop()
        return self.frame

    def gap(self, expression: str) -> Value:
        """Return what an expression in a template means; keep it when it may call something."""
        bare = expression.strip()
        if "(" in bare:
            self.inside[bare] = None
            return UNKNOWN
        if self.language is Language.PYTHON:
            bare = bare.partition("!")[0].partition(":")[0]
        value = self.names.meaning(dotted(bare))
        return value if value.known else Value(text=value.text)

    def push(self, bracket: Bracket, owner: Value, start: int, begun: int) -> Frame:
        """Open a bracket; the owner is no operand of its own any more."""
        self.frame.operand = None
        self._outer.append(self.frame)
        self.frame = Frame(bracket, owner, start, begun)
        if bracket is not Bracket.BARE_CALL:
            self._open[_CLOSERS[bracket]] += 1
        return self.frame

    def call_with(self, callee: Value, argument: CodeArgument, end: int) -> None:
        """Read a call that has its only argument right behind it: a tagged template."""
        started = self.frame.started
        call = Frame(Bracket.CALL, callee, started, started)
        call.arguments.append(argument)
        self.frame.take(self._called(call, end), started)

    def close(self, closer: str, start: int) -> None:
        """Close the bracket, and whatever was left open in it; ignore a closer without one."""
        if self._open[closer]:
            while _CLOSERS.get(self.frame.bracket) != closer:
                self._finish(start, start)
            self._finish(start, start + 1)

    def close_all(self) -> None:
        """Close whatever is still open at the end of the snippet."""
        end = len(self.code)
        while self._outer:
            self._finish(end, end)
        self.end_statement(end)

    def close_bare_calls(self, end: int) -> None:
        """End the calls that have no bracket to end them."""
        while self.frame.bracket is Bracket.BARE_CALL:
            self._finish(end, end)

    def fold(self, operator: str = "") -> None:
        """Take the operand to the left side of the operator."""
        frame = self.frame
        if self.syntax.names_call and frame.referred and frame.operand is not None:
            self._call_by_name(frame.operand)
        frame.fold(operator, self.syntax.joins)

    def end_statement(self, end: int) -> None:
        """Give the name that was assigned to its meaning, and begin afresh."""
        self.close_bare_calls(end)
        frame = self.frame
        self.fold()
        if frame.name and frame.bracket is not Bracket.CALL:
            self.names.bind(frame.name, frame.left)
        frame.reset()
        self.importing = False
        self.annotated = ""

    def end_argument(self, end: int) -> None:
        """Complete the argument that is being read."""
        frame = self.frame
        self.fold()
        written = self.code[frame.begun : min(end, frame.begun + MAX_WRITTEN)].strip()
        name = frame.name
        if frame.loops:
            self.names.bind(name, frame.left)
            name = ""
        if frame.left is not None or written:
            frame.arguments.append(argument_from(frame.left or UNKNOWN, written, name))
        frame.last = frame.left
        frame.reset()

    def _finish(self, stop: int, end: int) -> None:
        """Close the innermost bracket and make it an operand of what surrounds it.

        What stands in it goes up to `stop`; `end` is behind its closer, if it has one.
        """
        frame = self.frame
        word = frame.word if frame.bracket is Bracket.GROUP else ""
        if frame.bracket is Bracket.BLOCK:
            self.end_statement(stop)
        else:
            self.end_argument(stop)
        if frame.bracket is not Bracket.BARE_CALL:
            self._open[_CLOSERS[frame.bracket]] -= 1
        self.frame = self._outer.pop()
        self.frame.take(self._closed(frame, end), frame.start, word)
        # Perl may put the program in a block before its arguments: `exec {"/bin/sh"} "-c", ...`.
        self.frame.referred = frame.bracket is Bracket.BLOCK and frame.owner.path != ""

    def _closed(self, frame: Frame, end: int) -> Value:
        match frame.bracket:
            case Bracket.CALL | Bracket.BARE_CALL:
                return self._called(frame, end)
            case Bracket.INDEX:
                return self._indexed(frame)
            case Bracket.BLOCK:
                return frame.owner
            case Bracket.GROUP if len(frame.arguments) == 1 and frame.begun == frame.start + 1:
                return frame.last or UNKNOWN
            case _:
                items = [item.text if item.literal else None for item in frame.arguments]
                # A list of functions goes by the first: whoever runs through it calls that too.
                members = (item.path for item in frame.arguments if item.path and not item.made)
                return Value(items=tuple(items), path=next(members, ""))

    def _call_by_name(self, method: Value) -> None:
        """Take a dotted name for a call without arguments: `User.delete_all`."""
        if "." in method.path and not method.known:
            owner = Frame(Bracket.BARE_CALL, method, self.frame.started, 0)
            self._called(owner, self.frame.started + len(method.path))

    def _called(self, frame: Frame, end: int) -> Value:
        callee = frame.owner.path
        if not callee:
            return UNKNOWN
        receiver = frame.owner.receiver
        arguments = tuple(frame.arguments)
        if receiver is not None:
            arguments = (receiver, *arguments)
        written = self.code[frame.start : min(end, frame.start + MAX_WRITTEN)]
        self.calls.append(Call(callee, arguments, frame.start, written, receiver is not None))
        return result_of(callee, arguments, exact=frame.owner.exact)

    def _indexed(self, frame: Frame) -> Value:
        """Take `fs["rmSync"]` for `fs.rmSync`; of other members nothing is known."""
        owner = frame.owner
        if len(frame.arguments) != 1 or not frame.arguments[0].literal:
            return attribute_of(owner, "[]")
        if owner.path in _ALL_NAMES:
            return self.names.meaning(canonical(frame.arguments[0].text))
        if owner.items and owner.path:
            return Value(path=owner.path)
        if owner.path == "Dir":
            return result_of("Dir.glob", tuple(frame.arguments))
        value = attribute_of(owner, frame.arguments[0].text)
        return self.names.meaning(value.path) if value.receiver is None else value
