"""The stateless tool gateway: three questions, one answer each."""

from __future__ import annotations

from collections.abc import Mapping

from interlock.model.action import CommandAction, EditAction, ToolAction
from interlock.model.review import ReviewVerdict, Unreadable
from interlock.model.verdict import Verdict
from interlock.policy.actions.compiled_policy import CompiledPolicy
from interlock.policy.gates.judgement import judge
from interlock.policy.reviews.verdict_grammar import VerdictSource, gate_verdict_from
from interlock.service.policies.policy_files import default_policy


def evaluate_command(
    command: str, *, cwd: str | None = None, policy: CompiledPolicy | None = None
) -> Verdict:
    """May this command line run? Judged by destructive-ops, protected-paths, secrets, rules."""
    return judge(CommandAction(command=command, cwd=cwd), policy or default_policy())


def evaluate_tool_use(
    name: str, params: Mapping[str, object] | str, *, policy: CompiledPolicy | None = None
) -> Verdict:
    """May this tool be called? Judged by allow-list, schema, secrets, and what it carries."""
    return judge(ToolAction(name=name, params=params), policy or default_policy())


def evaluate_edit(
    path: str,
    content: str,
    *,
    old: str | None = None,
    diff_lines: int | None = None,
    policy: CompiledPolicy | None = None,
) -> Verdict:
    """May this be written? Judged by diff-size, protected-paths, secrets, rules."""
    return judge(
        EditAction(path=path, content=content, old=old, diff_lines=diff_lines),
        policy or default_policy(),
    )


def gate_verdict(given: object, *, is_reply: bool = False) -> ReviewVerdict | Unreadable:
    """Was it good enough? Read a verdict on review gates: a text, or a table.

    Of an agent's whole reply only a marked line counts.
    """
    source = VerdictSource.REPLY if is_reply else VerdictSource.VERDICT
    return gate_verdict_from(given, source)
