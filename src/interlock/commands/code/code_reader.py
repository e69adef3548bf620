"""What a snippet of code would call, and with what, as far as that can be read off it.

One pass over the tokens with an explicit stack of open brackets. Names that were given a text, a
list, a path or a module keep their meaning; whatever else stands somewhere is not known.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Final

from interlock.commands.code.code_tokens import Language, pattern_of, string_value
from interlock.commands.code.code_values import (
    UNKNOWN,
    Call,
    CodeArgument,
    Value,
    attribute_of,
    joined,
    module_path,
    text_value,
)
from interlock.commands.code.known_calls import known_calls
from interlock.commands.code.snippet import (
    MAX_WRITTEN,
    STATEMENT_LEVEL,
    Bracket,
    Frame,
    Names,
    Snippet,
    argument_from,
    dotted,
)

_MAX_DEPTH: Final = 3
_BLOCK_PARAMETER: Final = r"(?:\{|do\b)[ \t]{0,9}\|[ \t]{0,9}(\w+)"
_MAX_READ_TWICE: Final = 4096
_SEPARATORS: Final = frozenset(":&?>\\{")
_PERL_TOPIC: Final = "$_"
_NAMED_MEMBERS: Final = frozenset(
    {Language.PYTHON, Language.JAVASCRIPT, Language.RUBY, Language.GO}
)
_PER_MEMBER: Final = frozenset({"forEach", "map", "filter", "each", "some", "every", "flatMap"})
_ENDS_WITH_LINE: Final = STATEMENT_LEVEL | {Bracket.BARE_CALL}
_DECLARATORS: Final = frozenset(
    "const let var my our local state new await async static export default print echo".split()
)


def calls_in(code: str, language: Language) -> list[Call]:
    """Return the calls that the snippet makes, in the order in which they begin."""
    names = Names()
    calls: list[Call] = []
    snippets = [code]
    for _ in range(_MAX_DEPTH):
        inside: dict[str, None] = {}
        for text in snippets:
            snippet = _read(Snippet(text, language, names))
            if snippet.binds_late and len(text) <= _MAX_READ_TWICE:
                snippet = _read(Snippet(text, language, names))
            calls.extend(sorted(snippet.calls, key=lambda call: call.start))
            inside.update(snippet.inside)
        snippets = list(inside)
    return calls


def _read(snippet: Snippet) -> Snippet:
    for token in pattern_of(snippet.language).finditer(snippet.code):
        kind = token.lastgroup
        if kind is not None:
            _READERS[kind](snippet, token)
    snippet.close_all()
    return snippet


def _name(snippet: Snippet, token: re.Match[str]) -> None:
    name = token["name"]
    if name in snippet.syntax.keywords and not _imports_by_call(snippet, name, token.end()):
        _keyword(snippet, name, token.start())
        return
    if snippet.alias is not None:
        snippet.names.bind(name, snippet.alias)
        snippet.alias = None
    if not _SEPARATORS.isdisjoint(name):
        name = dotted(name)
    snippet.operand(snippet.names.meaning(name), token.start(), name)


def _imports_by_call(snippet: Snippet, name: str, end: int) -> bool:
    """Whether it is the `import` that is a function: `await import("fs")`."""
    return snippet.language is Language.JAVASCRIPT and (
        name == "import" and snippet.code[end : end + 1] == "("
    )


def _string(snippet: Snippet, token: re.Match[str]) -> None:
    text = token["string"]
    value = string_value(text, snippet.language, snippet.gap)
    before = snippet.frame.operand
    if before is None:
        snippet.operand(value, token.start())
    elif before.known and snippet.syntax.adjacent_strings_join:
        snippet.frame.operand = joined(before, value)
    elif text[0] == "`" and snippet.frame.referred and snippet.language is Language.JAVASCRIPT:
        snippet.call_with(before, argument_from(value, text[:MAX_WRITTEN]), token.end())
    else:
        snippet.operand(value, token.start())


def _command(snippet: Snippet, token: re.Match[str]) -> None:
    """Read a command line in backticks."""
    value = string_value(token["command"], snippet.language, snippet.gap)
    written = token["command"][:MAX_WRITTEN]
    snippet.calls.append(Call("`", (argument_from(value, written),), token.start(), written))
    snippet.operand(Value(path="`"), token.start())


def _replacement(snippet: Snippet, token: re.Match[str]) -> None:
    """Read the code that Perl's `s/a/code/e` puts in."""
    divider = token["divider"] or "{"
    code = re.split(rf"(?<!\\){re.escape(divider)}", token["replacement"])[2]
    snippet.inside[code.replace(f"\\{divider}", divider).rstrip("}")] = None


def _member(snippet: Snippet, token: re.Match[str]) -> None:
    frame = snippet.frame
    if frame.operand is not None:
        named = snippet.language in _NAMED_MEMBERS
        written = token["last"] if named else token["member"].strip()
        name = dotted(written).lstrip(".$ \t")
        frame.operand = attribute_of(frame.operand, name)
        frame.word = ""
        frame.referred = True


def _mark(snippet: Snippet, token: re.Match[str]) -> None:
    mark = token["mark"]
    start = token.start()
    match mark:
        case "(":
            _open_round(snippet, start)
        case "[":
            _open_square(snippet, start)
        case "{":
            _bind_block_parameter(snippet, start)
            owner = snippet.frame.operand or UNKNOWN
            snippet.push(Bracket.BLOCK, owner, snippet.frame.started, start + 1)
        case ",":
            _comma(snippet, start)
        case ";":
            snippet.end_statement(start)
        case _:
            snippet.close(mark, start)


def _open_round(snippet: Snippet, start: int) -> None:
    frame = snippet.frame
    if frame.operand is None:
        group = snippet.push(Bracket.GROUP, UNKNOWN, start, start + 1)
        if frame.loops:
            _hand_on_loop(frame, group, frame.name)
    elif frame.loops and frame.name == _PERL_TOPIC and frame.word.startswith("$"):
        # `for my $f (glob("*"))`: the variable stands before the bracket.
        group = snippet.push(Bracket.GROUP, UNKNOWN, start, start + 1)
        _hand_on_loop(frame, group, frame.word)
    else:
        snippet.push(Bracket.CALL, frame.operand, frame.started, start + 1)


def _hand_on_loop(frame: Frame, group: Frame, name: str) -> None:
    """Let the bracket hold what the loop runs through."""
    group.name, frame.name = name, ""
    group.loops, frame.loops = True, False


def _open_square(snippet: Snippet, start: int) -> None:
    frame = snippet.frame
    before = frame.operand
    apart = snippet.syntax.calls_without_brackets and snippet.code[start - 1] in " \t"
    if before is not None and apart:
        snippet.beside(before, start)
        before = None
    if before is None:
        snippet.push(Bracket.LIST, UNKNOWN, start, start + 1)
    else:
        snippet.push(Bracket.INDEX, before, frame.started, start + 1)


def _comma(snippet: Snippet, start: int) -> None:
    frame = snippet.frame
    if frame.bracket not in STATEMENT_LEVEL:
        snippet.end_argument(start)
        frame.begun = start + 1
    elif frame.loops:
        frame.name = frame.name or frame.word
        frame.operand = None
    else:
        snippet.end_statement(start)


def _newline(snippet: Snippet, token: re.Match[str]) -> None:
    """End the statement, unless a bracket is open or the line ends in the middle of one."""
    frame = snippet.frame
    if frame.bracket in _ENDS_WITH_LINE:
        bare = frame.bracket is Bracket.BARE_CALL
        unfinished = frame.operand is None and (frame.operator or frame.name or bare)
        if not unfinished:
            snippet.end_statement(token.start())


def _operator(snippet: Snippet, token: re.Match[str]) -> None:
    operator = token["operator"]
    frame = snippet.frame
    if operator in snippet.syntax.assigns:
        frame.name = snippet.annotated or frame.word
        frame.loops = False
        frame.drop()
    elif operator in {"+=", ".="}:
        frame.name = frame.word
        frame.left = snippet.names.get(frame.word)
        frame.operand = None
        frame.operator = operator[0]
    elif operator == ":":
        _colon(snippet, frame, token.start())
    elif operator == "=>":
        _arrow(snippet, frame)
    else:
        snippet.fold(operator)


def _colon(snippet: Snippet, frame: Frame, start: int) -> None:
    """Read the end of a head (`if x:`), a type (`p: str = ...`), or a keyword (`force: true`)."""
    fresh = frame.left is None and not frame.operator
    if frame.bracket in STATEMENT_LEVEL:
        typed = frame.word if fresh and not frame.headed else ""
        snippet.end_statement(start)
        snippet.annotated = typed
    elif fresh and frame.bracket is not Bracket.INDEX:
        frame.name = frame.word
        frame.drop()
    else:
        snippet.fold(":")


def _arrow(snippet: Snippet, frame: Frame) -> None:
    """Let the parameter of `files.forEach(f => ...)` stand for each of the files."""
    if frame.word and frame.owner.path.rpartition(".")[2] in _PER_MEMBER:
        snippet.names.bind(frame.word, _member_of(frame.owner.receiver))
    frame.drop()


def _keyword(snippet: Snippet, keyword: str, start: int) -> None:
    importer = _IMPORTERS.get(snippet.language, {}).get(keyword)
    if importer is not None and not snippet.importing:
        snippet.importing = keyword not in _DECLARATORS
        for name, path in importer(snippet.code, start):
            snippet.names.bind_path(name, path)
    if keyword in _DECLARATORS:
        return
    snippet.close_bare_calls(start)
    frame = snippet.frame
    match keyword:
        case "for" | "foreach":
            _loop(snippet, frame)
        case "in" | "of" if frame.loops:
            frame.name = frame.name or frame.word
            frame.drop()
        case "as" if not snippet.importing:
            snippet.fold()
            snippet.alias = frame.left
        case "do" | "then":
            _bind_block_parameter(snippet, start)
            snippet.end_statement(start)
        case _:
            snippet.fold(keyword if frame.operand is not None else "")
    frame.headed = True


def _loop(snippet: Snippet, frame: Frame) -> None:
    # What a comprehension or a trailing `for` runs through stands behind its use.
    snippet.binds_late |= frame.operand is not None or frame.left is not None
    frame.reset()
    frame.loops = True
    frame.name = _PERL_TOPIC if snippet.language is Language.PERL else ""


def _bind_block_parameter(snippet: Snippet, start: int) -> None:
    """Let `f` in `Dir.glob("*").each { |f| ... }` stand for each of the files."""
    listed = snippet.frame.operand
    found = None if listed is None else re.compile(_BLOCK_PARAMETER).match(snippet.code, start)
    if found and listed is not None:
        snippet.names.bind(found[1], _member_of(listed.receiver))


def _member_of(listed: CodeArgument | None) -> Value | None:
    """Return one of what a listing gives: its text stands for all of them."""
    if listed is None or not (listed.literal or listed.items):
        return None
    return Value(listed.text, listed.literal, listed.items, listed.path)


_READERS: Final[Mapping[str, Callable[[Snippet, re.Match[str]], None]]] = {
    "name": _name,
    "string": _string,
    "mark": _mark,
    "operator": _operator,
    "member": _member,
    "newline": _newline,
    "number": lambda snippet, token: snippet.operand(text_value(token["number"]), token.start()),
    # The name of what is defined is not called.
    "define": lambda snippet, token: snippet.operand(UNKNOWN, token.start()),
    "command": _command,
    "replacement": _replacement,
}


Importer = Callable[[str, int], Iterator[tuple[str, str]]]

# INVARIANT: every repetition is bounded, so that a snippet of nothing but keywords stays linear.
_PYTHON_IMPORT: Final = r"import[ \t]{1,9}([\w., \t]{1,400})"
_PYTHON_FROM_IMPORT: Final = (
    r"from[ \t]{1,9}([\w.]{1,200})[ \t]{1,9}import[ \t]{0,9}"
    r"(\([\w,\s]{1,800}|[\w, \t*]{1,400})"
)
_JAVASCRIPT_IMPORT: Final = (
    r"import\s{1,9}(?:type\s{1,9})?(?P<whole>[\w$*, \t\n]{0,200})"
    r"(?:\{(?P<names>[\w$,\s]{0,400})\}\s{0,9}from|(?<=\s)from)\s{0,9}"
    r"['\"](?P<module>[^'\"\n]{0,100})['\"]"
)
_JAVASCRIPT_UNPACKING: Final = (
    r"(?:const|let|var)\s{0,9}\{(?P<names>[\w$,:\s]{0,400})\}\s{0,9}=\s{0,9}(?:await\s{1,9})?"
    r"(?:(?:require|import)\s{0,9}\(\s{0,9}['\"](?P<module>[^'\"\n]{0,100})['\"]\s{0,9}\)"
    r"(?P<rest>(?:\.\w{1,40}){0,4})|(?P<owner>[\w$.]{1,100}))"
)


def _python_names(code: str, start: int) -> Iterator[tuple[str, str]]:
    """Return each name with what it stands for: `import numpy as np` gives `np`, `numpy`."""
    found = re.compile(_PYTHON_IMPORT).match(code, start)
    for clause in found[1].split(",") if found else ():
        module, _, alias = clause.strip().partition(" as ")
        if alias:
            yield alias.strip(), module.strip()


def _python_names_from(code: str, start: int) -> Iterator[tuple[str, str]]:
    """Return each name with what it stands for: `from os import remove` gives `os.remove`."""
    found = re.compile(_PYTHON_FROM_IMPORT).match(code, start)
    if found is None:
        return
    module, names = found.groups()
    for clause in names.split(","):
        name, _, alias = clause.strip(" \t\n()").partition(" as ")
        if name == "*":
            yield from _known_names_of(module)
        else:
            yield (alias or name).strip(), f"{module}.{name.strip()}"


def _known_names_of(module: str) -> Iterator[tuple[str, str]]:
    """Return the names that `from module import *` brings and that matter."""
    for path in known_calls(Language.PYTHON):
        owner, _, name = path.rpartition(".")
        if owner == module:
            yield name, path


def _javascript_names(code: str, start: int) -> Iterator[tuple[str, str]]:
    """Return each name with what it stands for: `import {rm} from "fs"` gives `fs.rm`."""
    found = re.compile(_JAVASCRIPT_IMPORT).match(code, start)
    if found is not None:
        module = module_path(found["module"])
        yield from _taken_out(found["names"] or "", module)
        yield found["whole"].strip(" ,\t\n").rpartition(" ")[2], module


def _javascript_unpacked(code: str, start: int) -> Iterator[tuple[str, str]]:
    """Return each name of `const {rm, cp: copy} = require("fs")` with what it stands for."""
    found = re.compile(_JAVASCRIPT_UNPACKING).match(code, start)
    if found is not None:
        owner = found["owner"]
        path = module_path(found["module"]) + found["rest"] if found["module"] else owner
        yield from _taken_out(found["names"], path)


def _taken_out(names: str, module: str) -> Iterator[tuple[str, str]]:
    for clause in names.split(","):
        name, _, alias = clause.replace(" as ", ":").partition(":")
        yield (alias or name).strip(), f"{module}.{name.strip()}"


_IMPORTERS: Final[Mapping[Language, Mapping[str, Importer]]] = {
    Language.PYTHON: {"import": _python_names, "from": _python_names_from},
    Language.JAVASCRIPT: {
        "import": _javascript_names,
        "const": _javascript_unpacked,
        "let": _javascript_unpacked,
        "var": _javascript_unpacked,
    },
}
