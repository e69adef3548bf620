"""What a policy calls a secret is one everywhere; single gates, and limits of a whole run."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from interlock import (
    Decision,
    Interlock,
    evaluate_command,
    evaluate_destructive_ops,
    evaluate_diff_size,
    evaluate_edit,
    evaluate_secrets,
    evaluate_tool_allowlist,
    evaluate_tool_use,
    load_policy,
)
from interlock.errors import PolicyError
from interlock.model.action import CommandAction
from interlock.policy.actions.compiled_policy import CompiledPolicy

SECRET = "ACME-0123456789ABCDEF"
POLICY = """
[secrets]
patterns = ["ACME-[0-9A-F]{16}", "staff id ([0-9]{6})"]

[tool-allowlist]
enabled = true
allow = ["Read", "Bash"]

[evaluators]
max-changed-lines = 3

[stops]
auto-continue = false
"""


def policy_from(text: str, folder: Path) -> CompiledPolicy:
    place = folder / "policy.toml"
    place.write_text(text, encoding="utf-8")
    return load_policy(user=place)


@pytest.fixture
def policy(tmp_path: Path) -> CompiledPolicy:
    return policy_from(POLICY, tmp_path)


@pytest.fixture
def agent(policy: CompiledPolicy) -> Iterator[Interlock]:
    with Interlock.open(":memory:", policy=policy) as opened:
        yield opened


HIDDEN = (
    SECRET, f"x {SECRET} y", f"'{SECRET}'", f"key={SECRET}", f"{SECRET}\n{SECRET}", f"a{SECRET}b",
    "staff id 123456", f"\u00e9{SECRET}", f"\u4e2d{SECRET}", f"https://host/?k={SECRET}",
)  # fmt: skip


@pytest.mark.parametrize("text", HIDDEN)
def test_an_own_secret_is_seen_in_commands_parameters_and_content(
    text: str, policy: CompiledPolicy
) -> None:
    for verdict in (
        evaluate_command(f'echo "{text}"', policy=policy),
        evaluate_tool_use("Read", {"deep": [{"er": text}]}, policy=policy),
        evaluate_edit("a.txt", text, policy=policy),
        evaluate_secrets(text, policy=policy),
    ):
        assert verdict.decision is Decision.BLOCK
        assert "secrets.own.pattern" in [each.rule for each in verdict.findings]
        assert SECRET not in str(verdict)
        assert "123456" not in str(verdict)


@pytest.mark.parametrize(
    "text", ["ACME", "ACME-0123", "acme-0123456789abcdef", "staff id", "staff id 12345", "123456"]
)
def test_what_only_looks_like_it_is_none(text: str, policy: CompiledPolicy) -> None:
    assert evaluate_secrets(text, policy=policy).decision is Decision.ALLOW


@pytest.mark.parametrize("text", HIDDEN)
def test_nothing_of_it_is_recorded(text: str, agent: Interlock) -> None:
    run = agent.run(f"task {text}")
    answer = run.command(f"cat file  # {text}")
    run.observe_unasked(CommandAction(command="cat file"), output=text, exit_code=1)
    run.step(f"I know {text}")
    run.violation("rule", f"said {text}", location=text)
    run.finish("failed")

    recorded = str(list(run.ledger))
    assert answer.decision is Decision.BLOCK
    assert SECRET not in recorded
    assert "123456" not in recorded


def test_a_finding_says_what_the_policy_calls_it(tmp_path: Path) -> None:
    named = '[[secrets.patterns]]\npattern = "ACME-[0-9A-F]{16}"\nname = "a badge of ours"\n'

    verdict = evaluate_command(f"echo {SECRET}", policy=policy_from(named, tmp_path))

    (told,) = [each.message for each in verdict.findings]
    assert told.startswith("a badge of ours stands in ")


def test_a_pattern_of_everything_makes_one_secret_of_it(tmp_path: Path) -> None:
    policy = policy_from('[secrets]\npatterns = ["(?s)."]\n', tmp_path)

    verdict = evaluate_secrets("x" * 50_000, policy=policy)

    assert verdict.decision is Decision.BLOCK
    assert len(verdict.findings) == 1


def test_a_pattern_that_matches_nothing_at_all_finds_nothing(tmp_path: Path) -> None:
    policy = policy_from('[secrets]\npatterns = ["x*"]\n', tmp_path)

    assert evaluate_secrets("abc", policy=policy).decision is Decision.ALLOW
    assert evaluate_secrets("abxc", policy=policy).decision is Decision.BLOCK


def test_what_is_allowed_is_no_secret(tmp_path: Path) -> None:
    text = f'[secrets]\npatterns = ["ACME-[0-9A-F]+"]\nallow = ["{SECRET}"]\n'
    policy = policy_from(text, tmp_path)

    assert evaluate_secrets(SECRET, policy=policy).decision is Decision.ALLOW
    assert evaluate_secrets("ACME-FF", policy=policy).decision is Decision.BLOCK


@pytest.mark.parametrize("pattern", ["(", "(?=x)", "a{2000}", "\u00e9"])
def test_a_pattern_that_cannot_run_in_linear_time_is_refused(pattern: str, tmp_path: Path) -> None:
    with pytest.raises(PolicyError):
        policy_from(f"[secrets]\npatterns = ['{pattern}']\n", tmp_path)


def test_one_gate_speaks_for_itself_alone(policy: CompiledPolicy) -> None:
    line = f"rm -rf / # {SECRET}"

    both = {each.gate for each in evaluate_command(line, policy=policy).findings}
    alone = evaluate_destructive_ops(line, policy=policy)

    assert {"destructive-ops", "secrets"} <= both
    assert {each.gate for each in alone.findings} == {"destructive-ops"}
    assert alone.decision is Decision.BLOCK


@pytest.mark.parametrize(("lines", "decision"), [(300, False), (301, True)])
def test_the_size_of_a_diff_is_judged_alone(
    lines: int, *, decision: bool, policy: CompiledPolicy
) -> None:
    verdict = evaluate_diff_size("a.py", lines, policy=policy)

    assert (verdict.decision is not Decision.ALLOW) is decision
    assert {each.gate for each in verdict.findings} <= {"diff-size"}


@pytest.mark.parametrize(("tool", "allowed"), [("Read", True), ("Bash", True), ("Fetch", False)])
def test_the_list_of_tools_is_asked_alone(
    tool: str, *, allowed: bool, policy: CompiledPolicy
) -> None:
    assert (evaluate_tool_allowlist(tool, policy=policy).decision is Decision.ALLOW) is allowed


def test_benign_lines_stay_free_for_each_gate() -> None:
    assert evaluate_destructive_ops("ls -la").decision is Decision.ALLOW
    assert evaluate_secrets("no secret here").decision is Decision.ALLOW
    assert evaluate_diff_size("a.py", 1).decision is Decision.ALLOW


def test_too_large_a_diff_fails_the_run(agent: Interlock) -> None:
    run = agent.run("t")
    run.observe(run.may_edit("a.py", "a\nb\nc\nd\n"), exit_code=0)

    report = run.finish("failed")

    (size,) = [each for each in report.evaluations if each.evaluator == "diff-size"]
    assert not size.passed
    assert size.evidence == ("4 lines changed, the limit is 3",)


def test_nobody_is_sent_on_where_that_is_off(agent: Interlock) -> None:
    run = agent.run("t")
    run.observe(run.command("ls"), output="a.py\n", exit_code=0)

    stop = run.stopped("Let me continue with the next step.", finish_reason="tool_calls")

    assert not stop.goes_on


def test_rankings_name_the_most_frequent_rule_and_the_worst_place(agent: Interlock) -> None:
    run = agent.run("t")
    for number in range(150):
        run.violation(f"rule-{number % 7 and number}", "broken", location=f"f{number % 3}.py")

    state = run.state
    assert max(state.violated_rules, key=lambda rule: state.violated_rules[rule]) == "rule-0"
    assert state.violated_rules["rule-0"] == 22
    assert len(state.violated_rules) <= 100
    assert state.violated_places == {"f0.py": 50, "f1.py": 50, "f2.py": 50}
