"""What the grammar promises of its nodes, and how it folds lists and redirections, undone."""

from __future__ import annotations

from tree_sitter import Node


def unfolded(node: Node) -> tuple[list[Node], Node, list[Node]]:
    """Return what runs before, the statement itself, and the redirections around it."""
    body: Node | None = node
    redirects: list[Node] = []
    if node.type == "redirected_statement":
        body = node.child_by_field_name("body")
        redirects = node.children_by_field_name("redirect")
    if body is None:
        return [], node, redirects
    if body.type == "list":
        *before, body = parts_of_list(body)
        return before, body, redirects
    return [], body, redirects


def parts_of_list(node: Node) -> list[Node]:
    """Return the parts of `a && b || c`, which nests to the left and can be very long."""
    parts: list[Node] = []
    current = node
    while current.type == "list":
        children = current.children
        parts.extend(child for child in reversed(children[1:]) if child.is_named)
        current = children[0]
    parts.append(current)
    return parts[::-1]


def part(node: Node, name: str) -> Node:
    """Return a field that the grammar always fills.

    Were it ever empty, this raises, and the gate that asked denies.
    """
    (found,) = node.children_by_field_name(name)
    return found
