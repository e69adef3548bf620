"""Rules carry their own tests: examples that must fire, and examples that must not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import msgspec

from interlock.model.action import Action, CommandAction, action_from_request
from interlock.policy.actions.compiled_policy import CompiledPolicy
from interlock.policy.actions.rule_packs import Pack
from interlock.policy.gates.judgement import judge


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
                for example in rule.match:
                    yield _tested(rule_id, example, gates, expected=True)
                for example in rule.not_match:
                    yield _tested(rule_id, example, gates, expected=False)


def user_rule_tests(gates: CompiledPolicy) -> Iterator[RuleTest]:
    """Run the examples of the rules that the user wrote."""
    for rule, _ in gates.user_rules:
        for expected, examples in ((True, rule.match), (False, rule.not_match)):
            for example in examples:
                yield _tested(rule.id, example, gates, expected=expected)


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
    rule_id: str, example: str | Mapping[str, object], gates: CompiledPolicy, *, expected: bool
) -> RuleTest:
    shown = example if isinstance(example, str) else msgspec.json.encode(example).decode()
    fired = any(finding.rule == rule_id for finding in judge(_action(example), gates).findings)
    return RuleTest(rule=rule_id, example=shown, expected=expected, fired=fired)


def _action(example: str | Mapping[str, object]) -> Action:
    if isinstance(example, str):
        return CommandAction(command=example)
    return action_from_request(example)
