"""What a snippet of code would call, and with what, as far as that can be read off it.

One pass over the tokens with an explicit stack of open brackets. Names that were given a text, a
list, a path or a module keep their meaning; whatever else stands somewhere is not known.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from typing import Final

from interlock.commands.code.code_names import Names
from interlock.commands.code.code_tokens import Language, pattern_of, string_value
from interlock.commands.code.code_values import (
    UNKNOWN,
    Call,
    Value,
    attribute_of,
    elements_of,
    joined,
    module_path,
    text_value,
    value_of,
)
from interlock.commands.code.known_calls import known_calls
from interlock.commands.code.snippet import (
    MAX_WRITTEN,
    STATEMENT_LEVEL,
    Bracket,
    Frame,
    Snippet,
    argument_from,
    dotted,
)

_MAX_DEPTH: Final = 3
_BLOCK_PARAMETER: Final = r"(?:\{|do\b)[ \t]{0,9}\|[ \t]{0,9}(\w+)"
TOO_MANY: Final = Call("", (), 0, "")
"""Stands for the calls with what names may hold besides."""
_MAX_READ: Final = 131_072
"""How many characters are read again for what names may hold besides."""
_LAMBDA: Final = r"lambda[ \t]{0,9}([^:\n]{0,200}):"
_TARGETS: Final = frozenset({Language.PYTHON, Language.RUBY, Language.LUA, Language.GO})
"""Where names that are assigned to together stand without a bracket."""
_BRANCHES: Final = frozenset(
    "if elif elsif elseif else unless for foreach while until try except finally rescue catch"
    " switch case when do begin repeat loop".split()
)
_MODIFIERS: Final = frozenset("if unless while until for foreach".split())
_NO_KEYWORDS: Final = frozenset({Language.JAVASCRIPT, Language.PERL, Language.PHP})
"""Where no argument is passed by `name=`."""
_CASE: Final = r"case[ \t]{1,9}(\w{1,80})[ \t]{0,9}(?::|if\b)"
_MODIFIED: Final = frozenset({Language.RUBY, Language.PERL})
_OPEN_BRANCHES: Final = frozenset({Language.PYTHON, Language.RUBY, Language.LUA})
"""Where a branch goes on behind a semicolon."""
_SEPARATORS: Final = frozenset(":&?>\\{")
_PERL_TOPIC: Final = "$_"
_NAMED_MEMBERS: Final = frozenset(
    {Language.PYTHON, Language.JAVASCRIPT, Language.RUBY, Language.GO}
)
_ENDS_WITH_LINE: Final = STATEMENT_LEVEL | {Bracket.BARE_CALL}
_DECLARATORS: Final = frozenset(
    "const let var my our local state new await async static export default print echo".split()
)


def calls_in(code: str, language: Language) -> list[Call]:
    """Return the calls that the snippet makes, in the order in which they begin.

    Where names may hold more than can be read in turn, that is the last of them.
    """
    names = Names()
    calls, late = _calls_in(code, language, names)
    readings = _MAX_READ // (len(code) + 1)
    if late and readings:
        names.begin({})
        calls, _ = _calls_in(code, language, names)
    first = 0
    # What names are given may depend on what others were: the second time takes that as well.
    for _ in range(2):
        most = names.most()
        choices = names.choices(first)
        for chosen in islice(choices, readings):
            readings -= 1
            names.begin(chosen)
            calls |= _calls_in(code, language, names)[0]
        names.is_full |= next(choices, None) is not None
        first = most
    return [*calls, TOO_MANY] if names.is_full else list(calls)


def _calls_in(code: str, language: Language, names: Names) -> tuple[dict[Call, None], bool]:
    """Return the calls of one reading, and whether names get their meaning behind their use."""
    calls: dict[Call, None] = {}
    snippets = [code]
    late = False
    for _ in range(_MAX_DEPTH):
        inside: dict[str, None] = {}
        for text in snippets:
            snippet = _read(Snippet(text, language, names))
            late |= snippet.binds_late
            calls.update(dict.fromkeys(sorted(snippet.calls, key=lambda call: call.start)))
            inside.update(snippet.inside)
        snippets = list(inside)
    return calls, late


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
        snippet.names.bind_each(name, elements_of(snippet.alias) or (UNKNOWN,))
        snippet.alias = None
    if name == "case" and (found := re.compile(_CASE).match(snippet.code, token.start())):
        snippet.names.bind(found[1], snippet.subject)
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
            if snippet.frame.loops and snippet.frame.operand is not None:
                snippet.end_statement(start)
            _bind_block_parameter(snippet, start)
            owner = snippet.frame.operand or UNKNOWN
            snippet.push(Bracket.BLOCK, owner, snippet.frame.started, start + 1)
        case ",":
            _comma(snippet, start)
        case ";":
            snippet.end_statement(start)
            snippet.branches &= snippet.language in _OPEN_BRANCHES
        case _:
            snippet.close(mark, start)


def _open_round(snippet: Snippet, start: int) -> None:
    frame = snippet.frame
    if snippet.defined is not None:
        name, snippet.defined = snippet.defined, None
        parameters = snippet.push(Bracket.GROUP, UNKNOWN, start, start + 1)
        parameters.defines = name
    elif frame.loops and frame.name == _PERL_TOPIC and _no_call(frame):
        # `for my $f (glob("*"))`: the variable stands before the bracket, or nowhere.
        frame.word = frame.word or frame.name
        frame.assign()
        snippet.push(Bracket.GROUP, UNKNOWN, start, start + 1)
    elif frame.operand is None:
        group = snippet.push(Bracket.GROUP, UNKNOWN, start, start + 1)
        if frame.loops and not frame.assigned:
            # What the loop runs through stands in the bracket.
            group.loops, frame.loops = True, False
    else:
        snippet.push(Bracket.CALL, frame.operand, frame.started, start + 1)


def _no_call(frame: Frame) -> bool:
    return frame.operand is None or frame.word.startswith("$")


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
    if frame.loops and not frame.assigned:
        frame.targets.append(frame.word)
        frame.operand = None
    elif frame.bracket not in STATEMENT_LEVEL:
        snippet.end_argument(start)
        frame.begun = start + 1
    elif frame.assigned and (frame.targets or frame.loops):
        snippet.fold()
        frame.values.append(frame.left or UNKNOWN)
        frame.drop()
    elif snippet.language in _TARGETS and frame.word and not (frame.assigned or frame.headed):
        frame.targets.append(frame.word)
        frame.drop()
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
        if snippet.language is Language.PYTHON:
            # What stands further in may not run.
            snippet.branches = not token[0].endswith("\n")


def _operator(snippet: Snippet, token: re.Match[str]) -> None:
    operator = token["operator"]
    frame = snippet.frame
    if operator in snippet.syntax.assigns:
        frame.word = snippet.annotated or frame.typed or frame.word
        frame.loops = False
        frame.assign()
        frame.binds = _binds(snippet, operator)
    elif operator in {"+=", ".="} or _pushes(snippet, operator):
        frame.name = frame.word
        frame.left = snippet.names.get(frame.word)
        frame.operand = None
        frame.operator = operator.removesuffix("=")
        frame.assigned = True
        if frame.bracket not in STATEMENT_LEVEL:
            # `c => d += c` runs as often as somebody calls it.
            snippet.names.bind(frame.word, None)
    elif operator in {"||=", "??=", "&&="}:
        snippet.branches = True
        frame.assign()
    elif operator in {"++", "--"} and frame.word:
        snippet.names.bind(frame.word, None)
    elif operator == ":":
        _colon(snippet, frame, token.start())
    elif operator == "=>":
        _arrow(snippet, frame)
    else:
        snippet.fold(operator)


def _colon(snippet: Snippet, frame: Frame, start: int) -> None:
    """Read the end of a head (`if x:`), a type (`p: str = ...`), or a keyword (`force: true`)."""
    fresh = frame.left is None and not frame.operator
    if frame.operator == "?":
        frame.left = None
        frame.operator = ""
        snippet.fold("?:")
    elif frame.bracket in STATEMENT_LEVEL:
        typed = frame.word if fresh and not frame.headed else ""
        snippet.fold()
        snippet.subject = frame.left
        snippet.end_statement(start)
        snippet.annotated = typed
    elif fresh and frame.bracket is not Bracket.INDEX:
        frame.typed = frame.word if frame.defines is not None else ""
        frame.name = frame.word
        frame.drop()
    else:
        snippet.fold(":")


def _arrow(snippet: Snippet, frame: Frame) -> None:
    """Let the parameter of `files.forEach(f => ...)` stand for each of the files."""
    parameters = frame.taken or [frame.word]
    snippet.declare(frame.name if frame.assigned else "", parameters)
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
    if keyword in _BRANCHES:
        _branch(snippet, frame, keyword, start)
    match keyword:
        case "for" | "foreach":
            _loop(snippet, frame)
        case "in" | "of" if frame.loops:
            frame.word = frame.name or frame.word
            frame.assign()
        case "lambda":
            _lambda(snippet, frame, start)
        case "as" if not snippet.importing:
            snippet.fold()
            snippet.alias = frame.left
        case "do" | "then":
            _bind_block_parameter(snippet, start)
            snippet.end_statement(start)
        case _:
            snippet.fold(keyword if frame.operand is not None else "")
    frame.headed = True


def _branch(snippet: Snippet, frame: Frame, keyword: str, start: int) -> None:
    """Note that what follows may not run; or what stands before: `x = "a" if y`."""
    fresh = frame.operand is None and not frame.assigned
    snippet.branches |= fresh or snippet.language is not Language.PYTHON
    if frame.assigned and keyword in _MODIFIERS and snippet.language in _MODIFIED:
        snippet.end_statement(start)


def _lambda(snippet: Snippet, frame: Frame, start: int) -> None:
    found = re.compile(_LAMBDA).match(snippet.code, start)
    parts = found[1].split(",") if found else []
    names = [part.partition("=")[0].strip(" \t*") for part in parts]
    snippet.declare(frame.name if frame.assigned else "", names)
    frame.drop()


def _binds(snippet: Snippet, operator: str) -> bool:
    """Whether an assignment in a bracket is one, and not an argument with its name."""
    if snippet.frame.bracket in {Bracket.CALL, Bracket.BARE_CALL}:
        return operator == ":=" or snippet.language in _NO_KEYWORDS
    return snippet.frame.bracket not in STATEMENT_LEVEL


def _pushes(snippet: Snippet, operator: str) -> bool:
    """Whether the operator adds to what the name holds: `words << "x"`."""
    frame = snippet.frame
    fresh = frame.left is None and not frame.assigned and frame.bracket in STATEMENT_LEVEL
    return operator == "<<" and snippet.language is Language.RUBY and fresh and frame.word != ""


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
        one = Value(path=listed.path)
        members = (one,) if listed.receiver is None else elements_of(value_of(listed.receiver))
        snippet.names.bind_each(found[1], members or (UNKNOWN,))


def _define(snippet: Snippet, token: re.Match[str]) -> None:
    """Read the name of what is defined: it is not called."""
    frame = snippet.frame
    kind, *name = token["define"].split()
    assigned = frame.name if frame.assigned else ""
    if kind != "class":
        snippet.defined = name[-1].rpartition(".")[2] if name else assigned
    frame.operand = None
    snippet.operand(UNKNOWN, token.start())


_READERS: Final[Mapping[str, Callable[[Snippet, re.Match[str]], None]]] = {
    "name": _name,
    "string": _string,
    "mark": _mark,
    "operator": _operator,
    "member": _member,
    "newline": _newline,
    "number": lambda snippet, token: snippet.operand(text_value(token["number"]), token.start()),
    "define": _define,
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
