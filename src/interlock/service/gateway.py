"""The stateless tool gateway: three questions, one answer each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from interlock.model.action import CommandAction, EditAction, ToolAction, command_line
from interlock.model.entrance import Count, entrance, of_checked
from interlock.model.review import ReviewVerdict, Unreadable
from interlock.model.verdict import Verdict, strictest
from interlock.policy.gates.judgement import judge
from interlock.policy.reviews.verdict_grammar import VerdictSource, gate_verdict_from
from interlock.service.policies.policy_files import AnyPolicy, policy_given

_command_action = of_checked(CommandAction)


@entrance
def evaluate_command(
    command: str | Sequence[str],
    *,
    cwd: str | None = None,
    policy: AnyPolicy | None = None,
) -> Verdict:
    """May this command line run? Judged by destructive-ops, protected-paths, secrets, rules."""
    return judge(_command_action(command=command_line(command), cwd=cwd), policy_given(policy))


@entrance
def evaluate_tool_use(
    name: str, params: Mapping[str, object] | str, *, policy: AnyPolicy | None = None
) -> Verdict:
    """May this tool be called? Judged by allow-list, schema, secrets, and what it carries."""
    return judge(ToolAction(name=name, params=params), policy_given(policy))


@entrance
def evaluate_edit(
    path: str,
    content: str,
    *,
    old: str | None = None,
    diff_lines: Count | None = None,
    policy: AnyPolicy | None = None,
) -> Verdict:
    """May this be written? Judged by diff-size, protected-paths, secrets, rules."""
    return judge(
        EditAction(path=path, content=content, old=old, diff_lines=diff_lines),
        policy_given(policy),
    )


@entrance
def evaluate_destructive_ops(
    command: str, *, cwd: str | None = None, policy: AnyPolicy | None = None
) -> Verdict:
    """What does the gate `destructive-ops` alone say of a command line?"""
    return _by_gate("destructive-ops", evaluate_command(command, cwd=cwd, policy=policy))


@entrance
def evaluate_tool_allowlist(name: str, *, policy: AnyPolicy | None = None) -> Verdict:
    """What does the gate `tool-allowlist` alone say of a tool?"""
    return _by_gate("tool-allowlist", evaluate_tool_use(name, {}, policy=policy))


@entrance
def evaluate_diff_size(path: str, diff_lines: Count, *, policy: AnyPolicy | None = None) -> Verdict:
    """What does the gate `diff-size` alone say of an edit of so many lines?"""
    return _by_gate("diff-size", evaluate_edit(path, "", diff_lines=diff_lines, policy=policy))


@entrance
def evaluate_secrets(content: str, *, policy: AnyPolicy | None = None) -> Verdict:
    """What does the gate `secrets` alone say of a text?"""
    return _by_gate("secrets", evaluate_edit("content", content, policy=policy))


def _by_gate(gate: str, verdict: Verdict) -> Verdict:
    findings = tuple(each for each in verdict.findings if each.gate == gate)
    return replace(verdict, decision=strictest(findings), findings=findings)


@entrance
def gate_verdict(given: object, *, is_reply: bool = False) -> ReviewVerdict | Unreadable:
    """Was it good enough? Read a verdict on review gates: a text, or a table.

    Of an agent's whole reply only a marked line counts.
    """
    source = VerdictSource.REPLY if is_reply else VerdictSource.VERDICT
    return gate_verdict_from(given, source)
