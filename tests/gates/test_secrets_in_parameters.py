"""Credentials in commands, parameters and content, through the whole gateway."""

from __future__ import annotations

import json

import pytest
from inline_snapshot import snapshot

from gates.policies import by_gate, gates_with, told
from interlock import Decision, evaluate_command, evaluate_edit, evaluate_tool_use
from secret_generator import from_template

_TOKEN = from_template("ghp_[A-Za-z0-9]{36}", "parameters")
_PASSWORD = from_template("[a-z]{5}[0-9]{4}[A-Z]{3}[a-z]{4}", "parameters")
_PARAMS: dict[str, dict[str, object]] = {
    "value": {"text": _TOKEN},
    "value-by-its-name": {"password": _PASSWORD},
    "value-by-the-names-around-it": {"database": {"password": _PASSWORD}},
    "in-a-list": {"lines": ["a", "b", _TOKEN]},
    "in-lists-of-lists": {"lines": [[["a"], [_TOKEN]]]},
    "in-a-list-of-objects": {"env": [{"name": "DB_PASSWORD", "value": _PASSWORD}]},
    "as-a-key": {_TOKEN: 1},
    "as-a-deep-key": {"a": [{"b": {_TOKEN: None}}]},
    "in-json-as-text": {"body": json.dumps({"password": _PASSWORD})},
    "in-a-header": {"headers": {"Authorization": f"Bearer {_TOKEN}"}},
    "in-an-address": {"url": f"https://ada:{_PASSWORD}@example.org/x"},
    "in-a-command": {"command": f"curl -H 'Authorization: Bearer {_TOKEN}' example.org"},
    "among-numbers": {"a": [1, 2.5, None, True, _TOKEN]},
}


@pytest.mark.parametrize("params", _PARAMS.values(), ids=_PARAMS)
@pytest.mark.parametrize("tool", ["note", "Bash", "mcp__notes__add"])
def test_a_credential_in_any_parameter_is_refused(tool: str, params: dict[str, object]):
    for given in (params, json.dumps(params)):
        verdict = evaluate_tool_use(tool, given)

        assert by_gate(verdict, "secrets")
        assert verdict.decision is Decision.BLOCK
        assert _TOKEN not in repr(verdict)
        assert _PASSWORD not in repr(verdict)


def test_a_credential_in_text_that_is_no_json_is_refused_too():
    verdict = evaluate_tool_use("note", f'{{"text": "{_TOKEN}')

    assert told(verdict) == snapshot("""\
block
schema.not-json: the parameters are not JSON: the text ends at line 1, column 51 (offset
    50), as if it was cut off, behind `•`
secrets.vcs.github-personal-token: a GitHub personal access token stands in the parameters\
""")
    assert _TOKEN not in repr(verdict)


def test_a_credential_is_found_where_it_is_written():
    for verdict in (
        evaluate_command(f"echo {_TOKEN}"),
        evaluate_edit("a.txt", f"token = {_TOKEN}\n"),
        evaluate_tool_use("Write", {"file_path": "a.txt", "content": f"token = {_TOKEN}"}),
    ):
        finding = by_gate(verdict, "secrets")[0]

        assert finding.rule == "secrets.vcs.github-personal-token"
        assert finding.excerpt is not None
        assert "[github-personal-token]" in finding.excerpt


def test_a_credential_that_a_tool_carries_is_told_once():
    for tool, params in (
        ("Bash", {"command": f"echo {_TOKEN}"}),
        ("Write", {"file_path": "a", "content": _TOKEN}),
        ("Edit", {"file_path": "a", "new_string": _TOKEN, "old_string": ""}),
    ):
        assert len(evaluate_tool_use(tool, params).findings) == 1


def test_a_credential_that_only_the_joined_words_show_is_found():
    line = f"mysql --password {_PASSWORD}"

    assert by_gate(evaluate_tool_use("Bash", {"command": line}), "secrets")
    assert by_gate(evaluate_tool_use("Bash", {"command": line.split()}), "secrets")


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        pytest.param("enabled = false", Decision.ALLOW, id="off"),
        pytest.param('decision = "warn"', Decision.WARN, id="softer"),
        pytest.param(
            'rules = { "vcs.github-personal-token" = false }', Decision.ALLOW, id="kind-off"
        ),
        pytest.param('allow = ["ghp_.*"]', Decision.ALLOW, id="let-through"),
    ],
)
def test_the_policy_decides_about_credentials(policy: str, expected: Decision):
    gates = gates_with(f"[secrets]\n{policy}\n")

    assert evaluate_command(f"echo {_TOKEN}", policy=gates).decision is expected
    assert evaluate_tool_use("note", {"a": [_TOKEN]}, policy=gates).decision is expected
    assert evaluate_edit("a.txt", _TOKEN, policy=gates).decision is expected


@pytest.mark.parametrize(
    "value", ["${TOKEN}", "process.env.TOKEN", "<token>", "changeme", "os.environ['TOKEN']", "***"]
)
def test_placeholders_are_left_alone(value: str):
    assert evaluate_tool_use("note", {"token": value, "a": [{"password": value}]}).findings == ()
