"""How did the answer come about? The way from an action to its verdict, step by step.

Nothing is decided here: the same reading and the same rules are asked again, this time for
what they saw and for what kept them quiet. No step shows a character of a credential.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Final, assert_never

from interlock.model.action import Action, CommandAction, EditAction, ToolAction
from interlock.model.explanation import Explanation, Step
from interlock.model.verdict import Finding, Verdict, aggregate
from interlock.policy.actions.decide import Gates, judge, lowered
from interlock.policy.actions.gates.diff_size import changed_lines
from interlock.policy.actions.gates.schema import params_from_text
from interlock.policy.actions.gates.secrets import strings_in
from interlock.policy.actions.lookthrough import Carried, carried_by
from interlock.policy.actions.matching import Hit, Rulebook
from interlock.policy.actions.redactor import Redactor
from interlock.policy.actions.shell import places, provenance
from interlock.policy.actions.shell.commands import Command, Effect, excerpt_of
from interlock.policy.actions.shell.lower import Lowered
from interlock.service.wiring import command_packs

_MOST_STEPS: Final = 200
_PLACEHOLDER: Final = "…"


class Stage(enum.StrEnum):
    """The stages of the way, in their order."""

    PARSE = "parse"
    EFFECT = "effect"
    RULE = "rule"
    SILENCED = "silenced"
    GATE = "gate"


def explain(action: Action, gates: Gates) -> Explanation:
    """Judge an action and tell how the answer came about."""
    verdict = judge(action, gates)
    match action:
        case CommandAction():
            steps = _of_command(action.command, action.cwd, gates)
        case ToolAction():
            steps = _of_tool(action, gates)
        case EditAction():
            steps = _of_edit(action.path, _changed(action))
        case _:
            assert_never(action)
    spoken = (_rule_step(finding, gates) for finding in verdict.findings)
    way = [*_in_order([*steps, *spoken]), *_gate_steps(action, verdict, gates)]
    return Explanation(verdict=verdict, steps=_redacted(way, action, gates))


def _of_command(command: str, cwd: str | None, gates: Gates, depth: int = 0) -> Iterator[Step]:
    if len(command) > gates.policy.limits.command_bytes:
        yield Step(stage=Stage.PARSE, text="the command is too long to be parsed", depth=depth)
        return
    try:
        found = lowered(command, cwd, gates)
    except Exception as error:  # noqa: BLE001 - the verdict already blocks what breaks the reader
        yield Step(stage=Stage.PARSE, text=f"the reader broke: {type(error).__name__}", depth=depth)
        return
    known = [command for command in found.commands if command.line != _PLACEHOLDER]
    yield from _cut([_parse_step(command, depth) for command in known])
    for unresolved in found.unresolved[:_MOST_STEPS]:
        text = f"not resolved: {unresolved.reason}: {excerpt_of(unresolved.text)}"
        yield Step(stage=Stage.PARSE, text=text, depth=depth)
    yield from _cut([_effect_step(effect) for effect in found.effects])
    yield from _cut(list(_quiet_steps(found, gates)))


def _of_tool(action: ToolAction, gates: Gates) -> Iterator[Step]:
    params = params_from_text(action.params) if isinstance(action.params, str) else action.params
    if isinstance(params, Finding):
        yield Step(stage=Stage.PARSE, text=f"`{action.name}`: {params.message}")
        return
    count = len(params)
    yield Step(
        stage=Stage.PARSE, text=f"`{action.name}` with {count} parameter{'' if count == 1 else 's'}"
    )
    for carried in carried_by(action.name, params, gates.policy.tools.carriers):
        yield from _of_carried(carried, gates)


def _of_carried(carried: Carried, gates: Gates) -> Iterator[Step]:
    if carried.command is None:
        yield from _of_edit(carried.path or "", carried.changed, depth=1)
    else:
        yield Step(stage=Stage.PARSE, text="carries a command:", depth=1)
        yield from _of_command(carried.command, carried.cwd, gates, depth=2)


def _of_edit(path: str, changed: int, depth: int = 0) -> Iterator[Step]:
    lines = f"{changed} line{'' if changed == 1 else 's'}"
    yield Step(stage=Stage.PARSE, text=f"an edit of `{path}` that changes {lines}", depth=depth)


def _changed(action: EditAction) -> int:
    if action.old is not None:
        return changed_lines(action.old, action.content)
    return len(action.content.splitlines()) if action.diff_lines is None else action.diff_lines


def _parse_step(command: Command, depth: int) -> Step:
    frame = command.frame
    via = f"  (via {', '.join(frame.via)})" if frame.via else ""
    inside = max(frame.depth, len(frame.via))
    line = " ".join([_one_word(word.text) for word in command.argv])
    return Step(stage=Stage.PARSE, text=f"{excerpt_of(line)}{via}", depth=depth + inside)


def _one_word(text: str) -> str:
    """Show where a word begins and ends if that is not plain to see."""
    return text if text and not any(char.isspace() for char in text) else f"'{text}'"


def _effect_step(effect: Effect) -> Step:
    kinds = [name for name, bit in places.NAMES.items() if effect.places & bit]
    kinds += [name for name, bit in provenance.NAMES.items() if effect.labels & bit]
    manner = [
        word
        for word, holds in (("recursive", effect.recursive), ("forced", effect.forced))
        if holds
    ]
    shown = f" [{', '.join([*kinds, *manner])}]" if kinds or manner else ""
    by = f"  (by {effect.command.program})" if effect.command.program else ""
    return Step(
        stage=Stage.EFFECT, text=f"{effect.kind.value} {excerpt_of(effect.target)}{shown}{by}"
    )


def _quiet_steps(found: Lowered, gates: Gates) -> Iterator[Step]:
    """Tell who would have spoken: rules that something silenced, and rules that are off."""
    book = _every_rule(gates.policy.destructive_ops.protected_branches)
    told: set[tuple[str, str]] = set()
    for hit in book.hits(found.commands, found.effects):
        reason = hit.silenced or _switched_off(hit, gates)
        if reason and (hit.rule_id, reason) not in told:
            told.add((hit.rule_id, reason))
            yield Step(stage=Stage.SILENCED, text=f"{hit.rule_id}: {reason}")


@cache
def _every_rule(branches: tuple[str, ...]) -> Rulebook:
    return Rulebook(command_packs(), branches=branches)


def _switched_off(hit: Hit, gates: Gates) -> str:
    if hit.rule_id in gates.rulebook.rules:
        return ""
    origins = gates.merged.origins
    pack = hit.rule_id.partition(".")[0]
    origin = origins.get(_rule_key(hit.rule_id))
    if origin is not None:
        return f"switched off by the policy ({origin})"
    origin = origins.get(f"destructive-ops.packs.{pack}")
    return f"the pack `{pack}` is switched off by the policy ({origin})"


def _rule_key(rule_id: str) -> str:
    return f'destructive-ops.rules."{rule_id}"'


def _rule_step(finding: Finding, gates: Gates) -> Step:
    origin = gates.merged.origins.get(_rule_key(finding.rule))
    by_policy = f", set by the policy ({origin})" if origin is not None else ""
    said = f"{finding.rule} says {finding.decision.value}{by_policy}"
    return Step(stage=Stage.RULE, text=f"{said}: {finding.message}")


def _gate_steps(action: Action, verdict: Verdict, gates: Gates) -> Iterator[Step]:
    """Tell what each gate decided, or why it had nothing to decide."""
    by_gate: dict[str, list[Finding]] = {}
    for finding in verdict.findings:
        by_gate.setdefault(finding.gate, []).append(finding)
    for gate, idle in _asked_gates(action, gates).items():
        spoken = by_gate.pop(gate, [])
        answer = aggregate(spoken).value if spoken else idle or "allow"
        yield Step(stage=Stage.GATE, text=f"{gate}: {answer}")
    yield Step(stage=Stage.GATE, text=f"the strictest counts: {verdict.decision.value}")


def _asked_gates(action: Action, gates: Gates) -> Mapping[str, str]:
    """Return the gates that such an action meets, with the reason where one is idle."""
    policy = gates.policy
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
                "schema": "" if name in gates.schemas else f"none for `{name}`",
            }
            return own | destructive | diff_size | paths | always
        case _:
            assert_never(action)


def _in_order(steps: Iterable[Step]) -> list[Step]:
    order = {stage.value: rank for rank, stage in enumerate(Stage)}
    return sorted(steps, key=lambda step: order[step.stage])


def _cut(steps: list[Step]) -> list[Step]:
    """Bound how much is told; the verdict never depends on it."""
    if len(steps) <= _MOST_STEPS:
        return steps
    more = Step(stage=steps[0].stage, text=f"… and {len(steps) - _MOST_STEPS} more")
    return [*steps[:_MOST_STEPS], more]


def _redacted(steps: Iterable[Step], action: Action, gates: Gates) -> tuple[Step, ...]:
    limit = gates.policy.limits.content_bytes
    redactor = Redactor(gates.scanner, [text[:limit] for text in _texts(action)])
    return tuple(
        Step(stage=step.stage, text=redactor.text(step.text), depth=step.depth) for step in steps
    )


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
