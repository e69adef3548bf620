"""How much work a JSON Schema makes, counted before it is done."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import cast

import pytest

from interlock.model.verdict import Decision
from interlock.policy.actions.parameters import tool_schema
from interlock.policy.gates.schema_gate import schema_gate
from interlock.policy.gates.schema_work import FEW, MOST, SchemaWork


def doubling(times: int, keyword: str = "allOf") -> dict[str, object]:
    """Return a schema in which each definition names the next one twice."""
    defs: dict[str, object] = {
        f"d{number}": {keyword: [{"$ref": f"#/$defs/d{number + 1}"}] * 2} for number in range(times)
    }
    return {"$defs": {**defs, f"d{times}": {"type": "object"}}, "$ref": "#/$defs/d0"}


def nested(times: int) -> dict[str, object]:
    """Return an object in an object, so many times."""
    value: dict[str, object] = {}
    for _ in range(times):
        value = {"child": value}
    return value


_TREE = {"properties": {"child": {"$ref": "#"}}}
_TWICE = {"properties": {"child": {"anyOf": [{"$ref": "#"}, {"$ref": "#"}]}}}


def wrapped(times: int, outer: Callable[[object], object], inner: object) -> dict[str, object]:
    """Return a schema in a schema, so many times."""
    for _ in range(times):
        inner = outer(inner)
    return cast("dict[str, object]", inner)


_KNOWS_ALL = {"unevaluatedProperties": False}
_LEAF: dict[str, object] = {"properties": {"child": {}}}
_NAMED_ELSEWHERE: dict[str, object] = {
    "$id": "https://example.org/a",
    "$ref": "#/$defs/b",
    "$defs": {"b": {}},
}


_SLOW: list[tuple[Mapping[str, object], object]] = [
    (doubling(30), {}),
    (doubling(30, "anyOf"), {}),
    (doubling(400, "oneOf"), {}),
    (_TWICE, nested(30)),
    ({"$ref": "#"}, {}),
    ({"not": {"$ref": "#"}}, {}),
    ({"properties": {"a": {"items": {"enum": list(range(3_000))}}}}, {"a": [0.5] * 2_000}),
    ({"properties": {"a": {"items": {"const": "x" * 500_000}}}}, {"a": [1] * 2_000}),
    ({"additionalProperties": {"required": ["x"] * 2_000}}, {str(n): {} for n in range(3_000)}),
    ({"allOf": [{"patternProperties": {"": _TREE}}]}, nested(200)),
    ({"if": _TREE, "then": _TWICE, "else": _TWICE}, nested(30)),
    ({"dependentSchemas": {"child": _TWICE}}, nested(30)),
    ({"$defs": {"a": {"$anchor": "a", "allOf": [{"$ref": "#a"}]}}, "$ref": "#a"}, {}),
    ({"$id": "urn:x", "items": {}, "allOf": [{"$ref": "urn:x#"}]}, {}),
    ({"allOf": [{"$ref": "https://json-schema.org/draft/2020-12/schema"}] * 5_100}, {}),
    (wrapped(20, lambda inner: {"allOf": [inner], **_KNOWS_ALL}, _LEAF), {}),
    (wrapped(20, lambda inner: {"if": inner, **_KNOWS_ALL}, _LEAF), {}),
    (wrapped(20, lambda inner: {"anyOf": [inner], "unevaluatedItems": {}}, _LEAF), {}),
    # Where a reference could lead anywhere, nobody counts.
    ({"$ref": "https://example.org/other"}, {}),
    ({"$ref": "#/nowhere/at/all"}, {}),
    ({"$ref": 7}, {}),
    ({"$defs": {"x": [{}]}, "$ref": "#/$defs/x/7"}, {}),
    ({"$ref": "#a", "$defs": {"a": {"$anchor": "a"}, "b": {"$dynamicAnchor": "a"}}}, {}),
    ({"$defs": {"a": _NAMED_ELSEWHERE}, "$ref": "#/$defs/a"}, {}),
    (
        {
            "$schema": "http://json-schema.org/draft-04/schema#",
            "definitions": {"a": {"id": "b"}},
            "$ref": "#/definitions/a",
        },
        {},
    ),
    # A pattern is followed in all of its states for each character.
    ({"properties": {"a": {"pattern": "[ab]*a[ab]{300}[^ab]"}}}, {"a": "ab" * 100_000}),
    ({"properties": {"a": {"pattern": "(?:(a|b){40}c){40}"}}}, {"a": "ab" * 10_000}),
    ({"patternProperties": {"(a{0,300}){30}": {}}}, {"a" * 5_000: 1}),
    ({"propertyNames": {"pattern": "(a{300,}){30}"}}, {"a" * 5_000: 1}),
    ({"allOf": [{"minLength": number} for number in range(1_000)]}, "x" * 1_000_000),
    ({"allOf": [{"uniqueItems": True, "title": str(n)} for n in range(100)]}, [0] * 60_000),
]


@pytest.mark.parametrize(("schema", "value"), _SLOW)
def test_what_would_take_too_long_is_told(schema: Mapping[str, object], value: object):
    assert SchemaWork(schema).of(value) > MOST


_QUICK: list[tuple[Mapping[str, object], object]] = [
    ({}, nested(300)),
    ({"properties": {"a": {"type": "string"}}}, {"a": "x"}),
    (doubling(8), {}),
    (_TREE, nested(50)),
    (_TWICE, nested(8)),
    ({"enum": [1, 2]}, {}),
    ({"properties": {"a": {"enum": list(range(100))}}}, {"a": 1}),
    ({"allOf": [True, {"prefixItems": [{}], "items": {}}]}, [1, 2]),
    ({"allOf": [{"items": [{}, {}], "contains": {}}]}, [1]),
    ({"$defs": {"x/y": [{}]}, "$ref": "#/$defs/x~1y/0"}, {}),
    ({"$defs": {"x y": True}, "$ref": "#/$defs/x%20y"}, {}),
    ({"$defs": {"x": {"$anchor": "here"}}, "$ref": "#here"}, {}),
    ({"allOf": "no list", "properties": "none"}, {"a": 1}),
    ({"allOf": [{"additionalProperties": {"type": "string"}}]}, {"a": "x", "b": "y"}),
    ({"allOf": [_LEAF, _LEAF], **_KNOWS_ALL}, {"child": 1}),
    (
        {"properties": {"id": {"pattern": "^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$"}}},
        {"id": "0"},
    ),
    (
        {"properties": {"mail": {"pattern": r"^[^@\s)]+@([a-z]+\.)+[a-z]{2,}\)$"}}},
        {"mail": "a@b.org"},
    ),
    ({"pattern": "no group )"}, "text"),
]


@pytest.mark.parametrize(("schema", "value"), _QUICK)
def test_what_is_quickly_done_is_done(schema: Mapping[str, object], value: object):
    assert SchemaWork(schema).of(value) <= FEW


def test_many_rows_of_one_form_are_looked_at():
    schema = tool_schema(
        {
            "$defs": {"row": {"properties": {"id": {"type": "integer"}}, "required": ["id"]}},
            "properties": {"rows": {"items": {"$ref": "#/$defs/row"}}},
        }
    )
    rows: list[dict[str, object]] = [{"id": number} for number in range(5_000)]

    assert list(schema_gate({"rows": rows}, schema)) == []
    # Where there is much to look at, the first place is named, and no other.
    (finding,) = schema_gate({"rows": [*rows, {}, {}]}, schema)
    assert finding.message == "parameter `rows[5000]`: `id` is missing"


def test_the_gate_asks_where_a_schema_would_take_too_long():
    (finding,) = schema_gate({}, tool_schema(doubling(64)))

    assert (finding.rule, finding.decision) == ("schema.too-complex", Decision.REQUIRE_CONFIRMATION)
    assert finding.message.startswith("too complex: ")


def test_the_gate_names_no_more_places_than_it_shows():
    schema = tool_schema({"additionalProperties": {"type": "string"}})

    assert len(list(schema_gate({f"a{number}": number for number in range(500)}, schema))) == 20


def test_a_pattern_that_would_be_too_large_is_refused_when_the_policy_is_read():
    with pytest.raises(ValueError, match=r"(?i)pattern|regex|size"):
        tool_schema({"properties": {"a": {"pattern": "(?:a{900}){900}"}}})
