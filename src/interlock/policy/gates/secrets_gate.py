"""Does a credential stand in what an agent writes, runs or sends?"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence

from interlock.model.verdict import Decision, Finding, Severity
from interlock.policy.actions.compiled_policy import CompiledPolicy
from interlock.policy.actions.inspection import Call, CommandLine, InspectedEdit, Text
from interlock.policy.config.action_sections import Secrets
from interlock.policy.gates.contract import Gate, while_off
from interlock.secrets.redaction import redact
from interlock.secrets.scanner import SecretMatch

_MOST_FINDINGS = 100
_LONGEST_EXCERPT = 120
_CUT = "…"
_REMEDIATION = (
    "leave the value out: read it from an environment variable or a secret store at run time"
    ' (`${NAME}`, `process.env.NAME`, `os.environ["NAME"]`), and rotate it if it was ever real'
)


def _of_texts(part: Call | InspectedEdit, policy: CompiledPolicy) -> Iterator[Finding]:
    settings = policy.config.secrets
    for text in part.texts if settings.enabled else ():
        # Most texts hold nothing, and are not looked at any further.
        if text.is_cut or text.matches:
            yield from secrets_gate(text, settings)


def _of_command(command: CommandLine, policy: CompiledPolicy) -> Iterator[Finding]:
    """What shows in the line as it is written is not said again of its words put together."""
    said: set[str] = set()
    for text in command.texts if policy.config.secrets.enabled else ():
        if not text.is_cut and not text.matches:
            continue
        rules: set[str] = set()
        for each in secrets_gate(text, policy.config.secrets):
            if each.rule not in said:
                rules.add(each.rule)
                yield each
        said |= rules


def secrets_gate(found: Text, settings: Secrets) -> Iterator[Finding]:
    """Yield one finding per credential, up to a hundred, without a character of any of them."""
    if not settings.enabled:
        return
    text = found.searched
    if found.is_cut:
        yield _oversize(found)
    matches = found.matches
    shown_place = found.shown_place
    every = _with_copies(text, matches)
    for match in matches[:_MOST_FINDINGS]:
        yield Finding(
            gate=GATE.name,
            rule=f"{GATE.name}.{match.rule.name}",
            decision=settings.decision,
            severity=match.rule.severity,
            message=f"{match.rule.title} stands in {shown_place}",
            remediation=match.rule.remediation or _REMEDIATION,
            excerpt=_excerpt(text, match, every, settings.fingerprint_key),
        )


def _with_copies(text: str, matches: Sequence[SecretMatch]) -> Sequence[SecretMatch]:
    """Return the matches and, in their order, whatever repeats one of them inside another word.

    A credential that sticks to a letter is not taken for one, but an excerpt must not show it.
    """
    rules = {text[match.start : match.end]: match.rule for match in matches[:_MOST_FINDINGS]}
    taken = {match.start for match in matches}
    copies = [
        SecretMatch(rule, start, start + len(secret))
        for secret, rule in rules.items()
        for start in _places_of(secret, text)
        if start not in taken
    ]
    return (
        sorted([*matches, *copies], key=lambda each: (each.start, each.end)) if copies else matches
    )


def _places_of(secret: str, text: str) -> Iterator[int]:
    at = text.find(secret)
    while at >= 0:
        yield at
        at = text.find(secret, at + len(secret))


def _excerpt(
    text: str, match: SecretMatch, matches: Sequence[SecretMatch], fingerprint_key: str
) -> str:
    """Return what stands around a credential on its line, every credential in it redacted."""
    line_start = text.rfind("\n", 0, match.start) + 1
    line_end = text.find("\n", match.end)
    first = max(line_start, match.start - _LONGEST_EXCERPT)
    last = min(len(text) if line_end < 0 else line_end, match.end + _LONGEST_EXCERPT)
    before = _shown(text, first, match.start, matches, fingerprint_key)
    label = _shown(text, match.start, match.end, matches, fingerprint_key)
    after = _shown(text, match.end, last, matches, fingerprint_key)
    return _cut_around(before.lstrip(), label, after.rstrip())


def _shown(
    text: str, first: int, last: int, matches: Sequence[SecretMatch], fingerprint_key: str
) -> str:
    """Return text[first:last] redacted, widened to the credentials that its ends would cut."""
    after = bisect_right(matches, first, key=lambda match: match.end)
    before = bisect_left(matches, last, key=lambda match: match.start)
    near = matches[after:before]
    if near:
        first, last = min(first, near[0].start), max(last, near[-1].end)
    moved = [SecretMatch(match.rule, match.start - first, match.end - first) for match in near]
    return redact(text[first:last], moved, fingerprint_key=fingerprint_key)


def _cut_around(before: str, label: str, after: str) -> str:
    """Shorten both sides alike; a side that needs less leaves its room to the other."""
    room = max(0, _LONGEST_EXCERPT - len(label))
    left = min(len(before), max(room // 2, room - len(after)))
    right = min(len(after), room - left)
    shown_before = before if left == len(before) else _CUT + before[len(before) - left + 1 :]
    shown_after = after if right == len(after) else after[: right - 1] + _CUT
    return shown_before + label + shown_after


def _oversize(found: Text) -> Finding:
    limit = len(found.searched)
    return Finding(
        gate=GATE.name,
        rule=f"{GATE.name}.oversize-content",
        decision=Decision.REQUIRE_CONFIRMATION,
        severity=Severity.MEDIUM,
        message=(
            f"{found.shown_place} is longer than {limit} characters ({found.size}):"
            " only its start was judged"
        ),
        remediation="split the content into smaller parts",
    )


GATE = Gate(
    name="secrets",
    call=_of_texts,
    command=_of_command,
    edit=_of_texts,
    says_once=True,
    idle=while_off("secrets"),
)
