"""Word and redirection nodes → words: quotes off, variables and substitutions put in if known.

The grammar says where a word begins and ends, and where the commands inside of it stand. What
lies between is read character by character.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from interlock.commands.shell.command import Redirect, SimpleCommand
from interlock.commands.shell.pieces import fields_of, one_word
from interlock.commands.shell.provenance import Stream, as_written
from interlock.commands.shell.scope import Function, Shell
from interlock.commands.shell.syntax import WORD_KINDS, Tree
from interlock.commands.shell.word_reader import BODY, PLAIN, WordReader
from interlock.commands.shell.words import Word, literal, may_run, unknown

if TYPE_CHECKING:
    from tree_sitter import Node

_SPECIAL: Final = frozenset("*?[{\\$`'\"<>")
_SUBSTITUTIONS: Final = frozenset(("command_substitution", "process_substitution"))
_QUOTES: Final = frozenset("'\"\\")
_NO_COMMANDS: Final[Mapping[int, tuple[int, Function]]] = {}
_OF_WINDOWS: Final = re.compile(
    r"(?i)(?:[\w-]{1,40}=)?@?(?:[a-z]:|%\w{1,40}%|\$env:\w{1,40})(?:\\[^\s\\'\"$`(){}]+)+\\?"
)
r"""A path that no shell of Unix would be given: `C:\Users\me`, `$env:APPDATA\gcloud`."""


class Expander:
    """Expands the words of one tree in one scope."""

    __slots__ = ("_budget", "_scope", "_shell", "_tree")

    def __init__(self, tree: Tree, shell: Shell) -> None:
        self._tree = tree
        self._scope = shell.scope
        self._budget = shell.budget
        self._shell = shell

    @property
    def doubtful(self) -> Mapping[str, tuple[Word, ...]]:
        """The variables met whose value depends on the run, and what else it may be."""
        return self._shell.doubtful

    def words(self, node: Node, last: Node | None = None) -> list[Word]:
        """Return the words that a node becomes: one mostly, more after splitting or braces.

        `last` is where the word really ends, if the grammar cut it into several nodes.
        """
        raw = self._tree.text(node)
        if node.type not in WORD_KINDS:
            return [unknown(raw)]
        if last is None and _SPECIAL.isdisjoint(raw):
            self._budget.spend()
            return [Word(raw)]
        reader = self._reader(node, last)
        ifs = self._scope.value("IFS")
        made = reader.brace_expanded() if "{" in raw else [reader]
        return [word for each in made for word in fields_of(each.pieces(PLAIN), ifs, self._budget)]

    def word(self, node: Node) -> Word:
        """Return the node as one word: nothing is split in an assignment, for example."""
        raw = self._tree.text(node)
        if node.type not in WORD_KINDS:
            return unknown(raw)
        if _SPECIAL.isdisjoint(raw):
            return Word(raw)
        return one_word(self._reader(node, None).pieces(PLAIN), self._budget)

    def index(self, name: str, inside: str) -> str:
        """Return which element of an array a subscript names."""
        return WordReader(inside, self._shell).index_of(name, inside)

    def _reader(self, node: Node, last: Node | None) -> WordReader:
        tree = self._tree
        end = (last or node).end_byte
        raw = tree.between(node.start_byte, end)
        # The grammar counts blanks before some words as a part of them.
        text = raw.lstrip(" \t\n") if raw[:1] in {" ", "\t", "\n"} else raw
        start = node.start_byte + len(raw) - len(text)
        if "\\" in text and _OF_WINDOWS.fullmatch(text):
            text = text.replace("\\", "/")
        commands = self._commands(node, last, start) if _runs_something(text) else _NO_COMMANDS
        return WordReader(text, self._shell, commands)

    def _commands(
        self, node: Node, last: Node | None, start: int
    ) -> Mapping[int, tuple[int, Function]]:
        """Return where the grammar found commands in a word, counted from its start."""
        tree = self._tree
        found: dict[int, tuple[int, Function]] = {}
        pending = [node]
        if last is not None:
            following = node.next_sibling
            while following is not None and following.start_byte < last.end_byte:
                pending.append(following)
                following = following.next_sibling
        while pending:
            current = pending.pop()
            if current.type in _SUBSTITUTIONS:
                text = tree.text(current)
                blanks = len(text) - len(text.lstrip())
                begin = len(tree.between(start, current.start_byte)) + blanks
                found[begin] = (begin + len(text) - blanks, Function(tree, current))
            else:
                pending.extend(current.named_children)
        return found

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
                found.stdin = as_written(word.labels, word.text + "\n", known=word.known)
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
        target = target or literal("")
        if operator == "<" and self._tree.between(node.start_byte - 2, node.start_byte) == "<<":
            # Behind another redirection the grammar sees no here-string.
            operator = "<<<"
            found.stdin = Stream(target.labels, target.text + "\n" if target.known else None)
        found.redirects.append(Redirect(operator, self._descriptor(node), target))

    def _heredoc_redirect(self, node: Node, found: SimpleCommand) -> None:
        """The body as text; one whose delimiter is unquoted is expanded, commands included."""
        body = next(child for child in node.children if child.type == "heredoc_body")
        start = next((child for child in node.children if child.type == "heredoc_start"), None)
        text = self._tree.text(body)
        word = literal(self._tree.bodies.get(text, text))
        if start is None or _QUOTES.isdisjoint(self._tree.text(start)):
            begin = body.start_byte
            commands = self._commands(body, None, begin) if _runs_something(text) else _NO_COMMANDS
            word = one_word(WordReader(text, self._shell, commands).pieces(BODY), self._budget)
        found.stdin = Stream(word.labels, word.text, word.known)
        target = literal(word.text, word.labels)
        found.redirects.append(Redirect("<<", self._descriptor(node), target))
        for child in node.children:
            if child.type == "file_redirect":
                self._file_redirect(child, found)
        for child in node.children_by_field_name("argument"):
            found.argv += self.words(child)

    def _descriptor(self, node: Node) -> str:
        kinds = (child for child in node.children if child.type == "file_descriptor")
        return next(map(self._tree.text, kinds), "")


def _runs_something(text: str) -> bool:
    return may_run(text) or "<(" in text or ">(" in text
