"""Statements → simple commands, in the order and surroundings in which they would run."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, ClassVar, Final

from interlock.commands.shell.command import Frame, SimpleCommand, Unresolved
from interlock.commands.shell.expansion import Expander
from interlock.commands.shell.plain_lines import plain_pipelines
from interlock.commands.shell.provenance import NOTHING, UNSEEN, Stream, joined
from interlock.commands.shell.scope import Function, Scope
from interlock.commands.shell.syntax import (
    Tree,
    parse,
    parsed_length,
    part,
    parts_of_list,
    unfolded,
)
from interlock.commands.shell.words import Word, literal, unknown

if TYPE_CHECKING:
    from tree_sitter import Node

_REDIRECT_KINDS: Final = frozenset(("file_redirect", "herestring_redirect", "heredoc_redirect"))
_MAX_STEPS: Final = 4000
_MAX_SHOWN: Final = 20_000


class Walker(ABC):
    """Follows command lines statement by statement; whoever extends it runs simple commands."""

    def __init__(self, *, nesting: int, text: int, longest: int) -> None:
        self.unresolved: list[Unresolved] = []
        self._nesting = nesting
        self._steps_left = _MAX_STEPS
        self._text_left = text
        self._longest = longest

    @abstractmethod
    def invoke(self, simple: SimpleCommand, scope: Scope, frame: Frame) -> Stream:
        """Resolve a simple command, note what it does, and return what it prints."""

    @abstractmethod
    def note_assignment(
        self, name: str, value: Word, text: str, scope: Scope, frame: Frame
    ) -> None:
        """Note a variable that is set for whatever follows, where that says something."""

    def give_up(self, reason: str, text: str, *, too_much: bool = False) -> None:
        """Note that a part of the line could not be followed."""
        # Cut far behind what is ever shown: credentials are taken out before the real cut.
        shown = text[:_MAX_SHOWN]
        self.unresolved.append(Unresolved(reason=reason, text=shown, too_much=too_much))

    def affords(self, text: str) -> bool:
        """Whether there is room to read a nested text of this length; it is used up then."""
        self._text_left -= len(text)
        if self._text_left < 0:
            self.give_up("what it runs in turn is too long", text, too_much=True)
        return self._text_left >= 0

    def run_text(self, text: str, scope: Scope, frame: Frame) -> Stream:
        """Follow a whole command line."""
        if not self.affords(text):
            return UNSEEN
        if len(text) > self._longest and parsed_length(text) > self._longest:
            self.give_up("what it runs in turn is too long", text, too_much=True)
            return UNSEEN
        return self.run_part(text, scope, frame, is_whole=True)

    def run_part(self, text: str, scope: Scope, frame: Frame, *, is_whole: bool = False) -> Stream:
        """Follow a line, or a part of one that is known not to be complete."""
        pipelines = plain_pipelines(text)
        if pipelines is not None:
            return self.run_plain(pipelines, scope, frame)
        tree = parse(text)
        if tree.broken and is_whole:
            self.give_up("it is not a complete shell command", text)
        return self.run(tree, tree.root, scope, frame)

    def run_plain(
        self, pipelines: Sequence[Sequence[SimpleCommand]], scope: Scope, frame: Frame
    ) -> Stream:
        """Follow pipelines that were read without the grammar."""
        return joined([self._run_plain_pipeline(each, scope, frame) for each in pipelines])

    def _run_plain_pipeline(
        self, pipeline: Sequence[SimpleCommand], scope: Scope, frame: Frame
    ) -> Stream:
        *stages, last = pipeline
        if not stages:
            return self.invoke(last, scope, frame)
        unseen = frame.unseen()
        stream = self.invoke(stages[0], scope.copy(), unseen)
        for simple in stages[1:]:
            stream = self.invoke(simple, scope.copy(), unseen.behind_pipe(stream))
        return self.invoke(last, scope, frame.behind_pipe(stream))

    def run(self, tree: Tree, node: Node, scope: Scope, frame: Frame) -> Stream:
        """Follow one statement and return what it prints."""
        handler = self._BY_KIND.get(node.type)
        if handler is None:
            return NOTHING
        if frame.depth > self._nesting:
            self.give_up(
                f"it is nested deeper than {self._nesting} levels", tree.text(node), too_much=True
            )
            return UNSEEN
        self._steps_left -= 1
        if self._steps_left < 0:
            if self._steps_left == -1:
                self.give_up("it is too long to follow to its end", tree.text(node), too_much=True)
            return UNSEEN
        return handler(self, tree, node, scope, frame)

    def run_body(self, function: Function, scope: Scope, frame: Frame) -> Stream:
        """Follow a function's body as a call would."""
        body = part(function.node, "body")
        tree = function.tree
        nodes = [child for child in function.node.children if child.type in _REDIRECT_KINDS]
        expander = self._expander(tree, scope, frame)
        found = expander.redirections(nodes, tree.text(function.node))
        printed = self.run(tree, body, scope, frame.deeper())
        self._store(found, printed, scope, frame)
        return printed

    def _expander(self, tree: Tree, scope: Scope, frame: Frame) -> Expander:
        return Expander(
            tree, scope, lambda tree, node, scope: self._substituted(tree, node, scope, frame)
        )

    def _substituted(self, tree: Tree, node: Node, scope: Scope, frame: Frame) -> Stream:
        """Follow the inside of a substitution and return what it prints."""
        inner = frame.unseen().deeper()
        if inner.depth > self._nesting:
            return self.run(tree, tree.root, scope, inner)
        text = tree.text(node).lstrip()
        if text.startswith("`") and "\\`" in text:
            return self.run_text(text[1:-1].replace("\\`", "`"), scope.copy(), inner)
        return self._sequence(tree, node, scope.copy(), inner)

    def _sequence(self, tree: Tree, node: Node, scope: Scope, frame: Frame) -> Stream:
        """Statements one after the other; `&` sends the one before it to the background."""
        printed: list[Stream] = []
        children = node.children
        for index, child in enumerate(children):
            if child.type == "file_redirect":
                printed.append(self._bare_read(tree, child, scope, frame))
            elif child.is_named:
                background = index + 1 < len(children) and children[index + 1].type == "&"
                inner = frame.in_background() if background else frame
                printed.append(self.run(tree, child, scope, inner))
        return joined(printed) if printed else NOTHING

    def _bare_read(self, tree: Tree, node: Node, scope: Scope, frame: Frame) -> Stream:
        """`$(< file)` prints the file."""
        simple = self._expander(tree, scope, frame).redirections([node], tree.text(node))
        simple.argv = [literal("cat")]
        return self.invoke(simple, scope, frame)

    def _list(self, tree: Tree, node: Node, scope: Scope, frame: Frame) -> Stream:
        """`a && b || c`: whether a part runs is not known, so every part counts."""
        first, *others = parts_of_list(node)
        printed = [self.run(tree, first, scope, frame)]
        printed += [self.run(tree, piece, scope, frame.perhaps()) for piece in others]
        return joined(printed)

    def _pipeline(self, tree: Tree, node: Node, scope: Scope, frame: Frame) -> Stream:
        """`a | b | c`; the grammar puts the `x &&` of `x && a 2>&1 | b` into the first part."""
        first, *rest = [child for child in node.children if child.is_named]
        before, first, redirects = unfolded(first)
        printed = [self.run(tree, piece, scope, frame) for piece in before]
        stage = frame.unseen()
        if redirects:
            stream = self._with_redirects(tree, first, redirects, scope.copy(), stage)
        else:
            stream = self.run(tree, first, scope.copy(), stage)
        printed.append(self._piped(tree, rest, scope, frame.behind_pipe(stream)))
        return joined(printed)

    def _piped(self, tree: Tree, parts: Sequence[Node], scope: Scope, frame: Frame) -> Stream:
        """Send what flows in through the parts, one after the other."""
        unseen = frame.unseen()
        stream = frame.stdin
        for piece in parts[:-1]:
            stream = self.run(tree, piece, scope.copy(), unseen.behind_pipe(stream))
        # The last part may run in the shell itself (`lastpipe`), so its variables count.
        return self.run(tree, parts[-1], scope, frame.behind_pipe(stream)) if parts else stream

    def _subshell(self, tree: Tree, node: Node, scope: Scope, frame: Frame) -> Stream:
        return self._sequence(tree, node, scope.copy(), frame.deeper())

    def _group(self, tree: Tree, node: Node, scope: Scope, frame: Frame) -> Stream:
        return self._sequence(tree, node, scope, frame.deeper())

    def _redirected(self, tree: Tree, node: Node, scope: Scope, frame: Frame) -> Stream:
        """Redirections bind to the last simple command, though the grammar wraps them wider."""
        before, body, redirects = unfolded(node)
        printed = [self.run(tree, piece, scope, frame) for piece in before]
        printed.append(self._with_redirects(tree, body, redirects, scope, frame))
        return joined(printed)

    def _with_redirects(
        self, tree: Tree, body: Node, nodes: Sequence[Node], scope: Scope, frame: Frame
    ) -> Stream:
        """Run one statement with its redirections; a bare redirection is its own statement."""
        if body.type == "pipeline":
            *parts, body = [child for child in body.children if child.is_named]
            frame = frame.behind_pipe(self._piped(tree, parts, scope.copy(), frame.unseen()))
        found = self._expander(tree, scope, frame).redirections(nodes, tree.text(body))
        inner = frame if found.stdin is None else frame.fed(found.stdin)
        if found.takes_output:
            inner = inner.unseen()
        if body.type == "redirected_statement":
            # `> file` alone, or `< file command`, which the grammar reads the same way.
            found.stdin = None
            printed = self.invoke(found, scope, inner)
        elif body.type == "command":
            printed = self._command(tree, body, scope, inner, found)
        else:
            printed = self.run(tree, body, scope, inner)
            self._store(found, printed, scope, inner)
        return self._behind_heredoc(tree, nodes, scope, frame, printed)

    def _store(self, found: SimpleCommand, printed: Stream, scope: Scope, frame: Frame) -> None:
        """A group's output goes where its redirections say."""
        if found.redirects:
            found.argv = [literal("cat")]
            found.stdin = printed
            self.invoke(found, scope, frame)

    def _behind_heredoc(
        self, tree: Tree, nodes: Sequence[Node], scope: Scope, frame: Frame, printed: Stream
    ) -> Stream:
        """What stands behind `<<EOF` on the same line: a pipe, or more statements."""
        for node in nodes:
            if node.type != "heredoc_redirect":
                continue
            for child in node.children:
                if child.type == "pipeline":
                    parts = [stage for stage in child.children if stage.is_named]
                    printed = self._piped(tree, parts, scope, frame.behind_pipe(printed))
                elif child.type in self._BY_KIND:
                    printed = joined([printed, self.run(tree, child, scope, frame)])
        return printed

    def _command(
        self, tree: Tree, node: Node, scope: Scope, frame: Frame, outer: SimpleCommand | None = None
    ) -> Stream:
        simple = SimpleCommand([], tree.text(node))
        expander = self._expander(tree, scope, frame)
        redirect_nodes: list[Node] = []
        for child in node.children:
            kind = child.type
            if kind == "command_name":
                simple.argv += expander.words(child.children[0])
            elif kind == "variable_assignment":
                simple.assignments.append(_assignment(tree, child, expander))
            elif kind in _REDIRECT_KINDS:
                redirect_nodes.append(child)
            elif child.is_named:
                simple.argv += expander.words(child)
        if redirect_nodes:
            own = expander.redirections(redirect_nodes, simple.text)
            simple.stdin = own.stdin
            simple.redirects += own.redirects
            simple.argv += own.argv
        if outer is not None:
            simple.redirects += outer.redirects
            simple.argv += outer.argv
        if expander.doubtful:
            self._with_earlier_values(tree, node, scope, frame, expander.doubtful)
        return self.invoke(simple, scope, frame)

    def _with_earlier_values(
        self, tree: Tree, node: Node, scope: Scope, frame: Frame, names: Sequence[str]
    ) -> None:
        """Follow a command also with what its variables hold if an assignment did not happen."""
        earlier = scope.copy()
        for name in names:
            earlier.variables[name] = scope.doubts[name]
        earlier.doubts = {}
        self._command(tree, node, earlier, frame)

    def _assign(self, tree: Tree, node: Node, scope: Scope, frame: Frame) -> Stream:
        name, word = self._assigned(tree, node, scope, frame)
        self.note_assignment(name, word, tree.text(node), scope, frame)
        return NOTHING

    def _assigned(self, tree: Tree, node: Node, scope: Scope, frame: Frame) -> tuple[str, Word]:
        """Make an assignment; return the name, and the value as one word."""
        expander = self._expander(tree, scope, frame)
        name, word = _assignment(tree, node, expander)
        value = node.child_by_field_name("value")
        if value is not None and value.type == "array":
            items = [word for child in value.named_children for word in expander.words(child)]
            scope.lists[name] = items
        else:
            scope.assign(name, word, maybe=frame.maybe)
        return name, word

    def _declaration(self, tree: Tree, node: Node, scope: Scope, frame: Frame) -> Stream:
        """`export A=b`, `declare -n R=T`, `readonly X=y`: assignments with attributes."""
        expander = self._expander(tree, scope, frame)
        simple = SimpleCommand([literal(tree.text(node.children[0]))], tree.text(node))
        simple.declares = True
        for child in node.children[1:]:
            if child.type == "variable_assignment":
                name, value = self._assigned(tree, child, scope, frame)
                simple.assignments.append((name, value))
                simple.argv.append(
                    Word(f"{name}={value.text}", known=value.known, labels=value.labels)
                )
            else:
                simple.argv += expander.words(child)
        return self.invoke(simple, scope, frame)

    def _unset(self, tree: Tree, node: Node, scope: Scope, frame: Frame) -> Stream:
        words = [tree.text(child) for child in node.named_children]
        if "-f" not in words:
            for word in words:
                scope.unset(word)
        simple = SimpleCommand([literal("unset"), *map(literal, words)], tree.text(node))
        return self.invoke(simple, scope, frame)

    def _function(self, tree: Tree, node: Node, scope: Scope, frame: Frame) -> Stream:
        name = part(node, "name")
        function = Function(tree, node)
        scope.own().functions[tree.text(name)] = function
        if tree.text(name) == "command_not_found_handle":
            return self.run_body(function, scope, frame)
        return NOTHING

    def _for(self, tree: Tree, node: Node, scope: Scope, frame: Frame) -> Stream:
        variable = part(node, "variable")
        body = part(node, "body")
        expander = self._expander(tree, scope, frame)
        values = [
            word for child in node.children_by_field_name("value") for word in expander.words(child)
        ]
        name = tree.text(variable)
        if not values and not any(child.type == "in" for child in node.children):
            values = scope.lists.get("@", [])
        printed: list[Stream] = []
        for value in values or [unknown(f"${name}")]:
            # A glob stands for names that only the run knows.
            known = value.known and not value.glob
            scope.assign(name, Word(value.text, known=known, glob=value.glob, labels=value.labels))
            printed.append(self._group(tree, body, scope, frame))
        return joined(printed)

    def _branches(self, tree: Tree, node: Node, scope: Scope, frame: Frame) -> Stream:
        return self._all_parts(tree, node, scope, frame.deeper().perhaps())

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
                self._substituted(tree, current, scope, frame)
            else:
                pending.extend(current.named_children)
        return NOTHING

    _BY_KIND: ClassVar[dict[str, Handler]] = {
        "program": _sequence,
        "list": _list,
        "pipeline": _pipeline,
        "subshell": _subshell,
        "compound_statement": _group,
        "do_group": _group,
        "redirected_statement": _redirected,
        "command": _command,
        "negated_command": _all_parts,
        "variable_assignment": _assign,
        "variable_assignments": _all_parts,
        "declaration_command": _declaration,
        "unset_command": _unset,
        "function_definition": _function,
        "if_statement": _branches,
        "elif_clause": _all_parts,
        "else_clause": _all_parts,
        "case_statement": _branches,
        "case_item": _sequence,
        "for_statement": _for,
        "c_style_for_statement": _branches,
        "while_statement": _branches,
        "test_command": _test,
        "command_substitution": _substituted,
        "process_substitution": _substituted,
        "ERROR": _all_parts,
    }


def _assignment(tree: Tree, node: Node, expander: Expander) -> tuple[str, Word]:
    value = node.child_by_field_name("value")
    return tree.text(part(node, "name")), literal("") if value is None else expander.word(value)


Handler = Callable[[Walker, Tree, "Node", Scope, Frame], Stream]
