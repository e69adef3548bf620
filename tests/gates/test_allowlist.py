"""May this tool be called at all?"""

from __future__ import annotations

import pytest
from inline_snapshot import snapshot

from gates.policies import gates_with, told
from interlock import Decision, evaluate_tool_use
from interlock.values import Severity

_POLICY = """
[tool-allowlist]
enabled = {enabled}
allow = ["Read", "mcp__github__*", "note[1]", "a?c"]
deny = ["mcp__github__delete_*", "Forbidden"]
"""
_ON = _POLICY.format(enabled="true")
_OFF = _POLICY.format(enabled="false")


@pytest.mark.parametrize(
    ("tool", "rule"),
    [
        pytest.param("Read", None, id="exact"),
        pytest.param("read", "tool-allowlist.not-listed", id="case-counts"),
        pytest.param("ReadFile", "tool-allowlist.not-listed", id="longer"),
        pytest.param("", "tool-allowlist.not-listed", id="no-name"),
        pytest.param("mcp__github__list_issues", None, id="glob"),
        pytest.param("mcp__gitlab__list_issues", "tool-allowlist.not-listed", id="other-server"),
        pytest.param("xmcp__github__x", "tool-allowlist.not-listed", id="glob-starts-in-front"),
        pytest.param("mcp__github__delete_label", "tool-allowlist.denied", id="denied-by-glob"),
        pytest.param("Forbidden", "tool-allowlist.denied", id="denied"),
        pytest.param("note[1]", None, id="brackets-are-brackets"),
        pytest.param("note1", "tool-allowlist.not-listed", id="brackets-are-no-pattern"),
        pytest.param("a?c", None, id="question-mark-is-one"),
        pytest.param("abc", "tool-allowlist.not-listed", id="question-mark-is-no-pattern"),
    ],
)
def test_only_what_is_written_may_be_called(tool: str, rule: str | None):
    verdict = evaluate_tool_use(tool, {}, policy=gates_with(_ON))

    assert [finding.rule for finding in verdict.findings] == ([rule] if rule else [])
    assert verdict.decision is (Decision.BLOCK if rule else Decision.ALLOW)


@pytest.mark.parametrize(
    ("tool", "expected"),
    [
        pytest.param("anything", Decision.ALLOW, id="not-listed"),
        pytest.param("Forbidden", Decision.BLOCK, id="denied"),
    ],
)
def test_a_tool_stays_denied_while_the_allow_list_is_off(tool: str, expected: Decision):
    assert evaluate_tool_use(tool, {}, policy=gates_with(_OFF)).decision is expected


def test_a_refusal_names_the_tool_the_entry_and_what_to_do():
    denied = evaluate_tool_use("mcp__github__delete_label", {}, policy=gates_with(_ON))
    unlisted = evaluate_tool_use("Bash", {}, policy=gates_with(_ON))

    assert told(denied) == snapshot("""\
block
tool-allowlist.denied: tool `mcp__github__delete_label` is denied by `mcp__github__delete_*`\
""")
    assert told(unlisted) == snapshot("""\
block
tool-allowlist.not-listed: tool `Bash` is not on the allow-list\
""")
    assert unlisted.findings[0].remediation == snapshot(
        "use one of `Read`, `a?c`, `mcp__github__*`, `note[1]`"
    )
    assert unlisted.findings[0].severity is Severity.HIGH


def test_a_tool_that_may_not_be_called_is_still_looked_through():
    verdict = evaluate_tool_use("Bash", {"command": "rm -rf /"}, policy=gates_with(_ON))

    assert {finding.gate for finding in verdict.findings} >= {"tool-allowlist", "destructive-ops"}
