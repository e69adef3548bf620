"""How did the answer come about? The way from an action to its verdict, stage by stage.

Nothing is decided here: the same reading and the same rules are asked again, this time for
what they saw and for what suppressed them. No step shows a character of a credential.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import islice
from typing import Final, assert_never

from interlock.commands.analysis import CommandAnalysis
from interlock.commands.programs import places
from interlock.commands.shell import provenance
from interlock.commands.shell.command import Command, Effect
from interlock.commands.shell.words import excerpt_of
from interlock.model.action import Action, CommandAction, EditAction, ToolAction
from interlock.model.verdict import Explanation, Finding, Step, Verdict, strictest
from interlock.policy.actions.calls.json_text import Unreadable
from interlock.policy.actions.compiled_policy import CompiledPolicy
from interlock.policy.actions.inspection import (
    Call,
    CommandLine,
    InspectedEdit,
    Inspection,
    inspect,
)
from interlock.policy.actions.recordable import Redactor
from interlock.policy.actions.rulebook import Hit, Rulebook
from interlock.policy.config.key import ALLOW_WITH_UNDO
from interlock.policy.gates.contract import Gate
from interlock.policy.gates.judgement import GATES, verdict_of
from interlock.service.policies.builtin_rules import command_packs
from interlock.service.policies.policy_files import rules_answered
from interlock.views.command_tree import PlacedCommand, placed_commands

_MOST_STEPS: Final = 200
_MOST_SHOWN: Final = 1 << 14
_PLACEHOLDER: Final = "…"


class Stage(enum.StrEnum):
    """The stages of the way, in their order."""

    PARSE = "parse"
    EFFECT = "effect"
    RULE = "rule"
    SUPPRESSED = "suppressed"
    GATE = "gate"


_STAGES: Final = tuple(each.value for each in Stage)


def explain(action: Action, policy: CompiledPolicy) -> Explanation:
    """Judge an action and say how the answer came about."""
    inspection = inspect(action, policy)
    verdict = verdict_of(inspection)
    spoken = [_rule_step(finding, policy) for finding in verdict.findings]
    steps = [*_Reading(inspection).steps(), *spoken, *_gate_steps(action, verdict, policy)]
    steps.sort(key=lambda step: _STAGES.index(step.stage))
    return Explanation(verdict=verdict, steps=tuple(steps))


class _Reading:
    """What was read from one action, shown without a character of any credential in it."""

    def __init__(self, inspection: Inspection) -> None:
        self._inspection = inspection
        self._policy = inspection.policy
        limit = self._policy.config.limits.content_bytes
        texts = [text[:limit] for text in _texts(inspection)]
        self._redactor = Redactor(inspection.scan, texts)

    def steps(self) -> Iterator[Step]:
        """Yield how the action was read, what it would do, and which rules were suppressed."""
        subject = self._inspection.subject
        if isinstance(subject, Call):
            return self._of_call(subject)
        return self._of_part(subject)

    def _of_call(self, call: Call) -> Iterator[Step]:
        name = self._shown(call.name)
        if isinstance(call.params, Unreadable):
            yield _parsed(f"`{name}`: {call.params.message}")
            return
        yield _parsed(f"`{name}` with {_counted(len(call.params), 'parameter')}")
        for part in (*call.parts, *call.guesses):
            if isinstance(part, CommandLine):
                how = "carries" if part in call.parts else "may carry"
                yield _parsed(f"{how} a command:", depth=1)
                yield from self._of_part(part, depth=2)
            else:
                yield from self._of_part(part, depth=1)

    def _of_part(self, part: CommandLine | InspectedEdit, depth: int = 0) -> Iterator[Step]:
        if isinstance(part, CommandLine):
            yield from self._of_command(part, depth)
        else:
            size = _counted(part.changed, "line")
            yield _parsed(f"an edit of `{self._shown(part.path)}` that changes {size}", depth)

    def _of_command(self, command: CommandLine, depth: int) -> Iterator[Step]:
        if len(command.line) > self._policy.config.limits.command_bytes:
            yield _parsed("the command is too long to be parsed", depth)
            return
        if command.failure is not None:
            yield _parsed(f"the reader broke: {type(command.failure).__name__}", depth)
            return
        found = command.lowered
        known = known_commands(found)
        placed = placed_commands(command.line, known[:_MOST_STEPS])
        yield from _cut((self._command_step(each, depth) for each in placed), len(known))
        for each in found.unresolved[:_MOST_STEPS]:
            yield _parsed(f"not resolved: {each.reason}: {self._shown(each.text)}", depth)
        yield from _cut(map(self._effect_step, found.effects), len(found.effects))
        yield from self._quiet_steps(found)

    def _command_step(self, placed: PlacedCommand, depth: int) -> Step:
        command, via = placed.command, placed.command.frame.via
        told = f"  (via {', '.join(via)})" if via else ""
        line = self._shown(" ".join([one_word(word.text) for word in command.argv]))
        return _parsed(f"{line}{told}", depth + placed.depth)

    def _effect_step(self, effect: Effect) -> Step:
        kinds = kinds_of(effect)
        notes = f" [{', '.join(kinds)}]" if kinds else ""
        by = f"  (by {self._shown(effect.command.program)})" if effect.command.program else ""
        text = f"{effect.kind.value} {self._shown(effect.target)}{notes}{by}"
        return Step(stage=Stage.EFFECT, text=text)

    def _quiet_steps(self, found: CommandAnalysis) -> Iterator[Step]:
        """Tell which rules would have matched: those suppressed by something, and those off."""
        ops = self._policy.config.destructive_ops
        book = _every_rule(ops.protected_branches, rules_answered(ops, ALLOW_WITH_UNDO))
        quiet = {
            (hit.rule_id, reason): None
            for hit in book.hits(found.commands, found.effects)
            if (reason := hit.silenced or _switched_off(hit, self._policy))
        }
        steps = (
            Step(stage=Stage.SUPPRESSED, text=f"{rule}: {self._shown(reason)}")
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


def known_commands(found: CommandAnalysis) -> Sequence[Command]:
    """Return the commands of which something is known."""
    return [command for command in found.commands if command.line != _PLACEHOLDER]


def kinds_of(effect: Effect) -> Sequence[str]:
    """Return what is known of an effect's target and of how it is done, in words."""
    kinds = [name for name, bit in places.NAMES.items() if effect.places & bit]
    kinds += [name for name, bit in provenance.NAMES.items() if effect.labels & bit]
    kinds += ["recursive"] if effect.recursive else []
    kinds += ["forced"] if effect.forced else []
    return kinds


def one_word(text: str) -> str:
    """Show where a word begins and ends if that is not plain to see."""
    return text if text and not any(char.isspace() for char in text) else f"'{text}'"


def _cut(steps: Iterable[Step], count: int) -> Iterator[Step]:
    """Bound how much is shown; the verdict never depends on it."""
    stage: str = Stage.PARSE
    for step in islice(steps, _MOST_STEPS):
        stage = step.stage
        yield step
    if count > _MOST_STEPS:
        yield Step(stage=stage, text=f"… and {count - _MOST_STEPS} more")


@cache
def _every_rule(branches: tuple[str, ...], undoable: frozenset[str]) -> Rulebook:
    return Rulebook(command_packs(), branches=branches, undoable=undoable)


def _switched_off(hit: Hit, policy: CompiledPolicy) -> str:
    if hit.rule_id in policy.rulebook.rules:
        return ""
    origin = policy.merged.origins.get(_rule_key(hit.rule_id))
    if origin is not None:
        return f"switched off by the policy ({origin})"
    pack = hit.rule_id.partition(".")[0]
    origin = policy.merged.origins.get(f"destructive-ops.packs.{pack}")
    return f"the pack `{pack}` is switched off by the policy ({origin})"


def _rule_key(rule_id: str) -> str:
    return f'destructive-ops.rules."{rule_id}"'


def _rule_step(finding: Finding, policy: CompiledPolicy) -> Step:
    """Tell what a finding says; findings are redacted already."""
    origin = policy.merged.origins.get(_rule_key(finding.rule))
    by_policy = f", set by the policy ({origin})" if origin is not None else ""
    answer = f"{finding.rule} ({finding.decision.short}{by_policy})"
    return Step(stage=Stage.RULE, text=f"{answer}: {finding.message}")


def _gate_steps(action: Action, verdict: Verdict, policy: CompiledPolicy) -> Iterator[Step]:
    """Tell what each gate decided, or why it had nothing to decide."""
    for gate in GATES:
        idle = gate.idle(action, policy) if looks_at(gate, action) else None
        if idle is not None:
            spoken = [finding for finding in verdict.findings if finding.gate == gate.name]
            answer = strictest(spoken).short if spoken else idle or "allow"
            yield Step(stage=Stage.GATE, text=f"{gate.name}: {answer}")
    yield Step(stage=Stage.GATE, text=f"the strictest counts: {verdict.decision.short}")


def looks_at(gate: Gate, action: Action) -> bool:
    """Whether a gate judges such an action at all."""
    match action:
        case CommandAction():
            return gate.command is not None
        case EditAction():
            return gate.edit is not None
        case ToolAction():
            # It may carry both.
            looks = (gate.call, gate.command, gate.edit, gate.call_as_a_whole)
            return any(find is not None for find in looks)
        case _:
            assert_never(action)


def _texts(inspection: Inspection) -> list[str]:
    """Return the texts that credentials are known from when something is shown."""
    match inspection.action:
        case CommandAction(command=command):
            return [command]
        case EditAction(path=path, content=content):
            return [path, content]
        case ToolAction(params=str() as raw):
            return [raw]
        case ToolAction():
            return [text.searched for text in inspection.subject.texts]
        case _:
            assert_never(inspection.action)
