"""Are a tool's parameters what the tool expects?"""

from __future__ import annotations

import json
import socket
from pathlib import Path

import pytest
from inline_snapshot import snapshot

from gates.policies import by_gate, gates_with, messages_of, told
from interlock import Decision, PolicyError, evaluate_tool_use, load_policy
from interlock.policy.actions.parameters import kind_of, tool_schema
from interlock.policy.gates.schema_gate import schema_gate

_VALUE = "a-value-that-nobody-needs-to-see"
_SCHEMA = """
[tools.schemas.fetch]
type = "object"
required = ["url"]
additionalProperties = false
properties.url = { type = "string", minLength = 8, pattern = "^https://" }
properties.depth = { type = ["integer", "null"], minimum = 1, maximum = 9 }
properties.mode = { enum = ["text", "html"] }
properties.version = { const = 2 }
properties.headers.type = "array"
properties.headers.maxItems = 2
properties.headers.uniqueItems = true
properties.headers.items = { type = "string" }
properties.never = false
properties.deep.properties.list.items.properties.flag = { type = "boolean" }
"""
_MISMATCHES: dict[str, tuple[dict[str, object], str]] = {
    "missing": ({}, "the parameters: `url` is missing"),
    "string": ({"url": 7}, 'parameter `url`: a number, expected `type` ["string"]'),
    "fraction": ({"url": 7.5}, 'parameter `url`: a number, expected `type` ["string"]'),
    "boolean": ({"url": True}, 'parameter `url`: a boolean, expected `type` ["string"]'),
    "null": ({"url": None}, 'parameter `url`: null, expected `type` ["string"]'),
    "array": ({"url": [_VALUE]}, 'parameter `url`: an array, expected `type` ["string"]'),
    "object": ({"url": {"a": _VALUE}}, 'parameter `url`: an object, expected `type` ["string"]'),
    "pattern": ({"url": _VALUE}, 'parameter `url`: a string, expected `pattern` "^https://"'),
    "range": (
        {"url": "https://a", "depth": 12},
        "parameter `depth`: a number, expected `maximum` 9",
    ),
    "enum": (
        {"url": "https://a", "mode": _VALUE},
        'parameter `mode`: a string, expected `enum` ["text","html"]',
    ),
    "const": (
        {"url": "https://a", "version": _VALUE},
        "parameter `version`: a string, expected `const` 2",
    ),
    "too-many": (
        {"url": "https://a", "headers": ["a", "b", _VALUE]},
        "parameter `headers`: an array, expected `maxItems` 2",
    ),
    "twice": (
        {"url": "https://a", "headers": [_VALUE, _VALUE]},
        "parameter `headers`: an array, expected `uniqueItems`",
    ),
    "never": (
        {"url": "https://a", "never": _VALUE},
        "parameter `never`: a string, expected `falseSchema`",
    ),
    "unknown": (
        {"url": "https://a", "uri": _VALUE},
        "the parameters: `uri` is not a parameter of this tool",
    ),
    "deep": (
        {"url": "https://a", "deep": {"list": [{}, {"flag": _VALUE}]}},
        'parameter `deep.list[1].flag`: a string, expected `type` ["boolean"]',
    ),
}


@pytest.mark.parametrize(("params", "message"), _MISMATCHES.values(), ids=_MISMATCHES)
def test_a_mismatch_names_place_kind_and_expectation_but_no_value(
    params: dict[str, object], message: str
):
    for given in (params, json.dumps(params)):
        verdict = evaluate_tool_use("fetch", given, policy=gates_with(_SCHEMA))
        findings = by_gate(verdict, "schema")

        assert message in [finding.message for finding in findings]
        assert verdict.decision is Decision.BLOCK
        assert _VALUE not in str(findings)


def test_every_mismatch_is_named():
    params = {"url": "ftp://a", "depth": 0, "mode": 3, "headers": [1], "more": 1}
    verdict = evaluate_tool_use("fetch", params, policy=gates_with(_SCHEMA))

    assert told(verdict) == snapshot("""\
block
schema.mismatch: parameter `url`: a string, expected `minLength` 8
schema.mismatch: parameter `url`: a string, expected `pattern` "^https://"
schema.mismatch: parameter `depth`: a number, expected `minimum` 1
schema.mismatch: parameter `mode`: a number, expected `enum` ["text","html"]
schema.mismatch: parameter `headers[0]`: a number, expected `type` ["string"]
schema.mismatch: the parameters: `more` is not a parameter of this tool\
""")


def test_no_more_than_twenty_mismatches_are_named():
    params = {"url": "https://a", "deep": {"list": [{"flag": _VALUE}] * 50}}

    assert len(evaluate_tool_use("fetch", params, policy=gates_with(_SCHEMA)).findings) == 20


def test_a_long_expectation_is_cut():
    wanted = [f"choice-{number}" for number in range(200)]
    schema = tool_schema({"properties": {"a": {"enum": wanted}}})
    (finding,) = schema_gate({"a": "other"}, schema)

    assert len(finding.message) < 200


_COMBINED = """
[tools.schemas.T]
properties.one = { oneOf = [{ type = "string" }, { type = "integer" }] }
properties.any = { anyOf = [{ type = "string" }, { minimum = 5 }] }
properties.names = { propertyNames = { pattern = "^a" } }
"""


@pytest.mark.parametrize(
    ("params", "place"),
    [
        pytest.param({"one": None}, "one", id="one-of"),
        pytest.param({"any": 1}, "any", id="any-of"),
        pytest.param({"names": {"b": _VALUE}}, "names", id="names-of-properties"),
    ],
)
def test_a_mismatch_with_alternatives_is_named_as_well(params: dict[str, object], place: str):
    (finding,) = evaluate_tool_use("T", params, policy=gates_with(_COMBINED)).findings

    assert finding.rule == "schema.mismatch"
    assert f"parameter `{place}" in finding.message
    assert _VALUE not in finding.message


@pytest.mark.parametrize("text", ["", " ", "\n\t", "{}", " { } "])
def test_empty_text_counts_as_no_parameters(text: str):
    assert evaluate_tool_use("Read", text).findings == ()
    assert messages_of(evaluate_tool_use("fetch", text, policy=gates_with(_SCHEMA))) == [
        "the parameters: `url` is missing"
    ]


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        pytest.param("[]", "an array", id="array"),
        pytest.param('"text"', "a string", id="string"),
        pytest.param("null", "null", id="null"),
        pytest.param("true", "a boolean", id="boolean"),
        pytest.param("1", "a number", id="whole-number"),
        pytest.param("1.5", "a number", id="fraction"),
    ],
)
def test_parameters_that_are_no_object_are_refused_by_their_kind(text: str, kind: str):
    assert messages_of(evaluate_tool_use("Read", text)) == [
        f"the parameters are {kind}, expected an object"
    ]


def test_a_kind_that_json_does_not_know_has_a_name_too():
    assert kind_of(object()) == "a value"


@pytest.mark.parametrize(
    "text",
    [
        pytest.param('{"command": "ls', id="cut-off-in-a-string"),
        pytest.param('{"command":', id="cut-off-behind-a-name"),
        pytest.param("{'command': 'ls'}", id="single-quotes"),
        pytest.param('{"a": NaN}', id="not-a-number"),
        pytest.param('{"a": 1} {"b": 2}', id="two-objects"),
        pytest.param("\ufeff{}", id="byte-order-mark"),
        pytest.param('{"a": "\0"}', id="nul"),
        pytest.param("[" * 3000 + "]" * 3000, id="3000-deep"),
        pytest.param('{"a":' * 3000 + "1" + "}" * 3000, id="3000-objects-deep"),
        pytest.param("{" * 100_000, id="never-closed"),
    ],
)
def test_text_that_is_no_json_is_refused(text: str):
    verdict = evaluate_tool_use("Bash", text)

    assert [finding.rule for finding in verdict.findings] == ["schema.not-json"]
    assert verdict.decision is Decision.BLOCK


def test_parameters_that_are_too_deep_to_be_checked_are_refused():
    deep: object = "x"
    for _ in range(3000):
        deep = [deep]

    verdict = evaluate_tool_use("fetch", {"url": deep}, policy=gates_with(_SCHEMA))

    assert [finding.rule for finding in verdict.findings] == ["schema.unreadable"]
    assert verdict.decision is Decision.BLOCK


def test_a_tool_without_a_schema_takes_anything():
    assert list(schema_gate({"a": object()}, None)) == []


def test_a_schema_elsewhere_is_not_fetched(tmp_path: Path):
    policy = tmp_path / "policy.toml"
    elsewhere = tmp_path / "elsewhere.json"
    elsewhere.write_text('{"type": "object"}')
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.setblocking(False)
        for address in (f"http://127.0.0.1:{listener.getsockname()[1]}/", elsewhere.as_uri()):
            policy.write_text(f'[tools.schemas.T]\n"$ref" = "{address}"\n')

            with pytest.raises(PolicyError, match=r"tools\.schemas\.T: not a JSON Schema"):
                load_policy(user=policy)
        with pytest.raises(BlockingIOError):
            listener.accept()


def test_a_reference_within_the_schema_is_followed():
    gates = gates_with(
        "[tools.schemas.T]\n"
        'properties.a = { "$ref" = "#/$defs/flag" }\n'
        '"$defs".flag = { type = "boolean" }\n'
    )

    assert told(evaluate_tool_use("T", {"a": 1}, policy=gates)) == snapshot("""\
block
schema.mismatch: parameter `a`: a number, expected `type` ["boolean"]\
""")
