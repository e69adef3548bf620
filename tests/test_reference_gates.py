"""What the specification says about secrets, tools, schemas and edits, row by row.

The rows of systems before this one are among them. Credentials are made up at test time.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from interlock import (
    CompiledPolicy,
    Decision,
    Finding,
    aggregate,
    evaluate_command,
    evaluate_edit,
    evaluate_tool_use,
    load_policy,
)
from interlock.values import Severity
from secret_generator import from_template

_ALLOW = Decision.ALLOW
_WARN = Decision.WARN
_CONFIRM = Decision.REQUIRE_CONFIRMATION
_BLOCK = Decision.BLOCK

_SECRETS_FOUND_BEFORE = {
    "api-key-constant": 'const apiKey = "sk-[a-zA-Z0-9]{40}"',
    "quoted-password": 'password = "mySecretPass[0-9]{3}"',
    "quoted-api-key": 'api_key = "[a-zA-Z0-9]{32}"',
    "quoted-token": 'token = "ghp_[a-zA-Z0-9]{36}"',
    "npm-token": "npm_[a-zA-Z0-9]{36}",
    "aws-key": "AKIA[A-Z2-7]{16}",
    "rsa-key-header": "-----BEGIN RSA PRIVATE KEY-----\\n[A-Za-z0-9]{64}\\n",
    "single-quoted-inside-json": '{"line": "password = \'[a-zA-Z0-9]{16}\'"}',
}

_SECRETS_MISSED_BEFORE = {
    "unquoted-password": "password=[a-zA-Z]{6}[0-9]{4}",
    "aws-secret": "AWS_SECRET_ACCESS_KEY=[A-Za-z0-9+]{40}",
    "anthropic": "sk-ant-api03-[A-Za-z0-9_]{93}AA",
    "openai-project": "sk-proj-[A-Za-z0-9]{74}T3BlbkFJ[A-Za-z0-9]{74}",
    "github-oauth": "gho_[A-Za-z0-9]{36}",
    "github-fine-grained": "github_pat_[A-Za-z0-9]{22}_[A-Za-z0-9]{59}",
    "slack-bot": "xoxb-[0-9]{12}-[0-9]{12}-[A-Za-z0-9]{24}",
    "gitlab": "glpat-[A-Za-z0-9]{20}",
    "aws-session-key": "ASIA[A-Z2-7]{16}",
    "google": "AIza[A-Za-z0-9]{35}",
    "openssh-key": "-----BEGIN OPENSSH PRIVATE KEY-----\\n[A-Za-z0-9]{64}\\n",
    "encrypted-key": "-----BEGIN ENCRYPTED PRIVATE KEY-----\\n[A-Za-z0-9]{64}\\n",
    "url-credentials": "postgres://app:[A-Za-z0-9]{16}@db.internal/shop",
    "bearer": "Authorization: Bearer [A-Za-z0-9]{40}",
    "json-password": '{"password":"[A-Za-z0-9]{16}"}',
    "json-api-key": '{"api_key":"[A-Za-z0-9]{32}"}',
    "json-in-json": '{"body":"{\\\\"password\\\\":\\\\"[A-Za-z0-9]{16}\\\\"}"}',
}

_NO_SECRETS = {
    "greeting": 'const greeting = "hello world"',
    "look-up": "process.env.API_KEY",
    "look-up-as-text": 'token = "process.env.TOKEN"',
    "expansion": 'password: "${PASSWORD}"',
    "changeme": 'password = "changeme"',
    "angle-brackets": 'token = "<token>"',
    "documented-example-key": "".join(("AKIA", "IOSFODNN7", "EXAMPLE")),
}


@pytest.mark.parametrize(
    "template",
    [
        pytest.param(template, id=f"{table}-{name}")
        for table, rows in (("found", _SECRETS_FOUND_BEFORE), ("missed", _SECRETS_MISSED_BEFORE))
        for name, template in rows.items()
    ],
)
def test_blocks_a_credential_that_is_written_or_typed(template: str):
    text = from_template(template, "reference")

    assert evaluate_edit("notes.txt", text).decision is _BLOCK
    assert evaluate_tool_use("Write", {"file_path": "a.txt", "content": text}).decision is _BLOCK
    assert evaluate_tool_use("note", {"nested": [{"text": text}]}).decision is _BLOCK
    assert evaluate_command(f"cat <<'END'\n{text}\nEND").decision is _BLOCK


@pytest.mark.parametrize("text", _NO_SECRETS.values(), ids=_NO_SECRETS.keys())
def test_lets_placeholders_and_look_ups_pass(text: str):
    assert evaluate_edit("notes.txt", text).findings == ()


@pytest.fixture(scope="module")
def listed(tmp_path_factory: pytest.TempPathFactory) -> CompiledPolicy:
    """Gates with an allow-list, a deny-list, a schema and a lower threshold."""
    file: Path = tmp_path_factory.mktemp("policy") / "policy.toml"
    file.write_text(
        "[tool-allowlist]\n"
        "enabled = true\n"
        'allow = ["Read", "Write", "Edit", "mcp_*"]\n'
        'deny = ["mcp_shell"]\n'
        "[diff-size]\n"
        "threshold = 100\n"
        "[tools.schemas.Read]\n"
        'type = "object"\n'
        'properties.file_path = { type = "string" }\n'
    )
    return load_policy(user=file)


@pytest.mark.parametrize(
    ("tool", "expected"),
    [
        pytest.param("Bash", _BLOCK, id="not-listed"),
        pytest.param("Read", _ALLOW, id="listed"),
        pytest.param("mcp_memory", _ALLOW, id="listed-by-glob"),
        pytest.param("mcp_shell", _BLOCK, id="listed-and-denied"),
        pytest.param("Reader", _BLOCK, id="only-begins-like-a-listed-one"),
    ],
)
def test_the_allow_list_names_the_tools(tool: str, expected: Decision, listed: CompiledPolicy):
    assert evaluate_tool_use(tool, {}, policy=listed).decision is expected


def test_every_tool_may_be_called_while_the_allow_list_is_off():
    assert evaluate_tool_use("anything", {}).decision is _ALLOW


@pytest.mark.parametrize(
    ("params", "expected"),
    [
        pytest.param("", _ALLOW, id="empty-counts-as-no-parameters"),
        pytest.param('{"file_path": "a"}', _ALLOW, id="fits"),
        pytest.param('{"file_path": 7}', _BLOCK, id="wrong-type"),
        pytest.param('{"file_path": ', _BLOCK, id="cut-off"),
    ],
)
def test_parameters_must_be_json_that_fits_the_schema(
    params: str, expected: Decision, listed: CompiledPolicy
):
    assert evaluate_tool_use("Read", params, policy=listed).decision is expected


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        pytest.param(50, _ALLOW, id="small"),
        pytest.param(300, _ALLOW, id="equal-passes"),
        pytest.param(301, _WARN, id="one-more"),
        pytest.param(500, _WARN, id="large"),
    ],
)
def test_a_large_edit_is_pointed_out(lines: int, expected: Decision):
    assert evaluate_edit("a.py", "", diff_lines=lines).decision is expected
    assert evaluate_edit("a.py", "x = 1\n" * lines, old="").decision is expected


def test_the_threshold_is_the_policys(listed: CompiledPolicy):
    assert evaluate_edit("a.py", "", diff_lines=150, policy=listed).decision is _WARN


def test_the_size_is_computed_where_both_texts_are_known():
    verdict = evaluate_edit("a.py", "x = 1\n" * 400, old="", diff_lines=1)

    assert verdict.decision is _WARN


@pytest.mark.parametrize(
    ("tool", "params", "expected"),
    [
        pytest.param("Bash", {"command": "rm -rf /"}, _BLOCK, id="command"),
        pytest.param("Bash", json.dumps({"command": "rm -rf /"}), _BLOCK, id="command-as-json"),
        pytest.param("shell", {"command": ["rm", "-rf", "/"]}, _BLOCK, id="command-as-words"),
        pytest.param("exec", {"cmd": "rm -rf /"}, _BLOCK, id="command-under-another-name"),
        pytest.param("run_terminal_cmd", {"command": "rm -rf /"}, _BLOCK, id="another-tool"),
        pytest.param(
            "Write", {"file_path": "interlock.toml", "content": ""}, _BLOCK, id="whole-file"
        ),
        pytest.param(
            "Edit",
            {"file_path": "interlock.toml", "old_string": "a", "new_string": "b"},
            _BLOCK,
            id="part-of-a-file",
        ),
        pytest.param(
            "MultiEdit",
            {"file_path": ".claude/settings.json", "edits": [{"old_string": "", "new_string": ""}]},
            _BLOCK,
            id="several-parts",
        ),
        pytest.param(
            "apply_patch",
            {"input": "*** Begin Patch\n*** Delete File: interlock.toml\n*** End Patch"},
            _BLOCK,
            id="patch",
        ),
        pytest.param(
            "str_replace_editor",
            {"path": "interlock.toml", "old_str": "a", "new_str": "b"},
            _BLOCK,
            id="replacement",
        ),
        pytest.param("Bash", {"command": "ls"}, _ALLOW, id="harmless"),
    ],
)
def test_a_tool_is_looked_through(tool: str, params: dict[str, object] | str, expected: Decision):
    assert evaluate_tool_use(tool, params).decision is expected


@pytest.mark.parametrize(
    ("decisions", "expected"),
    [
        pytest.param([], _ALLOW, id="nothing"),
        pytest.param([_WARN], _WARN, id="one"),
        pytest.param([_WARN, _BLOCK, _ALLOW], _BLOCK, id="strictest"),
        pytest.param([_WARN, _CONFIRM], _CONFIRM, id="confirmation-over-warning"),
    ],
)
def test_the_strictest_finding_counts(decisions: list[Decision], expected: Decision):
    assert aggregate(_finding(decision) for decision in decisions) is expected


def _finding(decision: Decision) -> Finding:
    return Finding(
        gate="rules",
        rule="example",
        decision=decision,
        severity=Severity.LOW,
        message="an example",
        remediation="none",
    )
