"""How did the answer come about? The way from an action to its verdict, step by step.

Nothing is decided here: the same reading and the same rules are asked again, this time for
what they saw and for what kept them quiet. No step shows a character of a credential.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from itertools import islice
from typing import Final, assert_never

from interlock.commands.analysis import CommandAnalysis
from interlock.commands.code.code_values import excerpt_of
from interlock.commands.programs import places
from interlock.commands.shell import provenance
from interlock.commands.shell.command import Command, Effect
from interlock.model.action import Action, CommandAction, EditAction, ToolAction
from interlock.model.verdict import Explanation, Finding, Step, Verdict, aggregate
from interlock.policy.actions.changed_lines import changed_lines, lines_of
from interlock.policy.actions.decide import judge, lowered
from interlock.policy.actions.gates.fuzzy_edits import EDIT_TOOL
from interlock.policy.actions.parameters import params_from_text, strings_in
from interlock.policy.actions.payload import Payload, payloads_of
from interlock.policy.actions.redactor import Redactor
from interlock.policy.actions.rulebook import Hit, Rulebook
from interlock.policy.config.compiled import CompiledPolicy
from interlock.policy.config.key import ALLOW_WITH_UNDO
from interlock.service.builtin_rules import command_packs
from interlock.service.policy_files import rules_answered

_MOST_STEPS: Final = 200
_MOST_SHOWN: Final = 1 << 14
_PLACEHOLDER: Final = "…"


class Stage(enum.StrEnum):
    """The stages of the way, in their order."""

    PARSE = "parse"
    EFFECT = "effect"
    RULE = "rule"
    SILENCED = "silenced"
    GATE = "gate"


def explain(action: Action, gates: CompiledPolicy) -> Explanation:
    """Judge an action and tell how the answer came about."""
    verdict = judge(action, gates)
    reading = _Reading(action, gates)
    spoken = [_rule_step(finding, gates) for finding in verdict.findings]
    steps = [*reading.steps(), *spoken, *_gate_steps(action, verdict, gates)]
    return Explanation(verdict=verdict, steps=tuple(_in_order(steps)))


class _Reading:
    """What was read from one action, told without a character of any credential in it."""

    def __init__(self, action: Action, gates: CompiledPolicy) -> None:
        self._action = action
        self._gates = gates
        limit = gates.config.limits.content_bytes
        self._redactor = Redactor(gates.scanner, [text[:limit] for text in _texts(action)])

    def steps(self) -> Iterator[Step]:
        """Yield how the action was read, what it would do, and which rules stayed silent."""
        match self._action:
            case CommandAction(command=command, cwd=cwd):
                return self._of_command(command, cwd)
            case ToolAction(name=name, params=params):
                return self._of_tool(name, params)
            case EditAction() as edit:
                return self._of_edit(edit.path, _changed(edit))
            case _:
                assert_never(self._action)

    def _of_command(self, command: str, cwd: str | None, depth: int = 0) -> Iterator[Step]:
        if len(command) > self._gates.config.limits.command_bytes:
            yield _parsed("the command is too long to be parsed", depth)
            return
        try:
            found = lowered(command, cwd, self._gates)
        except Exception as error:  # noqa: BLE001 - the verdict already blocks what breaks the reader
            yield _parsed(f"the reader broke: {type(error).__name__}", depth)
            return
        known = [command for command in found.commands if command.line != _PLACEHOLDER]
        yield from _cut((self._command_step(command, depth) for command in known), len(known))
        for each in found.unresolved[:_MOST_STEPS]:
            yield _parsed(f"not resolved: {each.reason}: {self._shown(each.text)}", depth)
        yield from _cut(map(self._effect_step, found.effects), len(found.effects))
        yield from self._quiet_steps(found)

    def _of_tool(self, name: str, params: Mapping[str, object] | str) -> Iterator[Step]:
        read = params_from_text(params) if isinstance(params, str) else params
        if isinstance(read, Finding):
            yield _parsed(f"`{self._shown(name)}`: {read.message}")
            return
        yield _parsed(f"`{self._shown(name)}` with {_counted(len(read), 'parameter')}")
        for carried in payloads_of(name, read, self._gates.config.tools.carriers):
            yield from self._of_carried(carried)

    def _of_carried(self, carried: Payload) -> Iterator[Step]:
        if carried.command is None:
            yield from self._of_edit(carried.path or "", carried.changed, depth=1)
        else:
            yield _parsed("carries a command:", depth=1)
            yield from self._of_command(carried.command, carried.cwd, depth=2)

    def _of_edit(self, path: str, changed: int, depth: int = 0) -> Iterator[Step]:
        size = _counted(changed, "line")
        yield _parsed(f"an edit of `{self._shown(path)}` that changes {size}", depth)

    def _command_step(self, command: Command, depth: int) -> Step:
        frame = command.frame
        via = f"  (via {', '.join(frame.via)})" if frame.via else ""
        line = self._shown(" ".join([_one_word(word.text) for word in command.argv]))
        return _parsed(f"{line}{via}", depth + max(frame.depth, len(frame.via)))

    def _effect_step(self, effect: Effect) -> Step:
        kinds = [name for name, bit in places.NAMES.items() if effect.places & bit]
        kinds += [name for name, bit in provenance.NAMES.items() if effect.labels & bit]
        kinds += ["recursive"] if effect.recursive else []
        kinds += ["forced"] if effect.forced else []
        notes = f" [{', '.join(kinds)}]" if kinds else ""
        by = f"  (by {self._shown(effect.command.program)})" if effect.command.program else ""
        text = f"{effect.kind.value} {self._shown(effect.target)}{notes}{by}"
        return Step(stage=Stage.EFFECT, text=text)

    def _quiet_steps(self, found: CommandAnalysis) -> Iterator[Step]:
        """Tell who would have spoken: rules that something silenced, and rules that are off."""
        ops = self._gates.config.destructive_ops
        book = _every_rule(ops.protected_branches, rules_answered(ops, ALLOW_WITH_UNDO))
        quiet = {
            (hit.rule_id, reason): None
            for hit in book.hits(found.commands, found.effects)
            if (reason := hit.silenced or _switched_off(hit, self._gates))
        }
        steps = (
            Step(stage=Stage.SILENCED, text=f"{rule}: {self._shown(reason)}")
            for rule, reason in quiet
        )
        yield from _cut(steps, len(quiet))

    def _shown(self, text: str) -> str:
        # Redacted before it is cut: half a credential would not be recognised any more.
        return excerpt_of(self._redactor.text(text[:_MOST_SHOWN]))


def _parsed(text: str, depth: int = 0) -> Step:
    return Step(stage=Stage.PARSE, text=text, depth=depth)


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"


def _changed(action: EditAction) -> int:
    if action.old is not None:
        return changed_lines(action.old, action.content)
    return len(lines_of(action.content)) if action.diff_lines is None else action.diff_lines


def _one_word(text: str) -> str:
    """Show where a word begins and ends if that is not plain to see."""
    return text if text and not any(char.isspace() for char in text) else f"'{text}'"


def _cut(steps: Iterable[Step], count: int) -> Iterator[Step]:
    """Bound how much is told; the verdict never depends on it."""
    stage: str = Stage.PARSE
    for step in islice(steps, _MOST_STEPS):
        stage = step.stage
        yield step
    if count > _MOST_STEPS:
        yield Step(stage=stage, text=f"… and {count - _MOST_STEPS} more")


@cache
def _every_rule(branches: tuple[str, ...], undoable: frozenset[str]) -> Rulebook:
    return Rulebook(command_packs(), branches=branches, undoable=undoable)


def _switched_off(hit: Hit, gates: CompiledPolicy) -> str:
    if hit.rule_id in gates.rulebook.rules:
        return ""
    origin = gates.merged.origins.get(_rule_key(hit.rule_id))
    if origin is not None:
        return f"switched off by the policy ({origin})"
    pack = hit.rule_id.partition(".")[0]
    origin = gates.merged.origins.get(f"destructive-ops.packs.{pack}")
    return f"the pack `{pack}` is switched off by the policy ({origin})"


def _rule_key(rule_id: str) -> str:
    return f'destructive-ops.rules."{rule_id}"'


def _rule_step(finding: Finding, gates: CompiledPolicy) -> Step:
    """Tell what a finding says; findings are redacted already."""
    origin = gates.merged.origins.get(_rule_key(finding.rule))
    by_policy = f", set by the policy ({origin})" if origin is not None else ""
    said = f"{finding.rule} says {finding.decision.value}{by_policy}"
    return Step(stage=Stage.RULE, text=f"{said}: {finding.message}")


def _gate_steps(action: Action, verdict: Verdict, gates: CompiledPolicy) -> Iterator[Step]:
    """Tell what each gate decided, or why it had nothing to decide."""
    by_gate: dict[str, list[Finding]] = {}
    for finding in verdict.findings:
        by_gate.setdefault(finding.gate, []).append(finding)
    for gate, idle in _asked_gates(action, gates).items():
        spoken = by_gate.pop(gate, [])
        answer = aggregate(spoken).value if spoken else idle or "allow"
        yield Step(stage=Stage.GATE, text=f"{gate}: {answer}")
    yield Step(stage=Stage.GATE, text=f"the strictest counts: {verdict.decision.value}")


def _asked_gates(action: Action, gates: CompiledPolicy) -> Mapping[str, str]:
    """Return the gates that such an action meets, with the reason where one is idle."""
    policy = gates.config
    off = "off by the policy"
    destructive = {"destructive-ops": "" if policy.destructive_ops.enabled else off}
    diff_size = {"diff-size": "" if policy.diff_size.enabled else off}
    paths = {"protected-paths": "" if policy.protected_paths.enabled else off}
    always = {
        "secrets": "" if policy.secrets.enabled else off,
        "rules": "" if gates.user_rules else "none written",
    }
    match action:
        case CommandAction():
            return destructive | paths | always
        case EditAction():
            return diff_size | paths | always
        case ToolAction(name=name):
            listed = policy.tool_allowlist.enabled or policy.tool_allowlist.deny
            own = {
                "tool-allowlist": "" if listed else "nothing listed",
                "schema": "" if name in gates.schemas else "none for this tool",
            }
            if name == EDIT_TOOL:
                own["edits"] = "" if gates.config.edits.fuzzy_matches != "off" else off
            return own | destructive | diff_size | paths | always
        case _:
            assert_never(action)


def _in_order(steps: Iterable[Step]) -> list[Step]:
    order = {stage.value: rank for rank, stage in enumerate(Stage)}
    return sorted(steps, key=lambda step: order[step.stage])


def _texts(action: Action) -> list[str]:
    match action:
        case CommandAction(command=command):
            return [command]
        case EditAction(path=path, content=content):
            return [path, content]
        case ToolAction(params=str() as raw):
            return [raw]
        case ToolAction(params=params):
            return [text for _, text in strings_in(params)]
        case _:
            assert_never(action)
