"""What the policy makes of commands that destroy, send or run what they should not."""

from __future__ import annotations

import pytest
from inline_snapshot import snapshot
from msgspec.structs import replace

from gates.policies import by_gate, gates_with, rules_of
from interlock import Decision, evaluate_command
from interlock.policy.actions.rulebook import Rulebook
from interlock.service.policies.builtin_rules import command_packs
from interlock.service.policies.policy_files import default_policy

_LIMIT = default_policy().config.limits.command_bytes
_LARGEST = default_policy().config.limits.content_bytes


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        pytest.param("", Decision.REQUIRE_CONFIRMATION, id="default"),
        pytest.param("enabled = false", Decision.ALLOW, id="gate-off"),
        pytest.param("packs = { git = false }", Decision.ALLOW, id="pack-off"),
        pytest.param('rules = { "git.reset-hard" = "off" }', Decision.ALLOW, id="rule-off"),
        pytest.param('rules = { "git.reset-hard" = "warn" }', Decision.WARN, id="softer"),
        pytest.param('rules = { "git.reset-hard" = "block" }', Decision.BLOCK, id="stricter"),
    ],
)
def test_the_policy_decides_about_each_rule(policy: str, expected: Decision):
    gates = gates_with(f"[destructive-ops]\n{policy}\n")

    assert evaluate_command("git reset --hard", policy=gates).decision is expected


def test_a_rule_that_is_off_says_nothing_even_where_the_book_has_it():
    policy = gates_with('[destructive-ops]\nrules = { "git.reset-hard" = "off" }\n')
    with_it = replace(policy, rulebook=Rulebook(command_packs()))

    assert evaluate_command("git reset --hard", policy=with_it).findings == ()


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        pytest.param("off", Decision.ALLOW, id="off"),
        pytest.param("warn", Decision.WARN, id="warn"),
        pytest.param("block", Decision.BLOCK, id="block"),
    ],
)
def test_the_policy_decides_about_what_only_the_run_knows(answer: str, expected: Decision):
    gates = gates_with(f'[destructive-ops]\nunresolved = "{answer}"\n')

    assert evaluate_command('eval "$x"', policy=gates).decision is expected


def test_a_rule_speaks_once_however_often_it_is_broken():
    assert rules_of(evaluate_command("git reset --hard; git reset --hard HEAD~1")) == [
        "git.reset-hard"
    ]


def test_a_finding_names_the_target_and_shows_the_command():
    (finding,) = evaluate_command("cd src; sudo rm -rf models").findings

    assert finding.message == snapshot("deletes a whole tree without asking back: `models`")
    assert finding.excerpt == snapshot("sudo rm -rf models")


def test_a_finding_without_a_target_gives_the_reason_alone():
    (finding,) = evaluate_command("git reset --hard").findings

    assert finding.message == snapshot("discards uncommitted work")


def test_a_command_at_the_limit_is_read():
    line = "rm -rf /".ljust(_LIMIT)

    assert evaluate_command(line).decision is Decision.BLOCK
    assert "oversize-command" in rules_of(evaluate_command(line + " "))


def test_a_command_that_is_larger_than_any_content_is_not_read_at_all():
    verdict = evaluate_command("rm -rf /; " + "x" * _LARGEST)

    assert rules_of(verdict) == ["oversize-command", "secrets.oversize-content"]
    assert verdict.decision is Decision.REQUIRE_CONFIRMATION


@pytest.mark.parametrize(
    "line",
    [
        pytest.param("$(" * 30 + "ls" + ")" * 30, id="too-deep"),
        pytest.param("$(" * 1000 + "ls" + ")" * 1000, id="much-too-deep"),
    ],
)
def test_a_command_that_is_too_deep_needs_a_person_even_where_the_unknown_passes(line: str):
    gates = gates_with('[destructive-ops]\nunresolved = "off"\n')
    (finding,) = by_gate(evaluate_command(line, policy=gates), "destructive-ops")

    assert finding.rule == "oversize-command"
    assert finding.decision is Decision.REQUIRE_CONFIRMATION
    assert set(rules_of(evaluate_command(line))) == {"oversize-command", "unresolved-command"}


def test_code_asks_that_runs_more_lines_than_can_be_looked_at():
    listed = ", ".join(f"'echo {index} and more'" for index in range(200))
    told = evaluate_command(
        f'python3 -c "import os\nfor c in [{listed}]: os.system(c)"', policy=default_policy()
    )

    assert told.decision is Decision.REQUIRE_CONFIRMATION
    assert rules_of(told) == ["hidden-command"]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        pytest.param(
            "redis-cli FLUSHALL", "deletes every key of every database of the store", id="server"
        ),
        pytest.param(
            "redis-cli -n 3 FLUSHDB", "deletes every key of a database of the store", id="database"
        ),
        pytest.param("psql -c 'DELETE FROM users'", "deletes every row of a table", id="table"),
    ],
)
def test_a_store_without_tables_is_spoken_of_as_one(line: str, message: str):
    [finding] = evaluate_command(line).findings

    assert (finding.rule, finding.message) == ("sql.delete-all", message)
