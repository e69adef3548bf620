"""Which fields of a server a GraphQL document would change."""

from __future__ import annotations

import pytest

from interlock import Decision, evaluate_tool_use
from interlock.commands.sql.graph_text import changed_fields


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        ("mutation { a }", ["a"]),
        ("mutation Named($x: [ID!]! = [1]) @live { a(x: {b: $x}) { c { d } } e }", ["a", "e"]),
        ("mutation { one: a two: b }", ["one", "a", "two", "b"]),
        ("mutation { ... on Mutation { a { b } } ... { c } ...Named d }", ["a", "c", "d"]),
        ("fragment F on Mutation { a } query { b } mutation { ...F }", ["a", "b"]),
        ('mutation { a(b: "} c {") # } d\n(e: """ " } """) f }', ["a", "f"]),
        ("mutation { a { ... on B { c } } }", ["a"]),
        ("mutation { a } } ] b", ["a"]),
        ("query { mutation { a } }", []),
        ("query { a }", []),
        ("the mutation of a gene", []),
        ("", []),
    ],
)
def test_the_fields_at_the_top_of_a_mutation_are_found(text: str, fields: list[str]):
    assert changed_fields(text) == fields


@pytest.mark.parametrize(
    ("params", "rules"),
    [
        ({"query": "mutation { deleteUser(id: 1) { id } }"}, ["tool-content.graphql-delete"]),
        ({"query": "mutation { updateUser(id: 1) { id } }"}, []),
        ({"body": '{"query": "mutation { wipeAll }"}'}, ["tool-content.graphql-delete"]),
        ({"body": '["mutation { wipeAll }"]'}, []),
    ],
)
def test_what_a_mutation_deletes_asks(params: dict[str, object], rules: list[str]):
    verdict = evaluate_tool_use("graphql", params)

    assert [each.rule for each in verdict.findings] == rules
    expected = Decision.REQUIRE_CONFIRMATION if rules else Decision.ALLOW
    assert verdict.decision is expected


@pytest.mark.parametrize(
    ("params", "rule"),
    [
        (
            {"path": "/", "mode": 777, "recursive": True},
            "filesystem.permissions-recursive-open",
        ),
        ({"path": "/etc/passwd", "mode": "666"}, "protected-paths./etc/passwd"),
    ],
)
def test_a_tool_that_is_named_like_a_program_is_read_as_it(params: dict[str, object], rule: str):
    assert rule in [each.rule for each in evaluate_tool_use("chmod_file", params).findings]
