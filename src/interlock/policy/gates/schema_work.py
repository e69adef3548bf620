"""How much work is it to hold a value against a JSON Schema?

A validator applies every schema that a schema names, wherever it is named: where each of thirty
definitions names the next one twice, the last is applied a thousand million times. What is applied
to what is counted here once for each pair, and the counts are added up.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, cast

_MOST_STEPS: Final = 20_000
_MOST_DEPTH: Final = 120
_MOST_WORK: Final = 1_000_000
_FOREIGN_SCHEMA: Final = 1_000
"""What a schema costs that stands elsewhere: those that are known are of about this size."""
_FEW_CHOICES: Final = 16

_ALL_OF_THEM: Final = ("allOf", "anyOf", "oneOf")
_ONE_OF_EACH: Final = ("not", "if", "then", "else")
_BY_NAME: Final = ("dependentSchemas", "dependencies")
_REFERENCES: Final = ("$ref", "$dynamicRef", "$recursiveRef")
_FOR_ALL_ENTRIES: Final = ("additionalProperties", "unevaluatedProperties", "propertyNames")
_FOR_ALL_ITEMS: Final = ("items", "additionalItems", "unevaluatedItems", "contains")
_NAMES: Final = ("$id", "id", "$anchor", "$dynamicAnchor")
_BRANCHING: Final = frozenset((*_ALL_OF_THEM, *_ONE_OF_EACH, *_BY_NAME, *_REFERENCES, "contains"))


class SchemaWork:
    """Counts what a validator would do with one schema."""

    def __init__(self, schema: Mapping[str, object]) -> None:
        self._root = schema
        self._named: dict[str, object] = {}
        self._can_grow = False
        for node in _nodes(schema):
            self._named |= {
                _name(node[key]): node for key in _NAMES if isinstance(node.get(key), str)
            }
            self._can_grow |= not _BRANCHING.isdisjoint(node) or _choices(node) > _FEW_CHOICES

    def is_too_much(self, value: object) -> bool:
        """Tell whether it is more than is ever done for one value."""
        return self._can_grow and _Count(self._root, self._named).of(self._root, value) > _MOST_WORK


class _Count:
    """What is known of one value: the work for each part of it with each part of a schema."""

    def __init__(self, root: Mapping[str, object], named: Mapping[str, object]) -> None:
        self._root = root
        self._named = named
        self._known: dict[tuple[int, int], int] = {}

    def of(self, schema: object, value: object, depth: int = 0) -> int:
        """Return the work; more than the most where it has no end, or is too much to count."""
        if not isinstance(schema, Mapping):
            return 1
        node = cast("Mapping[str, object]", schema)
        pair = id(node), id(value)
        known = self._known.get(pair)
        if known is not None:
            return known
        if depth == _MOST_DEPTH or len(self._known) == _MOST_STEPS:
            return _MOST_WORK + 1
        # Whoever comes here again on the way down would come here for ever.
        self._known[pair] = _MOST_WORK + 1
        work = 1 + _choices(node)
        for part, of_value in self._applied(node, value):
            work += self.of(part, of_value, depth + 1)
            if work > _MOST_WORK:
                break
        self._known[pair] = work
        return work

    def _applied(
        self, node: Mapping[str, object], value: object
    ) -> Iterator[tuple[object, object]]:
        """Yield every schema that a schema applies, with what it is applied to."""
        for part in self._in_place(node):
            yield part, value
        if isinstance(value, Mapping):
            entries = cast("Mapping[str, object]", value)
            yield from _on_entries(node, entries)
        elif isinstance(value, (list, tuple)):
            yield from _on_items(node, cast("Sequence[object]", value))

    def _in_place(self, node: Mapping[str, object]) -> Iterator[object]:
        for key in _ALL_OF_THEM:
            yield from _listed(node.get(key))
        for key in _ONE_OF_EACH:
            yield node.get(key)
        for key in _BY_NAME:
            yield from _mapped(node.get(key)).values()
        for key in _REFERENCES:
            if isinstance(reference := node.get(key), str):
                yield self._referred(reference)

    def _referred(self, reference: str) -> object:
        """Return the schema that a reference names; one that stands elsewhere costs its share."""
        named = self._named.get(_name(reference))
        if named is not None:
            return named
        address, _, pointer = reference.partition("#")
        found = self._named.get(_name(address)) if address else self._root
        for step in pointer.split("/")[1:]:
            found = _below(found, step.replace("~1", "/").replace("~0", "~"))
        return _ELSEWHERE if found is None else found


def _below(part: object, step: str) -> object:
    """Return what a step of a pointer leads to, if anything stands there."""
    if isinstance(part, Mapping):
        return cast("Mapping[str, object]", part).get(step)
    items = list(_listed(part))
    return items[int(step)] if step.isdecimal() and int(step) < len(items) else None


_ELSEWHERE: Final = {"enum": [None] * _FOREIGN_SCHEMA}


def _on_entries(
    node: Mapping[str, object], entries: Mapping[str, object]
) -> Iterator[tuple[object, object]]:
    properties = _mapped(node.get("properties"))
    patterns = _mapped(node.get("patternProperties")).values()
    others = [node[key] for key in _FOR_ALL_ENTRIES if key in node]
    for name, value in entries.items():
        if name in properties:
            yield properties[name], value
        for part in (*patterns, *others):
            yield part, value


def _on_items(
    node: Mapping[str, object], items: Sequence[object]
) -> Iterator[tuple[object, object]]:
    firsts = [*_listed(node.get("prefixItems")), *_listed(node.get("items"))]
    others = [node[key] for key in _FOR_ALL_ITEMS if isinstance(node.get(key), Mapping)]
    yield from zip(firsts, items, strict=False)
    for value in items:
        for part in others:
            yield part, value


def _nodes(schema: object) -> Iterator[Mapping[str, object]]:
    """Yield every object in a schema; none of them twice."""
    waiting = [schema]
    while waiting:
        part = waiting.pop()
        if isinstance(part, Mapping):
            node = cast("Mapping[str, object]", part)
            yield node
            waiting.extend(node.values())
        else:
            waiting.extend(_listed(part))


def _choices(node: Mapping[str, object]) -> int:
    return len(list(_listed(node.get("enum"))))


def _listed(value: object) -> Iterable[object]:
    return cast("list[object]", value) if isinstance(value, (list, tuple)) else ()


def _mapped(value: object) -> Mapping[str, object]:
    return cast("Mapping[str, object]", value) if isinstance(value, Mapping) else {}


def _name(written: object) -> str:
    return str(written).rstrip("#").removeprefix("#")
