"""Redirections around a command: where its output goes and what flows into it."""

from __future__ import annotations

from collections.abc import Sequence

from tree_sitter import Node

from interlock.commands.shell.command import Redirect
from interlock.commands.shell.expansion import Expander
from interlock.commands.shell.provenance import Stream
from interlock.commands.shell.syntax import Tree
from interlock.commands.shell.words import Word, literal, unknown


class Redirections:
    """The redirections of one command, what they feed in, and words that stand among them."""

    __slots__ = ("redirects", "stdin", "words")

    def __init__(self) -> None:
        self.redirects: list[Redirect] = []
        self.stdin: Stream | None = None
        self.words: list[Word] = []

    @property
    def take_output(self) -> bool:
        """Whether what the command prints goes into a file."""
        return any(redirect.takes_output for redirect in self.redirects)


def redirections_of(tree: Tree, nodes: Sequence[Node], expander: Expander) -> Redirections:
    """Read redirection nodes in their order."""
    found = Redirections()
    for node in nodes:
        if node.type == "file_redirect":
            _read_file(tree, node, expander, found)
        elif node.type == "herestring_redirect":
            _read_herestring(tree, node, expander, found)
        else:
            _read_heredoc(tree, node, expander, found)
    return found


def _read_file(tree: Tree, node: Node, expander: Expander, found: Redirections) -> None:
    """The first word behind the operator is the target.

    The grammar puts the command's own later words there too, as in `rm > log -rf /`.
    """
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


def _read_herestring(tree: Tree, node: Node, expander: Expander, found: Redirections) -> None:
    word = expander.word(node.children[-1])
    found.redirects.append(Redirect("<<<", _descriptor(tree, node), word))
    found.stdin = Stream(word.labels, word.text + "\n" if word.known else None)


def _read_heredoc(tree: Tree, node: Node, expander: Expander, found: Redirections) -> None:
    stdin = _heredoc(tree, node, expander)
    found.stdin = stdin
    body = (
        literal(stdin.text, stdin.labels) if stdin.text is not None else unknown("", stdin.labels)
    )
    found.redirects.append(Redirect("<<", _descriptor(tree, node), body))
    for child in node.children:
        if child.type == "file_redirect":
            _read_file(tree, child, expander, found)
    for child in node.children_by_field_name("argument"):
        found.words += expander.words(child)


def _heredoc(tree: Tree, node: Node, expander: Expander) -> Stream:
    """The body as text; one whose delimiter is unquoted is expanded, commands included."""
    body = next(child for child in node.children if child.type == "heredoc_body")
    labels = 0
    for child in body.children:
        if child.type in {"simple_expansion", "expansion", "command_substitution"}:
            labels |= expander.word(child).labels
    text = tree.text(body)
    return Stream(labels, tree.bodies.get(text, text))


def _descriptor(tree: Tree, node: Node) -> str:
    return next(
        (tree.text(child) for child in node.children if child.type == "file_descriptor"), ""
    )
