"""Statements → simple commands, in the order and surroundings in which they would run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, Protocol

from tree_sitter import Node

from interlock.policy.actions.shell.commands import Frame, Redirect
from interlock.policy.actions.shell.expand import Expander
from interlock.policy.actions.shell.provenance import NOTHING, UNSEEN, Stream, joined
from interlock.policy.actions.shell.scope import Function, Scope
from interlock.policy.actions.shell.syntax import Tree, parse
from interlock.policy.actions.shell.words import Word, literal

_MAX_ROUNDS: Final = 3
"""How many values of a loop are followed: more of the same kind teach nothing new."""
_WORD_KINDS: Final = frozenset((
    "word", "number", "string", "raw_string", "ansi_c_string", "translated_string", "concatenation", "simple_expansion",
    "expansion", "command_substitution", "process_substitution", "arithmetic_expansion", "brace_expression", "regex",
))  # fmt: skip
_SEPARATORS: Final = frozenset((";", "\n", ";;", "&&", "||", "{", "}", "(", ")", "do", "done", "then", "fi", "esac", "in"))


class Simple:
    """A simple command as written: words expanded, not yet resolved."""

    __slots__ = ("argv", "assignments", "declares", "redirects", "stdin", "text")

    def __init__(self, argv: list[Word], text: str) -> None:
        self.argv = argv
        self.text = text
        self.assignments: list[tuple[str, Word]] = []
        self.redirects: list[Redirect] = []
        self.stdin: Stream | None = None
        self.declares = False
        """Whether the assignments are the command's own work, as in `export A=b`."""


class _Redirections:
    """What stands around a command: redirections, what they feed in, and stray words."""

    __slots__ = ("redirects", "stdin", "words")

    def __init__(self) -> None:
        self.redirects: list[Redirect] = []
        self.stdin: Stream | None = None
        self.words: list[Word] = []


class Runner(Protocol):
    """Resolves simple commands; returns what they print."""

    def invoke(self, simple: Simple, scope: Scope, frame: Frame) -> Stream: ...

    def give_up(self, reason: str, text: str) -> None:
        """Note that a part could not be followed."""


class Walker:
    """Follows a syntax tree statement by statement."""

    __slots__ = ("_nesting", "_runner", "_steps_left")

    def __init__(self, runner: Runner, *, nesting: int, steps: int) -> None:
        self._runner = runner
        self._nesting = nesting
        self._steps_left = steps

    def run_text(self, text: str, scope: Scope, frame: Frame) -> Stream:
        """Follow a whole command line."""
        tree = parse(text)
        if tree.broken:
            self._runner.give_up("it is not a complete shell command", text)
        return self.run(tree, tree.root, scope, frame)

    def run(self, tree: Tree, node: Node, scope: Scope, frame: Frame) -> Stream:
        """Follow one statement and return what it prints."""
        if frame.depth > self._nesting:
            self._runner.give_up(f"it is nested deeper than {self._nesting} levels", tree.text(node))
            return UNSEEN
        self._steps_left -= 1
        if self._steps_left < 0:
            if self._steps_left == -1:
                self._runner.give_up("it is too long to follow to its end", tree.text(node))
            return UNSEEN
        handler = _HANDLERS.get(node.type)
        return handler(self, tree, node, scope, frame) if handler else NOTHING

    def capture(self, tree: Tree, node: Node, scope: Scope, frame: Frame) -> Stream:
        """Follow the inside of a substitution and return what it prints."""
        inner = Frame(frame.stdin, False, frame.depth + 1, frame.via)
        return self._sequence(tree, node, scope.copy(), inner)

    def expander(self, tree: Tree, scope: Scope, frame: Frame) -> Expander:
        """Return the expander for words in these surroundings."""
        return Expander(tree, scope, lambda tree, node, scope: self.capture(tree, node, scope, frame))

    def _sequence(self, tree: Tree, node: Node, scope: Scope, frame: Frame) -> Stream:
        """Statements one after the other; `&` sends the one before it to the background."""
        printed: list[Stream] = []
        children = node.children
        for index, child in enumerate(children):
            if not child.is_named or child.type in _SEPARATORS:
                if child.type == "<" and node.type == "command_substitution":
                    continue
            elif child.type == "file_redirect":
                printed.append(self._bare_read(tree, child, scope, frame))
            else:
                background = index + 1 < len(children) and children[index + 1].type == "&"
                inner = _in_background(frame) if background else frame
                printed.append(self.run(tree, child, scope, inner))
        return joined(printed) if printed else NOTHING

    def _bare_read(self, tree: Tree, node: Node, scope: Scope, frame: Frame) -> Stream:
        """`$(< file)` prints the file."""
        simple = Simple([literal("cat")], tree.text(node))
        simple.redirects = self._redirections(tree, [node], scope, frame).redirects
        return self._runner.invoke(simple, scope, frame)

    def _list(self, tree: Tree, node: Node, scope: Scope, frame: Frame) -> Stream:
        """`a && b || c`, which nests to the left: unrolled, because it can be very long."""
        parts: list[Node] = []
        current = node
        while current.type == "list":
            children = current.children
            parts.extend(child for child in reversed(children[1:]) if child.is_named)
            current = children[0]
        parts.append(current)
        return joined([self.run(tree, part, scope, frame) for part in reversed(parts)])

    def _pipeline(self, tree: Tree, node: Node, scope: Scope, frame: Frame) -> Stream:
        parts = [child for child in node.children if child.is_named]
        return self._piped(tree, parts, scope, frame, frame.stdin)

    def _piped(self, tree: Tree, parts: Sequence[Node], scope: Scope, frame: Frame, stdin: Stream) -> Stream:
        stream = stdin
        for index, part in enumerate(parts):
            last = index == len(parts) - 1
            # The last part may run in the shell itself (`lastpipe`): its variables count.
            inner_scope = scope if last else scope.copy()
            inner = Frame(stream, frame.printed and last, frame.depth, frame.via, frame.background)
            stream = self.run(tree, part, inner_scope, inner)
        return stream

    def _subshell(self, tree: Tree, node: Node, scope: Scope, frame: Frame) -> Stream:
        return self._sequence(tree, node, scope.copy(), _deeper(frame))

    def _group(self, tree: Tree, node: Node, scope: Scope, frame: Frame) -> Stream:
        return self._sequence(tree, node, scope, _deeper(frame))

    def _redirected(self, tree: Tree, node: Node, scope: Scope, frame: Frame) -> Stream:
        """A statement with redirections around it."""
        body = node.child_by_field_name("body")
        redirect_nodes = node.children_by_field_name("redirect")
        found = self._redirections(tree, redirect_nodes, scope, frame)
        stdin = frame.stdin if found.stdin is None else found.stdin
        printed_here = frame.printed and not _takes_output(found.redirects)
        inner = Frame(stdin, printed_here, frame.depth, frame.via, frame.background)
        if body is None:
            printed = self._invoke_bare(tree, node, found, scope, inner)
        elif body.type == "command":
            printed = self._command(tree, body, scope, inner, found)
        else:
            printed = self.run(tree, body, scope, inner)
            self._store(found.redirects, printed, tree.text(node), scope, inner)
        return self._after_heredoc(tree, redirect_nodes, scope, frame, printed)

    def _invoke_bare(self, tree: Tree, node: Node, found: _Redirections, scope: Scope, frame: Frame) -> Stream:
        """`> file` alone, or `< file command`, which the grammar reads as a bare redirection."""
        simple = Simple(found.words, tree.text(node))
        simple.redirects = found.redirects
        return self._runner.invoke(simple, scope, frame)

    def _store(self, redirects: list[Redirect], printed: Stream, text: str, scope: Scope, frame: Frame) -> None:
        """A group's output goes where its redirections say."""
        if redirects:
            simple = Simple([literal("cat")], text)
            simple.redirects = redirects
            simple.stdin = printed
            self._runner.invoke(simple, scope, frame)

    def _after_heredoc(self, tree: Tree, nodes: Sequence[Node], scope: Scope, frame: Frame, printed: Stream) -> Stream:
        """What stands behind `<<EOF` on the same line: a pipe, or more statements."""
        for node in nodes:
            if node.type != "heredoc_redirect":
                continue
            for child in node.children:
                if child.type == "pipeline":
                    parts = [part for part in child.children if part.is_named]
                    printed = self._piped(tree, parts, scope, frame, printed)
                elif child.type in _HANDLERS:
                    printed = joined([printed, self.run(tree, child, scope, frame)])
        return printed

    def _redirections(self, tree: Tree, nodes: Sequence[Node], scope: Scope, frame: Frame) -> _Redirections:
        """Read redirections: where they go, what they feed in, and which words stand behind them."""
        expander = self.expander(tree, scope, frame)
        found = _Redirections()
        for node in nodes:
            if node.type == "file_redirect":
                _read_file_redirect(tree, node, expander, found)
            elif node.type == "herestring_redirect":
                word = expander.word(node.children[-1])
                found.redirects.append(Redirect("<<<", _descriptor(tree, node), word))
                found.stdin = Stream(word.labels, word.text + "\n" if word.known else None)
            elif node.type == "heredoc_redirect":
                self._read_heredoc(tree, node, expander, found)
        return found

    def _read_heredoc(self, tree: Tree, node: Node, expander: Expander, found: _Redirections) -> None:
        stdin = self._heredoc(tree, node, expander)
        found.stdin = stdin
        found.redirects.append(Redirect("<<", _descriptor(tree, node), Word(stdin.text or "", True, False, stdin.labels)))
        for child in node.children:
            if child.type == "file_redirect":
                _read_file_redirect(tree, child, expander, found)
        for child in node.children_by_field_name("argument"):
            found.words += expander.words(child)

    def _heredoc(self, tree: Tree, node: Node, expander: Expander) -> Stream:
        """The body as text; one whose delimiter is unquoted is expanded, commands included."""
        body = next((child for child in node.children if child.type == "heredoc_body"), None)
        if body is None:
            return NOTHING
        labels = 0
        for child in body.children:
            if child.type in {"simple_expansion", "expansion", "command_substitution"}:
                labels |= expander.word(child).labels
        return Stream(labels, tree.text(body))

    def _command(self, tree: Tree, node: Node, scope: Scope, frame: Frame, outer: _Redirections | None = None) -> Stream:
        simple = Simple([], tree.text(node))
        expander = self.expander(tree, scope, frame)
        redirect_nodes: list[Node] = []
        for child in node.children:
            kind = child.type
            if kind == "command_name":
                simple.argv += expander.words(child.children[0]) if child.children else []
            elif kind == "variable_assignment":
                simple.assignments.append(self._assignment(tree, child, expander))
            elif kind.endswith("_redirect"):
                redirect_nodes.append(child)
            elif kind in _WORD_KINDS or child.is_named:
                simple.argv += expander.words(child)
        if redirect_nodes:
            own = self._redirections(tree, redirect_nodes, scope, frame)
            simple.stdin = own.stdin
            simple.redirects += own.redirects
            simple.argv += own.words
        if outer is not None:
            simple.redirects += outer.redirects
            simple.argv += outer.words
        return self._runner.invoke(simple, scope, frame)

    def _assignment(self, tree: Tree, node: Node, expander: Expander) -> tuple[str, Word]:
        name = node.child_by_field_name("name")
        value = node.child_by_field_name("value")
        key = "" if name is None else tree.text(name)
        return key, literal("") if value is None else expander.word(value)

    def _assign(self, tree: Tree, node: Node, scope: Scope, frame: Frame) -> Stream:
        expander = self.expander(tree, scope, frame)
        value = node.child_by_field_name("value")
        name = node.child_by_field_name("name")
        if value is not None and value.type == "array" and name is not None:
            items = [word for child in value.named_children for word in expander.words(child)]
            scope.lists[tree.text(name)] = items
            return NOTHING
        scope.assign(*self._assignment(tree, node, expander))
        return NOTHING

    def _assign_many(self, tree: Tree, node: Node, scope: Scope, frame: Frame) -> Stream:
        for child in node.named_children:
            self._assign(tree, child, scope, frame)
        return NOTHING

    def _declaration(self, tree: Tree, node: Node, scope: Scope, frame: Frame) -> Stream:
        """`export A=b`, `declare -n R=T`, `readonly X=y`: assignments with attributes."""
        keyword = tree.text(node.children[0])
        expander = self.expander(tree, scope, frame)
        simple = Simple([literal(keyword)], tree.text(node))
        simple.declares = True
        for child in node.children[1:]:
            if child.type == "variable_assignment":
                self._assign(tree, child, scope, frame)
                name, value = self._assignment(tree, child, expander)
                simple.assignments.append((name, value))
                simple.argv.append(Word(f"{name}={value.text}", value.known, False, value.labels))
            elif child.is_named:
                simple.argv += expander.words(child)
        return self._runner.invoke(simple, scope, frame)

    def _unset(self, tree: Tree, node: Node, scope: Scope, frame: Frame) -> Stream:
        words = [tree.text(child) for child in node.named_children]
        if "-f" not in words:
            for word in words:
                scope.unset(word)
        return NOTHING

    def _function(self, tree: Tree, node: Node, scope: Scope, frame: Frame) -> Stream:
        name = node.child_by_field_name("name")
        body = node.child_by_field_name("body")
        if name is not None and body is not None:
            # The whole definition is kept: its own redirections belong to every call.
            scope.functions[tree.text(name)] = Function(tree, node)
            if tree.text(name) == "command_not_found_handle":
                return self.run_body(Function(tree, node), scope, frame)
        return NOTHING

    def run_body(self, function: Function, scope: Scope, frame: Frame) -> Stream:
        """Follow a function's body as a call would."""
        body = function.body.child_by_field_name("body")
        if body is None:
            return NOTHING
        nodes = [child for child in function.body.children if child.type.endswith("_redirect")]
        found = self._redirections(function.tree, nodes, scope, frame)
        printed = self.run(function.tree, body, scope, _deeper(frame))
        self._store(found.redirects, printed, function.tree.text(function.body), scope, frame)
        return printed

    def _for(self, tree: Tree, node: Node, scope: Scope, frame: Frame) -> Stream:
        variable = node.child_by_field_name("variable")
        body = node.child_by_field_name("body")
        expander = self.expander(tree, scope, frame)
        values = [word for child in node.children_by_field_name("value") for word in expander.words(child)]
        if body is None or variable is None:
            return NOTHING
        name = tree.text(variable)
        rounds = values[:_MAX_ROUNDS] or [Word(f"${name}", False)]
        printed: list[Stream] = []
        for value in rounds:
            # A glob stands for names that only the run knows.
            scope.assign(name, Word(value.text, value.known and not value.glob, value.glob, value.labels))
            printed.append(self._group(tree, body, scope, frame))
        return joined(printed)

    def _while(self, tree: Tree, node: Node, scope: Scope, frame: Frame) -> Stream:
        return self._all_parts(tree, node, scope, _deeper(frame))

    def _all_parts(self, tree: Tree, node: Node, scope: Scope, frame: Frame) -> Stream:
        """Every branch may run, so every branch counts."""
        printed = [self.run(tree, child, scope, frame) for child in node.named_children]
        return joined(printed) if printed else NOTHING

    def _test(self, tree: Tree, node: Node, scope: Scope, frame: Frame) -> Stream:
        """A test runs nothing but what is substituted into it."""
        pending = list(node.named_children)
        while pending:
            current = pending.pop()
            if current.type in {"command_substitution", "process_substitution"}:
                self.capture(tree, current, scope, frame)
            else:
                pending.extend(current.named_children)
        return NOTHING


def _read_file_redirect(tree: Tree, node: Node, expander: Expander, found: _Redirections) -> None:
    """The first word behind the operator is the target; the grammar puts the command's own
    later words there too, as in `rm > log -rf /`."""
    operator = ""
    target: Word | None = None
    for child in node.children:
        if child.type == "file_descriptor":
            continue
        if not child.is_named or child.type == "ERROR":
            operator = operator or tree.text(child).strip()
        elif target is None:
            target = expander.word(child)
        else:
            found.words += expander.words(child)
    found.redirects.append(Redirect(operator, _descriptor(tree, node), target or literal("")))


def _descriptor(tree: Tree, node: Node) -> str:
    return next((tree.text(child) for child in node.children if child.type == "file_descriptor"), "")


def _takes_output(redirects: list[Redirect]) -> bool:
    return any(redirect.writes and redirect.descriptor in {"", "1"} for redirect in redirects)


def _deeper(frame: Frame) -> Frame:
    return Frame(frame.stdin, frame.printed, frame.depth + 1, frame.via, frame.background)


def _in_background(frame: Frame) -> Frame:
    return Frame(frame.stdin, frame.printed, frame.depth, frame.via, True)


Handler = Callable[[Walker, Tree, Node, Scope, Frame], Stream]

# The table of the Walker's own methods, by the kinds of node the grammar knows.
# ruff: noqa: SLF001
_HANDLERS: Final[dict[str, Handler]] = {
    "program": Walker._sequence,
    "list": Walker._list,
    "pipeline": Walker._pipeline,
    "subshell": Walker._subshell,
    "compound_statement": Walker._group,
    "do_group": Walker._group,
    "redirected_statement": Walker._redirected,
    "command": Walker._command,
    "negated_command": Walker._all_parts,
    "variable_assignment": Walker._assign,
    "variable_assignments": Walker._assign_many,
    "declaration_command": Walker._declaration,
    "unset_command": Walker._unset,
    "function_definition": Walker._function,
    "if_statement": Walker._while,
    "elif_clause": Walker._all_parts,
    "else_clause": Walker._all_parts,
    "case_statement": Walker._while,
    "case_item": Walker._sequence,
    "for_statement": Walker._for,
    "c_style_for_statement": Walker._while,
    "while_statement": Walker._while,
    "test_command": Walker._test,
    "command_substitution": Walker.capture,
    "process_substitution": Walker.capture,
    "ERROR": Walker._all_parts,
}
