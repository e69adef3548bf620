"""Rules carry their own tests: examples that must fire, and examples that must not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import msgspec

from interlock.model.action import Action, CommandAction, action_from_request
from interlock.policy.actions.compiled_policy import CompiledPolicy
from interlock.policy.actions.rule_packs import Pack
from interlock.policy.gates.judgement import judge

Example = str | Mapping[str, object]
"""A command line, or any other action as a request describes it."""


class RuleTest(msgspec.Struct, frozen=True, kw_only=True):
    """One example of a rule, and whether the rule spoke as expected."""

    rule: str
    example: str
    expected: bool
    fired: bool


def pack_tests(gates: CompiledPolicy, packs: tuple[Pack, ...]) -> Iterator[RuleTest]:
    """Run the examples of the built-in packs that are switched on."""
    for pack in packs:
        for rule in pack.rules:
            rule_id = f"{pack.id}.{rule.id}"
            if rule_id in gates.rulebook.rules:
                yield from _tested(rule_id, rule.match, gates, expected=True)
                yield from _tested(rule_id, rule.not_match, gates, expected=False)


def user_rule_tests(gates: CompiledPolicy) -> Iterator[RuleTest]:
    """Run the examples of the rules that the user wrote."""
    for rule, _ in gates.user_rules:
        yield from _tested(rule.id, rule.match, gates, expected=True)
        yield from _tested(rule.id, rule.not_match, gates, expected=False)


def failing_examples(gates: CompiledPolicy) -> list[str]:
    """Return a complaint per example of a user's rule that does not hold."""
    return [_complaint(test) for test in user_rule_tests(gates) if test.fired != test.expected]


def _complaint(test: RuleTest) -> str:
    field, does, should = (
        ("match", "does not fire", "fire")
        if test.expected
        else ("not_match", "fires", "stay silent")
    )
    return f"rules.{test.rule}.{field}: `{test.example}` {does}, expected the rule to {should}"


def _tested(
    rule_id: str, examples: Sequence[Example], gates: CompiledPolicy, *, expected: bool
) -> Iterator[RuleTest]:
    for example in examples:
        fired = any(finding.rule == rule_id for finding in judge(_action(example), gates).findings)
        yield RuleTest(rule=rule_id, example=shown(example), expected=expected, fired=fired)


def shown(example: Example) -> str:
    """Return an example as people read it."""
    return example if isinstance(example, str) else msgspec.json.encode(example).decode()


def _action(example: Example) -> Action:
    if isinstance(example, str):
        return CommandAction(command=example)
    return action_from_request(example)
