"""What a snippet of code would call, and with what, as far as that can be read off it.

One pass over the tokens with an explicit stack of open brackets. Names that were given a text, a
list, a path or a module keep their meaning; whatever else stands somewhere is not known.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Final

from interlock.policy.actions.shell.code import imports
from interlock.policy.actions.shell.code.calls import Call, CodeArgument
from interlock.policy.actions.shell.code.frames import Bracket, Frame, argument_from
from interlock.policy.actions.shell.code.names import Names, dotted
from interlock.policy.actions.shell.code.results import attribute_of, result_of
from interlock.policy.actions.shell.code.strings import string_value
from interlock.policy.actions.shell.code.syntax import syntax_of
from interlock.policy.actions.shell.code.tokens import Language, pattern_of
from interlock.policy.actions.shell.code.values import UNKNOWN, Value, joined, text_value

_MAX_DEPTH: Final = 3
_MAX_WRITTEN: Final = 160
_PERL_TOPIC: Final = "$_"
_PER_MEMBER: Final = frozenset({"forEach", "map", "filter", "each", "some", "every", "flatMap"})
_STATEMENT_LEVEL: Final = frozenset({Bracket.NONE, Bracket.BLOCK})
_ENDS_WITH_LINE: Final = frozenset({Bracket.NONE, Bracket.BLOCK, Bracket.BARE_CALL})
_CLOSERS: Final = {
    Bracket.CALL: ")",
    Bracket.GROUP: ")",
    Bracket.LIST: "]",
    Bracket.INDEX: "]",
    Bracket.BLOCK: "}",
}
_DECLARATORS: Final = frozenset(
    "const let var my our local state new await async static export default self print echo".split()
)
_Importer = Callable[[str, int], Iterable[tuple[str, str]]]
_IMPORTERS: Final[Mapping[Language, Mapping[str, _Importer]]] = {
    Language.PYTHON: {
        "import": imports.python_import,
        "from": imports.python_from_import,
    },
    Language.JAVASCRIPT: {
        "import": imports.javascript_import,
        "const": imports.javascript_unpacking,
        "let": imports.javascript_unpacking,
        "var": imports.javascript_unpacking,
    },
}
_NO_IMPORTERS: Final[Mapping[str, _Importer]] = {}


def calls_in(code: str, language: Language) -> list[Call]:
    """Return the calls that the snippet makes, in the order in which they begin."""
    names = Names()
    calls: list[Call] = []
    snippets = [code]
    for _ in range(_MAX_DEPTH):
        inside: dict[str, None] = {}
        for snippet in snippets:
            reader = _Reader(snippet, language, names)
            reader.read()
            if reader.binds_late:
                reader = _Reader(snippet, language, names)
                reader.read()
            calls.extend(sorted(reader.calls, key=_start))
            inside.update(reader.inside)
        snippets = list(inside)
    return calls


def _start(call: Call) -> int:
    return call.start


class _Reader:
    """Reads one snippet; what it learns about names stays in `names`."""

    def __init__(self, code: str, language: Language, names: Names) -> None:
        self.calls: list[Call] = []
        self.inside: dict[str, None] = {}
        """Expressions in the gaps of templates: they run too."""
        self.binds_late = False
        """Whether a name gets its meaning behind its use: `[rm(f) for f in files]`."""
        self._code = code
        self._language = language
        self._syntax = syntax_of(language)
        self._importers = _IMPORTERS.get(language, _NO_IMPORTERS)
        self._names = names
        self._frame = Frame(Bracket.NONE, "", 0, 0)
        self._outer: list[Frame] = []
        self._open = {")": 0, "]": 0, "}": 0}
        self._importing = False
        self._alias: Value | None = None
        self._annotated = ""

    def read(self) -> None:
        """Read the snippet to its end; whatever is still open closes there."""
        readers: Mapping[str, Callable[[re.Match[str]], None]] = {
            "name": self._name,
            "string": self._string,
            "mark": self._mark,
            "operator": self._operator,
            "member": self._member,
            "newline": self._newline,
            "number": self._number,
            "define": self._define,
            "command": self._command,
        }
        for token in pattern_of(self._language).finditer(self._code):
            kind = token.lastgroup
            if kind is not None:
                readers[kind](token)
        end = len(self._code)
        while self._outer:
            self._finish(end)
        self._end_statement(end)

    def _name(self, token: re.Match[str]) -> None:
        text = token["name"]
        if text in self._syntax.keywords:
            self._keyword(text, token)
            return
        if self._alias is not None:
            self._names.bind(text, self._alias)
            self._alias = None
        path = dotted(text) if self._syntax.separator else text
        self._operand(self._names.meaning(path), token.start(), path)

    def _string(self, token: re.Match[str]) -> None:
        value = string_value(token["string"], self._language, self._gap)
        frame = self._frame
        if self._syntax.adjacent_strings_join and frame.operand is not None and frame.operand.known:
            frame.operand = joined(frame.operand, value)
        else:
            self._operand(value, token.start())

    def _number(self, token: re.Match[str]) -> None:
        self._operand(text_value(token["number"]), token.start())

    def _define(self, token: re.Match[str]) -> None:
        self._operand(UNKNOWN, token.start())

    def _command(self, token: re.Match[str]) -> None:
        value = string_value(token["command"], self._language, self._gap)
        written = token["command"][:_MAX_WRITTEN]
        self.calls.append(Call("`", (argument_from(value, written),), token.start(), written))
        self._operand(Value(path="`"), token.start())

    def _operand(self, value: Value, start: int, word: str = "") -> None:
        frame = self._frame
        if frame.operand is not None:
            frame = self._beside(start)
        frame.operand = value
        frame.started = start
        frame.word = word
        frame.referred = word != ""

    def _beside(self, start: int) -> Frame:
        """Return where an operand goes that follows another one with nothing between them."""
        frame = self._frame
        callee = frame.operand
        if callee is not None and frame.referred and self._syntax.calls_without_brackets:
            return self._push(Bracket.BARE_CALL, callee, frame.started, start)
        frame.left = None
        frame.operator = ""
        return frame

    def _gap(self, expression: str) -> Value:
        """Return what an expression in a template means; keep it when it may call something."""
        bare = expression.strip()
        if "(" in bare:
            self.inside[bare] = None
            return UNKNOWN
        if self._language is Language.PYTHON:
            bare = bare.partition("!")[0].partition(":")[0]
        value = self._names.meaning(dotted(bare) if self._syntax.separator else bare)
        return value if value.known else Value(text=value.text)

    def _member(self, token: re.Match[str]) -> None:
        frame = self._frame
        if frame.operand is not None:
            name = dotted(token["member"].strip(" \t\r\n")).lstrip(".$ \t")
            frame.operand = attribute_of(frame.operand, name)
            frame.word = ""
            frame.referred = True

    def _mark(self, token: re.Match[str]) -> None:
        mark = token["mark"]
        start = token.start()
        match mark:
            case "(":
                self._open_round(start)
            case "[":
                self._open_square(start)
            case "{":
                self._open_curly(start)
            case ",":
                self._comma(start)
            case ";":
                self._end_statement(start)
            case _:
                self._close(mark, start + 1)

    def _open_round(self, start: int) -> None:
        frame = self._frame
        if frame.operand is None or (frame.loops and frame.name == _PERL_TOPIC):
            group = self._push(Bracket.GROUP, UNKNOWN, start, start + 1)
            # The head of a loop may stand in brackets, in Perl even behind its variable.
            group.name, group.loops = frame.word or frame.name, frame.loops
            frame.name, frame.loops = "", False
        else:
            self._push(Bracket.CALL, frame.operand, frame.started, start + 1)

    def _open_square(self, start: int) -> None:
        frame = self._frame
        if frame.operand is None:
            self._push(Bracket.LIST, UNKNOWN, start, start + 1)
        elif self._syntax.calls_without_brackets and self._code[start - 1] in " \t":
            self._beside(start)
            self._push(Bracket.LIST, UNKNOWN, start, start + 1)
        else:
            self._outer.append(frame)
            self._frame = Frame(Bracket.INDEX, "", start, start + 1)
            self._open["]"] += 1

    def _open_curly(self, start: int) -> None:
        self._bind_block_parameter(start)
        operand = self._frame.operand
        self._push(Bracket.BLOCK, UNKNOWN, start, start + 1)
        self._outer[-1].operand = operand

    def _push(self, bracket: Bracket, callee: Value, start: int, begun: int) -> Frame:
        self._frame.operand = None
        self._outer.append(self._frame)
        self._frame = Frame(bracket, callee.path, start, begun, callee.receiver)
        if bracket is not Bracket.BARE_CALL:
            self._open[_CLOSERS[bracket]] += 1
        return self._frame

    def _close(self, closer: str, end: int) -> None:
        """Close the bracket, and whatever was left open in it; ignore a closer without one."""
        if not self._open[closer]:
            return
        while _CLOSERS.get(self._frame.bracket) != closer:
            self._finish(end - 1)
        self._finish(end)

    def _finish(self, end: int) -> None:
        """Close the innermost bracket and make it an operand of what surrounds it."""
        frame = self._frame
        bracket = frame.bracket
        if bracket is Bracket.BLOCK:
            self._end_statement(end)
        else:
            self._end_argument(end if bracket is Bracket.BARE_CALL else end - 1)
        self._frame = parent = self._outer.pop()
        if bracket is not Bracket.BARE_CALL:
            self._open[_CLOSERS[bracket]] -= 1
        if bracket is Bracket.INDEX:
            self._index(parent, frame.arguments)
        elif bracket is not Bracket.BLOCK or parent.operand is None:
            parent.operand = self._closed(frame, end)
            parent.started = frame.start
            parent.word = frame.word if bracket is Bracket.GROUP else ""
            parent.referred = False

    def _closed(self, frame: Frame, end: int) -> Value:
        match frame.bracket:
            case Bracket.CALL | Bracket.BARE_CALL:
                return self._called(frame, end)
            case Bracket.GROUP if len(frame.arguments) == 1:
                return frame.last or UNKNOWN
            case Bracket.GROUP | Bracket.LIST:
                items = [item.text if item.literal else None for item in frame.arguments]
                return Value(items=tuple(items))
            case _:
                return UNKNOWN

    def _called(self, frame: Frame, end: int) -> Value:
        if not frame.callee:
            return UNKNOWN
        arguments = tuple(frame.arguments)
        if frame.receiver is not None:
            arguments = (frame.receiver, *arguments)
        written = self._code[frame.start : min(end, frame.start + _MAX_WRITTEN)]
        method = frame.receiver is not None
        self.calls.append(Call(frame.callee, arguments, frame.start, written, method))
        return result_of(frame.callee, arguments)

    def _index(self, owner: Frame, arguments: list[CodeArgument]) -> None:
        """Take `fs["rmSync"]` for `fs.rmSync`; of other members nothing is known."""
        if owner.operand is not None:
            literal = len(arguments) == 1 and arguments[0].literal
            value = attribute_of(owner.operand, arguments[0].text if literal else "[]")
            owner.operand = self._names.meaning(value.path) if value.receiver is None else value
            if owner.word == "Dir" and literal:
                owner.operand = result_of("Dir.glob", tuple(arguments))
            owner.word = ""

    def _comma(self, start: int) -> None:
        frame = self._frame
        if frame.bracket not in _STATEMENT_LEVEL:
            self._end_argument(start)
            frame.begun = start + 1
        elif frame.loops:
            frame.name = frame.name or frame.word
            frame.operand = None
        else:
            self._end_statement(start)

    def _end_argument(self, end: int) -> None:
        frame = self._frame
        frame.fold("", self._syntax.joins)
        written = self._code[frame.begun : min(end, frame.begun + _MAX_WRITTEN)].strip()
        if frame.loops:
            self._names.bind(frame.name, frame.left)
        if frame.left is not None or written:
            name = "" if frame.loops else frame.name
            frame.arguments.append(argument_from(frame.left or UNKNOWN, written, name))
        frame.last = frame.left
        word = frame.word
        frame.reset()
        frame.word = word

    def _newline(self, token: re.Match[str]) -> None:
        """End the statement, unless a bracket is open or the line ends in the middle of one."""
        frame = self._frame
        if frame.bracket in _ENDS_WITH_LINE:
            unfinished = frame.operand is None and (frame.operator or frame.name)
            if not unfinished or frame.bracket is Bracket.BLOCK:
                self._end_statement(token.start())

    def _end_statement(self, end: int) -> None:
        while self._frame.bracket is Bracket.BARE_CALL:
            self._finish(end)
        frame = self._frame
        frame.fold("", self._syntax.joins)
        if frame.name and frame.bracket is not Bracket.CALL:
            self._names.bind(frame.name, frame.left)
        frame.reset()
        self._importing = False
        self._annotated = ""

    def _operator(self, token: re.Match[str]) -> None:
        operator = token["operator"]
        frame = self._frame
        if operator in self._syntax.assigns:
            self._assign(frame)
        elif operator in {"+=", ".="}:
            frame.name = frame.word
            frame.left = self._names.get(frame.word)
            frame.operand = None
            frame.operator = operator[0]
        elif operator == ":":
            self._colon(frame, token.start())
        elif operator == "=>":
            self._arrow(frame)
        else:
            frame.fold(operator, self._syntax.joins)

    def _assign(self, frame: Frame) -> None:
        frame.name = self._annotated or frame.word
        frame.left = frame.operand = None
        frame.operator = ""
        frame.loops = False

    def _colon(self, frame: Frame, start: int) -> None:
        """Read the end of a head (`if x:`), a type (`p: str = ...`), or a keyword (`force: true`)."""
        if frame.bracket is Bracket.CALL:
            frame.name = frame.word
            frame.operand = None
        elif frame.bracket in _STATEMENT_LEVEL:
            typed = "" if frame.headed else frame.word
            self._end_statement(start)
            self._annotated = typed
        else:
            frame.fold(":", self._syntax.joins)

    def _arrow(self, frame: Frame) -> None:
        """Let the parameter of `files.forEach(f => ...)` stand for each of the files."""
        if frame.word and frame.callee.rpartition(".")[2] in _PER_MEMBER:
            self._names.bind(frame.word, _member_of(frame.receiver))
        frame.left = frame.operand = None
        frame.operator = ""

    def _bind_block_parameter(self, start: int) -> None:
        found = _block_parameter().match(self._code, start)
        operand = self._frame.operand
        if found and operand is not None:
            self._names.bind(found[1], _member_of(operand.receiver))

    def _keyword(self, text: str, token: re.Match[str]) -> None:
        importer = self._importers.get(text)
        if importer is not None and not self._importing:
            self._importing = text not in _DECLARATORS
            for name, path in importer(self._code, token.start()):
                self._names.bind_path(name, path)
        if text in _DECLARATORS:
            return
        if self._syntax.calls_without_brackets:
            while self._frame.bracket is Bracket.BARE_CALL:
                self._finish(token.start())
        frame = self._frame
        match text:
            case "for" | "foreach":
                self._loop(frame)
            case "in" | "of" if frame.loops:
                frame.name = frame.name or frame.word
                frame.left = frame.operand = None
                frame.operator = ""
            case "as" if not self._importing:
                frame.fold("", self._syntax.joins)
                self._alias = frame.left
            case "do" | "then":
                self._bind_block_parameter(token.start())
                self._end_statement(token.start())
            case _:
                frame.fold(text if frame.operand is not None else "", self._syntax.joins)
        frame.headed = True

    def _loop(self, frame: Frame) -> None:
        # What a comprehension or a trailing `for` runs through is told only behind its use.
        self.binds_late |= frame.operand is not None or frame.left is not None
        frame.reset()
        frame.loops = True
        frame.name = _PERL_TOPIC if self._language is Language.PERL else ""


def _member_of(listed: CodeArgument | None) -> Value | None:
    """Return one of what a listing gives: its text stands for all of them."""
    if listed is None or not listed.literal:
        return None
    return Value(listed.text, known=True, path=listed.path)


@cache
def _block_parameter() -> re.Pattern[str]:
    return re.compile(r"(?:\{|do\b)[ \t]*\|[ \t]*(\w+)")
