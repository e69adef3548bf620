"""Statements → simple commands, in the order and surroundings in which they would run."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, ClassVar, Final

from interlock.commands.shell.assignment import Assignment
from interlock.commands.shell.command import Frame, SimpleCommand, Unresolved
from interlock.commands.shell.plain_lines import plain_pipelines
from interlock.commands.shell.provenance import NOTHING, UNSEEN, Stream, joined
from interlock.commands.shell.scope import Function, Job, Scope, Shell
from interlock.commands.shell.syntax import (
    WORD_KINDS,
    Tree,
    parse,
    parsed_length,
    part,
    parts_of_list,
    unfolded,
    with_ends,
)
from interlock.commands.shell.words import Word, literal, may_run, unknown, without_hidden
from interlock.commands.values.allowance import Budget

if TYPE_CHECKING:
    from tree_sitter import Node

    from interlock.commands.shell.expansion import Expander

_NO_PROGRAM: Final = re.compile(r"[^/=]+=|=\d*\Z")
"""No program is called so: `_=x rm` sets a variable, whatever the grammar takes it for."""
_REDIRECT_KINDS: Final = frozenset(("file_redirect", "herestring_redirect", "heredoc_redirect"))
_MAX_SHOWN: Final = 20_000
_MAX_ROUNDS: Final = 256
"""How many values a loop is followed with, one by one."""
_KEYED: Final = re.compile(r"\[([^\]]*)\]=")
_SHAPING: Final = frozenset("iluc")


class Walker(ABC):
    """Follows command lines statement by statement; whoever extends it runs simple commands."""

    def __init__(self, *, nesting: int, longest: int, budget: Budget) -> None:
        self.unresolved: list[Unresolved] = []
        self.jobs: list[Job] = []
        self._showing: frozenset[str] = frozenset()  # programs that print what flows in
        self.budget = budget
        self._nesting = nesting
        self._longest = longest

    @abstractmethod
    def invoke(self, simple: SimpleCommand, scope: Scope, frame: Frame) -> Stream:
        """Resolve a simple command, note what it does, and return what it prints."""

    @abstractmethod
    def fed(self, simple: SimpleCommand, scope: Scope, frame: Frame) -> Frame:
        """Return the frame with what the redirections let flow in."""

    @abstractmethod
    def note_assignment(
        self, name: str, value: Word, text: str, scope: Scope, frame: Frame
    ) -> None:
        """Note a variable that is set for whatever follows, where that says something."""

    def give_up(
        self, reason: str, text: str, *, too_much: bool = False, asks: bool = False
    ) -> None:
        """Note that a part of the line could not be followed."""
        # Cut far behind what is ever shown: credentials are taken out before the real cut.
        shown = text[:_MAX_SHOWN]
        self.unresolved.append(Unresolved(reason=reason, text=shown, too_much=too_much, asks=asks))

    def run_text(self, text: str, scope: Scope, frame: Frame) -> Stream:
        """Follow a whole command line."""
        self.budget.read(len(text))
        if frame.depth > self._nesting:
            self._too_deep(text)
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
        return self.run_tree(tree, scope, frame)

    def run_tree(self, tree: Tree, scope: Scope, frame: Frame) -> Stream:
        """Follow all of a parsed line."""
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
        shown_by = [simple.argv[0].text for simple in pipeline[1:]]
        first = frame.unseen() if last.takes_output else frame.in_front_of(shown_by, self._showing)
        stream = self.invoke(stages[0], scope.copy(), first)
        for simple in stages[1:]:
            stream = self.invoke(simple, scope.copy(), frame.unseen().behind_pipe(stream))
        return self.invoke(last, scope, frame.behind_pipe(stream))

    def run(self, tree: Tree, node: Node, scope: Scope, frame: Frame) -> Stream:
        """Follow one statement and return what it prints."""
        handler = self._BY_KIND.get(node.type)
        if handler is None:
            return NOTHING
        if frame.depth > self._nesting:
            self._too_deep(tree.text(node))
            return UNSEEN
        self.budget.statement()
        return handler(self, tree, node, scope, frame)

    def run_body(self, function: Function, scope: Scope, frame: Frame) -> Stream:
        """Follow a function's body as a call would."""
        body = part(function.node, "body")
        tree = function.tree
        nodes = [child for child in function.node.children if child.type in _REDIRECT_KINDS]
        expander = self._expander(tree, scope, frame)
        found = expander.redirections(nodes, tree.text(function.node))
        for earlier in scope.with_doubts(expander.doubtful):
            self.run_body(function, earlier, frame)
        printed = self.run(tree, body, scope, self._group_fed(found, scope, frame).deeper())
        self._store(found, printed, scope, frame)
        return printed

    def _expander(self, tree: Tree, scope: Scope, frame: Frame) -> Expander:
        from interlock.commands.shell.expansion import Expander  # noqa: PLC0415 - a plain line needs none

        return Expander(tree, self._shell(scope, frame))

    def _shell(self, scope: Scope, frame: Frame) -> Shell:
        return Shell(
            scope,
            partial(self._substituted, frame=frame),
            self.budget,
            {},
            frame.maybe,
        )

    def looked_into(self, text: str, scope: Scope, frame: Frame) -> None:
        """Follow the commands in a text that is expanded without being a word of the line."""
        from interlock.commands.shell.word_reader import TEXT, WordReader  # noqa: PLC0415 - the same

        WordReader(text, self._shell(scope, frame)).pieces(TEXT)

    def computed(self, expression: str, scope: Scope, frame: Frame) -> Word:
        """Return what an expression of numbers comes to; what it changes is changed."""
        from interlock.commands.shell.word_reader import WordReader  # noqa: PLC0415 - the same

        return WordReader(expression, self._shell(scope, frame)).computed(expression)

    def _substituted(self, inside: Function | str, scope: Scope, frame: Frame) -> Stream:
        """Follow the inside of a substitution and return what it prints."""
        inner = frame.unseen().deeper()
        if inner.depth > self._nesting:
            text = inside if isinstance(inside, str) else inside.tree.text(inside.node)
            self._too_deep(text)
            return UNSEEN
        if isinstance(inside, str):
            return self.run_text(inside, scope.copy(), inner)
        tree, node = inside
        text = tree.text(node).lstrip()
        if text.startswith("`") and "\\" in text:
            return self.run_text(without_hidden(text[1:-1]), scope.copy(), inner)
        return self._sequence(tree, node, scope.copy(), inner)

    def _too_deep(self, text: str) -> None:
        self.give_up(f"it is nested deeper than {self._nesting} levels", text, too_much=True)

    def _run_substitution(self, tree: Tree, node: Node, scope: Scope, frame: Frame) -> Stream:
        return self._substituted(Function(tree, node), scope, frame)

    def _sequence(self, tree: Tree, node: Node, scope: Scope, frame: Frame) -> Stream:
        """Statements one after the other; `&` sends the one before it to the background."""
        printed: list[Stream] = []
        for child, behind in zip(node.children, [*node.children[1:], None], strict=False):
            if child.type == "file_redirect":
                printed.append(self._bare_read(tree, child, scope, frame))
            elif behind is not None and behind.type == "&":
                # What runs in the background is a shell of its own.
                job = partial(self.run, tree, child, frame=frame.in_background())
                self.jobs.append(Job(job, scope.copy(), scope.files.copy()))
                printed.append(job(scope.copy()))
            elif child.is_named:
                printed.append(self.run(tree, child, scope, frame))
        return joined(printed) if printed else NOTHING

    def _bare_read(self, tree: Tree, node: Node, scope: Scope, frame: Frame) -> Stream:
        """`$(< file)` prints the file."""
        expander = self._expander(tree, scope, frame)
        simple = expander.redirections([node], tree.text(node))
        simple.argv = [literal("cat")]
        for earlier in scope.with_doubts(expander.doubtful):
            self._bare_read(tree, node, earlier, frame)
        return self.invoke(simple, scope, frame)

    def _list(self, tree: Tree, node: Node, scope: Scope, frame: Frame) -> Stream:
        """`a && b || c`: whether a part runs is not known, so every part counts."""
        first, *others = parts_of_list(node)
        printed = [self.run(tree, first, scope, frame)]
        before = scope.arrays()
        printed += [self.run(tree, piece, scope, frame.perhaps()) for piece in others]
        scope.doubt_arrays(before)
        return joined(printed)

    def _pipeline(self, tree: Tree, node: Node, scope: Scope, frame: Frame) -> Stream:
        """`a | b | c`; the grammar puts the `x &&` of `x && a 2>&1 | b` into the first part."""
        first, *rest = [child for child in node.children if child.is_named]
        before, first, redirects = unfolded(first)
        printed = [self.run(tree, piece, scope, frame) for piece in before]
        # A part that is missing, as in `env | # all`, has no name.
        names = [" ".join(tree.text(piece).split(None, 1)[:1]) for piece in rest]
        stage = frame.in_front_of(names, self._showing)
        if redirects:
            stream = self._with_redirects(tree, first, redirects, scope.copy(), stage)
        else:
            stream = self.run(tree, first, scope.copy(), stage)
        return joined([*printed, self._piped(tree, rest, scope, frame.behind_pipe(stream))])

    def _piped(self, tree: Tree, parts: Sequence[Node], scope: Scope, frame: Frame) -> Stream:
        """Send what flows in through the parts, one after the other."""
        unseen = frame.unseen()
        stream = frame.stdin
        for piece in parts[:-1]:
            stream = self.run(tree, piece, scope.copy(), unseen.behind_pipe(stream))
        # Whether the last part runs in the shell itself (`lastpipe`) is not known.
        before = scope.arrays()
        last = frame.behind_pipe(stream).perhaps()
        printed = self.run(tree, parts[-1], scope, last) if parts else stream
        scope.doubt_arrays(before)
        return printed

    def _subshell(self, tree: Tree, node: Node, scope: Scope, frame: Frame) -> Stream:
        return self._sequence(tree, node, scope.copy(), frame.deeper())

    def _compound(self, tree: Tree, node: Node, scope: Scope, frame: Frame) -> Stream:
        """`{ ...; }`, or `((...))`, which the grammar gives the same name."""
        if node.children[0].type == "((":
            self.computed(tree.text(node)[2:-2], scope, frame)
            return NOTHING
        return self._group(tree, node, scope, frame)

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
        expander = self._expander(tree, scope, frame)
        found = expander.redirections(nodes, tree.text(body))
        for earlier in scope.with_doubts(expander.doubtful):
            self._with_redirects(tree, body, nodes, earlier, frame)
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
            printed = self.run(tree, body, scope, self._group_fed(found, scope, inner))
            self._store(found, printed, scope, inner)
        return self._behind_heredoc(tree, nodes, scope, frame, printed)

    def _group_fed(self, found: SimpleCommand, scope: Scope, frame: Frame) -> Frame:
        """A group reads and writes as `cat` does."""
        found.argv = [literal("cat")]
        return self.fed(found, scope, frame)

    def _store(self, found: SimpleCommand, printed: Stream, scope: Scope, frame: Frame) -> None:
        """A group's output goes where its redirections say; what flows in has done so."""
        found.redirects = [each for each in found.redirects if not each.flows_in]
        if found.redirects:
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
        for child, last in with_ends(tree, self._own_children(tree, node, scope, frame)):
            kind = child.type
            if kind == "variable_assignment":
                simple.assignments.append(self._prefix(tree, child, expander))
            elif kind in _REDIRECT_KINDS:
                redirect_nodes.append(child)
            elif kind == "command_name":
                simple.argv += expander.words(child.children[0], last)
            elif child.is_named:
                simple.argv += expander.words(child, last)
        while simple.argv[1:] and _NO_PROGRAM.match(simple.argv[0].text):
            del simple.argv[0]
        if redirect_nodes:
            own = expander.redirections(redirect_nodes, simple.text)
            simple.stdin = own.stdin
            simple.redirects += own.redirects
            simple.argv += own.argv
        if outer is not None:
            simple.redirects += outer.redirects
            simple.argv += outer.argv
        # The shell reads `A= rm $A/b` with what was in A before; whoever wrote it may not.
        meant = {
            name: (value,)
            for name, value in simple.assignments
            if any(f"${name}" in word.text and not word.known for word in simple.argv)
            and scope.variables.get(name) != value
        }
        for other in scope.with_doubts({**expander.doubtful, **meant}):
            self._command(tree, node, other, frame)
        return self.invoke(simple, scope, frame)

    def _own_children(self, tree: Tree, node: Node, scope: Scope, frame: Frame) -> Sequence[Node]:
        """Return what belongs to a command.

        The grammar does not end a line of several assignments, so they may be of the line before.
        """
        children = node.children
        ended = 0
        for index, (child, following) in enumerate(pairwise(children), 1):
            if child.type != "variable_assignment":
                break
            between = tree.between(child.end_byte, following.start_byte)
            if "\n" in between.replace("\\\n", ""):
                ended = index
        for each in children[:ended]:
            self._assign(tree, each, scope, frame)
        return children[ended:]

    def _assign(self, tree: Tree, node: Node, scope: Scope, frame: Frame) -> Stream:
        targets = self._targets(tree, node, scope, frame)
        self._set(targets, scope, frame)
        target = targets[0]
        self.note_assignment(target.name, target.value, tree.text(node), scope, frame)
        return NOTHING

    def _targets(
        self, tree: Tree, node: Node, scope: Scope, frame: Frame, *, keyed: bool = False
    ) -> list[Assignment]:
        """Return what an assignment would do, and then what else it may come to."""
        expander = self._expander(tree, scope, frame)
        found = [self._target(tree, node, scope, expander, keyed=keyed)]
        for earlier in scope.with_doubts(expander.doubtful):
            again = self._expander(tree, earlier, frame)
            found.append(self._target(tree, node, earlier, again, keyed=keyed))
        return found

    def _set(self, targets: Sequence[Assignment], scope: Scope, frame: Frame) -> None:
        first, *others = targets
        first.make(scope, self.budget, maybe=frame.maybe)
        for other in others:
            other.doubt(scope)

    def _prefix(self, tree: Tree, node: Node, expander: Expander) -> tuple[str, Word]:
        """`A=b command`."""
        value = node.child_by_field_name("value")
        name, bracket, inside = tree.text(part(node, "name")).partition("[")
        if bracket:
            expander.index(name, inside.removesuffix("]"))
        return name, literal("") if value is None else expander.word(value)

    def _target(
        self, tree: Tree, node: Node, scope: Scope, expander: Expander, *, keyed: bool
    ) -> Assignment:
        """Return what an assignment would do; `keyed` is one to an associative array."""
        name, bracket, inside = tree.text(part(node, "name")).partition("[")
        index = expander.index(name, inside.removesuffix("]")) if bracket else None
        adds = any(child.type == "+=" for child in node.children)
        value = node.child_by_field_name("value")
        if value is None or value.type != "array":
            word = literal("") if value is None else expander.word(value)
            return Assignment(name, word, index, adds)
        keyed = keyed or name in scope.tables
        items: list[tuple[str | None, Word]] = []
        for child in value.named_children:
            found = _KEYED.match(tree.text(child))
            if found is None:
                items += [(None, word) for word in expander.words(child)]
            else:
                key = found[1].strip("'\"") if keyed else expander.index(name, found[1])
                whole = expander.word(child)
                known = whole.known or "=" in whole.text
                text = whole.text.partition("]=")[2] if known else whole.text
                items.append((key, Word(text, whole.known, labels=whole.labels)))
        return Assignment(name, literal(""), index, adds, tuple(items), keyed)

    def _declaration(self, tree: Tree, node: Node, scope: Scope, frame: Frame) -> Stream:
        """`export A=b`, `declare -n R=T`, `readonly X=y`: assignments with attributes."""
        expander = self._expander(tree, scope, frame)
        simple = SimpleCommand([literal(tree.text(node.children[0]))], tree.text(node))
        simple.declares = True
        targets: list[list[Assignment]] = []
        flags = ""
        for child in node.children[1:]:
            if child.type == "variable_assignment":
                targets.append(self._targets(tree, child, scope, frame, keyed="A" in flags))
                target = targets[-1][0]
                value = target.value
                simple.assignments.append((target.name, value))
                simple.argv.append(
                    Word(f"{target.name}={value.text}", known=value.known, labels=value.labels)
                )
            else:
                words = expander.words(child)
                flags += "".join([word.text for word in words if word.text.startswith("-")])
                simple.argv += words
        # All words are expanded before the first name is set.
        for each in targets:
            if not _SHAPING.isdisjoint(flags):
                scope.own().shaped.add(each[0].name)
            self._set(each, scope, frame)
        return self.invoke(simple, scope, frame)

    def _unset(self, tree: Tree, node: Node, scope: Scope, frame: Frame) -> Stream:
        expander = self._expander(tree, scope, frame)
        words = [word for child in node.named_children for word in expander.words(child)]
        simple = SimpleCommand([literal("unset"), *words], tree.text(node))
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
        for earlier in scope.with_doubts(expander.doubtful):
            again = self._expander(tree, earlier, frame)
            for child in node.children_by_field_name("value"):
                values += [word for word in again.words(child) if word not in values]
        if not values and not any(child.type == "in" for child in node.children):
            values = scope.lists.get("@", [])
        if len(values) > _MAX_ROUNDS:
            values = []
        printed: list[Stream] = []
        for value in values or [unknown(f"${name}")]:
            # A glob stands for names that only the run knows.
            known = value.known and not value.glob
            given = Word(value.text, known=known, glob=value.glob, labels=value.labels)
            scope.assign(name, given)
            self.note_assignment(name, given, tree.text(node), scope, frame)
            printed.append(self._group(tree, body, scope, frame))
        return joined(printed)

    def _loop(self, tree: Tree, node: Node, scope: Scope, frame: Frame) -> Stream:
        """A loop without a list: what changes in a round is unknown in the next one."""
        inner = frame.deeper().perhaps()
        before = scope.copy()
        printed = [self._round(tree, node, scope, inner)]
        changed = scope.changes_since(before)
        if changed:
            scope.forget(changed)
            printed.append(self._round(tree, node, scope, inner))
            scope.forget(changed | scope.changes_since(before))
        return joined(printed)

    def _round(self, tree: Tree, node: Node, scope: Scope, frame: Frame) -> Stream:
        if node.type == "c_style_for_statement":
            head = tree.text(node).partition("((")[2].partition("))")[0]
            for expression in head.split(";"):
                self.computed(expression, scope, frame)
            return self.run(tree, part(node, "body"), scope, frame)
        return self._sequence(tree, node, scope, frame)

    def _case(self, tree: Tree, node: Node, scope: Scope, frame: Frame) -> Stream:
        """Every branch may run; what is compared is expanded, commands included."""
        expander = self._expander(tree, scope, frame)
        for child in node.children:
            if child.type in WORD_KINDS:
                expander.word(child)
        inner = frame.deeper().perhaps()
        items = [child for child in node.named_children if child.type == "case_item"]
        before = scope.arrays()
        printed = [self._case_item(tree, item, scope, inner) for item in items]
        scope.doubt_arrays(before)
        return joined(printed or [NOTHING])

    def _case_item(self, tree: Tree, node: Node, scope: Scope, frame: Frame) -> Stream:
        expander = self._expander(tree, scope, frame)
        for value in node.children_by_field_name("value"):
            expander.word(value)
        return self._sequence(tree, node, scope, frame)

    def _branches(self, tree: Tree, node: Node, scope: Scope, frame: Frame) -> Stream:
        """Every branch may run, so every branch counts."""
        before = scope.arrays()
        printed = self._sequence(tree, node, scope, frame.deeper().perhaps())
        scope.doubt_arrays(before)
        return printed

    def _test(self, tree: Tree, node: Node, scope: Scope, frame: Frame) -> Stream:
        """A test runs nothing but what is substituted into it, subscripts of names included."""
        expander = self._expander(tree, scope, frame)
        pending = list(node.named_children)
        while pending:
            current = pending.pop()
            if current.type in WORD_KINDS:
                text = expander.word(current).text
                if "[" in text and may_run(text):
                    self.looked_into(text, scope, frame)
            else:
                pending.extend(current.named_children)
        return NOTHING

    _BY_KIND: ClassVar[dict[str, Handler]] = {
        "program": _sequence,
        "list": _list,
        "pipeline": _pipeline,
        "subshell": _subshell,
        "compound_statement": _compound,
        "do_group": _group,
        "redirected_statement": _redirected,
        "command": _command,
        "negated_command": _sequence,
        "variable_assignment": _assign,
        "variable_assignments": _sequence,
        "declaration_command": _declaration,
        "unset_command": _unset,
        "function_definition": _function,
        "if_statement": _branches,
        "elif_clause": _sequence,
        "else_clause": _sequence,
        "case_statement": _case,
        "case_item": _case_item,
        "for_statement": _for,
        "c_style_for_statement": _loop,
        "while_statement": _loop,
        "test_command": _test,
        "command_substitution": _run_substitution,
        "process_substitution": _run_substitution,
        "ERROR": _sequence,
    }


Handler = Callable[[Walker, Tree, "Node", Scope, Frame], Stream]
