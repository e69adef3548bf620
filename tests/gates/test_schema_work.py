"""How much work a JSON Schema makes, counted before it is done."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from interlock.model.verdict import Decision
from interlock.policy.actions.parameters import tool_schema
from interlock.policy.gates.schema_gate import schema_gate
from interlock.policy.gates.schema_work import SchemaWork


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


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        (doubling(30), {}),
        (doubling(30, "anyOf"), {}),
        (doubling(400, "oneOf"), {}),
        (_TWICE, nested(30)),
        ({"$ref": "#"}, {}),
        ({"not": {"$ref": "#"}}, {}),
        ({"properties": {"a": {"items": {"enum": list(range(2_000))}}}}, {"a": [0.5] * 2_000}),
        ({"allOf": [{"patternProperties": {"": _TREE}}]}, nested(200)),
        ({"if": _TREE, "then": _TWICE, "else": _TWICE}, nested(30)),
        ({"dependentSchemas": {"child": _TWICE}}, nested(30)),
        ({"allOf": [{"title": str(number)} for number in range(30_000)]}, {}),
        ({"$defs": {"a": {"$anchor": "a", "allOf": [{"$ref": "#a"}]}}, "$ref": "#a"}, {}),
        ({"$id": "urn:x", "items": {}, "allOf": [{"$ref": "urn:x#"}]}, {}),
        ({"allOf": [{"$ref": "https://example.org/other"}] * 1_100}, {}),
    ],
)
def test_what_would_take_too_long_is_told(schema: Mapping[str, object], value: object):
    assert SchemaWork(schema).is_too_much(value)


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
    ({"$defs": {"x": [{}]}, "$ref": "#/$defs/x/7"}, {}),
    ({"$ref": "#/nowhere/at/all"}, {}),
    ({"allOf": "no list", "properties": "none"}, {"a": 1}),
    ({"allOf": [{"additionalProperties": {"type": "string"}}]}, {"a": "x", "b": "y"}),
]


@pytest.mark.parametrize(("schema", "value"), _QUICK)
def test_what_is_quickly_done_is_done(schema: Mapping[str, object], value: object):
    assert not SchemaWork(schema).is_too_much(value)


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
