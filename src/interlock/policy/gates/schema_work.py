"""How much work is it to hold a value against a JSON Schema?

A validator applies every schema that a schema names, wherever it is named: where each of thirty
definitions names the next one twice, the last is applied a thousand million times. What is applied
to what is counted here once for each pair, and the counts are added up. A reference that could lead
anywhere, as one within a document in the document, has no end.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import repeat
from typing import Final, cast

FEW: Final = 20_000
"""So much work is quickly done, even where each step of it fails."""
MOST: Final = 5_000_000
"""So much is ever done for one value: a part of a second."""
_ENDLESS: Final = MOST + 1
_MOST_PAIRS: Final = 50_000
_MOST_DEPTH: Final = 120
_CHARACTERS: Final = 64
"""So many are looked at in one step, by what looks at each of them once."""
_STATES: Final = 4
"""So many states of a pattern are followed in one step, for every character."""
_SCHEMA_OF_SCHEMAS: Final = 1_000
"""What it costs to be held against that."""
_LOOKED_AT_AGAIN: Final = 4
"""So often a validator goes through what a schema applies to see what that has not looked at."""

_IN_LISTS: Final = ("allOf", "anyOf", "oneOf")
_ALONE: Final = ("not", "if", "then", "else")
_BY_NAME: Final = ("dependentSchemas", "dependencies")
_REFERENCES: Final = ("$ref", "$dynamicRef", "$recursiveRef")
_UNEVALUATED: Final = ("unevaluatedProperties", "unevaluatedItems")
_FOR_ENTRIES: Final = ("additionalProperties", "unevaluatedProperties")
_FOR_ITEMS: Final = ("items", "additionalItems", "unevaluatedItems", "contains")
_DATA: Final = ("enum", "const", "required", "dependentRequired", "dependencies")
_OF_SCHEMAS: Final = re.compile(r"https?://json-schema\.org/draft[-/][0-9-]+/(schema|meta/.+)")
_ESCAPED: Final = re.compile(r"(?:%[0-9a-fA-F]{2})+")
_TOKEN: Final = re.compile(
    r"(?P<open>\()|(?P<close>\))|\{(?P<least>\d{1,9})(?:,(?P<most>\d{0,9}))?\}"
    r"|\[\^?\]?(?:\\.|[^\]\\])*\]|\\.|.",
    re.DOTALL,
)


class SchemaWork:
    """Counts what a validator would do with one schema."""

    def __init__(self, schema: Mapping[str, object]) -> None:
        self._root = schema
        self._is_one_document = True
        self._anchors: dict[object, list[Mapping[str, object]]] = {}
        identifier = "id" if "draft-04" in str(schema.get("$schema")) else "$id"
        self._id = str(schema.get(identifier, "")).rstrip("#")
        for node in _nodes(schema):
            self._is_one_document &= node is schema or not isinstance(node.get(identifier), str)
            for key in ("$anchor", "$dynamicAnchor"):
                self._anchors.setdefault(node.get(key), []).append(node)
        self._parts: dict[int, _Part] = {}
        self._waiting: list[tuple[_Part, Mapping[str, object]]] = []
        self._top = self._part(schema)
        while self._waiting:
            self._fill(*self._waiting.pop())

    def of(self, value: object) -> int:
        """Return how much it is for a value; more than MOST where nobody should wait for it."""
        return _Count().of(self._top, value)

    def _part(self, schema: object) -> _Part:
        if not isinstance(schema, Mapping):
            return _PLAIN
        node = cast("Mapping[str, object]", schema)
        part = self._parts.get(id(node))
        if part is None:
            part = self._parts[id(node)] = _Part()
            self._waiting.append((part, node))
        return part

    def _fill(self, part: _Part, node: Mapping[str, object]) -> None:
        part.cost += sum(_size(node.get(key)) for key in _DATA)
        part.states = _states(node.get("pattern"))
        part.is_unique = node.get("uniqueItems") is True
        applied = [
            *(schema for key in _IN_LISTS for schema in _listed(node.get(key))),
            *(node[key] for key in _ALONE if key in node),
            *(schema for key in _BY_NAME for schema in _mapped(node.get(key)).values()),
        ]
        part.in_place = [self._part(schema) for schema in applied]
        part.in_place += [self._referred(node[key]) for key in _REFERENCES if key in node]
        if any(key in node for key in _UNEVALUATED):
            part.in_place *= _LOOKED_AT_AGAIN
        patterns = _mapped(node.get("patternProperties"))
        part.of_names = [_Part(states=_states(pattern)) for pattern in patterns]
        part.of_names += [self._part(node[key]) for key in ("propertyNames",) if key in node]
        named = _mapped(node.get("properties"))
        part.named = {name: self._part(schema) for name, schema in named.items()}
        others = *patterns.values(), *(node[key] for key in _FOR_ENTRIES if key in node)
        part.of_entries = [self._part(schema) for schema in others]
        firsts = *_listed(node.get("prefixItems")), *_listed(node.get("items"))
        part.of_firsts = [self._part(schema) for schema in firsts]
        part.of_items = [self._part(node[key]) for key in _FOR_ITEMS if key in node]

    def _referred(self, reference: object) -> _Part:
        """Return what a reference names."""
        named = str(reference).removeprefix(self._id)
        if _OF_SCHEMAS.fullmatch(named.rstrip("#")):
            return _Part(_SCHEMA_OF_SCHEMAS)
        if not self._is_one_document or named[:1] not in ("", "#"):
            return _WITHOUT_END
        pointer = _ESCAPED.sub(_unescaped, named.removeprefix("#"))
        if pointer[:1] not in ("", "/"):
            anchored = self._anchors.get(pointer, ())
            return self._part(anchored[0]) if len(anchored) == 1 else _WITHOUT_END
        found: object = self._root
        for step in pointer.split("/")[1:]:
            found = _below(found, step.replace("~1", "/").replace("~0", "~"))
        return _WITHOUT_END if found is None else self._part(found)


class _Part:
    """What a schema does with a value itself, and what it applies to that and to what is in it."""

    __slots__ = (
        *("cost", "in_place", "is_unique", "named", "of_entries"),
        *("of_firsts", "of_items", "of_names", "states"),
    )

    def __init__(self, cost: int = 1, states: int = 0) -> None:
        self.cost = cost
        self.states = states
        self.is_unique = False
        self.named: dict[str, _Part] = {}
        self.in_place: list[_Part] = []
        self.of_names: list[_Part] = []
        self.of_entries: list[_Part] = []
        self.of_firsts: list[_Part] = []
        self.of_items: list[_Part] = []

    def itself(self, value: object) -> int:
        """Return the work that it does itself, but for telling items apart."""
        if isinstance(value, str):
            return self.cost + len(value) // _CHARACTERS + len(value) * self.states // _STATES
        return self.cost

    def applied(self, value: object) -> Iterator[tuple[_Part, object]]:
        """Yield every schema that it applies, with what it is applied to."""
        yield from zip(self.in_place, repeat(value))
        if isinstance(value, Mapping):
            for name, entry in cast("Mapping[str, object]", value).items():
                yield from zip(self.of_names, repeat(name))
                yield from zip(self.of_entries, repeat(entry))
                if name in self.named:
                    yield self.named[name], entry
        elif isinstance(value, (list, tuple)):
            items = cast("Sequence[object]", value)
            yield from zip(self.of_firsts, items, strict=False)
            for part in self.of_items:
                yield from zip(repeat(part), items)


_PLAIN: Final = _Part()
_WITHOUT_END: Final = _Part(_ENDLESS)


class _Count:
    """What is known of one value: the work for each part of it with each part of a schema."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, int], int] = {}
        self._sizes: dict[int, int] = {}

    def of(self, part: _Part, value: object, depth: int = 0) -> int:
        """Return the work; more than the most where it has no end, or is too much to count."""
        pair = id(part), id(value)
        known = self._known.get(pair)
        if known is not None:
            return known
        if depth == _MOST_DEPTH or len(self._known) == _MOST_PAIRS:
            return _ENDLESS
        # Whoever comes here again on the way down would come here for ever.
        self._known[pair] = _ENDLESS
        work = part.itself(value) + (self._size(value) if part.is_unique else 0)
        for other, on in part.applied(value):
            work += 1 if other is _PLAIN else self.of(other, on, depth + 1)
            if work > MOST:
                break
        self._known[pair] = work
        return work

    def _size(self, value: object) -> int:
        size = self._sizes.get(id(value))
        if size is None:
            size = self._sizes[id(value)] = _size(value)
        return size


def _below(part: object, step: str) -> object:
    """Return what a step of a pointer leads to, if anything stands there."""
    if isinstance(part, Mapping):
        return cast("Mapping[str, object]", part).get(step)
    items = list(_listed(part))
    return items[int(step)] if step.isdecimal() and int(step) < len(items) else None


def _unescaped(found: re.Match[str]) -> str:
    return bytes.fromhex(found[0].replace("%", "")).decode("utf-8", "replace")


def _states(pattern: object) -> int:
    """Return about how many states a pattern has: what is repeated has them as often."""
    open_groups, last = [0], 0
    for token in _TOKEN.finditer(pattern if isinstance(pattern, str) else ""):
        if token["open"]:
            open_groups.append(0)
            last = 0
            continue
        if token["least"]:
            last *= max(int(token["least"]), int(token["most"] or 0)) - 1
        elif token["close"] and len(open_groups) > 1:
            last = open_groups.pop()
        else:
            last = 1
        open_groups[-1] += last
    return sum(open_groups)


def _size(value: object) -> int:
    """Return how many values there are in a value, and long texts as several."""
    size = 0
    waiting = [value]
    while waiting and size <= MOST:
        part = waiting.pop()
        size += 1 + (len(part) // _CHARACTERS if isinstance(part, str) else 0)
        waiting.extend(_mapped(part).values() or _listed(part))
    return size


def _nodes(schema: object) -> Iterator[Mapping[str, object]]:
    """Yield every object in a schema."""
    waiting = [schema]
    while waiting:
        part = waiting.pop()
        if isinstance(part, Mapping):
            node = cast("Mapping[str, object]", part)
            yield node
            waiting.extend(node.values())
        else:
            waiting.extend(_listed(part))


def _listed(value: object) -> Iterable[object]:
    return cast("list[object]", value) if isinstance(value, (list, tuple)) else ()


def _mapped(value: object) -> Mapping[str, object]:
    return cast("Mapping[str, object]", value) if isinstance(value, Mapping) else {}
