"""Word and redirection nodes → words: quotes off, variables and substitutions put in if known."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, ClassVar, Final

from interlock.commands.shell.command import Redirect, SimpleCommand
from interlock.commands.shell.provenance import Stream
from interlock.commands.shell.scope import Function, Scope
from interlock.commands.shell.syntax import Tree
from interlock.commands.shell.words import (
    Word,
    brace_expanded,
    decode_ansi_c,
    literal,
    unescape,
    unescape_double_quoted,
    unknown,
)

if TYPE_CHECKING:
    from tree_sitter import Node

Capture = Callable[["Tree", "Node", "Scope"], Stream]
"""Runs the commands inside a substitution and returns what they print."""

_GLOB_CHARS: Final = frozenset("*?[")
_SPECIAL: Final = frozenset("*?[{\\")
_BLANKS: Final = frozenset(" \t\n")
_MAX_TEXT: Final = 16384
_MAX_DEPTH: Final = 24
_LITERAL_KINDS: Final = frozenset(
    "word number variable_name test_operator extglob_pattern regex brace_expression".split()
)
_SPLIT_KINDS: Final = frozenset(("simple_expansion", "expansion", "command_substitution"))
_DEFAULTS: Final = frozenset((":-", "-", ":=", "="))
_ALTERNATIVES: Final = frozenset((":+", "+"))


class Expander:
    """Expands the words of one tree in one scope."""

    __slots__ = ("_capture", "_depth", "_scope", "_tree", "doubtful")

    def __init__(self, tree: Tree, scope: Scope, capture: Capture) -> None:
        self._tree = tree
        self._scope = scope
        self._capture = capture
        self._depth = 0
        self.doubtful: list[str] = []
        """The variables met whose value depends on what happens at run time."""

    def words(self, node: Node) -> list[Word]:
        """Return the words that a node becomes: one mostly, more after splitting or braces."""
        kind = node.type
        if kind == "word":
            raw = self._tree.text(node)
            return [Word(raw)] if _SPECIAL.isdisjoint(raw) else self._plain_words(raw)
        if kind in {"simple_expansion", "expansion"}:
            return self._split_expansion(node)
        if kind == "brace_expression":
            return self._plain_words(self._tree.text(node))
        if kind == "command_substitution":
            return _split(self.word(node))
        if kind == "concatenation":
            return self._concatenated(node)
        if kind == "string":
            listed = self._listed(node)
            return [self.word(node)] if listed is None else listed
        return [self.word(node)]

    def word(self, node: Node) -> Word:
        """Return the node as one word."""
        kind = node.type
        if kind in _LITERAL_KINDS:
            raw = self._tree.text(node)
            return Word(unescape(raw), glob=not _GLOB_CHARS.isdisjoint(raw))
        if kind == "raw_string":
            return literal(self._tree.text(node)[1:-1])
        reader = self._BY_KIND.get(kind)
        if reader is None or self._depth > _MAX_DEPTH:
            return unknown(self._tree.text(node)[:_MAX_TEXT])
        self._depth += 1
        word = reader(self, node)
        self._depth -= 1
        return word

    def redirections(self, nodes: Sequence[Node], text: str) -> SimpleCommand:
        """Return redirections in their order, what they feed in, and words that stand among them.

        As a command: its own words and assignments are not among the nodes.
        """
        found = SimpleCommand([], text)
        for node in nodes:
            if node.type == "file_redirect":
                self._file_redirect(node, found)
            elif node.type == "herestring_redirect":
                word = self.word(node.children[-1])
                found.redirects.append(Redirect("<<<", self._descriptor(node), word))
                found.stdin = Stream(word.labels, word.text + "\n" if word.known else None)
            else:
                self._heredoc_redirect(node, found)
        return found

    def _file_redirect(self, node: Node, found: SimpleCommand) -> None:
        """The first word behind the operator is the target.

        The grammar puts the command's own later words there too, as in `rm > log -rf /`.
        """
        operator = ""
        target: Word | None = None
        for child in node.children:
            if child.type == "file_descriptor":
                continue
            if not child.is_named or child.type == "ERROR":
                operator = operator or self._tree.text(child).strip()
            elif target is None:
                target = self.word(child)
            else:
                found.argv += self.words(child)
        descriptor = self._descriptor(node)
        found.redirects.append(Redirect(operator, descriptor, target or literal("")))

    def _heredoc_redirect(self, node: Node, found: SimpleCommand) -> None:
        """The body as text; one whose delimiter is unquoted is expanded, commands included."""
        body = next(child for child in node.children if child.type == "heredoc_body")
        labels = 0
        for child in body.children:
            if child.type in _SPLIT_KINDS:
                labels |= self.word(child).labels
        text = self._tree.text(body)
        text = self._tree.bodies.get(text, text)
        found.stdin = Stream(labels, text)
        found.redirects.append(Redirect("<<", self._descriptor(node), literal(text, labels)))
        for child in node.children:
            if child.type == "file_redirect":
                self._file_redirect(child, found)
        for child in node.children_by_field_name("argument"):
            found.argv += self.words(child)

    def _descriptor(self, node: Node) -> str:
        kinds = (child for child in node.children if child.type == "file_descriptor")
        return next(map(self._tree.text, kinds), "")

    def _plain_words(self, raw: str) -> list[Word]:
        glob = not _GLOB_CHARS.isdisjoint(raw)
        if "{" in raw:
            return [Word(unescape(text), glob=glob) for text in brace_expanded(raw)]
        return [Word(unescape(raw) if "\\" in raw else raw, glob=glob)]

    def _split_expansion(self, node: Node) -> list[Word]:
        name = _expanded_name(self._tree.text(node))
        if name in self._scope.lists:
            return [field for item in self._scope.lists[name] for field in _split(item)]
        return _split(self.word(node))

    def _listed(self, node: Node) -> list[Word] | None:
        """`"$@"` and `"${a[@]}"` keep one word per element."""
        text = self._tree.text(node)[1:-1]
        name = _expanded_name(text) if text.startswith("$") else ""
        return list(self._scope.lists[name]) if name in self._scope.lists else None

    def _concatenated(self, node: Node) -> list[Word]:
        parts = [(child.type, self.word(child)) for child in node.children]
        joined = _join([part for _, part in parts])
        if any(kind in _SPLIT_KINDS and not _BLANKS.isdisjoint(part.text) for kind, part in parts):
            return _split(joined)
        if not joined.text and all(kind in _SPLIT_KINDS for kind, _ in parts):
            return []
        if "{" not in joined.text:
            return [joined]
        return [
            Word(text, joined.known, joined.glob, joined.labels)
            for text in brace_expanded(joined.text)
        ]

    def _string(self, node: Node) -> Word:
        """A double-quoted string: the text between its parts counts too."""
        parts: list[Word] = []
        position = node.start_byte + 1
        for child in node.children[1:]:
            if child.start_byte > position:
                between = self._tree.between(position, child.start_byte)
                parts.append(literal(unescape_double_quoted(between)))
            position = max(position, child.end_byte)
            parts += self._string_parts(child)
        joined = _join(parts) if parts else literal("")
        return Word(joined.text, known=joined.known, labels=joined.labels)

    def _string_parts(self, child: Node) -> list[Word]:
        """Return a part of a string; blanks before a `$` or the last quote count as part of it."""
        text = self._tree.text(child)
        if child.type == '"':
            return [literal(text[:-1])]
        if child.type not in self._BY_KIND:
            return [literal(unescape_double_quoted(text))]
        blanks = text[: len(text) - len(text.lstrip())]
        word = self.word(child)
        return [literal(blanks), word] if blanks else [word]

    def _variable(self, name: str) -> Word:
        items = self._scope.lists.get(name)
        if items:
            return _join_with_blanks(items)
        value = self._scope.value(name)
        if name in self._scope.doubts:
            self.doubtful.append(name)
        return unknown(f"${name}") if value is None else value

    def _expansion(self, node: Node) -> Word:
        """`${name}` and its forms: a default counts where the name is unknown."""
        if self._tree.text(node).lstrip().startswith("${#"):
            return literal("0")
        name = ""
        index = ""
        operator = ""
        rest: list[Node] = []
        for child in node.children[1:-1]:
            if child.type in {"variable_name", "special_variable_name"} and not name:
                name = self._tree.text(child)
            elif child.type == "subscript" and not name:
                name, _, index = self._tree.text(child).partition("[")
                index = index.rstrip("]")
                self._look_inside(child)
            elif not operator and child.type not in self._BY_KIND and not child.is_named:
                operator = self._tree.text(child)
            else:
                rest.append(child)
        argument = _join([self.word(child) for child in rest]) if rest else literal("")
        return self._expanded(name, index, operator, argument)

    def _expanded(self, name: str, index: str, operator: str, argument: Word) -> Word:
        if index:
            return self._element(name, index)
        value = self._scope.value(name)
        if operator in _DEFAULTS:
            if value is None and operator in {":=", "="}:
                self._scope.assign(name, argument)
            return argument if value is None or not value.text else value
        if operator in _ALTERNATIVES:
            return argument
        if operator == "!":
            indirect = value.text if value is not None and value.known else ""
            return self._variable(indirect) if indirect else unknown(f"${name}")
        if value is None or not operator:
            return self._variable(name)
        return _cut(value, operator, argument)

    def _element(self, name: str, index: str) -> Word:
        items = self._scope.lists.get(name)
        if items is None:
            return self._variable(name)
        if index.isdigit() and int(index) < len(items):
            return items[int(index)]
        return _join_with_blanks(items) if index in {"@", "*"} else unknown(f"${name}")

    def _command_substitution(self, node: Node) -> Word:
        printed = self._capture(self._tree, node, self._scope)
        if printed.text is None:
            return unknown("$(…)", printed.labels)
        return literal(printed.text.rstrip("\n")[:_MAX_TEXT], printed.labels)

    def _process_substitution(self, node: Node) -> Word:
        printed = self._capture(self._tree, node, self._scope)
        name = f"/dev/fd/substitution-{len(self._scope.files) + len(self._scope.sinks)}"
        if self._tree.text(node).startswith(">"):
            self._scope.sinks[name] = Function(self._tree, node)
            return literal(name)
        self._scope.files[name] = printed
        return literal(name, printed.labels)

    def _arithmetic(self, node: Node) -> Word:
        """Numbers are never dangerous by themselves, but commands inside are run."""
        for child in node.children:
            if child.type in self._BY_KIND or child.named_child_count:
                self._look_inside(child)
        return literal("$((…))")

    def _look_inside(self, node: Node) -> None:
        pending = [node]
        while pending:
            current = pending.pop()
            if current.type == "command_substitution":
                self._capture(self._tree, current, self._scope)
            else:
                pending.extend(current.named_children)

    _BY_KIND: ClassVar[dict[str, Reader]] = {
        "string": _string,
        "ansi_c_string": lambda self, node: literal(decode_ansi_c(self._tree.text(node)[2:-1])),
        "translated_string": lambda self, node: _join(
            [self.word(child) for child in node.children if child.type == "string"]
        ),
        "concatenation": lambda self, node: _join([self.word(child) for child in node.children]),
        "simple_expansion": lambda self, node: self._variable(self._tree.text(node).lstrip()[1:]),
        "expansion": _expansion,
        "command_substitution": _command_substitution,
        "process_substitution": _process_substitution,
        "arithmetic_expansion": _arithmetic,
    }


def _expanded_name(raw: str) -> str:
    """Return the name in `$name`, `${name}`, `${name[@]}`."""
    name = raw[1:]
    if name.startswith("{") and name.endswith("}"):
        name = name[1:-1]
    return name.removesuffix("[@]").removesuffix("[*]")


def _cut(value: Word, operator: str, argument: Word) -> Word:
    """`${x#prefix}` and `${x%suffix}` with plain text are cut; patterns leave it unknown."""
    if not value.known or argument.glob or not argument.known:
        return unknown(value.text, value.labels)
    if operator in {"#", "##"}:
        return literal(value.text.removeprefix(argument.text), value.labels)
    if operator in {"%", "%%"}:
        return literal(value.text.removesuffix(argument.text), value.labels)
    return unknown(value.text, value.labels)


def _split(word: Word) -> list[Word]:
    """Split an unquoted expansion into fields; one that is empty vanishes."""
    if not word.known:
        return [word]
    fields = word.text.split()
    if len(fields) == 1 and fields[0] == word.text:
        return [word]
    return [
        Word(field, glob=not _GLOB_CHARS.isdisjoint(field), labels=word.labels) for field in fields
    ]


def _join(parts: list[Word]) -> Word:
    if len(parts) == 1:
        return parts[0]
    known = True
    glob = False
    labels = 0
    for part in parts:
        known = known and part.known
        glob = glob or part.glob
        labels |= part.labels
    return Word("".join([part.text for part in parts])[:_MAX_TEXT], known, glob, labels)


def _join_with_blanks(items: list[Word]) -> Word:
    separated: list[Word] = []
    for item in items:
        separated += [item, literal(" ")]
    return _join(separated[:-1]) if separated else literal("")


Reader = Callable[[Expander, "Node"], Word]
