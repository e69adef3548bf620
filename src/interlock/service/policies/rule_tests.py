"""Rules carry their own tests: examples that must fire, and examples that must not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import msgspec

from interlock.model.action import Action, CommandAction, action_from_request
from interlock.policy.actions.compiled_policy import CompiledPolicy
from interlock.policy.actions.rule_packs import Pack
from interlock.policy.gates.judgement import judge
from interlock.policy.gates.user_rules_gate import FAILED

Example = str | Mapping[str, object]
"""A command line, or any other action as a request describes it."""


class RuleTest(msgspec.Struct, frozen=True, kw_only=True):
    """One example of a rule, and whether the rule spoke as expected."""

    rule: str
    example: str
    expected: bool
    fired: bool
    error: str = ""
    """Why the condition could not be evaluated: it counts as true then, and no example holds."""

    @property
    def holds(self) -> bool:
        """Whether the rule matched as expected, because its condition says so."""
        return self.fired is self.expected and not self.error

    @property
    def problem(self) -> str:
        """What is wrong, as the end of a sentence about the example."""
        if self.error:
            return f"makes the condition fail: {self.error}"
        return "does not match" if self.expected else "matches"


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
    return [_complaint(test) for test in user_rule_tests(gates) if not test.holds]


def _complaint(test: RuleTest) -> str:
    field, should = ("match", "match it") if test.expected else ("not_match", "ignore it")
    return (
        f"rules.{test.rule}.{field}: `{test.example}` {test.problem}; expected the rule to"
        f" {should}{_remedy(test)}"
    )


def _remedy(test: RuleTest) -> str:
    guard = ": ask first whether a value is there, such as `has(params.url) && …`"
    return guard if test.error and not test.error.endswith("?") else ""


def _tested(
    rule_id: str, examples: Sequence[Example], gates: CompiledPolicy, *, expected: bool
) -> Iterator[RuleTest]:
    for example in examples:
        findings = judge(_action(example), gates).findings
        messages = [each.message for each in findings if each.rule == rule_id]
        errors = [
            message.partition(FAILED)[2].removesuffix(")")
            for message in messages
            if FAILED in message
        ]
        yield RuleTest(
            rule=rule_id,
            example=shown(example),
            expected=expected,
            fired=bool(messages),
            error=errors[0] if errors else "",
        )


def shown(example: Example) -> str:
    """Return an example as people read it."""
    return example if isinstance(example, str) else msgspec.json.encode(example).decode()


def _action(example: Example) -> Action:
    if isinstance(example, str):
        return CommandAction(command=example)
    # What an edit is about to write is not what most rules about paths ask for.
    without = {"content": ""} if "path" in example else {}
    return action_from_request({**without, **example})
