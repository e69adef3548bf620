"""May it do this? The gates from end to end, on one page.

`judge` is a pure function of an action and a policy: every gate is asked, every finding returned.
`decide` adds what is known of the run, and is a pure function of the recorded facts, so that
replay gives the recorded answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import zip_longest
from typing import Final, NamedTuple, TypeVar

from msgspec.structs import replace

from interlock.commands.affected_paths import AffectedPaths, Unknown
from interlock.model.action import Action
from interlock.model.facts import Facts, Withheld
from interlock.model.verdict import Decision, Finding, Severity, Verdict, strictest
from interlock.policy.actions.compiled_policy import CompiledPolicy
from interlock.policy.actions.inspection import (
    Call,
    CommandLine,
    InspectedEdit,
    Inspection,
    encodable,
    inspect,
)
from interlock.policy.actions.recordable import Redactor, canonical_action, recordable_action
from interlock.policy.actions.risk_class import RiskClass, risk_class_of
from interlock.policy.actions.undo_eligibility import is_undoable, touched_by
from interlock.policy.config.key import OBSERVE
from interlock.policy.gates import (
    allowlist_gate,
    approval_gate,
    budget_gate,
    destructive_gate,
    diff_size_gate,
    fuzzy_edits_gate,
    hold_gate,
    privilege_gate,
    protected_paths_gate,
    schema_gate,
    secrets_gate,
    tool_content_gate,
    undo_gate,
    user_rules_gate,
)
from interlock.policy.gates.contract import Gate

_Subject = TypeVar("_Subject")
_Asked = tuple[CommandLine | InspectedEdit | Call, list[Finding]]
"""What is asked about, and where the findings go."""

GATES: Final = (
    allowlist_gate.GATE,
    schema_gate.GATE,
    tool_content_gate.GATE,
    fuzzy_edits_gate.GATE,
    destructive_gate.GATE,
    diff_size_gate.GATE,
    protected_paths_gate.GATE,
    secrets_gate.GATE,
    user_rules_gate.GATE,
    hold_gate.GATE,
    privilege_gate.GATE,
    budget_gate.GATE,
    undo_gate.GATE,
    approval_gate.GATE,
)
"""Every gate. The order is that of the findings; the decision does not hang on it."""
_COMMAND_GATES: Final = [(gate, gate.command) for gate in GATES if gate.command is not None]
_EDIT_GATES: Final = [(gate, gate.edit) for gate in GATES if gate.edit is not None]
_CALL_GATES: Final = [(gate, gate.call) for gate in GATES if gate.call is not None]
_WHOLE_CALL_GATES: Final = [
    (gate, gate.call_as_a_whole) for gate in GATES if gate.call_as_a_whole is not None
]
_BINDING: Final = frozenset(gate.name for gate in GATES if gate.is_binding)
_OWN_RULES: Final = ("persistence.gate-", "persistence.agent-")
_OWN_PATHS: Final = (
    "interlock", "/.claude", "/ClaudeCode/", "/claude-code/", "/.mcp.json", "/hooks.json",
    "/.codex/", "/etc/codex/", "/.gemini/", "/gemini-cli/", "/.github/hooks/", "/.github/copilot/",
    "/.copilot/", "/github-copilot/", "/.cursor/", "/etc/cursor/", "opencode", "windsurf/",
    "/.clinerules/",
)  # fmt: skip
"""Where Interlock and the settings of clients are, among the protected paths."""
_RUN_GATES: Final = [(gate, gate.facts) for gate in GATES if gate.facts is not None]


def judge(action: Action, policy: CompiledPolicy) -> Verdict:
    """Answer whether an action may happen, with every reason."""
    return verdict_of(inspect(action, policy))


def judge_all(actions: Iterable[Action], policy: CompiledPolicy) -> list[Verdict]:
    """Answer the same of many actions, each for itself.

    It takes two thirds of the time: one gate looks at all of them before the next one does, and
    what the processor needs for it is still at hand.
    """
    inspections = [inspect(action, policy) for action in actions]
    asked: list[_Asked] = [(each.subject, []) for each in inspections]
    _ask_about(asked, policy)
    return [
        _verdict(inspection, found)
        for inspection, (_, found) in zip(inspections, asked, strict=True)
    ]


def verdict_of(inspection: Inspection) -> Verdict:
    """Answer whether what was inspected may happen, with every reason."""
    found: list[Finding] = []
    _ask_about([(inspection.subject, found)], inspection.policy)
    return _verdict(inspection, found)


def _verdict(inspection: Inspection, found: list[Finding]) -> Verdict:
    if not found:
        policy_hash = inspection.policy.hash
        return Verdict(decision=Decision.ALLOW, findings=(), policy_hash=policy_hash)
    findings = [_sendable(each) for each in _redacted(found, inspection)]
    findings = observed_findings(findings, inspection.policy)
    return Verdict(
        decision=strictest(findings),
        findings=tuple(findings),
        policy_hash=inspection.policy.hash,
    )


class Judgement:
    """What the gates say of an action, and everything else that hangs on the action alone."""

    def __init__(self, inspection: Inspection) -> None:
        self.inspection = inspection
        # First of all: what JSON cannot say may have no end.
        self.canonical = canonical_action(inspection)
        """The bytes that tell the action from every other."""
        self.verdict = verdict_of(inspection)
        recordable = recordable_action(inspection, self.verdict)
        self.recordable = recordable.action
        """The action as it may be recorded: without credentials."""
        self.withheld = None
        """What hangs on the part that is not recorded, if any."""
        if not recordable.is_whole:
            instead = verdict_of(inspection.of(recordable.action)).findings
            self.withheld = Withheld(instead=instead)

    @cached_property
    def risk_class(self) -> RiskClass:
        """What the action does to the world."""
        return risk_class_of(self.inspection, self.verdict.findings)

    @cached_property
    def touches(self) -> AffectedPaths | Unknown:
        """What it deletes or overwrites."""
        return touched_by(self.inspection)


class Settled(NamedTuple):
    """Every finding, and the decision that is answered."""

    verdict: Verdict
    decision: Decision


def decide(judgement: Judgement, facts: Facts) -> Settled:
    """Return the answer to an action, given what is known of its run."""
    policy = judgement.inspection.policy
    return settle(judgement.verdict.findings, facts, policy, policy.hash)


def settle(
    findings: Sequence[Finding], facts: Facts, policy: CompiledPolicy, policy_hash: str
) -> Settled:
    """Return the answer, given what the gates found in an action and what is known of its run."""
    known: list[Finding] = []
    _ask(_RUN_GATES, [(facts, known)], policy)
    every = (*findings, *observed_findings(known, policy))
    verdict = Verdict(decision=strictest(every), findings=every, policy_hash=policy_hash)
    is_asked = verdict.decision is Decision.REQUIRE_CONFIRMATION
    was_granted = is_asked and facts.granted is not None
    was_copied = facts.undo is not None and facts.undo.snapshot is not None
    if was_granted or (was_copied and is_undoable(every, policy.config)):
        # A person has seen exactly this, or what it will touch was copied away: it goes ahead,
        # and the reasons stay on the record.
        return Settled(verdict, Decision.WARN)
    return Settled(verdict, verdict.decision)


def observed_findings(findings: Sequence[Finding], policy: CompiledPolicy) -> Sequence[Finding]:
    """Return the findings, with those that are only observed as warnings that say so."""
    if policy.config.mode != OBSERVE and not policy.observed_rules:
        return findings
    return [
        each.observed if is_observed(each.gate, each.rule, each.severity, policy) else each
        for each in findings
    ]


def is_observed(gate: str, rule: str, severity: Severity, policy: CompiledPolicy) -> bool:
    """Whether a rule only tells what it would have done."""
    is_observing = policy.config.mode == OBSERVE
    return rule in policy.observed_rules or (is_observing and not _is_binding(gate, rule, severity))


def _is_binding(gate: str, rule: str, severity: Severity) -> bool:
    """Whether a finding counts in any mode.

    What is critical does, a person's word, a gate that broke, and what keeps agents from the
    policy, the ledger and the hooks themselves: whoever only looks on must not be blinded.
    """
    if severity is Severity.CRITICAL or gate in _BINDING or rule == f"{gate}.broken":
        return True
    if gate == protected_paths_gate.GATE.name:
        return any(part in rule for part in _OWN_PATHS)
    return rule.startswith(_OWN_RULES)


def _ask_about(asked: Sequence[_Asked], policy: CompiledPolicy) -> None:
    """Ask every gate that looks at such things, and into what they carry."""
    lines = [(each, found) for each, found in asked if isinstance(each, CommandLine)]
    edits = [(each, found) for each, found in asked if isinstance(each, InspectedEdit)]
    calls = [(each, found) for each, found in asked if isinstance(each, Call)]
    if lines:
        _ask(_COMMAND_GATES, lines, policy)
        patches = [(each.edits, found) for each, found in lines if each.edits]
        for row in _in_turn(patches) if patches else ():
            _ask(_EDIT_GATES, row, policy)
    if edits:
        _ask(_EDIT_GATES, edits, policy)
    if calls:
        _ask(_CALL_GATES, calls, policy)
        for row in _in_turn((each.parts, found) for each, found in calls):
            _ask_about(row, policy)
        for call, found in calls:
            for part in call.guesses:
                _ask_about_guess(part, policy, found)
        _ask(_WHOLE_CALL_GATES, calls, policy)


def _in_turn(
    carried: Iterable[tuple[Iterable[_Subject], list[Finding]]],
) -> Iterator[list[tuple[_Subject, list[Finding]]]]:
    """Yield the first that each of them carries, then the second: findings stay in their order."""
    rows = zip_longest(*[[(part, found) for part in parts] for parts, found in carried])
    return ([each for each in row if each is not None] for row in rows)


def _ask_about_guess(
    part: CommandLine | InspectedEdit, policy: CompiledPolicy, found: list[Finding]
) -> None:
    """Keep what is grave enough of what a call may carry; its texts are searched with the call."""
    new: list[Finding] = []
    _ask_about([(part, new)], policy)
    own, least = secrets_gate.GATE.name, part.payload.least.rank
    found += [
        each
        for each in new
        if each.gate != own and each.decision.rank >= least and each not in found
    ]


def _ask(
    gates: Sequence[tuple[Gate, Callable[[_Subject, CompiledPolicy], Iterable[Finding]]]],
    asked: Sequence[tuple[_Subject, list[Finding]]],
    policy: CompiledPolicy,
) -> None:
    """Ask one gate after the other; one that breaks denies."""
    for gate, find in gates:
        for subject, found in asked:
            try:
                if gate.says_once:
                    if new := list(find(subject, policy)):
                        said = {each.rule for each in found}
                        found += [each for each in new if each.rule not in said]
                else:
                    found.extend(find(subject, policy))
            except Exception as error:  # noqa: BLE001 - a gate that breaks must not let anything through
                found.append(_broken(gate.name, error))


def _redacted(findings: list[Finding], inspection: Inspection) -> list[Finding]:
    """Return the findings without credentials; those about credentials hold none."""
    own = secrets_gate.GATE.name
    if all(each.gate == own for each in findings):
        return findings
    try:
        limit = inspection.policy.config.limits.content_bytes
        joined = [each.joined[:limit] for each in inspection.commands if each.joined is not None]
        texts = [each.searched for each in inspection.texts if each.searched not in joined]
        redactor = Redactor(inspection.scan, texts, "\n".join(joined)[:limit])
        return [each if each.gate == own else redactor.finding(each) for each in findings]
    except Exception:  # noqa: BLE001 - what cannot be checked for credentials is not said
        return [_withheld(each) for each in findings]


def _sendable(finding: Finding) -> Finding:
    """Return the finding in text that every encoder takes."""
    if finding.message.isascii() and (finding.excerpt is None or finding.excerpt.isascii()):
        return finding
    excerpt = None if finding.excerpt is None else encodable(finding.excerpt)
    return replace(finding, message=encodable(finding.message), excerpt=excerpt)


def _withheld(finding: Finding) -> Finding:
    words = "what it says is withheld, because it could not be searched for credentials"
    return replace(finding, message=f"`{finding.rule}` matched; {words}", excerpt=None)


def _broken(gate: str, error: Exception) -> Finding:
    return Finding(
        gate=gate,
        rule=f"{gate}.broken",
        decision=Decision.BLOCK,
        severity=Severity.HIGH,
        message=f"the gate could not judge this ({type(error).__name__}), so it is not allowed",
        remediation="report this with the input that caused it; try a simpler action meanwhile",
    )
