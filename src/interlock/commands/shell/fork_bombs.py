"""Does a line start processes without end? Fork bombs, by their shape."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from interlock.commands.shell.syntax import Tree, part

if TYPE_CHECKING:
    from tree_sitter import Node

_LOOPS: Final = frozenset(("while_statement", "c_style_for_statement"))
_ALWAYS: Final = frozenset(
    ("true", ":", "[ 1 ]", "[[ 1 ]]", "[ true ]", "[[ true ]]", "((1))", "(( 1 ))", "1")
)
_NEVER: Final = frozenset(("false", "[ ]", "((0))", "(( 0 ))"))
_MAX_NODES: Final = 20_000


def endless_forks(tree: Tree) -> str:
    """Return the text of the part that forks without end; empty if there is none."""
    if not _can_fork(tree.source):
        return ""
    nodes = _named_nodes(tree.root)
    calls = [_call(tree, node) for node in nodes if node.type == "command"]
    bodies = {_name(tree, node): node for node in nodes if node.type == "function_definition"}
    for node in nodes:
        if node.type in _LOOPS and _runs_for_ever(tree, node) and _leaves_jobs_behind(tree, node):
            return tree.text(node)
        if node.type == "function_definition" and _reaches_itself_in_background(
            _name(tree, node), bodies, calls
        ):
            return tree.text(node)
    return ""


class _Call(NamedTuple):
    """A command that is called, by its name, and whether it runs in the background."""

    name: str
    start: int
    end: int
    in_background: bool


def _call(tree: Tree, node: Node) -> _Call:
    name = "".join(tree.text(node).split(None, 1)[:1])
    return _Call(name, node.start_byte, node.end_byte, _in_background(node))


def _can_fork(source: bytes) -> bool:
    """Whether there is a lone `&`, and a loop or a function to repeat it."""
    if b"()" in source and b"|" in source:
        return True
    if b"&" not in source or not any(
        word in source for word in (b"while", b"until", b"for", b"()", b"function")
    ):
        return False
    return b"&" in source.replace(b"&&", b"").replace(b">&", b"").replace(b"&>", b"").replace(
        b"|&", b"&"
    )


def _named_nodes(root: Node) -> list[Node]:
    nodes: list[Node] = []
    pending = [root]
    while pending and len(nodes) < _MAX_NODES:
        node = pending.pop()
        nodes.append(node)
        pending.extend(reversed(node.named_children))
    return nodes


def _name(tree: Tree, node: Node) -> str:
    return tree.text(part(node, "name"))


def _runs_for_ever(tree: Tree, loop: Node) -> bool:
    if loop.type == "c_style_for_statement":
        return loop.child_by_field_name("condition") is None
    condition = loop.children_by_field_name("condition")[0]
    text = tree.text(condition).strip()
    return text in (_NEVER if tree.text(loop.children[0]) == "until" else _ALWAYS)


def _leaves_jobs_behind(tree: Tree, loop: Node) -> bool:
    """Whether each round sends a job to the background that nothing in the round waits for."""
    body = part(loop, "body")
    waiting = False
    left = False
    for child in body.children:
        if child.type == "&":
            left, waiting = True, False
        elif child.type == "command" and tree.text(child).split()[:1] == ["wait"]:
            waiting = True
            left = False
        elif child.type == "command" and tree.text(child).split()[:1] == ["break"]:
            return False
        elif (
            child.type in {"subshell", "compound_statement"}
            and b"&" in tree.source[child.start_byte : child.end_byte]
        ):
            # Jobs of a subshell are not this shell's to wait for.
            return True
    return left and not waiting


def _reaches_itself_in_background(
    name: str, bodies: dict[str, Node], calls: Sequence[_Call]
) -> bool:
    """Whether a call of `name` comes back to `name` with a `&` on the way."""
    seen: set[str] = set()
    pending = [(name, False)]
    while pending:
        current, background = pending.pop()
        start, end = bodies[current].start_byte, bodies[current].end_byte
        for call in calls:
            if call.start < start or call.end > end:
                continue
            sent = background or call.in_background
            if call.name == name and sent:
                return True
            if call.name in bodies and call.name not in seen:
                seen.add(call.name)
                pending.append((call.name, sent))
    return False


def _in_background(node: Node) -> bool:
    current: Node | None = node
    while current is not None and current.type in {
        "command",
        "pipeline",
        "list",
        "redirected_statement",
    }:
        following = current.next_sibling
        if following is not None and following.type in {"&", "|"}:
            return True
        current = current.parent
    return False
