"""May it do this? The gates from end to end.

`judge` is a pure function of an action and the gates, which are a policy made ready. Every
gate runs and every finding is returned; a gate that breaks denies, and says so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final, assert_never

from msgspec.structs import replace

from interlock.commands.analysis import CommandAnalysis, analyze
from interlock.model.action import Action, CommandAction, EditAction, ToolAction
from interlock.model.verdict import Decision, Finding, Severity, Verdict, aggregate
from interlock.policy.actions.changed_lines import changed_lines, lines_of
from interlock.policy.actions.facts import command_facts, edit_facts, tool_facts
from interlock.policy.actions.gates.allowlist import allowlist_gate
from interlock.policy.actions.gates.destructive import destructive_gate, oversize
from interlock.policy.actions.gates.diff_size import diff_size_gate
from interlock.policy.actions.gates.fuzzy_edits import fuzzy_edits_gate
from interlock.policy.actions.gates.protected_paths import protected_edit, protected_effects
from interlock.policy.actions.gates.schema import schema_gate, unreadable
from interlock.policy.actions.gates.secrets import secrets_gate
from interlock.policy.actions.gates.user_rules import user_rules_gate
from interlock.policy.actions.parameters import Unreadable, params_from_text, strings_in
from interlock.policy.actions.payload import Payload, payloads_of
from interlock.policy.actions.redactor import Redactor
from interlock.policy.config.compiled import CompiledPolicy

_QUOTES: Final = frozenset("'\"\\$`")
_NOTHING: Final = CommandAnalysis(commands=(), effects=(), unresolved=())


def judge(action: Action, gates: CompiledPolicy) -> Verdict:
    """Answer whether the action may happen, with every reason."""
    inquiry = _Inquiry(gates)
    match action:
        case CommandAction(command=command, cwd=cwd):
            inquiry.into_command(command, cwd)
        case ToolAction(name=name, params=params):
            inquiry.into_tool(name, params)
        case EditAction():
            inquiry.into_edit(_carried(action))
        case _:
            assert_never(action)
    return inquiry.verdict()


def lowered(command: str, cwd: str | None, gates: CompiledPolicy) -> CommandAnalysis:
    """Return what a command line would run."""
    return analyze(
        command,
        cwd=cwd,
        programs=gates.programs,
        places=gates.places,
        nesting=gates.config.limits.nesting,
        longest=gates.config.limits.command_bytes,
    )


class _Inquiry:
    """One question on its way through the gates: what they found, and the texts they saw."""

    __slots__ = ("_findings", "_gates", "_joined", "_policy", "_texts")

    def __init__(self, gates: CompiledPolicy) -> None:
        self._gates = gates
        self._policy = gates.config
        self._findings: list[Finding] = []
        self._texts: list[str] = []
        self._joined: list[str] = []
        """Command lines as a shell reads them, quotes off: where a credential may join up."""

    def into_command(self, command: str, cwd: str | None) -> None:
        """Ask the gates that judge a command line."""
        command, cwd = _plain(command), None if cwd is None else _plain(cwd)
        found = self._followed(command, cwd)
        rulebook, ops = self._gates.rulebook, self._policy.destructive_ops
        self._ask("destructive-ops", lambda: destructive_gate(found, rulebook, ops))
        if found.effects:
            guard = self._gates.guard
            self._ask("protected-paths", lambda: protected_effects(found.effects, guard))
        self._look_for_secrets(command, "the command", anew=False)
        if not _QUOTES.isdisjoint(command) and not _is_written_out(found, command):
            lines = "\n".join([each.line for each in found.commands])
            self._joined.append(lines)
            self._look_for_secrets(lines, "the command", anew=False)
        self._ask_user_rules(lambda: command_facts(command, cwd, found))

    def into_tool(self, name: str, params: Mapping[str, object] | str) -> None:
        """Ask the gates that judge a tool call, and those for what it carries."""
        self._ask("tool-allowlist", lambda: allowlist_gate(name, self._policy.tool_allowlist))
        read = params_from_text(params) if isinstance(params, str) else params
        if isinstance(read, Unreadable):
            self._findings.append(unreadable(read))
            self._look_for_secrets(str(params), "the parameters")
            return
        self._ask("schema", lambda: schema_gate(read, self._gates.schemas.get(name)))
        fuzzy = self._policy.edits.fuzzy_matches
        self._ask("edits", lambda: fuzzy_edits_gate(name, read, fuzzy))
        for place, text in strings_in(read):
            self._look_for_secrets(text, place)
        for carried in payloads_of(name, read, self._policy.tools.carriers):
            if carried.command is not None:
                self.into_command(carried.command, carried.cwd)
            else:
                self.into_edit(carried, anew=False)
        self._ask_user_rules(lambda: tool_facts(name, read))

    def into_edit(self, carried: Payload, *, anew: bool = True) -> None:
        """Ask the gates that judge what is written to a file."""
        path = _plain(carried.path or "")
        diff_size, guard = self._policy.diff_size, self._gates.guard
        self._ask("diff-size", lambda: diff_size_gate(path, carried.changed, diff_size))
        self._ask("protected-paths", lambda: protected_edit(path, guard, cwd=carried.cwd))
        self._look_for_secrets(carried.content, f"`{path}`", anew=anew)
        self._ask_user_rules(lambda: edit_facts(path, carried.content, carried.changed))

    def verdict(self) -> Verdict:
        """Return the answer, with nothing in it that must not be told."""
        findings = [_sendable(finding) for finding in self._told()]
        return Verdict(
            decision=aggregate(findings),
            findings=tuple(findings),
            policy_hash=self._gates.hash,
        )

    def _followed(self, command: str, cwd: str | None) -> CommandAnalysis:
        """Follow a command line; what cannot be followed is a finding already."""
        limit = self._policy.limits.content_bytes
        if len(command) > limit:
            self._findings.append(oversize(command, limit))
            return _NOTHING
        try:
            return lowered(command, cwd, self._gates)
        except Exception as error:  # noqa: BLE001 - a reader that breaks must not let anything through
            self._findings.append(_broken("destructive-ops", error))
            return _NOTHING

    def _look_for_secrets(self, text: str, place: str, *, anew: bool = True) -> None:
        """Look through a text; unless `anew`, what was found around it is not told again."""
        self._texts.append(text)
        told = set[str]() if anew else {finding.rule for finding in self._findings}
        self._ask(
            "secrets",
            lambda: [each for each in _secrets(text, place, self._gates) if each.rule not in told],
        )

    def _ask_user_rules(self, facts: Callable[[], Mapping[str, object]]) -> None:
        if self._gates.user_rules:
            self._ask("rules", lambda: user_rules_gate(facts(), self._gates.user_rules))

    def _ask(self, gate: str, ask: Callable[[], Iterable[Finding]]) -> None:
        """Ask one gate; if it breaks, deny."""
        try:
            self._findings.extend(ask())
        except Exception as error:  # noqa: BLE001 - a gate that breaks must not let anything through
            self._findings.append(_broken(gate, error))

    def _told(self) -> list[Finding]:
        """Return the findings without credentials; secrets' own are clean already."""
        findings = self._findings
        if all(finding.gate == "secrets" for finding in findings):
            return findings
        limit = self._policy.limits.content_bytes
        texts = [text[:limit] for text in self._texts if text not in self._joined]
        try:
            redactor = Redactor(self._gates.scanner, texts, "\n".join(self._joined)[:limit])
            return [each if each.gate == "secrets" else redactor.finding(each) for each in findings]
        except Exception:  # noqa: BLE001 - what cannot be checked for credentials is not told
            return [_withheld(finding) for finding in findings]


def _is_written_out(found: CommandAnalysis, command: str) -> bool:
    """Whether every word that would be run stands in the line the way it is."""
    return all(word.text in command for each in found.commands for word in each.argv)


def _carried(action: EditAction) -> Payload:
    """Return the edit with its size: computed where both texts are known."""
    if action.old is not None:
        changed = changed_lines(action.old, action.content)
    elif action.diff_lines is not None:
        changed = action.diff_lines
    else:
        changed = len(lines_of(action.content))
    return Payload(path=action.path, content=action.content, changed=changed)


def _plain(text: str) -> str:
    """Replace lone surrogates, which no encoder takes."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def _sendable(finding: Finding) -> Finding:
    """Return the finding in text that every encoder takes."""
    if finding.message.isascii() and (finding.excerpt is None or finding.excerpt.isascii()):
        return finding
    excerpt = None if finding.excerpt is None else _plain(finding.excerpt)
    return replace(finding, message=_plain(finding.message), excerpt=excerpt)


def _withheld(finding: Finding) -> Finding:
    words = "what it says is withheld, because it could not be searched for credentials"
    return replace(finding, message=f"`{finding.rule}` speaks; {words}", excerpt=None)


def _secrets(text: str, place: str, gates: CompiledPolicy) -> Iterator[Finding]:
    limit = gates.config.limits.content_bytes
    if len(text) > limit and gates.config.secrets.enabled:
        yield _too_large(place, len(text), limit)
    yield from secrets_gate(
        text[:limit], place=place, scanner=gates.scanner, settings=gates.config.secrets
    )


def _broken(gate: str, error: Exception) -> Finding:
    return Finding(
        gate=gate,
        rule=f"{gate}.broken",
        decision=Decision.BLOCK,
        severity=Severity.HIGH,
        message=f"the gate could not judge this ({type(error).__name__}), so it is not allowed",
        remediation="report this with the input that caused it; try a simpler action meanwhile",
    )


def _too_large(place: str, size: int, limit: int) -> Finding:
    return Finding(
        gate="secrets",
        rule="secrets.oversize-content",
        decision=Decision.REQUIRE_CONFIRMATION,
        severity=Severity.MEDIUM,
        message=f"{place} is longer than {limit} characters ({size}): only its start was judged",
        remediation="split the content into smaller parts",
    )
