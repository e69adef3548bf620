"""What a tool is told to do, and to what, counts like its name."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from gates.policies import gates_with, rules_of
from interlock import Decision, evaluate_tool_use
from interlock.commands.sql.graph_text import deletes_all
from interlock.policy.actions.calls.tool_vocabulary import Role
from interlock.service.policies.policy_files import default_policy

_VOCABULARY = default_policy().vocabulary()
_ROLES = _VOCABULARY.role_of


@pytest.mark.parametrize(
    ("tool", "params"),
    [
        ("mcp__kubernetes__node_management", {"operation": "drain", "nodeName": "x"}),
        ("database_management", {"operation": "delete", "name": "prod"}),
        ("collection", {"operation": "drop"}),
        ("mcp__redis__key", {"operation": "drop"}),
        ("delete_many", {"filter": {}}),
        ("delete_many", {"where": "{}"}),
        ("delete_by_query", {"body": {"query": {"match_all": {}}}}),
        ("delete_documents", {"names": ["a", "*"]}),
        ("request", {"method": "DELETE", "path": "/_all"}),
        ("remove", {"kind": "Namespace", "name": "prod"}),
        ("manage", {"items": [{"action": "delete", "name": "*"}]}),
        ("write_cypher", {"query": "MATCH (n) DETACH DELETE n"}),
    ],
)
def test_what_deletes_everything_or_what_holds_much_asks(tool: str, params: dict[str, object]):
    verdict = evaluate_tool_use(tool, params)
    assert rules_of(verdict) == ["tool-content.delete-all"]
    assert verdict.decision is Decision.REQUIRE_CONFIRMATION
    trusted = gates_with(f'[tool-names]\ntrusted = ["{tool}"]\n')
    assert evaluate_tool_use(tool, params, policy=trusted).findings == ()


@pytest.mark.parametrize(
    ("tool", "params"),
    [
        ("delete_many", {"filter": {"done": True}}),
        ("delete_comment", {"id": "7", "kind": "comment", "content": "*"}),
        ("request", {"method": "DELETE", "path": "/todos/7"}),
        ("request", {"method": "GET", "path": "/*"}),
        ("table", {"operation": "delete", "where": {"id": 7}}),
        ("computer", {"action": "drop", "coordinate": [1, 2]}),
        ("get_deployment", {"mode": "purge"}),
        ("manage", {"operation": "look over all of it and drop what is old"}),
        ("manage", {"operation": "x" * 300}),
        ("manage", {"operation": 7}),
    ],
)
def test_one_thing_that_is_named_goes_as_before(tool: str, params: dict[str, object]):
    assert evaluate_tool_use(tool, params).findings == ()


@pytest.mark.parametrize("name", ["flushall", "flush_all", "flushDb", "pods_delete"])
def test_a_name_that_says_all_of_it_shows_nothing(name: str):
    assert _ROLES(name).shows_nothing
    assert not _ROLES(f"get_{name}").shows_nothing


@pytest.mark.parametrize(
    ("text", "is_all"),
    [
        ("MATCH (n) DETACH DELETE n", True),
        ("match p = (a:User)-[r]->(b) delete r", True),
        ("MATCH (n) /* WHERE n.id = 1 */ DELETE n", True),
        ("MATCH (n) // {id: 1}\nDELETE n", True),
        ("MATCH (n) WHERE 1 = 1 DELETE n", True),
        ("MATCH (n) WHERE true DETACH DELETE n", True),
        ("MATCH (n) WHERE n.name = 'x' DELETE n", False),
        ("MATCH (n:User {id: 7}) DELETE n", False),
        ('MATCH (n:User {name: "a"})-[:KNOWS]->(m) DELETE m', False),
        ("MATCH (n) WHERE n.name = 'delete me' RETURN n", False),
        ("MATCH (n) RETURN n", False),
        ("CREATE (n {name: 'MATCH (n) DELETE n'})", False),
    ],
)
def test_cypher_that_chooses_nothing_deletes_all(text: str, *, is_all: bool):
    assert deletes_all(text) is is_all


@pytest.mark.parametrize(
    ("tool", "params", "rule"),
    [
        ("run_applescript", {"script": 'do shell script "rm -rf /"'}, "filesystem.delete-root"),
        ("run_script", {"script": 'do shell script "rm -rf " & "/"'}, "filesystem.delete-root"),
        ("run_terraform_command", {"command": "destroy"}, "iac.terraform-destroy"),
        ("kubectl_generic", {"command": "delete", "name": "x"}, "containers.kubectl-delete"),
        ("npm_run", {"script": "x; rm -rf /"}, "filesystem.delete-root"),
        ("query", {"statement": "TRUNCATE users"}, "sql.truncate"),
        ("mcp__mysql__query", {"query": "TRUNCATE users"}, "sql.truncate"),
        ("read_query", {"sql": "SELECT writefile('a', 'x')"}, "sql.admin"),
        ("computer", {"action": "type", "text": "rm -rf /\n"}, "filesystem.delete-root"),
        ("computer", {"action": {"type": "type", "text": "rm -rf /"}}, "filesystem.delete-root"),
        ("type_text", {"text": "interlock approve abc"}, "persistence.gate-decide"),
        ("set_env", {"INTERLOCK_POLICY": "x"}, "persistence.gate-environment"),
        ("set_env", {"name": "INTERLOCK_POLICY", "value": "x"}, "persistence.gate-environment"),
        ("set_env", {"entry": "INTERLOCK_POLICY=x"}, "persistence.gate-environment"),
        ("open", {"env": {"INTERLOCK_POLICY": "x"}}, "persistence.gate-environment"),
        ("browser_file_upload", {"paths": ["/root/.ssh/id_rsa"]}, "exfiltration.send-secret"),
        ("mail", {"attachments": [{"path": "~/.netrc"}]}, "exfiltration.send-secret"),
        ("share_file", {"file": "file:///root/.ssh/id_rsa"}, "exfiltration.send-secret"),
    ],
)
def test_what_a_tool_does_is_judged_like_the_command(
    tool: str, params: dict[str, object], rule: str
):
    assert rule in rules_of(evaluate_tool_use(tool, params))


@pytest.mark.parametrize(
    ("tool", "params"),
    [
        ("run_terraform_command", {"command": "plan"}),
        ("run_terraform_command", {"command": ""}),
        ("run_terraform_command", {"command": "git status"}),
        ("npm_run", {"script": "build"}),
        ("run_rust_checks", {"source": "src"}),
        ("mcp__rust__run", {"source": ["src"]}),
        ("browser_type", {"element": "the box", "text": "rm -rf /"}),
        ("type_text", {"text": "rm -rf node_modules"}),
        ("set_env", {"name": "PORT", "value": "3000"}),
        ("set_env", {"PORT": 3000, "a b": "c", "list": ["x"]}),
        ("set_env", {"value": 7, "key": "PORT"}),
        ("get_env", {"name": "INTERLOCK_POLICY"}),
        ("upload_file", {"path": "docs/a.pdf", "destination": "/srv/.env"}),
        ("upload_file", {"path": "docs/a.pdf", "remote_path": "~/.netrc"}),
        ("upload_file", {"url": "https://example.com/.env"}),
        ("upload_text", {"content": "~/.netrc"}),
        ("send_message", {"text": "~/.netrc"}),
        ("query", {"query": "truncate long lines"}),
        ("read_query", {"sql": "SELECT 1"}),
        ("find_query", {"query": "how to DROP TABLE x"}),
    ],
)
def test_everyday_calls_of_such_tools_stay_free(tool: str, params: Mapping[str, object]):
    assert evaluate_tool_use(tool, params).findings == ()


def test_a_tool_that_is_named_after_a_language_that_nobody_reads_asks():
    call = evaluate_tool_use("run_applescript", {"script": 'tell application "Mail" to quit'})
    assert rules_of(call) == ["tool-content.opaque"]


def test_what_is_inside_of_a_call_keeps_what_it_can_do():
    outer = Role(runs=True, deletes=True, types=True, sends=True, sets=True, language="tcl")
    inner = Role().within(outer)
    assert inner.deletes
    assert inner.types
    assert inner.sends
    assert inner.sets
    assert inner.language == "tcl"
