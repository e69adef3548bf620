"""A gate that breaks denies, says so, and keeps no other gate from answering."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NoReturn, cast

import pytest
from inline_snapshot import snapshot
from jsonschema_rs import Validator
from msgspec.structs import replace

from gates.policies import gates_with, rules_of, told
from interlock import CompiledPolicy, Decision, evaluate_command, evaluate_edit, evaluate_tool_use
from interlock.commands.programs.program_tables import Programs
from interlock.model.action import CommandAction
from interlock.policy.actions.calls.tool_vocabulary import Vocabulary
from interlock.policy.actions.compiled_policy import PathGuard
from interlock.policy.actions.conditions import Condition
from interlock.policy.actions.rulebook import Rulebook
from interlock.policy.gates.contract import Gate
from interlock.secrets.scanner import SecretScanner
from interlock.service.policies.policy_files import default_policy
from secret_generator import from_template


class BrokenPart:
    """Stands where a gate's own part should be, and fails whenever it is asked."""

    rules: Mapping[str, object] = {}

    def hits(self, commands: Iterable[object], effects: Iterable[object]) -> Iterator[NoReturn]:
        raise RuntimeError("rules")

    def scan(self, text: str) -> Sequence[NoReturn]:
        raise ValueError("scanner")

    def entry_for(self, path: str) -> NoReturn:
        raise KeyError("guard")

    def entry_within(self, folder: str) -> NoReturn:
        raise KeyError("guard")

    def iter_errors(self, params: Mapping[str, object]) -> NoReturn:
        raise RecursionError("schema")

    def ask(self, facts: Mapping[str, object]) -> NoReturn:
        raise OverflowError("condition")

    def __getattr__(self, name: str) -> NoReturn:
        raise MemoryError(name)


_BROKEN = BrokenPart()
_TOKEN = from_template("ghp_[A-Za-z0-9]{36}", "broken")
_LINE = f"rm -rf / && echo {_TOKEN} > interlock.toml"
_RULED = gates_with(
    '[[rules]]\nid = "own"\nwhen = "true"\ndecision = "warn"\nmessage = "always"\n'
    "[tools.schemas.Bash]\nmaxProperties = 0\n"
)
_GATES: dict[str, CompiledPolicy] = {
    "destructive-ops": replace(_RULED, rulebook=cast("Rulebook", _BROKEN)),
    "protected-paths": replace(_RULED, guard=cast("PathGuard", _BROKEN)),
    "schema": replace(_RULED, schemas={"Bash": cast("Validator", _BROKEN)}),
    "rules": replace(_RULED, user_rules=((_RULED.user_rules[0][0], cast("Condition", _BROKEN)),)),
}
_ALL = {"destructive-ops", "protected-paths", "schema", "rules", "secrets"}


@pytest.mark.parametrize(("gate", "gates"), _GATES.items(), ids=_GATES)
def test_a_gate_that_breaks_denies_and_the_others_still_answer(gate: str, gates: CompiledPolicy):
    verdict = evaluate_tool_use("Bash", {"command": _LINE}, policy=gates)
    broken = [finding for finding in verdict.findings if finding.rule.endswith(".broken")]

    assert {finding.rule for finding in broken} == {f"{gate}.broken"}
    assert {finding.decision for finding in broken} == {Decision.BLOCK}
    assert {finding.gate for finding in verdict.findings} == _ALL
    assert verdict.decision is Decision.BLOCK


@pytest.mark.parametrize(("gate", "gates"), _GATES.items(), ids=_GATES)
def test_a_gate_that_breaks_denies_even_what_is_harmless(gate: str, gates: CompiledPolicy):
    verdicts = [
        evaluate_command("echo x > a.txt", policy=gates),
        evaluate_edit("a.txt", "x", policy=gates),
        evaluate_tool_use("Bash", {}, policy=gates),
    ]

    assert f"{gate}.broken" in {rule for verdict in verdicts for rule in rules_of(verdict)}
    for verdict in verdicts:
        asked = any(rule.endswith(".broken") for rule in rules_of(verdict))
        assert verdict.decision is (Decision.BLOCK if asked else Decision.WARN)


def test_a_reader_that_breaks_denies():
    gates = replace(default_policy(), programs=cast("Programs", _BROKEN))

    assert told(evaluate_command("ls -l", policy=gates)) == snapshot("""\
block
destructive-ops.broken: the gate could not judge this (MemoryError), so it is not allowed\
""")


def test_a_scanner_that_breaks_denies():
    gates = replace(default_policy(), scanner=cast("SecretScanner", _BROKEN))

    for verdict in (
        evaluate_command("ls", policy=gates),
        evaluate_edit("a.txt", "x", policy=gates),
        evaluate_tool_use("note", {"a": "x"}, policy=gates),
        evaluate_tool_use("note", "{", policy=gates),
    ):
        assert "secrets.broken" in rules_of(verdict)
        assert verdict.decision is Decision.BLOCK


def test_a_search_that_breaks_denies():
    gates = replace(default_policy(), vocabulary=lambda: cast("Vocabulary", _BROKEN))

    for tool in ("Bash", "Read"):
        verdict = evaluate_tool_use(tool, {"command": "ls"}, policy=gates)

        assert rules_of(verdict) == ["tool-content.broken"]
        assert verdict.decision is Decision.BLOCK


def test_a_broken_gate_tells_what_to_do_and_nothing_of_the_input():
    gates = _GATES["rules"]
    (finding,) = evaluate_command("ls", policy=gates).findings

    assert finding.message == snapshot(
        "the gate could not judge this (OverflowError), so it is not allowed"
    )
    assert finding.remediation == snapshot(
        "report this with the input that caused it; try a simpler action meanwhile"
    )
    assert finding.excerpt is None


def test_a_gate_that_says_nothing_else_always_has_something_to_decide():
    assert Gate(name="mine").idle(CommandAction(command="ls"), default_policy()) == ""
