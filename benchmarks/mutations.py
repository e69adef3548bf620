"""Small changes to Python source: find where they can be made, and embed some beside the original.

An embedded change is chosen while the program runs: `a < b` becomes
`a <= b if _is_mutant_on(17) else a < b`. Annotations, patterns, decorators, class headers, raised
errors and most texts are left alone.
"""

from __future__ import annotations

import ast
import copy
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, cast

import msgspec

SWITCH: Final = "_is_mutant_on"
_IMPORT: Final = f"from interlock.mutant_switch import is_on as {SWITCH}"
_MAX_USERS: Final = 300
"""Functions in which the use of a constant is noted; a name that more of them mention is common."""

_COMPARISONS: Final[Mapping[type[ast.cmpop], tuple[type[ast.cmpop], ...]]] = {
    ast.Lt: (ast.LtE, ast.Gt),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.Lt),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
_OPERATORS: Final[Mapping[type[ast.operator], type[ast.operator]]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
    ast.Pow: ast.Mult,
    ast.BitOr: ast.BitAnd,
    ast.BitAnd: ast.BitOr,
    ast.BitXor: ast.BitOr,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
}
_Function = ast.FunctionDef | ast.AsyncFunctionDef


class Mutant(msgspec.Struct, frozen=True):
    """One change, by the text that it replaces: it is found again in a source that moved."""

    file: str
    function: str
    text: str
    ordinal: int
    """Which of the equal texts in the function."""
    change: str
    line: int = msgspec.field(default=0)

    @property
    def site(self) -> tuple[str, str, int]:
        """Where it is within its file."""
        return self.function, self.text, self.ordinal


class Site(msgspec.Struct, frozen=True):
    """A piece of source that can be changed."""

    node: ast.AST
    function: str
    text: str
    ordinal: int
    alternatives: Sequence[ast.AST]
    constant: str | None
    """The name that it gives a value to as the module is imported, perhaps none (an empty text);
    None for what runs when a function is called."""

    def change_to(self, alternative: ast.AST) -> str:
        """Return how an alternative reads."""
        return _text(alternative)


def sites(tree: ast.Module) -> Iterator[Site]:
    """Return every piece of a module that can be changed, in order."""
    equal = Counter[tuple[str, str]]()
    compared = {id(text) for node in ast.walk(tree) for text in _compared_texts(node)}
    for node, function, constant in _nodes(tree):
        alternatives = _alternatives(node)
        if isinstance(node, ast.Constant) and id(node) in compared:
            alternatives = [ast.Constant(f"{node.value}_")]
        if alternatives:
            text = _text(node)
            yield Site(node, function, text, equal[function, text], alternatives, constant)
            equal[function, text] += 1


def embed(trees: Mapping[str, ast.Module], mutants: Mapping[int, Mutant]) -> dict[int, str | None]:
    """Embed mutants by their numbers; return those found, with the constant that each changes."""
    found = dict[int, str | None]()
    for file, tree in trees.items():
        wanted = {mutant.site: number for number, mutant in mutants.items() if mutant.file == file}
        chosen = dict[ast.AST, tuple[int, ast.AST]]()
        for site in sites(tree) if wanted else ():
            number = wanted.get((site.function, site.text, site.ordinal))
            for alternative in site.alternatives if number is not None else ():
                if number is not None and _text(alternative) == mutants[number].change:
                    chosen[site.node] = number, copy.deepcopy(alternative)
                    found[number] = site.constant
        _Embedder(chosen).visit(tree)
    _note_uses(trees, {n: (mutants[n].file, name) for n, name in found.items() if name is not None})
    return found


def source(tree: ast.Module) -> str:
    """Return a module with embedded mutants as text, with the import that they need."""
    body = tree.body
    start = next(
        place
        for place, each in enumerate([*body, None])
        if not _is_docstring(each) and not _is_future(each)
    )
    with_import = [*body[:start], *ast.parse(_IMPORT).body, *body[start:]]
    return ast.unparse(ast.fix_missing_locations(ast.Module(with_import, [])))


def _nodes(
    node: ast.AST, function: str = "", constant: str | None = ""
) -> Iterator[tuple[ast.AST, str, str | None]]:
    """Walk through what may be changed, with its function and the constant of `Site`."""
    hidden = set(map(id, _hidden(node)))
    if isinstance(node, (ast.Assign, ast.AnnAssign)) and constant is not None:
        constant = next(iter(_bound(node)), "")
    for child in ast.iter_child_nodes(node):
        if id(child) in hidden:
            continue
        scope, given = function, constant
        if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            scope = f"{function}.{child.name}".lstrip(".")
        if isinstance(node, (_Function, ast.Lambda)) and not isinstance(child, ast.arguments):
            given = None
        elif isinstance(node, _Function) and constant is not None:
            given = node.name
        yield child, scope, given
        yield from _nodes(child, scope, given)


def _hidden(node: ast.AST) -> list[ast.AST]:
    """Return the children of a node that are declarations, texts for people, or never run."""
    return [*_declared(node), *_left_alone(node)]


def _declared(node: ast.AST) -> Iterator[ast.AST]:
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            yield from [*node.decorator_list, *([node.returns] if node.returns else [])]
            if any(_text(each) == "overload" for each in node.decorator_list):
                yield from node.body
        case ast.ClassDef():
            yield from [*node.decorator_list, *node.bases, *node.keywords]
        case ast.arg(annotation=ast.expr() as annotation):
            yield annotation
        case ast.AnnAssign():
            yield node.annotation
            if node.value and "TypeAlias" in _text(node.annotation):
                yield node.value
        case ast.match_case():
            yield node.pattern
        case _:
            pass


def _left_alone(node: ast.AST) -> Iterator[ast.AST]:
    match node:
        case ast.Assign() if all(name.startswith("__") for name in _bound(node)):
            yield node.value
        case ast.If() if _text(node.test) in {"TYPE_CHECKING", "__name__ == '__main__'"}:
            yield from [node.test, *node.body]
        case ast.Assert(msg=ast.expr() as message):
            yield message
        case ast.keyword(arg="strict") | ast.JoinedStr() | ast.Raise():
            yield from ast.iter_child_nodes(node)
        case ast.Call(func=ast.Name("isinstance" | "issubclass" | "cast" | "TypeVar")):
            yield from (each for each in node.args if not isinstance(each, ast.Call))
        case _:
            pass


def _alternatives(node: ast.AST) -> list[ast.AST]:
    """Return what a node may be changed to; the nodes below are shared with the original."""
    if isinstance(node, ast.stmt | ast.IfExp):
        return _other_ways(node)
    match node:
        case ast.Compare(left, ops, comparators):
            return [
                ast.Compare(left, [*ops[:place], new(), *ops[place + 1 :]], comparators)
                for place, each in enumerate(ops)
                for new in _COMPARISONS[type(each)]
            ]
        case ast.BoolOp(op, values):
            return [ast.BoolOp(ast.Or() if isinstance(op, ast.And) else ast.And(), values)]
        case ast.UnaryOp(ast.Not() | ast.USub(), operand):
            return [operand]
        case ast.BinOp(left, op, right) if not any(map(_is_written_text, (left, right))):
            return (
                [ast.BinOp(left, _OPERATORS[type(op)](), right)] if type(op) in _OPERATORS else []
            )
        case ast.Constant(bool(value)):
            return [ast.Constant(not value)]
        case ast.Constant(int(value) | float(value)):
            return [ast.Constant(value + 1)]
        case _:
            return []


def _other_ways(node: ast.stmt | ast.IfExp) -> list[ast.AST]:
    """Return what to do instead of a statement, or of what depends on a condition."""
    match node:
        case ast.AugAssign(target, op, value) if not _is_written_text(value):
            new = _OPERATORS.get(type(op))
            return [] if new is None else [ast.AugAssign(target, new(), value)]
        case ast.If(test) | ast.IfExp(test):
            always = ast.BoolOp(ast.Or(), [test, ast.Constant(value=True)])
            return [always, _never(test)]
        case ast.While(test) if not isinstance(test, ast.Constant):
            return [_never(test)]
        case ast.Return(ast.expr() as value) if not isinstance(value, ast.Constant):
            is_bool = isinstance(value, ast.Compare | ast.BoolOp) or (
                isinstance(value, ast.UnaryOp) and isinstance(value.op, ast.Not)
            )
            return [ast.Return(ast.UnaryOp(ast.Not(), value) if is_bool else ast.Constant(None))]
        case ast.Expr(ast.Call() | ast.Await() as value):
            return [] if _text(value).startswith("assert_never") else [ast.Pass()]
        case _:
            return []


def _compared_texts(node: ast.AST) -> list[ast.expr]:
    """Return the texts in a node that others are held against: texts in tables and comparisons."""
    match node:
        case ast.Set(elts):
            found = elts
        case ast.Dict(keys):
            found = [each for each in keys if each is not None]
        case ast.Compare(left, _, comparators):
            tables = [each for each in comparators if isinstance(each, (ast.Tuple, ast.List))]
            found = [left, *comparators, *(each for table in tables for each in table.elts)]
        case _:
            found = []
    return [e for e in found if isinstance(e, ast.Constant) and isinstance(e.value, str)]


def _never(test: ast.expr) -> ast.expr:
    return ast.BoolOp(ast.And(), [test, ast.Constant(value=False)])


def _text(node: ast.AST) -> str:
    """Return how a node reads; of one with statements below, its head."""
    if isinstance(node, (ast.If, ast.IfExp, ast.While)):
        return f"{'while' if isinstance(node, ast.While) else 'if'} {ast.unparse(node.test)}"
    return ast.unparse(node)


class _Embedder(ast.NodeTransformer):
    """Puts alternatives beside the original; those within an alternative are never needed."""

    def __init__(self, chosen: Mapping[ast.AST, tuple[int, ast.AST]]) -> None:
        self._chosen = chosen

    def visit(self, node: ast.AST) -> ast.AST:
        visited = self.generic_visit(node)
        if node not in self._chosen:
            return visited
        number, alternative = self._chosen[node]
        switch = _switch(number)
        if isinstance(visited, (ast.If, ast.IfExp, ast.While)):
            visited.test = ast.IfExp(switch, cast("ast.expr", alternative), visited.test)
            return visited
        if isinstance(visited, ast.stmt):
            return ast.If(switch, [cast("ast.stmt", alternative)], [visited])
        return ast.IfExp(switch, cast("ast.expr", alternative), cast("ast.expr", visited))


def _note_uses(trees: Mapping[str, ast.Module], constants: Mapping[int, tuple[str, str]]) -> None:
    """Have functions note the mutants whose constants they use: tests reach them that way."""
    functions = [
        (file, each, _mentioned(each))
        for file, tree in trees.items()
        for each in ast.walk(tree)
        if isinstance(each, _Function)
    ]
    statements = [
        (set(_bound(each)), _mentioned(each))
        for tree in trees.values()
        for each in _at_import(tree)
        if isinstance(each, (ast.Assign, ast.AnnAssign))
    ]
    for number, (file, name) in constants.items():
        names = {name}
        while more := {b for bound, used in statements if used & names for b in bound} - names:
            names |= more
        users = [each for _, each, used in functions if used & names or each.name == name]
        if not name or not users or len(users) > _MAX_USERS:
            users = [each for own, each, _ in functions if own == file]
        for each in users:
            place = 1 if _is_docstring(each.body[0]) else 0
            each.body.insert(place, ast.Expr(_switch(number)))


def _at_import(node: ast.AST) -> Iterator[ast.AST]:
    for child in ast.iter_child_nodes(node):
        yield child
        if not isinstance(child, _Function):
            yield from _at_import(child)


def _mentioned(node: ast.AST) -> set[str]:
    names = {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}
    return names | {each.attr for each in ast.walk(node) if isinstance(each, ast.Attribute)}


def _bound(node: ast.Assign | ast.AnnAssign) -> list[str]:
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    return [each.id for each in targets if isinstance(each, ast.Name)]


def _switch(number: int) -> ast.Call:
    return ast.Call(ast.Name(SWITCH, ast.Load()), [ast.Constant(number)], [])


def _is_written_text(node: ast.expr) -> bool:
    return isinstance(node, ast.JoinedStr) or (
        isinstance(node, ast.Constant) and isinstance(node.value, (str, bytes))
    )


def _is_docstring(node: ast.AST | None) -> bool:
    return isinstance(node, ast.Expr) and _is_written_text(node.value)


def _is_future(node: ast.AST | None) -> bool:
    return isinstance(node, ast.ImportFrom) and node.module == "__future__"
