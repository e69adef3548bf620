"""Who imports whom within the package, read from the sources: nothing is run."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path

from house.repository import ROOT, sources

_BODIES = ("body", "orelse", "finalbody", "handlers", "cases")
"""Where statements stand in others."""
_ABOVE = ROOT / "src"
Graph = Mapping[str, frozenset[str]]


@cache
def modules() -> Mapping[str, Path]:
    """Return every module of the package by its name; a folder goes by its `__init__`."""
    return {_name_of(path): path for path in sources("src")}


@cache
def imports() -> Graph:
    """Return what each module imports of ours, wherever in it: also for types, also late."""
    return {
        name: frozenset(_imported(path.read_text())) - {name} for name, path in modules().items()
    }


def is_folder(module: str) -> bool:
    """Tell whether a module is the `__init__` of a folder."""
    return modules()[module].stem == "__init__"


def folder_of(module: str) -> str:
    """Return the folder in which a module stands; a folder stands in itself."""
    return module if is_folder(module) else module.rpartition(".")[0]


def circles(graph: Graph) -> list[list[str]]:
    """Return each largest set of nodes that reach one another (Tarjan's algorithm)."""
    return [sorted(found) for found in _components(graph) if len(found) > 1]


def _name_of(path: Path) -> str:
    parts = path.relative_to(_ABOVE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _imported(text: str) -> Iterator[str]:
    for node in _statements(ast.parse(text).body):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in modules())
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                if whole in modules():
                    yield whole
                elif node.module in modules():
                    yield node.module


def _statements(body: Iterable[object]) -> Iterator[object]:
    """Yield statements with those within them; what is in no statement imports nothing."""
    for node in body:
        yield node
        for field in _BODIES:
            yield from _statements(getattr(node, field, ()))


def _components(graph: Graph) -> list[list[str]]:
    order: dict[str, int] = {}
    lowest: dict[str, int] = {}
    path: list[str] = []
    found: list[list[str]] = []

    def visit(node: str) -> None:
        order[node] = lowest[node] = len(order)
        path.append(node)
        for target in graph[node]:
            if target not in order:
                visit(target)
                lowest[node] = min(lowest[node], lowest[target])
            elif target in path:
                lowest[node] = min(lowest[node], order[target])
        if lowest[node] == order[node]:
            start = path.index(node)
            found.append(path[start:])
            del path[start:]

    for node in graph:
        if node not in order:
            visit(node)
    return found
