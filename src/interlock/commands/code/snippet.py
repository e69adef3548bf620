"""A snippet while it is read: the brackets that are open, and the calls found so far."""

from __future__ import annotations

import enum
import re
from typing import Final

import msgspec

from interlock.commands.code.code_names import Names, canonical
from interlock.commands.code.code_tokens import Language, syntax_of
from interlock.commands.code.code_values import (
    UNKNOWN,
    Call,
    CodeArgument,
    Value,
    attribute_of,
    changed_by,
    elements_of,
    is_list,
    joined,
    list_of,
    path_joined,
    result_of,
    value_of,
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
    called: str = ""
    """The owner as a name."""
    arguments: list[CodeArgument] = []
    values: list[Value] = []
    """The values that are complete: of the arguments, or of what is assigned."""
    words: list[str] = []
    """The arguments as names, where they are names."""
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
    taken: list[str] = []
    """The names in the bracket that the operand is: `a` and `b` in `[a, b]`."""
    targets: list[str] = []
    """The names that are assigned to together."""
    also: list[str] = []
    """The names that get the same value: `a` in `a = b = "x"`."""
    assigned: bool = False
    """Whether the names that are assigned to are complete."""
    binds: bool = False
    """Whether it is assigned although it stands in a bracket."""
    spread: bool = False
    """Whether the members of the value count: `*args`."""
    name: str = ""
    """What the expression is assigned to, or the keyword it is passed by."""
    typed: str = ""
    """The parameter whose type was given."""
    defines: str | None = None
    """The function whose parameters it holds."""
    loops: bool = False
    """Whether `name` runs through the members of what follows."""
    headed: bool = False
    """Whether a keyword stood before it."""

    def reset(self) -> None:
        """Forget the expression."""
        self.drop()
        self.started = 0
        self.referred = self.loops = self.headed = self.assigned = self.binds = False
        self.word = self.name = self.typed = ""
        self.taken, self.targets, self.also = [], [], []

    def take(self, value: Value, start: int, word: str = "") -> None:
        """Make the value the operand."""
        self.operand = value
        self.started = start
        self.word = word
        self.taken = []
        self.referred = word != ""

    def assign(self) -> None:
        """Take the names that stand there for what follows to be assigned to."""
        if self.assigned and self.name:
            self.also.append(self.name)
        names = self.taken or [self.word]
        self.targets = [*self.targets, *names] if self.targets or self.taken else []
        self.name = "" if self.targets else self.word
        self.assigned = True
        self.drop()

    def drop(self) -> None:
        """Forget what was read of the expression, but not what it is for."""
        self.left = None
        self.operand = None
        self.operator = ""
        self.spread = False

    def fold(self, operator: str, joins: frozenset[str]) -> None:
        """Take the operand to the left side, and go on with the operator."""
        if self.operand is not None:
            self.spread = self.left is None and self.operator in _SPREADS
            if self.left is None and (not self.operator or self.spread):
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
    if operator == "<<" and is_list(left):
        return changed_by("<<", left, (right,))
    if operator in joins:
        return joined(left, right)
    if operator == "if":
        # Between them stands when it holds: `"a" if x else "b"`.
        return left
    if operator == "/" and left.path == "Path":
        made = path_joined((argument_from(left), argument_from(right)))
        return Value(made.text, made.known, path="Path")
    if operator == "%" and left.known:
        return Value(text=left.text.partition("%")[0])
    return UNKNOWN


_SPREADS: Final = frozenset({"*", "..."})


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


_RECEIVERS: Final = frozenset({"self", "cls", ""})
_PER_MEMBER: Final = frozenset({"forEach", "map", "filter", "each", "some", "every", "flatMap"})
_EITHER: Final = frozenset({"else", "or", "and", "||", "&&", "??", "?:"})
"""What stands between two values of which one holds."""
_FUNCTIONS: Final = r"\b(?:def|lambda|function|sub|func|fn|proc|class)\b|=>|->"
_CHANGING: Final = frozenset(
    "append push add extend concat unshift prepend appendleft insert replace clear << remove pop"
    " shift splice sort reverse popleft extendleft delete fill sub! gsub! map! reject! select!"
    " keep_if delete_if delete_at compact! uniq! flatten! upcase! downcase! strip! slice!".split()
)
"""Methods that change what they are called on."""
_CHANGING_CALLS: Final = {"push": "push", "unshift": "unshift", "array_push": "push"}
"""Functions that change their first argument."""


def _member_name(frame: Frame) -> str:
    """Return the name of what an index takes out: `words[0]`, `options.path`."""
    index = frame.arguments[0] if len(frame.arguments) == 1 else None
    if index is None or not index.literal:
        return f"{frame.called}[{'?' if frame.arguments else ''}]" if frame.called else ""
    if frame.owner.path in _ALL_NAMES:
        return index.text
    if not frame.called:
        return ""
    return (
        f"{frame.called}[{index.text}]"
        if index.text.isdecimal()
        else f"{frame.called}.{index.text}"
    )


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
        self.branches = False
        """Whether what follows may not run, or more than once."""
        self._defines = re.search(_FUNCTIONS, code) is not None
        self.subject: Value | None = None
        """What the last head was about: `match x:`."""
        self.defined: str | None = None
        """The function whose parameters come next."""

    @property
    def surely(self) -> bool:
        """Whether what is read runs exactly once, and nothing that was read before runs again."""
        return not (self._defines or self.branches or self._open["}"])

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
        called = self.frame.word or ("()" if self.frame.taken else "")
        called = called if self.frame.operand is not None else ""
        self.frame.operand = None
        self._outer.append(self.frame)
        self.frame = Frame(bracket, owner, start, begun, called)
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
        if frame.operator in _EITHER and frame.operand is not None:
            values = (frame.left or UNKNOWN, frame.operand)
            if any(each.known or each.items for each in values):
                frame.operand = self.either(values, frame.started)
                frame.left, frame.operator = None, ""
        frame.fold(operator, self.syntax.joins)

    def either(self, values: tuple[Value, ...], start: int) -> Value:
        """Return one of the values that may stand there."""
        return self.names.bind_each(f"{start} of {len(self.code)}", values)

    def end_statement(self, end: int) -> None:
        """Give the name that was assigned to its meaning, and begin afresh."""
        self.close_bare_calls(end)
        frame = self.frame
        self.fold()
        if frame.bracket is not Bracket.CALL:
            self._assign(frame, surely=self.surely)
        frame.reset()
        frame.values = []
        self.importing = False
        self.annotated = ""

    def end_argument(self, end: int) -> None:
        """Complete the argument that is being read."""
        frame = self.frame
        self.fold()
        written = self.code[frame.begun : min(end, frame.begun + MAX_WRITTEN)].strip()
        value = frame.left or UNKNOWN
        frame.words.append(frame.typed or frame.name or frame.word)
        if frame.loops or frame.binds:
            self._assign(frame, surely=False)
            frame.name = ""
        if (frame.spread or frame.loops) and is_list(value):
            frame.values += elements_of(value)
            frame.arguments += map(argument_from, elements_of(value))
        elif frame.left is not None or written:
            frame.values.append(value)
            frame.arguments.append(argument_from(value, written, frame.name))
        frame.last = frame.left
        frame.reset()

    def _assign(self, frame: Frame, *, surely: bool) -> None:
        """Give the names that are assigned to their meaning."""
        value = frame.left or UNKNOWN
        if frame.loops:
            self._run_through(frame, list_of((*frame.values, value)) if frame.values else value)
        elif frame.targets:
            values = (*frame.values, value)
            if len(values) == 1 and is_list(value):
                values = elements_of(value)
            for index, target in enumerate(frame.targets):
                self.store(target, values[index] if index < len(values) else None, surely=surely)
        elif frame.name:
            for target in (frame.name, *frame.also):
                self.store(target, value, surely=surely)

    def _run_through(self, frame: Frame, listed: Value) -> None:
        """Let the names of a loop be each of the members."""
        members = elements_of(listed)
        targets = frame.targets or [frame.name]
        rows = [elements_of(each) for each in members if is_list(each)]
        if len(targets) > 1 and rows:
            width = min(map(len, rows))
            for index, target in enumerate(targets[:width]):
                self.names.bind_each(target, tuple(row[index] for row in rows), targets[0])
        elif is_list(listed):
            for target in targets if members else ():
                self.names.bind_each(target, members, targets[0])
        else:
            # What lists files gives them in the first place: `for root, folders, files in ...`.
            self.names.bind(targets[0], listed)

    def store(self, target: str, value: Value | None, *, surely: bool) -> None:
        """Give a name its meaning, or a member of a list: `words[0] = "rm"`."""
        name, bracket, index = target.rstrip("]").partition("[")
        if name.startswith("@") and value is not None and value.known:
            value = list_of((value,))
        old = self.names.get(name)
        if not bracket:
            self.names.bind(name, value, surely=surely)
        elif old is not None:
            members = list(elements_of(old))
            if index.isdecimal() and int(index[:4]) < len(members):
                members[int(index[:4])] = value or UNKNOWN
                new = list_of(tuple(members))
            else:
                new = UNKNOWN if index else list_of((*members, value or UNKNOWN))
            self.names.change(name, old, new, surely=surely)

    def _finish(self, stop: int, end: int) -> None:
        """Close the innermost bracket and make it an operand of what surrounds it.

        What stands in it goes up to `stop`; `end` is behind its closer, if it has one.
        """
        frame = self.frame
        word = frame.word if frame.bracket is Bracket.GROUP else ""
        own = frame.bracket in {Bracket.GROUP, Bracket.LIST}
        if frame.bracket is Bracket.BLOCK:
            self.end_statement(stop)
        else:
            self.end_argument(stop)
        if frame.bracket is not Bracket.BARE_CALL:
            self._open[_CLOSERS[frame.bracket]] -= 1
        self.frame = self._outer.pop()
        if frame.bracket is Bracket.INDEX:
            word = _member_name(frame)
        self.frame.take(self._closed(frame, end), frame.start, word)
        self.frame.taken = frame.words if own else []
        if frame.defines is not None:
            self.declare(frame.defines, frame.words)
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
                return list_of(tuple(frame.values))

    def _call_by_name(self, method: Value) -> None:
        """Take a dotted name for a call without arguments: `User.delete_all`."""
        if "." in method.path and not method.known:
            owner = Frame(Bracket.BARE_CALL, method, self.frame.started, 0)
            self._called(owner, self.frame.started + len(method.path))

    def _called(self, frame: Frame, end: int) -> Value:
        callee = frame.owner.path
        arguments = tuple(frame.arguments)
        self._hand_over((frame.called or callee).rpartition(".")[2], arguments)
        if not callee:
            return UNKNOWN
        self._change(frame)
        receiver = frame.owner.receiver
        if receiver is not None:
            arguments = (receiver, *arguments)
        written = self.code[frame.start : min(end, frame.start + MAX_WRITTEN)]
        self.calls.append(Call(callee, arguments, frame.start, written, receiver is not None))
        return result_of(callee, arguments, exact=frame.owner.exact)

    def declare(self, function: str, parameters: list[str]) -> None:
        """Keep the names of a function's parameters: calls, or a list, say what they hold."""
        names = [name for name in parameters if name not in _RECEIVERS]
        owner, _, method = self.frame.owner.path.rpartition(".")
        receiver = self.frame.owner.receiver
        if names and method in _PER_MEMBER and receiver is not None:
            self.names.bind_each(names[0], elements_of(value_of(receiver)) or (UNKNOWN,))
        elif names and method == "then":
            self.names.bind(names[0], Value(path=owner))
        else:
            self.names.functions[function or "()"] = names
            self.binds_late = True
            for name in names:
                self.names.bind(name, None)

    def _hand_over(self, function: str, arguments: tuple[CodeArgument, ...]) -> None:
        """Let the parameters of a function hold what it is called with."""
        functions = self.names.functions
        parameters = functions.get(function)
        if parameters is not None:
            for name, argument in zip(parameters, arguments, strict=False):
                self.names.bind(argument.name or name, value_of(argument))
            for argument in arguments[len(parameters) :]:
                if argument.name:
                    self.names.bind(argument.name, value_of(argument))
            return
        handed = [each for each in arguments if each.path in functions and not each.made]
        for passed in handed:
            # Whoever is handed a function may call it with whatever else there is.
            others = [value_of(each) for each in arguments if each is not passed]
            for name in functions[passed.path]:
                for other in others:
                    self.names.bind_each(name, elements_of(other) or (UNKNOWN,))

    def _change(self, frame: Frame) -> None:
        """Let a method change the list or the text that it is called on."""
        name, _, method = frame.called.rpartition(".")
        given = tuple(frame.values)
        if not name and method in _CHANGING_CALLS and frame.words:
            name, method, given = frame.words[0], _CHANGING_CALLS[method], given[1:]
        old = self.names.get(name)
        if frame.owner.path.endswith(".update"):
            space = "" if frame.owner.path.partition(".")[0] in _ALL_NAMES else f"{name}."
            for each in frame.arguments:
                if each.name:
                    self.names.bind(f"{space}{each.name}", value_of(each), surely=self.surely)
        elif old is not None and method in _CHANGING and (is_list(old) or self._texts_change(old)):
            self.names.change(name, old, changed_by(method, old, given), surely=self.surely)

    def _texts_change(self, value: Value) -> bool:
        return value.known and self.language is Language.RUBY

    def _indexed(self, frame: Frame) -> Value:
        """Take `fs["rmSync"]` for `fs.rmSync`; of other members nothing is known."""
        owner = frame.owner
        if owner.items and len(frame.arguments) == 1:
            members = elements_of(owner)
            index = frame.arguments[0].text if frame.arguments[0].literal else ""
            if index.isdecimal() and int(index[:4]) < len(members):
                return members[int(index[:4])]
            return self.either(members, frame.start)
        stored = self.names.get(_member_name(frame))
        if stored is not None:
            return stored
        if len(frame.arguments) != 1 or not frame.arguments[0].literal:
            return attribute_of(owner, "[]")
        if owner.path in _ALL_NAMES:
            return self.names.meaning(canonical(frame.arguments[0].text))
        if owner.path == "Dir":
            return result_of("Dir.glob", tuple(frame.arguments))
        value = attribute_of(owner, frame.arguments[0].text)
        return self.names.meaning(value.path) if value.receiver is None else value
